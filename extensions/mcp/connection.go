package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/tool"
)

// times are how long is waited for servers (spec 9.1, 12.2).
// Tests have shorter ones; see [usual].
type times struct {
	connect time.Duration // until a server has been started and has listed its tools
	silence time.Duration // of a call without progress
	closing time.Duration // from the end of its input until a server is killed
	write   time.Duration // until a server has read a message
	ping    time.Duration // between pings, and until a ping is answered
	idle    time.Duration // from the last use until a server is ended
	first   time.Duration // backoff; doubles up to most
	most    time.Duration
	list    time.Duration // between two readings of the list of tools
	settle  time.Duration // in which a server that was never seen may change its list
}

// usual are the times of a daemon.
var usual = times{
	connect: 10 * time.Second, silence: 60 * time.Second, closing: 2 * time.Second, write: 10 * time.Second,
	ping: 30 * time.Second,
	idle: 10 * time.Minute, first: time.Second, most: time.Minute, list: time.Second, settle: 2 * time.Second,
}

// lastWait is how long servers are waited for when all are closed.
// Shutting down the daemon is not to wait for servers that do not end by themselves.
const lastWait = 500 * time.Millisecond

// The limits of a list of tools.
const (
	maxTools = 512
	maxPages = 50
	maxLeft  = 100 // of which it is told why they are left out
)

// connection is a server that runs.
// Its entry owns it; the package's documentation has how it ends. All fields above mu
// are set by [connect] before others see them, but for why, which may be read once
// dead is closed.
type connection struct {
	entry  *entry
	server Server
	client *client.Client
	began  time.Time
	stderr *ring

	name, version string // as the server says
	hasPrompts    bool
	hasTools      bool

	life context.Context
	end  context.CancelFunc // of life: kills the process and all that it started, or ends each request
	gone chan struct{}      // closed when nothing of it is left
	dead chan struct{}      // closed when no call can be answered any more
	die  func(why error)    // closes dead, once
	why  error              // set before dead is closed
	work conc.WaitGroup     // its goroutines but those of the library
	in   *os.File           // what the process reads; nil over HTTP
	open atomic.Int64       // its requests that it has read no answer to

	bye     sync.Once
	idle    func()                 // over HTTP: closes connections that are kept
	refused atomic.Pointer[string] // over HTTP: the status of the newest answer that was none

	changed chan struct{} // capacity 1: its list of tools has

	mu       sync.Mutex
	progress map[string]func(string) // by token; guarded by mu
	tokens   int
	calls    int       // that go on; guarded by mu
	used     time.Time // guarded by mu
	asking   []*asking // the calls that go on; guarded by mu
	closed   bool      // nothing is begun any more; guarded by mu
}

// recorder is a transport over stdio that also keeps results as the server wrote them.
type recorder struct{ *transport.Stdio }

// SendRequest implements [transport.Interface].
func (r recorder) SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse,
	error) {
	response, err := r.Stdio.SendRequest(ctx, request)
	return keep(ctx, response, err)
}

// rawKey is the key of the place where keep puts a result, in a context.
type rawKey struct{}

// keep keeps a result where [keepRaw] asked for it.
func keep(ctx context.Context, response *transport.JSONRPCResponse, err error) (*transport.JSONRPCResponse, error) {
	if raw, ok := ctx.Value(rawKey{}).(*[]byte); ok && err == nil && response.Error == nil {
		*raw = response.Result
	}
	return response, err
}

// keepRaw returns a context with which the result of a request is kept.
// What it returns is written when the request has been answered. Whoever leaves the
// request behind, as [connection.await] may, must not read it: the answer can still
// come.
func keepRaw(ctx context.Context) (context.Context, *[]byte) {
	raw := new([]byte)
	return context.WithValue(ctx, rawKey{}, raw), raw
}

