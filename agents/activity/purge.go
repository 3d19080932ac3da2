package activity

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/agentls/agentls/internal/fault"
)

// Purge erases what the events of an agent up to until hold, in memory and on
// disk: each keeps its number, time, type and ids, and of its data what
// [Purged] leaves. Where the file of bad lines may hold such an event, it goes
// altogether. When
// Purge returns, the new files are on stable storage. blobs are the names of
// the blobs that the events referred to, which are still there.
//
// Each file is replaced in one step, so a crash leaves it as it was or purged.
// Readers and Append go on meanwhile; what is appended is announced when the
// purge is over. Purging again does nothing.
//
// The error is fault.Unavailable: the log is closed or cannot be read or
// written. Then some of it may not be purged.
func (l *Log) Purge(agent string, until uint64) (blobs []string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return nil, fault.New(fault.Unavailable, "activity.purge",
			"The session %s is closed: nothing was erased.", l.cfg.Session)
	}
	p := purger{log: l, agent: agent, until: min(until, l.last), blobs: make(map[string]bool)}
	if l.files == nil {
		p.memory()
		return p.names(), nil
	}
	l.wg.Add(1) // Close waits
	defer l.wg.Done()
	if err := l.seize(); err != nil {
		return nil, err
	}
	defer l.let()
	err = p.files()
	if err != nil {
		l.logger().Error("purge", "session", l.cfg.Session, "agent", agent, "err", err)
		return p.names(), fault.New(fault.Unavailable, "activity.purge",
			"Not all of what %s said in the session %s could be erased: %w. Fix the disk and try again.",
			agent, l.cfg.Session, err)
	}
	return p.names(), nil
}

// seize takes the writer's place once all that was appended before is written,
// and keeps syncs out. l.mu is held, and let go meanwhile.
//
// The error is that of [Log.Err]; then nothing was taken. It repeats when a
// sync fails between its steps, since what a purge copies must be what the disk
// has.
func (l *Log) seize() error {
	l.purgers++
	defer func() { l.purgers-- }()
	for {
		for l.drainer {
			grown := l.wait()
			l.withoutLock(func() { <-grown })
		}
		l.drain()
		if l.err != nil {
			return l.err
		}
		l.drainer = true
		l.withoutLock(l.syncing.Lock)
		if l.broken == nil {
			return nil
		}
		// A sync failed meanwhile: what the file holds now is not known.
		l.syncing.Unlock()
		l.drainer = false
	}
}

// let gives the writer's place back. l.mu is held.
func (l *Log) let() {
	l.syncing.Unlock()
	l.drainer = false
	if l.purgers > 0 {
		l.broadcast()
	}
	if l.broken != nil || l.written < l.last || len(l.owed) > 0 {
		l.wake()
	}
}

// purger is one purge.
type purger struct {
	log   *Log
	agent string
	until uint64
	blobs map[string]bool
}

// The order is not defined.
func (p *purger) names() []string {
	out := make([]string, 0, len(p.blobs))
	for sha := range p.blobs {
		out = append(out, sha)
	}
	return out
}

// line returns what a line becomes; false when it stays. line has no line feed,
// the new one has. enc is that of one file.
// An event that is purged already becomes itself, so that purging again changes
// no file.
func (p *purger) line(enc *encoder, line []byte, e Entry) ([]byte, bool) {
	if e.Seq > p.until || e.agent == e.agentTo || unquote(e.rest[e.agent:e.agentTo]) != p.agent {
		return nil, false
	}
	event, err := e.Event("")
	if err != nil {
		// What does not fit its type is erased all the more.
		event = Event{Time: e.time(), Origin: Origin{Run: e.Run, Agent: p.agent}, Body: Unknown{Name: e.Type}}
	}
	body := Purge(event.Body)
	data, err := encodeBody(body)
	if err != nil {
		body, data = Unknown{Name: e.Type}, []byte("{}")
	}
	fresh := enc.line(nil, e.Seq, event.Time, event.Origin, body, data, event.DurationMs)
	if string(fresh[:len(fresh)-1]) == string(line) {
		return nil, false
	}
	p.refers(e.rest[e.data:e.dataEnd])
	return fresh, true
}

