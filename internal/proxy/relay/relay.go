// Package relay passes connections on to the daemon's proxy. It runs inside the
// network namespace of a sandboxed command, where nothing but loopback is there:
// programs connect to a port of loopback, and the relay to the proxy's socket in
// the file system. It uses the standard library only, since it starts with each
// command.
package relay

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// Serve passes each connection that the listener accepts on to a Unix socket,
// until ctx ends or the listener does; then it closes the listener and all
// connections, and returns when they are gone. The error is nil if ctx ended. A
// connection that finds no daemon is closed.
func Serve(ctx context.Context, listener net.Listener, socket string) error {
	ctx, cancel := context.WithCancel(ctx)
	var passing sync.WaitGroup
	defer passing.Wait()
	defer cancel()
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	for {
		from, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil && errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		passing.Go(func() {
			to, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
			if err != nil {
				_ = from.Close()
				return
			}
			Join(ctx, from, to)
		})
	}
}

// Join passes bytes both ways between two connections until both directions have
// ended, one has failed, or ctx has ended, and closes both. It returns when both ways
// have ended. The half that has ended is told to the other side, so that a client which
// has sent all still gets its answer.
func Join(ctx context.Context, a, b net.Conn) {
	closeBoth := sync.OnceFunc(func() {
		_ = a.Close()
		_ = b.Close()
	})
	defer closeBoth()
	defer context.AfterFunc(ctx, closeBoth)()
	var other sync.WaitGroup
	pass := func(to, from net.Conn) {
		if _, err := io.Copy(to, from); err != nil || CloseWrite(to) != nil {
			closeBoth()
		}
	}
	other.Go(func() { pass(a, b) })
	pass(b, a)
	other.Wait()
}

// CloseWrite tells the other side that no more comes; a connection that cannot
// say so is closed.
func CloseWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// Environ returns the variables, as KEY=value, by which programs find the relay
// at an address. Programs that serve something for themselves reach it without. Both
// spellings are there, for programs read one or the other.
func Environ(address string) []string {
	const local = "localhost,127.0.0.1,::1"
	url := "http://" + address
	return []string{
		"HTTP_PROXY=" + url, "HTTPS_PROXY=" + url, "ALL_PROXY=" + url, "NO_PROXY=" + local,
		"http_proxy=" + url, "https_proxy=" + url, "all_proxy=" + url, "no_proxy=" + local,
		"NODE_USE_ENV_PROXY=1", // node reads the others only with it
	}
}
