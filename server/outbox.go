package server

import (
	"errors"
	"io"
	"slices"
	"strconv"
	"sync"
)

// Limits of what waits for a client that does not read (REL-37). Answers count
// by their bytes only: a client gets as many as it asked for. The largest frame
// does not count: a client that is still taking it leaves nothing unread.
const (
	maxQueued   = 8 << 20  // bytes
	largeFrame  = 1 << 20  // bytes from which on a frame may be that one
	maxFrames   = 1024     // notifications, and calls of ours
	maxTogether = 64 << 10 // bytes of frames that are written in one go
	maxStream   = 4 << 10  // the same of the stream: what enters the first lane waits for no more
)

// lane is one of the two orders in which frames go out; see the package doc.
type lane uint8

const (
	first  lane = iota // answers, calls of ours, Notify
	stream             // NotifyRaw, answers of rows that are InStream
	lanes
)

// frame is one message with its header.
type frame struct {
	bytes  []byte
	lane   lane
	answer bool // not counted as a frame
	early  bool // LSP allows it before the initialize reply
}

// newFrame returns room for a frame: a header for a body of n bytes.
func newFrame(n int) []byte {
	b := make([]byte, 0, n+len("Content-Length: \r\n\r\n")+20)
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, int64(n), 10)
	return append(b, "\r\n\r\n"...)
}

// outbox is what waits for the client. Nobody who puts something in waits for
// the client. Its own goroutine writes; run says who ends it.
//
// The life of a frame: put enters it into the queue of its lane, or into held
// before the initialize reply; next takes as many as fit into one write; run
// writes them and only then gives their bytes back to the limits. So what a slow
// socket holds in flight counts as well.
//
// Errors come from here in two ways. put returns one to the sender, whose frame
// was not taken; gone tells the connection once, so that it ends.
//
// Everything but run and next may be called from any goroutine; these two are the
// writer's.
type outbox struct {
	to   io.Writer
	gone func(error) // called when nothing is taken any more, with why; never under mu

	mu      sync.Mutex
	queues  [lanes]queue
	held    []frame // until open
	open    bool    // the initialize reply is queued, or there is no lifecycle
	bytes   int     // queued, held and being written
	frames  int     // of those that count
	large   []int   // sizes of the large ones among the bytes
	err     error   // why nothing is taken any more
	closing bool
	relief  chan struct{} // closed when there is room again; nil while nobody waits
	grown   chan struct{} // capacity 1
	ended   chan struct{} // closed by run
}

func newOutbox(to io.Writer, gone func(error)) *outbox {
	return &outbox{to: to, gone: gone, grown: make(chan struct{}, 1), ended: make(chan struct{})}
}

// errStalled and errClosed are the two reasons for which put refuses besides a
// failed write: too much is unread, and close was called.
var (
	errStalled = errors.New("the client leaves what it is sent unread")
	errClosed  = errors.New("the connection has ended")
)

// put queues a frame. It does not wait. Past the limits the client counts as
// gone; the frame that reaches a limit is still taken, so one large answer to a
// client that reads is never a reason to hang up.
func (o *outbox) put(f frame) error {
	o.mu.Lock()
	if o.err == nil && (o.full() || (!f.answer && o.frames >= maxFrames)) {
		o.stop(errStalled)
		o.mu.Unlock()
		o.gone(errStalled)
		return errStalled
	}
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	o.bytes += len(f.bytes)
	if len(f.bytes) >= largeFrame {
		o.large = append(o.large, len(f.bytes))
	}
	if !f.answer {
		o.frames++
	}
	if !o.open && !f.early {
		o.held = append(o.held, f)
		return nil
	}
	o.queues[f.lane].push(f)
	o.wake()
	return nil
}

// full reports whether the bytes that count are past their limit. It is called
// under mu.
func (o *outbox) full() bool {
	largest := 0
	if len(o.large) > 0 {
		largest = slices.Max(o.large)
	}
	return o.bytes-largest > maxQueued
}

// putOpening queues the answer to initialize, and after it what was held back.
func (o *outbox) putOpening(f frame) error {
	f.early = true
	err := o.put(f)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.release()
	return err
}

// unlock lets everything out from the start: there is no initialize.
func (o *outbox) unlock() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.release()
}

// release moves what was held back to its lanes, in the order in which it was
// sent, and holds nothing back from now on. It is called under mu.
func (o *outbox) release() {
	for _, f := range o.held {
		o.queues[f.lane].push(f)
	}
	o.held, o.open = nil, true
	o.wake()
}