// refers collects the blobs that data names, wherever it does.
func (p *purger) refers(data []byte) {
	for sha := range Digests(data) {
		p.blobs[sha] = true
	}
}

// Digests yields the stretches of data that could name blobs: 64 lower-case hex
// digits, no more and no fewer.
func Digests(data []byte) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		n := 0
		for i := 0; i <= len(data); i++ {
			if i < len(data) && ((data[i] >= '0' && data[i] <= '9') || (data[i] >= 'a' && data[i] <= 'f')) {
				n++
				continue
			}
			if n == 64 && !yield(string(data[i-64:i])) {
				return
			}
			n = 0
		}
	}
}

// memory purges a log that has no file. l.mu is held.
func (p *purger) memory() {
	var fresh tail
	var enc encoder
	for _, b := range p.log.tail.blocks {
		for seq := b.first; seq <= b.last(); seq++ {
			line := b.lines(seq, seq)
			e, ok := parse(line[:len(line)-1-crcSize], false)
			if ok {
				if next, changed := p.line(&enc, line[:len(line)-1], e); changed {
					line = next
				}
			}
			fresh.add(seq, line)
		}
	}
	p.log.tail = fresh
}

// redone is a segment that was written anew under another name.
type redone struct {
	old   *segment
	temp  string
	file  File
	size  int64
	marks []point // of the new segment, whose seg is not set yet
}

// files purges the segments. l.mu is held, and let go while files are read and
// written; nobody else writes, and no segment begins or ends meanwhile.
func (p *purger) files() (err error) {
	l := p.log
	segs := l.segments()
	written := l.written
	var all []redone
	l.withoutLock(func() {
		for i, s := range segs {
			limit := uint64(math.MaxUint64)
			for _, later := range segs[i+1:] {
				limit = min(limit, later.first)
			}
			var r redone
			var changed bool
			if r, changed, err = p.rewrite(s.segment, limit); err != nil {
				return
			}
			if changed {
				all = append(all, r)
			}
		}
		// First, so that a purge which a crash ends is not taken for complete.
		if err == nil {
			err = p.bad(len(all) > 0)
		}
	})
	for i := range all {
		if err == nil {
			err = p.replace(&all[i], written)
		}
		if all[i].file != nil {
			_ = all[i].file.Close() // synced, or of no use
			_ = l.files.Remove(all[i].temp)
		}
	}
	// Readers that are behind find the lines in the new files only. What is not
	// on stable storage stays: a new segment would begin with it.
	l.tail = l.tail.from(min(l.synced, l.announced) + 1)
	if err != nil {
		return err
	}
	l.withoutLock(func() { err = l.files.SyncDir(filepath.Dir(l.cfg.Path)) })
	return err
}

