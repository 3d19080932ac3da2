package server

import (
	"bytes"
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
)

// Peer is the client at the other end, as handlers speak to it. The zero Peer
// is not useful; [Serve] makes one. All of it may be used from any goroutine
// and copied.
//
// A call back to the client may be made from a [Query]'s answer or a goroutine
// of one's own, never from the read loop, which would bring the reply. Its
// context must not be a jsonrpc2 request's; the one that a handler gets is fine.
//
// What is sent before the initialize reply is held back until then, except what
// LSP allows: window/showMessage, window/logMessage, window/showMessageRequest,
// telemetry/event, and $/progress on the token of the initialize request.
type Peer struct {
	protocol.Client // the methods that LSP defines, over Call and Notify
	c               *connection
}

func newPeer(c *connection) Peer { return Peer{protocol.ClientDispatcher(dispatched{c}), c} }

// Notify sends a notification in the first lane: in order with other
// notifications, calls and answers, ahead of what NotifyRaw has queued. It does
// not wait for the client, and fails if the connection has ended or params are
// no JSON. ctx is looked at only before it is queued.
func (p Peer) Notify(ctx context.Context, method string, params any) error {
	return p.c.notify(ctx, method, params)
}

// NotifyRaw sends a notification in the stream lane: in order with other calls
// of NotifyRaw and with answers of rows that are [Route.InStream], behind
// everything else. params is one JSON value; it is copied as it is and not
// looked at. NotifyRaw does not wait for the client: one who can hold back asks
// Pressure before each call.
// It fails only when the connection has ended or the client has left too much
// unread.
func (p Peer) NotifyRaw(method string, params []byte) error {
	n := len(notePrefix) + len(method) + len(paramsPrefix) + len(params) + len("}")
	b := newFrame(n)
	b = append(b, notePrefix...)
	b = append(b, method...) // one of ours: nothing in it is escaped
	b = append(b, paramsPrefix...)
	b = append(b, params...)
	b = append(b, '}')
	return p.c.out.put(frame{bytes: b, lane: stream})
}

const (
	notePrefix   = `{"jsonrpc":"2.0","method":"`
	paramsPrefix = `","params":`
)

// Pressure reports whether more than an eighth of what the outbox may hold is
// waiting for the client. One who sends a stream then merges what it can, or
// waits for Drained. It is false when the connection has ended.
func (p Peer) Pressure() bool { return p.c.out.pressed() }

// PressureGone returns a channel that is closed when the client has taken so much
// that less than a sixteenth of the outbox is full, or the connection has
// ended. It is closed already if there is no pressure. One who is woken asks
// Pressure again, since others are woken too.
func (p Peer) PressureGone() <-chan struct{} { return p.c.out.pressureGone() }

// Call sends a request of the daemon's own and waits for the answer, which is
// decoded into result (nil discards it; a null leaves it as it is). If ctx ends
// first, the client is told with $/cancelRequest that nobody waits any more,
// and the error is ctx's.
//
// A client's refusal is an error that wraps a [*jsonrpc2.Error] with its code
// (-32601 for a method that it does not have). It is an error of kind
// [fault.Unavailable] that the connection has ended.
func (p Peer) Call(ctx context.Context, method string, params, result any) error {
	if _, err := p.c.call(ctx, method, params, result); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// WatchParent ends the connection once the process with this id is gone; it is
// looked for every three seconds (REL-26). An id that is not positive is
// ignored, as is one that no process has, and one when a process is watched already.
func (p Peer) WatchParent(pid int) {
	if pid <= 0 {
		return
	}
	select {
	case p.c.parents <- pid:
	default:
	}
}

// notify is [Peer.Notify].
func (c *connection) notify(ctx context.Context, method string, params any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	raw, err := marshalParams(method, params)
	if err != nil {
		return err
	}
	body := jsonrpc2.AppendNotification(nil, method, raw)
	return c.out.put(frame{bytes: append(newFrame(len(body)), body...), early: c.early(method, raw)})
}

// early reports whether LSP lets a notification be sent before the initialize
// reply.
func (c *connection) early(method string, params []byte) bool {
	switch method {
	case protocol.MethodWindowShowMessage, protocol.MethodWindowLogMessage, protocol.MethodTelemetryEvent:
		return true
	case protocol.MethodProgress:
		token := c.initToken.Load()
		return token != nil && bytes.Equal(bytes.TrimSpace(member(params, "token")), *token)
	}
	return false
}

// member returns the value of a member of a JSON object, nil if it has none.
func member(object []byte, name string) []byte {
	if len(object) == 0 {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(object), jsontext.AllowInvalidUTF8(true),
		jsontext.AllowDuplicateNames(true))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return nil
	}
	for dec.PeekKind() == '"' {
		t, err := dec.ReadToken()
		if err != nil {
			return nil
		}
		found := t.String() == name
		v, err := dec.ReadValue()
		if err != nil {
			return nil
		}
		if found {
			return bytes.Clone(v)
		}
	}
	return nil
}

