package faults_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentls/agentls/internal/faults"
)

func clock() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// buffer is a connection whose other end is two buffers; it notes the pieces.
type buffer struct {
	from   bytes.Buffer
	to     []string
	closed bool
}

func (b *buffer) Read(p []byte) (int, error) { return b.from.Read(p) }
func (b *buffer) Write(p []byte) (int, error) {
	b.to = append(b.to, string(p))
	return len(p), nil
}
func (b *buffer) Close() error {
	b.closed = true
	return os.ErrClosed
}

func TestWhatIsReadIsCutAtTheByte(t *testing.T) {
	for at, want := range map[int64]string{1: "", 2: "1", 5: "1234", 8: "1234567", 9: "12345678", 10: "12345678", 0: "12345678"} {
		b := &buffer{from: *bytes.NewBufferString("12345678")}
		c := faults.Break(b, faults.Plan{In: faults.Way{CutAt: at, Err: syscall.ECONNRESET}})
		got, err := io.ReadAll(c)
		ended := errors.Is(err, syscall.ECONNRESET)
		if string(got) != want || ended != (at > 0 && at <= 9) || b.closed != ended {
			t.Errorf("at byte %d: %q, %v, closed %v", at, got, err, b.closed)
		}
	}
}

func TestWhatIsWrittenIsCutAtTheByteAndSplit(t *testing.T) {
	b := &buffer{}
	c := faults.Break(b, faults.Plan{Out: faults.Way{Piece: 3, CutAt: 9}})
	if n, err := c.Write([]byte("12345")); n != 5 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := c.Write([]byte("6789")); n != 3 || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%d, %v", n, err)
	}
	if got := b.to; len(got) != 3 || got[0] != "123" || got[1] != "45" || got[2] != "678" || !b.closed {
		t.Errorf("%q, closed %v", got, b.closed)
	}
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("the other way is open: %d, %v", n, err)
	}
	if err := c.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v", err)
	}
}

func TestReadsComeInPieces(t *testing.T) {
	c := faults.Break(&buffer{from: *bytes.NewBufferString("12345")}, faults.Plan{In: faults.Way{Piece: 2}})
	var pieces []string
	for {
		p := make([]byte, 10)
		n, err := c.Read(p)
		if err != nil {
			break
		}
		pieces = append(pieces, string(p[:n]))
	}
	if len(pieces) != 3 || pieces[0] != "12" || pieces[2] != "5" {
		t.Errorf("%q", pieces)
	}
}

func TestAStallEndsByResumeOrClose(t *testing.T) {
	for _, end := range []string{"resume", "close"} {
		t.Run(end, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				defer far.Close()
				c := faults.BreakConn(near, faults.Plan{In: faults.Way{StallAt: 3}})
				defer c.Close()
				var got []byte
				var failed error
				done := make(chan struct{})
				go func() {
					defer close(done)
					got, failed = io.ReadAll(c)
				}()
				if _, err := far.Write([]byte("12")); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				select {
				case <-c.Stalled():
				default:
					t.Error("it has not stalled")
				}
				select {
				case <-done:
					t.Error("it reads on")
				default:
				}
				if end == "close" {
					_ = c.Close() // a pipe closes without an error
					<-done
					if string(got) != "12" || failed != nil {
						t.Errorf("%q, %v", got, failed)
					}
					return
				}
				c.Resume()
				c.Resume() // is none the second time
				if _, err := far.Write([]byte("345")); err != nil {
					t.Error(err)
				}
				_ = far.Close()
				<-done
				if string(got) != "12345" || failed != nil {
					t.Errorf("%q, %v", got, failed)
				}
			})
		})
	}
}

func TestANetConnIsOne(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	var c net.Conn = faults.BreakConn(near, faults.Plan{Out: faults.Way{CutAt: 1, Err: syscall.EPIPE}})
	if n, err := c.Write([]byte("x")); n != 0 || !errors.Is(err, syscall.EPIPE) {
		t.Errorf("%d, %v: the pipe's own Write has answered", n, err)
	}
	if c.RemoteAddr().Network() != "pipe" || c.SetDeadline(time.Time{}) == nil {
		t.Error("address or deadline are not the pipe's, which is closed")
	}
}
