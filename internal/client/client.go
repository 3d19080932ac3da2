// Package client speaks to a daemon as an editor does: it is the other end of
// package server, for `agentls run`, `agentls demo` and the fake editor of the
// tests.
//
// # Order
//
// Notifications are handed over one at a time in the order in which they came,
// on the goroutine that reads; a handler of one must return soon and must not
// call the daemon. Requests of the daemon's are answered on goroutines of their
// own, which [Client.Close] waits for.
//
// It must not import anything that runs agents: what it knows of the daemon is
// the protocol.
package client

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/sourcegraph/conc/panics"
	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/internal/wire"
)

// Config says what a client does with what the daemon sends.
type Config struct {
	// Notified takes a notification. params is valid until it returns. nil
	// drops them.
	Notified func(method string, params []byte)
	// Asked answers a request of the daemon's. ctx ends when the daemon
	// withdraws the request or the connection ends. An error that is a
	// *jsonrpc2.Error is sent as it is. nil answers method not found.
	Asked func(ctx context.Context, method string, params []byte) (any, error)
}

// Client is one connection to a daemon. It is safe for concurrent use.
type Client struct {
	rwc    io.ReadWriteCloser
	conn   jsonrpc2.Conn
	config Config
	ctx    context.Context
	end    context.CancelFunc

	mu    sync.Mutex
	asked map[string]context.CancelFunc // requests of the daemon's that are being answered
	work  sync.WaitGroup
}

// New starts a client on rwc, which it owns. ctx ends the connection.
func New(ctx context.Context, rwc io.ReadWriteCloser, config Config) *Client {
	ctx, end := context.WithCancel(ctx)
	c := &Client{rwc: rwc, config: config, ctx: ctx, end: end, asked: make(map[string]context.CancelFunc)}
	c.conn = jsonrpc2.NewConn(jsonrpc2.NewHeaderStream(rwc), jsonrpc2.WithCodec(wire.Codec{}))
	c.conn.Go(ctx, c.handle)
	return c
}

// Call sends a request and waits for its answer. If ctx ends first the daemon
// is told that nobody waits for it. result may be nil.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	return protocol.Call(ctx, c.conn, method, params, result)
}

// Notify sends a notification.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	return c.conn.Notify(ctx, method, params)
}

// Initialize shakes hands and returns what the daemon can do.
func (c *Client) Initialize(ctx context.Context, p *protocol.InitializeParams) (*protocol.InitializeResult, error) {
	result := new(protocol.InitializeResult)
	if err := c.Call(ctx, protocol.MethodInitialize, p, result); err != nil {
		return nil, err
	}
	return result, c.Notify(ctx, protocol.MethodInitialized, &protocol.InitializedParams{})
}

// Shutdown asks the daemon to end, and tells it to exit.
func (c *Client) Shutdown(ctx context.Context) error {
	if err := c.Call(ctx, protocol.MethodShutdown, nil, nil); err != nil {
		return err
	}
	return c.Notify(ctx, protocol.MethodExit, nil)
}

// Done is closed when the connection has ended.
func (c *Client) Done() <-chan struct{} { return c.conn.Done() }

// Close hangs up and waits for the answers that are being made. Calls that wait
// for the daemon fail.
func (c *Client) Close() error {
	_ = c.rwc.Close() // first: the transport's own Close waits for calls that are open
	c.end()
	err := c.conn.Close()
	c.work.Wait()
	return err
}

func (c *Client) handle(request context.Context, req *jsonrpc2.Request) (any, error) {
	if !req.IsCall() {
		switch {
		case req.Method() == protocol.MethodCancelRequest:
			c.withdraw(req.Params())
		case c.config.Notified != nil:
			c.config.Notified(strings.Clone(req.Method()), req.Params())
		}
		return nil, nil
	}
	method, params, id := strings.Clone(req.Method()), append([]byte(nil), req.Params()...), keyOf(req.ID())
	if c.config.Asked == nil {
		return nil, jsonrpc2.ErrMethodNotFound
	}
	// The context comes from the connection: the transport recycles the
	// request's when this function returns.
	ctx, cancel := context.WithCancel(c.ctx)
	c.mu.Lock()
	c.asked[id] = cancel
	c.mu.Unlock()
	c.work.Add(1)
	defer func() {
		c.mu.Lock()
		delete(c.asked, id)
		c.mu.Unlock()
		cancel()
		c.work.Done()
	}()
	jsonrpc2.Async(request)
	var result any
	var err error
	var caught panics.Catcher
	caught.Try(func() { result, err = c.config.Asked(ctx, method, params) })
	if p := caught.Recovered(); p != nil {
		return nil, jsonrpc2.Errorf(jsonrpc2.InternalError, "%v", p.Value)
	}
	return result, err
}

// keyOf names a request of the daemon's as the id of $/cancelRequest does.
func keyOf(id jsonrpc2.ID) string {
	if n, ok := id.Number(); ok {
		return fmt.Sprint(float64(n))
	}
	s, _ := id.StringValue()
	return s
}

// withdraw ends the context of a request that the daemon no longer waits for.
func (c *Client) withdraw(params []byte) {
	var p struct {
		ID any `json:"id"` // a string, or a number of the daemon's: small enough for a float64
	}
	if protocol.Unmarshal(params, &p) != nil {
		return
	}
	c.mu.Lock()
	cancel := c.asked[fmt.Sprint(p.ID)]
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}