// wake has the writer look again. It is called under mu. The channel has room for
// one: a wake that is not taken yet stands for this one too.
func (o *outbox) wake() {
	select {
	case o.grown <- struct{}{}:
	default:
	}
}

// stop refuses everything from now on, and lets nobody wait for room. It is
// called under mu.
func (o *outbox) stop(err error) {
	o.err = err
	o.closing = true
	if o.relief != nil {
		close(o.relief)
		o.relief = nil
	}
	o.wake()
}

// pressure reports whether a follower should merge or wait. It is called under
// mu, with the share of the limits above which there is pressure.
func (o *outbox) pressure(share int) bool {
	return o.err == nil && (o.bytes > maxQueued/share || o.frames > maxFrames/share)
}

// pressed is the locked form of pressure at one eighth.
func (o *outbox) pressed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pressure(8)
}

// pressureGone returns a channel that is closed once what waits has shrunk to one
// sixteenth, at once if there is no pressure, and when the connection ends.
func (o *outbox) pressureGone() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.pressure(8) {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	if o.relief == nil {
		o.relief = make(chan struct{})
	}
	return o.relief
}

// run writes frames until close has been called and nothing is left, or until
// a write fails.
//
// Small frames of a lane are copied together and written at once, since each
// write is a system call and a stream consists of small ones. A frame that is
// alone in its batch is written without a copy.
func (o *outbox) run() {
	defer close(o.ended)
	together := make([]byte, 0, maxTogether)
	var batch []frame
	for {
		batch = o.next(batch[:0])
		if len(batch) == 0 {
			return
		}
		out, counted := batch[0].bytes, 0
		if len(batch) > 1 {
			together = together[:0]
			for _, f := range batch {
				together = append(together, f.bytes...)
			}
			out = together
		}
		for i := range batch {
			if !batch[i].answer {
				counted++
			}
			batch[i].bytes = nil // a large frame is not kept until the next batch
		}
		n := len(out)
		_, err := o.to.Write(out)
		out = nil

		o.mu.Lock()
		o.bytes, o.frames = o.bytes-n, o.frames-counted
		if i := slices.Index(o.large, n); i >= 0 { // it was alone: together they are shorter
			o.large = slices.Delete(o.large, i, i+1)
		}
		failed := err != nil && o.err == nil
		if failed {
			o.stop(err)
		}
		if o.relief != nil && !o.pressure(16) {
			close(o.relief)
			o.relief = nil
		}
		o.mu.Unlock()
		if failed {
			o.gone(err)
		}
		if err != nil {
			return
		}
	}
}

// next waits for what is to be written: as much of the first lane as goes
// together, else of the stream. It returns nothing at the end.
// After close it returns what is left before it returns nothing.
func (o *outbox) next(batch []frame) []frame {
	for {
		o.mu.Lock()
		if batch = o.queues[first].take(batch, maxTogether); len(batch) == 0 {
			batch = o.queues[stream].take(batch, maxStream)
		}
		closing := o.closing
		o.mu.Unlock()
		if len(batch) > 0 || closing {
			return batch
		}
		<-o.grown
	}
}

// close takes nothing more and lets what is queued go out. What is held back
// for an initialize that never came is dropped. It does not wait; ended says
// when it is done.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = nil
	if o.err == nil {
		o.stop(errClosed)
	}
}

// queue is a FIFO of frames that gives its memory back.
//
// It is not safe for concurrent use; the outbox's mutex guards it. It does not
// shrink its array while it is in use, but moves the rest to the front once more
// than half of it has been taken, and clears what was taken, so that no frame is
// kept by a slice that has passed it.
type queue struct {
	frames []frame
	head   int
}

func (q *queue) len() int { return len(q.frames) - q.head }

// take moves the first frames to batch: one, and more as long as they have no more
// than so many bytes together.
func (q *queue) take(batch []frame, limit int) []frame {
	for size := 0; q.len() > 0; {
		if size += len(q.frames[q.head].bytes); len(batch) > 0 && size > limit {
			break
		}
		batch = append(batch, q.pop())
	}
	return batch
}

// push appends a frame.
func (q *queue) push(f frame) {
	if len(q.frames) == cap(q.frames) && q.head > len(q.frames)/2 {
		n := copy(q.frames, q.frames[q.head:])
		clear(q.frames[n:])
		q.frames, q.head = q.frames[:n], 0
	}
	q.frames = append(q.frames, f)
}

// pop removes the first frame; the queue must not be empty.
func (q *queue) pop() frame {
	f := q.frames[q.head]
	q.frames[q.head] = frame{}
	q.head++
	if q.head == len(q.frames) {
		q.frames, q.head = q.frames[:0], 0
	}
	return f
}
