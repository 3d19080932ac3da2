package proxy

import (
	"context"
	"io"
	"net"
	"sync"

	"github.com/agentls/agentls/internal/proxy/relay"
)

// conn is a connection that is read in another way.
type conn struct {
	net.Conn
	reader  io.Reader
	onClose func() // may be nil; may be called more than once
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
// after the time for one, and calls leave when it is.
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

// queue is the listener of an HTTP server whose connections others accept.
type queue struct {
	conns chan net.Conn
	ctx   context.Context
	at    net.Addr
}

// put hands a connection to the server.
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
