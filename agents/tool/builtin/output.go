package builtin

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/agentls/agentls/agents/tool"
)

// The limits of a command's output: what is kept in memory of each stream, what
// is kept of the whole on disk, and what is told while it runs. In memory is at
// most a megabyte (REL-40): two heads, two tails that are cut at twice their
// size, as much of the whole as a head, and what is not told yet.
const (
	maxHead     = 96 << 10
	maxTail     = 96 << 10
	maxSpool    = 64 << 20
	maxProgress = 1 << 20
	maxPending  = 64 << 10
	flushEvery  = 50 * time.Millisecond
	silence     = 30 * time.Second
)

// output collects what a command writes.
type output struct {
	mu       sync.Mutex
	out, err *stream
	spool    *os.File // the whole as it came; nil until it is longer than memory keeps, or if there is no room
	spooled  int64
	folder   string // of the spool; "" = the system's
	early    []byte // what came before the spool was opened
	pending  strings.Builder
	full     chan struct{} // capacity 1: pending is
	room     sync.Cond     // it is not any more
	deaf     bool          // nobody is told any more
	told     int
	last     time.Time // of the last output
	now      func() time.Time
}

// stream is one of the two.
type stream struct {
	*output
	plain tool.Plain
	head  []byte
	tail  []byte // at most twice maxTail; what is before the last maxTail is dropped
	total int64  // bytes of plain text
}

func newOutput(folder string, now func() time.Time) *output {
	o := &output{folder: folder, now: now, last: now(), full: make(chan struct{}, 1)}
	o.room.L = &o.mu
	o.out, o.err = &stream{output: o}, &stream{output: o}
	return o
}

// Write implements [io.Writer]. It never fails: a command does not end because
// its output cannot be kept. It waits while what came before was not told: then
// the command waits as well, since nobody reads its pipe.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = s.now()
	for s.pending.Len() >= maxPending && !s.deaf {
		select {
		case s.full <- struct{}{}:
		default: // it is said already
		}
		s.room.Wait()
	}
	s.keep(p)
	s.add(s.plain.Convert(p))
	return len(p), nil
}

func (s *stream) add(text string) {
	s.total += int64(len(text))
	if s.told < maxProgress && !s.deaf {
		s.pending.WriteString(text)
		s.told += len(text)
		if s.told >= maxProgress {
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
func (o *output) keep(p []byte) {
	if o.spooled+int64(len(p)) > maxSpool {
		p = p[:max(0, maxSpool-o.spooled)]
	}
	o.spooled += int64(len(p))
	if o.spool == nil {
		if o.early = append(o.early, p...); len(o.early) <= maxHead {
			return
		}
		f, err := scratch(o.folder, "output-*.tmp")
		if err != nil {
			o.early, o.spooled = nil, maxSpool // no room: head and tail have to do
			return
		}
		_ = os.Remove(f.Name()) // so that nothing is left of it however the daemon ends; where that fails, close does it
		o.spool, p, o.early = f, o.early, nil
	}
	if _, err := o.spool.Write(p); err != nil {
		o.spooled = maxSpool
	}
}

// scratch makes a file in a folder of blobs, which may not be there yet.
func scratch(folder, pattern string) (*os.File, error) {
	if folder != "" {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
	}
	return os.CreateTemp(folder, pattern)
}

// text returns what a stream wrote, as far as memory has it.
func (s *stream) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(s.plain.Flush())
	tail := s.tail
	if len(tail) > maxTail {
		tail = tail[len(tail)-maxTail:]
	}
	missing := s.total - int64(len(s.head)) - int64(len(tail))
	if missing <= 0 {
		return string(s.head) + string(tail)
	}
	return valid(string(s.head)) + fmt.Sprintf("\n[… %d bytes are left out here …]\n", missing) + valid(string(tail))
}

// whole returns everything that came, in the order in which it came, if the
// texts are only an extract of it.
func (o *output) whole() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.spool == nil {
		return nil
	}
	if _, err := o.spool.Seek(0, io.SeekStart); err != nil {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(o.spool, maxSpool))
	if err != nil {
		return nil
	}
	return data
}

// close removes the spool.
func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.spool != nil {
		_ = o.spool.Close()           // it is removed
		_ = os.Remove(o.spool.Name()) // it is, mostly
		o.spool = nil
	}
}

// take returns what is to be told, if enough has come or enough time passed.
func (o *output) take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := o.pending.String()
	o.pending.Reset()
	o.room.Broadcast()
	return text
}

// ignore says that nobody is told any more.
func (o *output) ignore() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.deaf = true
	o.room.Broadcast()
}

// quiet returns how long nothing has come.
func (o *output) quiet() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now().Sub(o.last)
}

// tell passes output on as it comes, until ctx ends, and then the rest. A
// command that is silent for long may wait for input that never comes (REL-75).
func (o *output) tell(ctx context.Context, progress func(string)) {
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
