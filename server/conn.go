package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/conc"
	"github.com/sourcegraph/conc/panics"
	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
)

// Config is what a connection needs from outside. Now is required.
type Config struct {
	// Now is the clock that spaces progress reports. It must be safe for
	// concurrent use. Required: Serve panics without it.
	Now func() time.Time // the clock that spaces progress reports

	// Log gets what goes wrong here: refused messages, failed requests with the
	// error that the client saw, panics with their stack. Nothing that a person
	// or a model said is logged but for error texts. nil discards it.
	Log *slog.Logger

	// Parent is the id of the process that started the daemon, if it was given
	// on the command line; 0 for none. [Peer.WatchParent] sets it later.
	Parent int

	// Watch begins to watch a process and returns what says, at each call,
	// whether it still runs; nil asks the operating system.
	Watch func(pid int) (alive func() bool)

	// Pulse is told when the read loop comes round; nil tells nobody.
	Pulse *Pulse
}

// Bounds of the end of a connection; together they leave half of the two
// seconds that a client waits (12.2) to who called Serve.
const (
	grace  = 250 * time.Millisecond // for answers owed at end of file, and then for what is queued
	linger = 500 * time.Millisecond // for handlers whose context has ended
)

// maxInFlight is the number of requests of one client that are served at once;
// the next are answered "overloaded" (REL-21), but for those of [Route.Urgent].
const maxInFlight = 256

