package faults

import (
	"io"
	"net"
	"sync"
)

// Way is what goes wrong in one direction of a connection. The zero Way lets all
// pass as it comes.
type Way struct {
	// Piece is how many bytes pass at once at most; 0 is no bound.
	Piece int
	// StallAt is the byte, counted from 1, before which nothing passes until
	// [Conn.Resume] or Close; 0 is never.
	StallAt int64
	// CutAt is the byte, counted from 1, that does not pass any more: the
	// connection breaks there, for both ends and both ways; 0 is never.
	CutAt int64
	// Err is what the direction then gives. Nil is io.EOF for reading and
	// io.ErrClosedPipe for writing.
	Err error
}

// Plan is what goes wrong with a connection.
type Plan struct {
	In  Way // what is read from it
	Out Way // what is written to it
}

// Conn is a connection with faults. Reading and writing may go on at once, each
// from one goroutine at a time.
type Conn struct {
	under io.ReadWriteCloser

	once    sync.Once
	closed  chan struct{}
	failure error // of the first Close
	in, out passage

	mu       sync.Mutex
	resumed  chan struct{} // closed by Resume
	stalled  chan struct{} // closed when something stalls first
	released bool
	waited   bool
}

// passage is a direction's Way and what has passed. It is its goroutine's.
type passage struct {
	Way
	passed int64
}

// Break puts a plan into a connection, which the Conn owns then.
func Break(under io.ReadWriteCloser, plan Plan) *Conn {
	return &Conn{
		under: under, closed: make(chan struct{}),
		in: passage{Way: plan.In}, out: passage{Way: plan.Out},
		resumed: make(chan struct{}), stalled: make(chan struct{}),
	}
}

// Resume ends all stalls, also those that have not begun.
func (c *Conn) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.released {
		c.released = true
		close(c.resumed)
	}
}

// Stalled returns a channel that is closed when a direction has stalled.
func (c *Conn) Stalled() <-chan struct{} { return c.stalled }

// Read reads what passes.
func (c *Conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	room, err := c.room(&c.in, len(p), io.EOF)
	if err != nil {
		return 0, err
	}
	n, err := c.under.Read(p[:room])
	c.in.passed += int64(n)
	return n, err
}

// Write writes what passes, in pieces.
func (c *Conn) Write(p []byte) (int, error) {
	written := 0
	for written < len(p) {
		room, err := c.room(&c.out, len(p)-written, io.ErrClosedPipe)
		if err != nil {
			return written, err
		}
		n, err := c.under.Write(p[written : written+room])
		written += n
		c.out.passed += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// room returns how many of n bytes pass now, at least one. It waits while the
// direction is stalled, and breaks the connection where it is cut.
func (c *Conn) room(p *passage, n int, broken error) (int, error) {
	if p.Err != nil {
		broken = p.Err
	}
	select {
	case <-c.closed:
		return 0, broken
	default:
	}
	if p.CutAt > 0 && p.passed >= p.CutAt-1 {
		_ = c.Close() // it breaks: its error is nobody's
		return 0, broken
	}
	if p.StallAt > 0 {
		if p.passed >= p.StallAt-1 {
			c.stall()
			select {
			case <-c.resumed:
				p.StallAt = 0
			case <-c.closed:
				return 0, broken
			}
		} else {
			n = min(n, int(p.StallAt-1-p.passed))
		}
	}
	if p.CutAt > 0 {
		n = min(n, int(p.CutAt-1-p.passed))
	}
	if p.Piece > 0 {
		n = min(n, p.Piece)
	}
	return n, nil
}

func (c *Conn) stall() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.waited {
		c.waited = true
		close(c.stalled)
	}
}

// Close closes the connection and ends what is stalled. Closing twice gives the
// first error again.
func (c *Conn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.failure = c.under.Close()
	})
	return c.failure
}

// NetConn is a [Conn] over a network's connection. Addresses and deadlines are
// the network's; a deadline does not end a stall.
type NetConn struct {
	*Conn
	conn // its Read, Write and Close are not the ones that count: they lie deeper
}

// conn hides the methods that a Conn has.
type conn struct{ net.Conn }

// BreakConn puts a plan into a network's connection, which the NetConn owns
// then.
func BreakConn(under net.Conn, plan Plan) *NetConn {
	return &NetConn{Break(under, plan), conn{under}}
}
