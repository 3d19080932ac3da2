package process

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// MaxSpool is how much of an output is kept on disk, in bytes.
const MaxSpool = 64 << 20

// The limits of a command's output: what is kept in memory of each stream, and
// what is reported while it runs. In memory is at most a megabyte (REL-40): two
// heads, two tails that are cut at twice their size, as much of the whole as a
// head, and what is not reported yet.
const (
	maxHead     = 96 << 10
	maxTail     = 96 << 10
	maxProgress = 1 << 20
	maxPending  = 64 << 10
	flushEvery  = 50 * time.Millisecond
	silence     = 30 * time.Second
)

// Output collects what the commands of a job write, within bounds. It is safe
// for concurrent use.
//
// A reader of its texts gets what has come so far. Close it once, when nothing is
// read any more.
//
// What a command writes goes two ways: as it came to keep, and as plain text to add,
// which fills pending, head and tail.
type Output struct {
	// What the commands of the job write to; both may be given to several
	// commands.
	Stdout, Stderr *Stream

	mu    sync.Mutex
	spool *os.File // the whole as it came; nil until it is longer than memory keeps, or if there is no room
	// How many bytes were kept, in early or in the file; MaxSpool where no more are.
	spooled int64
	folder  string // of the spool; "" = the system's
	early   []byte // what came before the spool was opened
	// Plain text that is to be reported, of both streams.
	pending strings.Builder
	full    chan struct{} // capacity 1: pending is
	room    sync.Cond     // it is not any more
	deaf    bool          // progress is reported no more
	// How many bytes went into pending so far; after maxProgress none do.
	reported int
	last     time.Time // of the last output
	now      func() time.Time
}

// Stream is one of the two.
type Stream struct {
	*Output
	plain Plain
	// The first maxHead bytes of plain text.
	head  []byte
	tail  []byte // at most twice maxTail; what is before the last maxTail is dropped
	total int64  // bytes of plain text
}

// newOutput returns the output of a job; the file for what is long is made in
// folder when it is needed.
func newOutput(folder string, now func() time.Time) *Output {
	o := &Output{folder: folder, now: now, last: now(), full: make(chan struct{}, 1)}
	o.room.L = &o.mu
	o.Stdout, o.Stderr = &Stream{Output: o}, &Stream{Output: o}
	return o
}

// Write implements [io.Writer]. It never fails: a command does not end because
// its output cannot be kept. It waits while earlier output was not reported: then
// the command waits as well, since nobody reads its pipe.
func (s *Stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = s.now()
	for s.pending.Len() >= maxPending && !s.deaf {
		select {
		case s.full <- struct{}{}:
		default: // the reporter knows already
		}
		s.room.Wait()
	}
	s.keep(p)
	s.add(s.plain.Convert(p))
	return len(p), nil
}

// add takes plain text in: for the report, the beginning and the end. The lock is
// held.
func (s *Stream) add(text string) {
	s.total += int64(len(text))
	if s.reported < maxProgress && !s.deaf {
		s.pending.WriteString(text)
		s.reported += len(text)
		if s.reported >= maxProgress {
			s.pending.WriteString("\n[… more than is shown while it runs …]\n")
		}
	}
	if room := maxHead - len(s.head); room > 0 {
		n := min(room, len(text))
		s.head = append(s.head, text[:n]...)
		text = text[n:]
	}
	if text == "" {
		return
	}
	s.tail = append(s.tail, text...)
	if len(s.tail) > 2*maxTail {
		s.tail = append(s.tail[:0], s.tail[len(s.tail)-maxTail:]...)
	}
}

// keep writes the raw bytes to the spool.
//
// The first bytes stay in memory; a file is made only for more. A disk that fails ends the
// spooling and not the command.
func (o *Output) keep(p []byte) {
	if o.spooled+int64(len(p)) > MaxSpool {
		p = p[:max(0, MaxSpool-o.spooled)]
	}
	o.spooled += int64(len(p))
	if o.spool == nil {
		if o.early = append(o.early, p...); len(o.early) <= maxHead {
			return
		}
		f, err := CreateScratch(o.folder, "output-*.tmp")
		if err != nil {
			o.early, o.spooled = nil, MaxSpool // no room: head and tail have to do
			return
		}
		_ = os.Remove(f.Name()) // so that nothing is left of it however the daemon ends; where that fails, Close does it
		o.spool, p, o.early = f, o.early, nil
	}
	if _, err := o.spool.Write(p); err != nil {
		o.spooled = MaxSpool
	}
}