// connect starts a server and greets it. stderr gets what it prints.
// It returns soon after ctx has ended. The connection lives on beyond ctx, until it is
// closed; where there is an error nothing is left of it.
func connect(ctx context.Context, e *entry, s Server, stderr *ring) (*connection, error) {
	c := &connection{
		entry: e, server: s, stderr: stderr, began: e.all.Now(), gone: make(chan struct{}), dead: make(chan struct{}),
		changed:  make(chan struct{}, 1),
		progress: make(map[string]func(string)), used: e.all.Now(),
	}
	var once sync.Once
	c.die = func(why error) {
		once.Do(func() {
			c.why = why
			close(c.dead)
		})
	}
	c.life, c.end = context.WithCancel(e.all.ctx)
	open := c.start
	if s.Via != "" {
		open = c.dial
	}
	wire, err := open(ctx)
	if err != nil {
		c.end()
		return nil, err
	}
	// A server of an older version may not answer what the library asks first: that must leave
	// time for the greeting it knows.
	options := []client.ClientOption{client.WithDiscoverTimeout(e.all.times.connect / 3)}
	if s.Via == overSSE { // the library answers no requests there, and servers of that time know no new version
		//lint:ignore SA1019 servers over SSE are older than what replaced it
		options = append(options, client.WithLegacyProtocolOnly())
	} else {
		options = append(options, client.WithRootsHandler(roots{e.all.Roots}),
			client.WithElicitationHandler(elicitor{c}))
		if s.Sampling {
			options = append(options, client.WithSamplingHandler(sampler{c}))
		}
	}
	c.client = client.NewClient(wire, options...)
	if err := c.greet(ctx); err != nil {
		c.die(err)
		c.close()
		// The library's error of a greeting that took too long is that of a context, which says
		// nothing to the person.
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("it did not answer within %v", e.all.times.connect)
		default:
			return nil, err
		}
	}
	c.work.Go(c.watch)
	return c, nil
}

// greet begins the protocol.
// It also subscribes to changes of the lists, where the server speaks a version that
// has subscriptions.
// Every step of it ends with ctx; what goes on after it ends with the connection.
func (c *connection) greet(ctx context.Context) error {
	// The library's goroutines are not to end with the greeting.
	if err := c.await(ctx, func() error { return c.client.Start(c.life) }); err != nil {
		return err
	}
	var request mcp.InitializeRequest
	request.Params.ClientInfo = mcp.Implementation{Name: "agentls", Version: c.entry.all.Version}
	// Over SSE nothing is announced that the server could then ask for: the library answers
	// no requests there.
	if c.server.Via != overSSE {
		request.Params.Capabilities.Elicitation = &mcp.ElicitationCapability{Form: new(struct{}), URL: new(struct{})}
	}
	var result *mcp.InitializeResult
	err := c.await(ctx, func() (err error) {
		result, err = c.client.Initialize(ctx, request)
		return err
	})
	if err != nil {
		return err
	}
	c.name, c.version = description(result.ServerInfo.Name), description(result.ServerInfo.Version)
	c.hasPrompts, c.hasTools = result.Capabilities.Prompts != nil, result.Capabilities.Tools != nil
	if mcp.IsModernProtocol(result.ProtocolVersion) {
		p, t := result.Capabilities.Prompts, result.Capabilities.Tools
		changes := mcp.SubscriptionFilter{ToolsListChanged: t != nil &&
			t.ListChanged, PromptsListChanged: p != nil && p.ListChanged}
		if !changes.IsEmpty() { // the stream ends with the connection
			_, err = c.client.ListenAsync(c.life, changes, func(err error) {
				c.entry.all.Log.Warn("an MCP server tells no changes any more", "server", c.server.Name,
					"err", errorText(err))
			})
		}
	}
	return err
}

