package activity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/agentls/agentls/internal/fault"
)

// batchMax is how many bytes of lines a reader takes at once, but for a longer
// line.
const batchMax = 64 << 10

// Follower reads a log from an event on, in order, and waits for more. The
// ranges FromSeq..Seq of what it returns join without a gap. A slow follower is
// late and misses nothing: what the log no longer holds in memory it reads from
// the file. It holds nothing that must be let go, and serves one goroutine.
//
// Events of type tool.state come with the whole result, from its blob where it
// lies in one, so a reader needs no access to blobs. A batch has 64 KiB of
// lines or one longer line, whichever is more.
type Follower struct {
	log   *Log
	after uint64 // what was returned
	past  uint64 // what cannot be read any more, and the next entry covers
	hint  point  // where the next line lies in a file
	raw   bool   // lines as they lie, also those that are not announced: for the log itself
	batch []Entry
	err   error
}

// Follow returns a reader of what follows the event after; 0 is the beginning.
// It reads nothing yet. A number that the log does not have yet is fine: the
// first event after it comes when it is there.
func (l *Log) Follow(after uint64) *Follower { return &Follower{log: l, after: after} }

// Next waits until there are events that the follower has not returned, and
// returns some. It is good until the next call. False when ctx is done, when
// the log was closed and all that was announced has been returned, or when the
// file cannot be read: [Follower.Err] says.
func (f *Follower) Next(ctx context.Context) ([]Entry, bool) {
	for f.err == nil {
		batch, grown, done := f.take(true)
		switch {
		case len(batch) > 0:
			return batch, true
		case f.err != nil || done:
			return nil, false
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return nil, false
		}
	}
	return nil, false
}

// Err returns why the follower ended, where the file could not be read:
// fault.Unavailable.
// nil after ctx was done or the log was closed. fault.Internal is a line that
// cannot be read back, which is a bug here.
func (f *Follower) Err() error { return f.err }