// bad removes the file of bad lines where it may hold what the agent said: when
// the log did, or a line of it names the agent.
func (p *purger) bad(certain bool) error {
	l := p.log
	path := (&opener{log: l}).badPath()
	f, err := l.files.Open(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	size, err := f.Size()
	name := append([]byte(`"agent":`), appendString(nil, p.agent)...)
	for in := newLines(f, 0, size); err == nil && !certain; {
		var line []byte
		if line, _, _, err = in.next(); errors.Is(err, errLong) {
			certain, err = true, nil
		}
		certain = certain || bytes.Contains(line, name)
	}
	_ = f.Close() // only read
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !certain {
		return nil
	}
	return l.files.Remove(path)
}

// stretched is a segment with the number of the first event that readers find
// there.
type stretched struct {
	*segment
	first uint64
}

// segments returns the log's segments, in order. One in which readers find
// nothing, since the next one repeats it all, has a first event without end.
// l.mu is held.
func (l *Log) segments() []stretched {
	out := make([]stretched, l.seg.number)
	for i := range out {
		out[i] = stretched{&segment{path: segmentPath(l.cfg.Path, i+1), number: i + 1}, math.MaxUint64}
	}
	out[l.seg.number-1].segment = l.seg
	for _, p := range l.index {
		if s := &out[p.seg.number-1]; s.first == math.MaxUint64 {
			*s = stretched{p.seg, p.seq}
		}
	}
	return out
}

// rewrite writes a segment anew, up to the event limit, where the next one
// begins. changed is false where nothing in it is to be purged.
func (p *purger) rewrite(s *segment, limit uint64) (r redone, changed bool, err error) {
	l := p.log
	from, err := l.files.Open(s.path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) && s != l.seg {
		return r, false, nil // somebody took it away
	}
	if err != nil {
		return r, false, err
	}
	defer from.Close()
	size, err := from.Size()
	if err != nil {
		return r, false, err
	}
	if s == l.seg {
		size = s.size // what a write that failed left behind is not ours
	}
	w := &rewriting{purger: p, from: from, redone: redone{old: s, temp: s.path + ".tmp"}}
	if err = w.lines(size, limit); err == nil && w.out != nil {
		if err = w.out.Flush(); err == nil {
			err = w.file.Sync()
		}
	}
	if err != nil && w.file != nil {
		_ = w.file.Close()
		_ = l.files.Remove(w.temp) // a rest does no harm
	}
	return w.redone, w.out != nil, err
}

// rewriting is a segment while it is written anew.
type rewriting struct {
	*purger
	redone
	from File
	out  *bufio.Writer // nil until something changes
	enc  encoder
}

// begin starts the new file, if that was not done, with what needs no change.
func (w *rewriting) begin(upTo int64) (err error) {
	if w.out != nil {
		return nil
	}
	if w.file, err = w.log.files.Open(w.temp, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return err
	}
	w.out = bufio.NewWriterSize(onlyWriter{w.file}, 1<<20)
	return copyRange(w.out, w.from, 0, upTo)
}

// lines writes what is left of the segment's lines.
// Lines from limit on, and lines that nobody can read, are left out. It copies
// nothing before the first line that has to change: w.begin then makes the new
// file, and a segment in which nothing is erased stays as it is.
func (w *rewriting) lines(size int64, limit uint64) error {
	in := newLines(w.from, 0, size)
	for first := true; ; first = false {
		line, off, whole, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, errLong) {
			return err
		}
		if first {
			w.size = in.off // the header, or what is left of it: Open fixed it
			continue
		}
		var e Entry
		body, ok := unseal(line)
		if ok {
			e, ok = parse(body, false)
		}
		if !ok || !whole || e.Seq >= limit {
			// Nobody reads it, and it may hold what is to be erased.
			if err := w.begin(off); err != nil {
				return err
			}
			continue
		}
		fresh, redacted := w.line(&w.enc, line, e)
		if redacted {
			if err := w.begin(off); err != nil {
				return err
			}
		} else {
			fresh = append(line[:len(line):len(line)], '\n')
		}
		if n := len(w.marks); n == 0 || w.size-w.marks[n-1].off >= pointEvery {
			w.marks = append(w.marks, point{seq: e.FromSeq, off: w.size})
		}
		w.size += int64(len(fresh))
		if w.out != nil {
			if _, err := w.out.Write(fresh); err != nil {
				return err
			}
		}
	}
}

// replace puts a new segment in the old one's place. l.mu is held, also during
// the rename, so that no reader takes a place in the one file for a place in
// the other.
func (p *purger) replace(r *redone, written uint64) error {
	l := p.log
	if err := l.files.Rename(r.temp, r.old.path); err != nil {
		return err
	}
	next := &segment{path: r.old.path, number: r.old.number, size: r.size, dirty: true}
	r.old.gone = true
	var index []point
	done := false
	for _, at := range l.index {
		if at.seg != r.old {
			index = append(index, at)
			continue
		}
		if !done {
			done = true
			for _, m := range r.marks {
				m.seg = next
				index = append(index, m)
			}
		}
	}
	l.index = index
	if l.seg != r.old {
		_ = r.file.Close() // synced
	} else {
		_ = l.seg.file.Close() // another file has its name
		next.file, l.seg, l.unsafe = r.file, next, 0
		l.settle(written)
	}
	r.file = nil
	return nil
}