// await runs do, and returns when it has, when ctx ends or when the server is
// dead: a message may be stuck in the pipe to it.
// Where the server is dead its reason is returned. do may go on after await has
// returned, so it must write only what nobody reads without its result; close waits
// for it.
func (c *connection) await(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	// Under the lock that close takes: either close waits for this goroutine, or it is not
	// begun.
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return c.why
	}
	c.work.Go(func() {
		err := do()
		if err != nil && c.server.Via != "" {
			var fatal bool
			if err, fatal = c.explain(err); fatal {
				c.die(err)
			}
		}
		done <- err
	})
	c.mu.Unlock()
	select {
	case err := <-done:
		if errors.Is(err, transport.ErrTransportClosed) || errors.Is(err, syscall.EPIPE) {
			select {
			case <-c.dead: // the end of its output, which says more
				return c.why
			case <-ctx.Done():
			}
		}
		return err
	case <-c.dead:
		return c.why
	case <-ctx.Done():
		select {
		case err := <-done:
			return err
		default:
			return context.Cause(ctx)
		}
	}
}

// watch pings the server, reads its list again when it has changed, and ends it
// when nobody has used it for long.
// It returns when the connection is dead.
func (c *connection) watch() {
	all := c.entry.all
	// The ticker also bounds how long after its time an idle server is ended.
	ping := time.NewTicker(all.times.ping)
	defer ping.Stop()
	for {
		select {
		case <-c.dead:
			return
		case <-c.changed:
			c.entry.relist(c)
			select {
			case <-time.After(all.times.list): // however often it says so (SEC-84, REL-86)
			case <-c.dead:
				return
			}
		case <-ping.C:
			c.mu.Lock()
			busy, used := c.calls > 0, c.used
			c.mu.Unlock()
			if busy {
				continue // a call has limits of its own, and a server may do one thing at a time
			}
			if all.Now().Sub(used) >= all.times.idle {
				c.die(errIdle)
				return
			}
			ctx, cancel := context.WithTimeout(all.ctx, all.times.ping)
			err := c.await(ctx, func() error {
				//lint:ignore SA1019 the versions before 2026-07-28, which servers speak, have no other sign of life
				return c.client.Ping(ctx)
			})
			if ctx.Err() != nil && all.ctx.Err() == nil {
				c.die(fmt.Errorf("it answered no ping for %v", all.times.ping))
			}
			cancel()
			_ = err // an error is an answer
		}
	}
}

// errIdle says that a server was ended since nobody used it.
var errIdle = errors.New("nobody used it for a while")

// close ends the server: it is to end by itself when its input does, and is
// killed with all that it started when it does not. One over HTTP is told that its
// session is over. It waits for that.
// It may be called several times, also at once; each call returns when nothing is
// left. The context of [Servers] ends the patience: then the server is killed at once.
func (c *connection) close() {
	c.die(errors.New("it was stopped"))
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	// A server over stdio is told by the end of its input; one that does not heed it is
	// killed below.
	if c.in != nil {
		_ = c.in.Close() // also while something is written to it
	} else {
		c.bye.Do(func() {
			c.work.Go(func() {
				_ = c.client.Close() // tells the server that the session is over
				c.idle()
				close(c.gone)
			})
		})
	}
	patience := c.entry.all.times.closing
	if c.entry.all.starts.Err() != nil {
		patience = min(patience, lastWait)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-c.gone:
	case <-timer.C:
	case <-c.entry.all.ctx.Done():
	}
	// Whether it ended by itself or not: what it started may have stayed.
	c.end()
	<-c.gone
	_ = c.client.Close() // its input is closed already
	c.work.Wait()
}

// roots answers which folders a server may look at.
type roots struct{ folders func() []string }

// ListRoots implements [client.RootsHandler].
func (r roots) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	result := &mcp.ListRootsResult{Roots: []mcp.Root{}}
	for _, folder := range r.folders() {
		result.Roots = append(result.Roots, mcp.Root{URI: tool.URI(folder), Name: filepath.Base(folder)})
	}
	return result, nil
}
