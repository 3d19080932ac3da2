package proxy

import (
	"context"
	"io"
	"net"
	"sync"

	"github.com/agentls/agentls/internal/proxy/relay"
)

// conn is a connection that is read in another way. Its halves are those of the
// connection below.
type conn struct {
	net.Conn
	reader io.Reader
	// May be nil; may be called more than once. Called before the connection is closed.
	onClose func()
}

// Read implements [net.Conn].
func (c *conn) Read(b []byte) (int, error) { return c.reader.Read(b) }

// Close implements [net.Conn].
func (c *conn) Close() error {
	if c.onClose != nil {
		c.onClose()
	}
	return c.Conn.Close()
}

// CloseWrite ends the sending half.
func (c *conn) CloseWrite() error { return relay.CloseWrite(c.Conn) }

// reader is a Read method.
type reader func(b []byte) (int, error)

// Read implements [io.Reader].
func (r reader) Read(b []byte) (int, error) { return r(b) }

// limit returns a client's connection, which is closed when the proxy ends and
// after the time for one, and calls leave when it is. Whoever serves the connection
// closes it; leave gives its place to the next.
func (p *server) limit(accepted net.Conn, leave func()) *conn {
	c := &conn{Conn: accepted, reader: accepted}
	ctx, cancel := context.WithTimeout(p.ctx, p.Total)
	c.onClose = sync.OnceFunc(func() {
		cancel()
		leave()
	})
	context.AfterFunc(ctx, func() { _ = c.Close() }) // after onClose is set: ctx may have ended already
	return c
}

// queue is the listener of an HTTP server whose connections others accept. net/http
// insists on a listener, and the first byte has to be looked at before it is known
// whether a connection is for it.
type queue struct {
	conns chan net.Conn
	ctx   context.Context
	at    net.Addr
}

// put hands a connection to the server. It waits until the server takes it or the proxy
// ends.
func (q *queue) put(c net.Conn) {
	select {
	case q.conns <- c:
	case <-q.ctx.Done():
		_ = c.Close()
	}
}

// Accept implements [net.Listener].
func (q *queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener]; the queue ends with its context.
func (q *queue) Close() error { return nil }

// Addr implements [net.Listener].
func (q *queue) Addr() net.Addr { return q.at }