// call is Call without the words; it returns the id that was sent, zero if
// nothing was.
func (c *connection) call(ctx context.Context, method string, params, result any) (jsonrpc2.ID, error) {
	return c.callLate(ctx, method, params, result, nil)
}

// callLate is call, and tells late, which is quick and may be nil, the answer
// that comes after ctx has ended.
//
// Three things can come first. The answer is taken even if ctx has ended
// meanwhile, when both are ready and select picks it. The end of the connection
// is told apart from the end of ctx, because most contexts here come from the
// connection: a caller that sees its own context's error would take a lost client
// for its own decision.
func (c *connection) callLate(ctx context.Context, method string, params, result any,
	late func(reply)) (jsonrpc2.ID, error) {
	if err := ctx.Err(); err != nil {
		return jsonrpc2.ID{}, err
	}
	raw, err := marshalParams(method, params)
	if err != nil {
		return jsonrpc2.ID{}, err
	}
	n, answer := c.asks.add()
	defer c.asks.drop(n)
	id := jsonrpc2.NewNumberID(n)
	body := jsonrpc2.AppendCall(nil, id, method, raw)
	if c.out.put(frame{
		bytes: append(newFrame(len(body)), body...),
		early: method == protocol.MethodWindowShowMessageRequest, // the one request that a server may send while it is being initialized
	}) != nil {
		return id, hungUp()
	}
	select {
	case r := <-answer:
		if r.err != nil {
			return id, r.err
		}
		return id, c.result(r.result, result)
	case <-c.ctx.Done(): // nobody answers any more, even if the read loop cannot be woken
		return id, hungUp()
	case <-ctx.Done():
		if c.ctx.Err() != nil { // ctx is mostly derived from it
			return id, hungUp()
		}
		_ = c.notify(context.WithoutCancel(ctx), protocol.MethodCancelRequest,
			cancelled{n}) // it may be too late, and then it does not matter
		if late != nil {
			c.asks.withdraw(n, answer, late)
		}
		return id, ctx.Err()
	}
}

// hungUp is the error of a call whose connection has ended: [fault.Unavailable],
// so that a run treats its question as unanswered and not as refused.
func hungUp() error {
	return fault.New(fault.Unavailable, "server.call", "the connection to the editor has ended")
}

// marshalParams returns parameters as JSON; none for nil.
func marshalParams(method string, params any) ([]byte, error) {
	if params == nil {
		return nil, nil
	}
	raw, err := wire.Codec{}.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("parameters of %s: %w", method, err)
	}
	return raw, nil
}

// cancelled are the parameters of $/cancelRequest for a call of ours. Not
// protocol.CancelParams, whose integer is an int32.
type cancelled struct {
	ID int64 `json:"id"`
}

// result decodes the answer to a call of ours. A repeated member is refused: it
// could say yes to one reader and no to another.
func (c *connection) result(raw []byte, into any) error {
	if into == nil || len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowInvalidUTF8(true))
	if err := dec.SkipValue(); err != nil {
		return fmt.Errorf("the client's answer cannot be read: %w", err)
	}
	if err := (wire.Codec{}).Unmarshal(raw, into); err != nil {
		at, problem := explain("", raw, err)
		return fmt.Errorf("the client's answer cannot be read: %s %s", dotPath(at), problem)
	}
	return nil
}

// dispatched is the connection as [protocol.ClientDispatcher] wants it.
//
// protocol.ClientDispatcher needs a whole connection; only Call and Notify are
// used by the methods of [protocol.Client]. The rest completes the interface.
type dispatched struct{ c *connection }

// Call adds the method's name to the error, as [Peer.Call] does.
func (d dispatched) Call(ctx context.Context, method string, params, result any) (jsonrpc2.ID, error) {
	id, err := d.c.call(ctx, method, params, result)
	if err != nil {
		err = fmt.Errorf("%s: %w", method, err)
	}
	return id, err
}

// Notify drops $/cancelRequest, which the dispatcher sends when a call's
// context has ended: call has sent it, for the right id.
func (d dispatched) Notify(ctx context.Context, method string, params any) error {
	if method == protocol.MethodCancelRequest {
		return nil
	}
	return d.c.notify(ctx, method, params)
}

func (d dispatched) Go(ctx context.Context, h jsonrpc2.Handler) { d.c.conn.Go(ctx, h) }
func (d dispatched) Close() error                               { return d.c.conn.Close() }
func (d dispatched) Done() <-chan struct{}                      { return d.c.ctx.Done() }
func (d dispatched) Err() error                                 { return d.c.conn.Err() }
