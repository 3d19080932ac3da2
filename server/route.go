package server

import (
	"context"

	"go.lsp.dev/protocol"
)

// A Route binds one wire method to the function that serves it. The zero Route
// is not useful; make one with [Notify], [Query] or [Now].
type Route struct {
	// Method is the name on the wire. A table has each once.
	Method string // as on the wire
	// Grant enters what the client is told of this row into the answer to
	// initialize; the handler of initialize calls it for every row of the
	// table. nil advertises nothing.
	Grant func(*protocol.ServerCapabilities)

	kind   kind
	stream bool // the answer goes out in the stream lane
	urgent bool // served however many requests are being served

	// bind runs on the read loop, in wire order. It must not wait for the
	// network, a model or a person. The answer that it returns may.
	bind func(raw []byte) (answer, error)
}

// kind is how a row is served.
type kind uint8

const (
	notify kind = iota // a notification, on the read loop
	query              // a request: captured on the read loop, answered off it
	now                // a request, answered on the read loop
)

// answer is the half of a request that may take its time.
type answer func(context.Context) (any, error)

// Granting returns r with the capability that it earns.
func (r Route) Granting(grant func(*protocol.ServerCapabilities)) Route {
	r.Grant = grant
	return r
}

// InStream returns r with its answer queued behind everything that
// [Peer.NotifyRaw] has sent before it: for agents/run, whose answer follows
// every event of the run (spec 2.4). Other answers go out before such frames.
// It has no effect on a notification.
func (r Route) InStream() Route {
	r.stream = true
	return r
}

// Urgent returns r served however many other requests are being served
// (REL-21): for what stops a run or answers its questions, which has to work
// when nothing else does (REL-126). Its answer must not wait for the network, a
// model or a person. It has no effect on a notification.
func (r Route) Urgent() Route {
	r.urgent = true
	return r
}

// Notify serves a notification on the read loop. apply gets the connection's
// context and must not wait for the client, a model or a person. An error that
// it returns is logged and goes no further: JSON-RPC has no way to answer a
// notification.
//
// The parameters are decoded anew for each message and are apply's to keep.
func Notify[P any](method string, apply func(context.Context, *P) error) Route {
	return Route{Method: method, kind: notify, bind: func(raw []byte) (answer, error) {
		p, err := decode[P](method, raw)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (any, error) { return nil, apply(ctx, p) }, nil
	}}
}

// Query serves a request in two halves. capture runs on the read loop: what it
// returns is the world as the client knew it when it asked. give runs on its
// own goroutine and sees nothing newer. Its context ends with the answer, with
// $/cancelRequest for this request, and with the connection; a give that then
// returns the context's error is answered -32800, one that returns a result is
// answered with its result.
//
// A call back to the client ([Peer.Call]) may be made from give, never from
// capture: the read loop that would bring the reply is the one that waits.
//
// Both get the same *P. capture should cost microseconds: the next keystroke
// waits for it. give may be running 256 times at once, for requests that the
// client sent together.
//
// What give returns is marshalled on its goroutine; an [Answer] in place of the
// result adds what follows it. Errors become codes by their kind ([fault.Kind],
// spec 2.5).
func Query[S, P, R any](method string, capture func(*P) S, give func(context.Context, S, *P) (R, error)) Route {
	return Route{Method: method, kind: query, bind: func(raw []byte) (answer, error) {
		p, err := decode[P](method, raw)
		if err != nil {
			return nil, err
		}
		state := capture(p)
		return func(ctx context.Context) (any, error) { return give(ctx, state, p) }, nil
	}}
}

// Answer is what a [Query] may return instead of its result, where something has
// to wait until the answer is on its way: what Then sends comes after it, in
// the lane that the answer is in. Then runs once, on the goroutine of the
// handler, must not wait, and does not run when no answer could be queued.
//
// So a subscription sends its first live event after the page that it
// continues.
type Answer struct {
	Result any
	Then   func()
}

// Now serves a request on the read loop: nothing that the client sends after
// it is looked at before it is answered. It is for initialize and shutdown. do
// must not call the client.
func Now[P, R any](method string, do func(context.Context, *P) (R, error)) Route {
	return Route{Method: method, kind: now, bind: func(raw []byte) (answer, error) {
		p, err := decode[P](method, raw)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (any, error) { return do(ctx, p) }, nil
	}}
}

// index finds routes by method. Two rows for one method, or an initialize that
// others could overtake, are mistakes in the program, so it panics at once: the
// daemon does not start with such a table, and every test that makes a
// connection sees it.
func index(routes []Route) map[string]Route {
	t := make(map[string]Route, len(routes))
	for _, r := range routes {
		if _, dup := t[r.Method]; dup {
			panic("server: two routes for " + r.Method)
		}
		if r.Method == protocol.MethodInitialize && r.kind != now {
			panic("server: initialize is not answered on the read loop")
		}
		t[r.Method] = r
	}
	return t
}