// Entries yields what Next returns, one by one, until Next would return false.
func (f *Follower) Entries(ctx context.Context) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for {
			batch, ok := f.Next(ctx)
			if !ok {
				return
			}
			for _, e := range batch {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// Read returns up to limit events that follow the event after and are
// announced; fewer only where there are no more. It does not wait for events to
// come. The error is that of [Follower.Err].
func (l *Log) Read(after uint64, limit int) ([]Entry, error) {
	f := l.Follow(after)
	var out []Entry
	for len(out) < limit {
		batch, _, _ := f.take(false)
		if f.err != nil {
			return nil, f.err
		}
		if len(batch) == 0 {
			break
		}
		out = append(out, batch[:min(len(batch), limit-len(out))]...)
	}
	return out, nil
}

// take returns a batch without waiting; where there is none, and the caller
// would wait, a channel that is closed when there may be, and whether the log
// has ended.
//
// The lock is held only to find the lines: bytes of the tail never move, and
// those of a file are read without it.
func (f *Follower) take(wait bool) (batch []Entry, grown chan struct{}, done bool) {
	l := f.log
	for f.err == nil && len(batch) == 0 {
		pos := max(f.after, f.past)
		l.mu.Lock()
		newest := l.announced
		if f.raw {
			newest = l.last
		}
		if pos >= newest {
			if done = l.done; wait && !done {
				grown = l.wait()
			}
			l.mu.Unlock()
			return nil, grown, done
		}
		first := l.tail.first()
		if first != 0 && (first <= pos+1 || l.files == nil) {
			// A log in memory may have let go of what follows pos; then the
			// first event that it has covers the rest.
			from := max(first, pos+1)
			b := l.tail.blocks[l.tail.at(from)]
			data := b.lines(from, min(b.last(), newest))
			l.mu.Unlock()
			batch = f.split(data)
			continue
		}
		until := newest
		if first != 0 {
			until = min(until, first-1)
		}
		at, next := l.find(pos + 1)
		l.mu.Unlock()
		if next != 0 {
			until = min(until, next-1)
		}
		batch = f.load(at, pos, until)
	}
	return batch, nil, false
}

// find returns the last point of the index at or before seq, and the event with
// which the next segment begins; 0 where there is none. l.mu is held.
// It is a binary search; the index has a point for each 32 KiB.
func (l *Log) find(seq uint64) (at point, next uint64) {
	i, j := 0, len(l.index)
	for i < j {
		if m := (i + j) / 2; l.index[m].seq <= seq {
			i = m + 1
		} else {
			j = m
		}
	}
	if i == 0 {
		return point{}, 0
	}
	at = l.index[i-1]
	for _, p := range l.index[i:] {
		if p.seg != at.seg {
			return at, p.seq
		}
	}
	return at, 0
}

// split reads the lines that a block held.
func (f *Follower) split(data []byte) []Entry {
	f.begin()
	for taken := 0; len(data) > 0 && taken < batchMax; {
		n := bytes.IndexByte(data, '\n')
		e, ok := parse(data[:n-crcSize], false)
		if !ok {
			// The encoder and the parser disagree: a bug, and never silence.
			f.err = fault.New(fault.Internal, "activity.follow", "event %d of the session %s cannot be read back",
				f.after+1, f.log.cfg.Session)
			break
		}
		taken += f.add(e)
		data = data[n+1:]
	}
	return f.batch
}

// begin empties the batch. A large one is let go, so that followers at rest
// cost little.
func (f *Follower) begin() {
	clear(f.batch)
	if f.batch = f.batch[:0]; cap(f.batch) > 1024 {
		f.batch = nil
	}
}

// add puts e into the batch and returns its size. Events before it that are
// missing are covered by it.
func (f *Follower) add(e Entry) int {
	if !f.raw {
		e = f.log.whole(e)
	}
	e.FromSeq = f.after + 1
	f.after = e.Seq
	f.batch = append(f.batch, e)
	return len(e.rest)
}

// load reads from the segment of a point what follows pos, up to the event
// until.
func (f *Follower) load(at point, pos, until uint64) []Entry {
	f.begin()
	err := f.scan(at, pos, until)
	if errors.Is(err, errGone) {
		return nil // take looks again where it lies now
	}
	if err != nil {
		l := f.log
		l.logger().Error("log unreadable", "session", l.cfg.Session, "after", pos, "err", err)
		f.err = fault.New(fault.Unavailable, "activity.follow",
			"The log of the session %s cannot be read: %w.", l.cfg.Session, err)
		return nil
	}
	if len(f.batch) == 0 {
		// Damaged since the log was opened. What can still be read covers it.
		f.past = until
		f.log.logger().Error("log damaged", "session", f.log.cfg.Session, "file", at.seg.path,
			"from", pos+1, "to", until)
	}
	return f.batch
}

// errGone says that a segment was rewritten since somebody looked where an
// event lies in it.
var errGone = errors.New("the segment was rewritten")

// It returns nil when it has come to until, to the end of the file, or has read
// enough for a batch. Lines that are damaged are passed over here; load tells
// of them where nothing is left.
func (f *Follower) scan(at point, pos, until uint64) error {
	if at.seg == nil {
		return fmt.Errorf("event %d is in no segment", pos+1)
	}
	// Where the follower's last line ended saves reading from the point on.
	if f.hint.seg == at.seg && f.hint.seq == pos+1 && f.hint.off > at.off {
		at = f.hint
	}
	file, err := f.log.files.Open(at.seg.path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	// Whoever opened the new file under the old name finds the mark: it was set
	// while the name changed.
	f.log.mu.Lock()
	gone := at.seg.gone
	f.log.mu.Unlock()
	if gone {
		return errGone
	}
	size, err := file.Size()
	if err != nil {
		return err
	}
	in := newLines(file, at.off, size)
	in.keep = true
	for taken := 0; taken < batchMax && pos < until; {
		line, _, _, err := in.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errLong):
			continue
		case err != nil:
			return err
		}
		body, ok := unseal(line)
		if !ok {
			continue
		}
		e, ok := parse(body, false)
		switch {
		case !ok || e.Seq <= pos:
			continue
		case e.Seq > until:
			return nil
		}
		taken += f.add(e)
		pos = e.Seq
		f.hint = point{seq: pos + 1, seg: at.seg, off: in.off}
	}
	return nil
}