// Serve runs one connection until the client exits or hangs up, or ctx is done,
// and says which it was. The error is nil for what a client may do; otherwise it
// says, for a log, how the connection broke.
//
// open is called once, before anything is read, and returns the whole table;
// the context that it gets ends with the connection. Serve closes rwc. It waits
// for handlers and for what is queued, each for a bounded time, and never for a
// Read or a Write of rwc that closing does not end, as on stdio: their
// goroutines stay until the process exits.
func Serve(ctx context.Context, rwc io.ReadWriteCloser, cfg Config,
	open func(context.Context, Peer) []Route) (Outcome, error) {
	if cfg.Now == nil {
		panic("server: Config.Now is required")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Watch == nil {
		cfg.Watch = watchProcess
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	c := &connection{
		ctx: ctx, end: end, cfg: cfg, log: cfg.Log, calls: newLedger(),
		room: make(chan struct{}, maxInFlight), parents: make(chan int, 1),
	}
	c.out = newOutbox(rwc, func(err error) {
		if errors.Is(err, errStalled) {
			c.finish(Stalled, err)
		} else {
			c.finish(HungUp, nil) // a write failed (EPIPE): nobody is there (REL-27)
		}
	})
	c.line = &line{
		in: bufio.NewReaderSize(rwc, maxHeader), out: c.out, calls: c.calls, asks: &c.asks,
		log: cfg.Log, done: ctx.Done(),
		tell: c.warn, ended: c.readEnded, pulse: cfg.Pulse,
	}
	c.conn = jsonrpc2.NewConn(c.line, jsonrpc2.WithCodec(wire.Codec{}))
	peer := newPeer(c)
	c.table = index(open(ctx, peer))
	if _, ok := c.table[protocol.MethodInitialize]; !ok {
		c.life.set(ready)
		c.out.unlock()
	}
	var owned conc.WaitGroup // what ends with ctx
	owned.Go(func() { c.guardWork("watch", c.watch) })
	go c.guardWork("outbox", c.out.run) // ends with out.close, a write that fails, or the process
	if cfg.Parent > 0 {
		peer.WatchParent(cfg.Parent)
	}

	// The transport's context is not the connection's: it outlives it by the
	// grace, so that answers which are ready when the client hangs up still go out.
	transport, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	c.conn.Go(transport, c.handle)
	select {
	case <-ctx.Done():
	case <-c.conn.Done():
		c.finish(HungUp, c.conn.Err())
	}
	within(c.calls.running.none(), linger)
	c.out.close()
	within(c.out.ended, grace)
	_ = rwc.Close() // what it says matters no more: all that could be written is
	owned.Wait()
	within(c.conn.Done(), grace)
	within(c.out.ended, grace)
	return c.outcome()
}

// within waits for done, for at most d.
func within(done <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// Its goroutines: the read loop, which is the transport's and calls
// line.ReadFrame and handle; one for each query that has left the read loop; the
// outbox's writer; and watch, which looks for the parent process. All but the
// writer end with ctx. The fields above initToken are set before the read loop
// begins and never change.
type connection struct {
	ctx   context.Context // ends with the connection
	end   context.CancelCauseFunc
	cfg   Config
	log   *slog.Logger
	conn  jsonrpc2.Conn
	line  *line
	out   *outbox
	table map[string]Route
	life  lifecycle
	calls *ledger // the client's, that we have not answered
	asks  asks    // ours, that the client has not answered

	initToken atomic.Pointer[[]byte] // workDoneToken of initialize, as the client wrote it

	tokens atomic.Int64 // progress tokens of ours

	room    chan struct{} // one for each call off the read loop
	parents chan int      // process ids to watch; capacity 1
}

// ended is the cause of a connection's context.
type ended struct {
	how Ending
	err error // nil if there is nothing wrong
}

func (e ended) Error() string { return "the connection has ended: " + e.how.String() }

// finish ends the connection; the first reason counts. It does not wait and may
// be called from any goroutine, also by one that Serve waits for.
func (c *connection) finish(how Ending, err error) { c.end(ended{how, err}) }

// warn shows the person a warning. It does not wait.
func (c *connection) warn(text string) {
	p := &protocol.ShowMessageParams{Type: protocol.MessageTypeWarning, Message: text}
	_ = c.notify(c.ctx, protocol.MethodWindowShowMessage, p) // a client that is gone needs no warning
}

// readEnded is told by the line that nothing more can be read, and why. It
// decides between a client that hung up and one whose headers cannot be followed
// any more, since only the second is worth a line in the log of whoever started
// the daemon.
func (c *connection) readEnded(err error) {
	switch {
	case errors.Is(err, errUnframed):
		c.finish(Desynced, err)
	case errors.Is(err, io.EOF):
		c.finish(HungUp, nil)
	default:
		c.finish(HungUp, err)
	}
}

// outcome says how the connection ended. It is called after ctx has ended; a
// context that the caller of Serve ended is Stopped, which is no error.
func (c *connection) outcome() (Outcome, error) {
	o := Outcome{Ending: Stopped, ShutDown: c.life.is() == shutDown}
	e, ok := errors.AsType[ended](context.Cause(c.ctx))
	if !ok {
		return o, nil
	}
	o.Ending = e.how
	c.log.Info("connection ended", "how", e.how.String(), "err", e.err)
	return o, e.err
}

// guardWork runs a goroutine of the connection's own. A panic in it is a bug that
// ends the connection, not the process (REL-31).
func (c *connection) guardWork(what string, do func()) {
	var catch panics.Catcher
	catch.Try(do)
	if r := catch.Recovered(); r != nil {
		c.log.Error("panic", "in", what, "bug", fault.BugID(r.Callers), "stack", fault.PanicText(r.Value, r.Stack))
		c.finish(HungUp, fmt.Errorf("%s: %w", what, r.AsError()))
	}
}

// message is one request or notification of the client's on its way to a row.
type message struct {
	route  Route
	served bool   // there is a row
	method string // the row's own name, or a copy
	params []byte // a view of the frame; for the read loop only
}

// handle serves one message. It runs on the read loop until it calls Async.
// The request's context goes there and nowhere else, and nothing of the request
// is looked at afterwards: its method is a view of a frame that is gone by then.
func (c *connection) handle(request context.Context, req *jsonrpc2.Request) (any, error) {
	m := message{params: req.Params()}
	if m.route, m.served = c.table[req.Method()]; m.served {
		m.method = m.route.Method
	} else {
		m.method = clip(strings.Clone(req.Method()))
	}
	if !req.IsCall() {
		if err := c.serveNotification(m); err != nil {
			c.log.Warn("notification failed", "method", m.method, "err", err)
		}
		return nil, nil // an error would close the connection
	}
	n, _ := req.ID().Number()
	ctx, end := c.calls.begin(c.ctx, n)
	defer end()
	result, err := c.serveCall(ctx, request, n, m)
	if err != nil {
		e := errorObject(ctx, err)
		level := slog.LevelDebug
		if e.Code == jsonrpc2.InternalError {
			level = slog.LevelError
		}
		c.log.Log(ctx, level, "request failed", "method", m.method, "code", int(e.Code), "err", err)
		return nil, e
	}
	return jsonrpc2.RawMessage(result), nil
}

// serveNotification serves a notification. What no row serves is ignored: a newer
// client's must not end the session.
// The error is for the log: the caller returns nil to the transport, which would
// close the connection otherwise.
func (c *connection) serveNotification(m message) error {
	switch {
	case m.method == protocol.MethodCancelRequest:
		return c.cancelRequest(m.params)
	case m.method == protocol.MethodExit:
		defer c.finish(Exited, nil) // whatever comes of the row
	case c.life.refuses(m.method) != nil:
		c.log.Debug("notification dropped", "method", m.method, "why", "not now")
		return nil
	case m.served && m.route.kind != notify:
		c.log.Warn("request without an id dropped", "method", m.method)
		return nil
	}
	if !m.served {
		return nil
	}
	_, err := guard(c, m.method, func() (any, error) {
		give, err := c.bind(m)
		if err != nil {
			return nil, err
		}
		return give(c.ctx)
	})
	return err
}

// serveCall serves request n and returns its result as JSON. ctx is the call's.
//
// It runs on the read loop and, for a query, leaves it in answer. Refusals are
// made here before the parameters are looked at, cheapest first: a notification's
// name, the lifecycle, an unknown method, too many at once. The client finds
// [fault.Misplaced], [fault.NotReady], [fault.Unserved] and [fault.Unavailable]
// with reason overloaded for them.
func (c *connection) serveCall(ctx, request context.Context, n int64, m message) ([]byte, error) {
	if m.method == protocol.MethodCancelRequest || m.method == protocol.MethodExit ||
		(m.served && m.route.kind == notify) {
		return nil, fault.New(fault.Misplaced, "server.handle", "%s is a notification and has no id", m.method)
	}
	if err := c.life.refuses(m.method); err != nil {
		return nil, err
	}
	if !m.served {
		return nil, fault.New(fault.Unserved, "server.handle", "the method %s is not known here", m.method)
	}
	if m.route.kind == query && !m.route.urgent {
		select {
		case c.room <- struct{}{}:
			defer func() { <-c.room }()
		default:
			return nil, fault.New(fault.Unavailable, "server.handle",
				"%d requests are being served already; ask again when some have been answered",
				maxInFlight).Because(fault.Overloaded)
		}
	}
	switch m.method {
	case protocol.MethodInitialize:
		return c.initialize(ctx, n, m)
	case protocol.MethodShutdown:
		defer c.life.set(shutDown) // whatever comes of it
	}
	return c.answer(ctx, request, n, m)
}

// initialize serves the request of that name, after which everything is served
// and sent, unless it fails.
// The mark comes before the state changes: whoever sees ready may send, and what
// it sends must wait behind the answer. When it fails the state goes back, so
// that the client may send another initialize.
func (c *connection) initialize(ctx context.Context, n int64, m message) ([]byte, error) {
	if token := member(m.params, "workDoneToken"); token != nil {
		c.initToken.Store(&token)
	}
	c.life.set(initializing)
	result, err := c.answer(ctx, nil, n, m)
	if err != nil {
		c.life.set(created)
		return nil, err
	}
	c.calls.mark(n, false, true)
	c.life.set(ready)
	return result, nil
}

// answer runs both halves of a request; request is not used by one that is
// answered on the read loop.
//
// Both halves run under guard, each by itself, since they run on two goroutines.
// A result that cannot be marshalled is a bug of ours and told as one; the Go
// types in its error go to the log only.
func (c *connection) answer(ctx, request context.Context, n int64, m message) ([]byte, error) {
	give, err := guard(c, m.method, func() (answer, error) { return c.bind(m) })
	if err != nil {
		return nil, err
	}
	c.calls.mark(n, m.route.stream, false)
	if m.route.kind == query {
		jsonrpc2.Async(request) // the read loop goes on without us
	}
	return guard(c, m.method, func() ([]byte, error) {
		v, err := give(ctx)
		if err != nil {
			return nil, err
		}
		var then func()
		if a, ok := v.(Answer); ok {
			v, then = a.Result, a.Then
		}
		raw, err := wire.Codec{}.Marshal(v)
		if err != nil { // says Go types, which are not for the wire
			c.log.Error("result is no JSON", "method", m.method, "err", err)
			return nil, fault.New(fault.Internal, "server.answer",
				"%s has a result that cannot be sent; this is a bug in agentls, and the log has the details", m.method)
		}
		c.calls.then(n, then)
		return raw, nil
	})
}

// bind runs a row's half on the read loop.
// A member that stands twice in the parameters is refused before any row sees
// them: two readers of the same bytes could otherwise take different values of
// it.
func (c *connection) bind(m message) (answer, error) {
	if at, ok := strings.CutPrefix(string(c.line.repeated), "/params"); ok {
		return nil, repetitionError(m.method, at)
	}
	return m.route.bind(m.params)
}

// clip shortens what a client sent to what fits into a sentence about it.
func clip(s string) string {
	if len(s) > 200 {
		return strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}

// cancelRequest serves $/cancelRequest on the read loop. An id that nobody waits
// for is no error: the answer may have crossed with it on the way.
func (c *connection) cancelRequest(params []byte) error {
	// Not protocol.CancelParams: its integer is an int32, and an id beyond that
	// would never be found.
	id, _ := envelope(params)
	view, err := jsonrpc2.ScanMessageView([]byte(`{"jsonrpc":"2.0","id":` + id + `,"result":0}`))
	if err != nil || !view.ID.IsValid() {
		return fault.New(fault.Invalid, "server.cancel", "$/cancelRequest names no id")
	}
	if same, ok := sameID(view.ID); ok {
		c.calls.cancel(same)
	}
	return nil
}

// guard keeps one broken feature from ending the session: a panic in do becomes
// a [fault.Internal] error with a short id, under which its stack is in the log
// (REL-20). The panic's value stays in the log as well: it may quote anything.
func guard[T any](c *connection, method string, do func() (T, error)) (result T, err error) {
	var catch panics.Catcher
	catch.Try(func() { result, err = do() })
	if r := catch.Recovered(); r != nil {
		id := fault.BugID(r.Callers)
		c.log.Error("panic in handler", "method", method, "bug", id, "stack", fault.PanicText(r.Value, r.Stack))
		bug := fault.New(fault.Internal, "server.guard",
			"%s failed because of a bug in agentls; report it with the id %s, under which the log has the details",
			method, id)
		bug.Data = map[string]any{"bug": id}
		return result, bug
	}
	return result, err
}