// CreateScratch creates a file for output in folder, which need not exist yet;
// "" is the system's.
// It is readable for its owner only, and the caller's to close and remove.
// pattern is as in os.CreateTemp.
func CreateScratch(folder, pattern string) (*os.File, error) {
	if folder != "" {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
	}
	return os.CreateTemp(folder, pattern)
}

// Text returns what came on the stream: its beginning and end if it was long.
// It is valid UTF-8 and plain, also where it was cut.
func (s *Stream) Text() string { return s.TextTo(maxHead + maxTail) }

// TextTo is [Stream.Text] with at most limit bytes of what came, and a note of
// how much is missing.
func (s *Stream) TextTo(limit int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(s.plain.Flush())
	head, tail := s.head, s.tail
	if s.total == int64(len(head)+len(tail)) {
		all := slices.Concat(head, tail)
		if len(all) <= limit {
			return string(all)
		}
		head, tail = all, all
	}
	limit = max(limit, 0)
	head = head[:min(len(head), limit/2)]
	tail = tail[len(tail)-min(len(tail), limit/2):]
	missing := s.total - int64(len(head)) - int64(len(tail))
	return valid(head) + fmt.Sprintf("\n[… %d of %d bytes are left out here …]\n", missing, s.total) + valid(tail)
}

// Long reports whether more came than memory keeps.
func (o *Output) Long() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.spool != nil
}

// Length returns how many bytes [Stream.TextTo] can show at most.
func (s *Stream) Length() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(min(s.total, maxHead+maxTail))
}

// Whole returns everything that came, in the order in which it came, up to
// [MaxSpool]; nil where it could not be kept. It is the caller's, who closes it.
func (o *Output) Whole() io.ReadCloser {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.spool == nil {
		if o.early == nil {
			return nil
		}
		return io.NopCloser(bytes.NewReader(o.early))
	}
	if _, err := o.spool.Seek(0, io.SeekStart); err != nil {
		return nil
	}
	whole := spool{o.spool}
	o.spool, o.spooled = nil, MaxSpool // nothing is added to it any more
	return whole
}

// spool is a file that is removed when it is closed.
type spool struct{ *os.File }

// Close closes the file and removes it, where it is not gone already.
func (s spool) Close() error {
	err := s.File.Close()
	_ = os.Remove(s.Name()) // it is, mostly
	return err
}

// Close removes what is on disk. Texts can be read afterwards; the whole cannot where it
// was on disk.
func (o *Output) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.spool != nil {
		_ = spool{o.spool}.Close()
		o.spool = nil
	}
}

// take returns what was not reported yet. Writers that wait for room go on.
func (o *Output) take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := o.pending.String()
	o.pending.Reset()
	o.room.Broadcast()
	return text
}

// ignore ends the reports.
func (o *Output) ignore() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.deaf = true
	o.room.Broadcast()
}

// quiet returns how long nothing has come.
func (o *Output) quiet() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now().Sub(o.last)
}

// report passes output on as it comes, until ctx ends, and then the rest. A
// command that is silent for long may wait for input that never comes (REL-75).
func (o *Output) report(ctx context.Context, progress func(string)) {
	defer o.ignore()
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	warned := false
	for {
		select {
		case <-ctx.Done():
			if text := o.take(); text != "" {
				progress(text)
			}
			return
		// Much has come, and the command waits until it is reported.
		case <-o.full:
			progress(o.take())
			warned = false
		case <-tick.C:
			if text := o.take(); text != "" {
				progress(text)
				warned = false
			} else if !warned && o.quiet() >= silence {
				warned = true
				progress("[no output for 30 seconds: it may wait for input, and gets none]\n")
			}
		}
	}
}

// valid returns text that was cut as UTF-8.
func valid(text []byte) string { return strings.ToValidUTF8(string(text), string(utf8.RuneError)) }
