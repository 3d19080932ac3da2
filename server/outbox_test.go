package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// slow is a client that takes one write at a time, when it is asked to.
type slow struct {
	writes chan string
	fail   error
}

func (s *slow) Write(p []byte) (int, error) {
	if s.fail != nil {
		return 0, s.fail
	}
	s.writes <- string(p)
	return len(p), nil
}

// box returns an open outbox over a client that takes nothing until it is read.
// Everything has ended when the test has.
func box(t *testing.T) (*outbox, *slow, *error) {
	t.Helper()
	to := &slow{writes: make(chan string)}
	var gone error
	o := newOutbox(to, func(err error) { gone = err })
	o.unlock()
	var running sync.WaitGroup
	running.Go(o.run)
	t.Cleanup(func() {
		o.close()
		go func() { // what the test has left
			<-o.ended
			close(to.writes)
		}()
		for range to.writes {
		}
		running.Wait()
	})
	return o, to, &gone
}

func TestREL39TheFirstLaneGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, to, _ := box(t)
		for i := range 1000 {
			if err := o.put(frame{bytes: fmt.Appendf(nil, "s%d%s;", i, strings.Repeat(".", 8000)), lane: stream}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait() // s0 is being written
		o.put(frame{bytes: []byte("begin;")})
		o.put(frame{bytes: []byte("confirm;")})
		if got := <-to.writes; !strings.HasPrefix(got, "s0.") {
			t.Errorf("first %.20s", got)
		}
		if got := <-to.writes; got != "begin;confirm;" {
			t.Errorf("within one message comes %.20s", got)
		}
		for i := 1; i < 1000; i++ {
			if got := <-to.writes; !strings.HasPrefix(got, fmt.Sprintf("s%d.", i)) {
				t.Fatalf("s%d is %.20s", i, got)
			}
		}
	})
}

func TestREL37TheLimitsOfTheOutbox(t *testing.T) {
	for _, c := range []struct {
		name string
		f    frame
		fits int // frames that are taken
	}{
		{"bytes", frame{bytes: make([]byte, 64<<10), lane: stream}, maxQueued/(64<<10) + 1},
		{"bytes of answers", frame{bytes: make([]byte, 64<<10), answer: true}, maxQueued/(64<<10) + 1},
		{"frames", frame{bytes: []byte("x"), lane: stream}, maxFrames},
		{"large frames", frame{bytes: make([]byte, 3*maxQueued), lane: stream}, 2}, // one does not count, one reaches the limit
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, _, gone := box(t)
				n := 0
				var err error
				for ; err == nil && n < 10_000; n++ {
					err = o.put(c.f)
				}
				if n-1 != c.fits || !errors.Is(err, errStalled) || !errors.Is(*gone, errStalled) {
					t.Errorf("%d were taken (want %d), then %v, gone %v", n-1, c.fits, err, *gone)
				}
				if err := o.put(frame{bytes: []byte("x")}); !errors.Is(err, errStalled) {
					t.Errorf("later: %v", err)
				}
			})
		})
	}
	t.Run("small frames behind a large one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o, _, _ := box(t)
			for _, size := range []int{3 * maxQueued, 200, 200, 64 << 10} {
				if err := o.put(frame{bytes: make([]byte, size), lane: stream}); err != nil {
					t.Errorf("%d bytes: %v", size, err)
				}
			}
		})
	})
	t.Run("many small answers", func(t *testing.T) { // REL-21
		synctest.Test(t, func(t *testing.T) {
			o, _, _ := box(t)
			for range 10_000 {
				if err := o.put(frame{bytes: make([]byte, 200), answer: true}); err != nil {
					t.Fatal(err)
				}
			}
		})
	})
}

func TestREL38PressureAndRelief(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, to, _ := box(t)
		if o.pressed() {
			t.Error("pressure on an empty outbox")
		}
		<-o.pressureGone()
		n := 0
		for ; !o.pressed(); n++ {
			o.put(frame{bytes: make([]byte, 100), lane: stream})
		}
		if n != maxFrames/8+1 {
			t.Errorf("pressure after %d frames", n)
		}
		drained := o.pressureGone()
		for left := n; left > maxFrames/16; {
			select {
			case <-drained:
				t.Fatalf("relief with %d frames", left)
			default:
			}
			left -= len(<-to.writes) / 100
			synctest.Wait()
		}
		<-drained

		for !o.pressed() {
			o.put(frame{bytes: make([]byte, 100<<10), lane: stream})
		}
		drained = o.pressureGone()
		o.close()
		<-drained // the end lets nobody wait
		if o.pressed() {
			t.Error("pressure after the end")
		}
	})
}

func TestAWriteThatFailsIsTold(t *testing.T) {
	broken := errors.New("EPIPE")
	var gone error
	o := newOutbox(&slow{fail: broken}, func(err error) { gone = err })
	o.unlock()
	if err := o.put(frame{bytes: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	o.run() // ends by itself
	if !errors.Is(gone, broken) {
		t.Errorf("gone: %v", gone)
	}
	if err := o.put(frame{bytes: []byte("x")}); !errors.Is(err, broken) {
		t.Errorf("put: %v", err)
	}
}

func TestQueueIsAFIFOThatGivesMemoryBack(t *testing.T) {
	var q queue
	next, last := 0, 0
	for round := range 2000 {
		for range round % 7 {
			q.push(frame{bytes: fmt.Append(nil, last)})
			last++
		}
		for range min(q.len(), round%6) {
			if got := string(q.pop().bytes); got != fmt.Sprint(next) {
				t.Fatalf("%s for %d", got, next)
			}
			next++
		}
	}
	for q.len() > 0 {
		q.pop()
		next++
	}
	if next != last {
		t.Errorf("%d of %d", next, last)
	}
	for i := range q.frames[:cap(q.frames)] {
		if q.frames[:cap(q.frames)][i].bytes != nil {
			t.Fatal("a frame is kept")
		}
	}
	for range 100_000 {
		q.push(frame{})
		q.push(frame{})
		q.pop()
		q.pop()
	}
	if cap(q.frames) > 4096 {
		t.Errorf("room for %d frames", cap(q.frames))
	}
}

func TestLargeMessagesAreNotKept(t *testing.T) { // libraries.md, row 15
	big := `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"` + strings.Repeat("x", 20<<20) + `"}}`
	small := `{"jsonrpc":"2.0","id":2,"method":"m"}`
	in := fmt.Sprintf("Content-Length: %d\r\n\r\n%sContent-Length: %d\r\n\r\n%s", len(big), big, len(small), small)
	l := &line{in: bufio.NewReaderSize(strings.NewReader(in), maxHeader), calls: newLedger(), done: make(chan struct{}), ended: func(error) {}}
	if body, _, err := l.ReadFrame(t.Context()); err != nil || len(body) < 20<<20 {
		t.Fatal(len(body), err)
	}
	if cap(l.body) > keep || cap(l.call) > keep || l.dec != nil {
		t.Errorf("%d and %d bytes are kept", cap(l.body), cap(l.call))
	}
	if _, _, err := l.ReadFrame(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l.body == nil || l.call == nil || l.dec == nil {
		t.Error("small buffers are not used again")
	}
	if _, _, err := l.next(); err != io.EOF {
		t.Error(err)
	}
}
