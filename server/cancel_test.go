package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/server/servertest"
)

func TestREL14CancelFindsAnyID(t *testing.T) {
	r := serve(t, untilCanceled("wait"))
	for _, id := range []string{`1`, `-5`, `"a"`, `"1"`, `2147483648`, `9007199254740993`, `-9223372036854775808`, `"a\/b"`} {
		r.send(call(id, "wait", `{}`), note("$/cancelRequest", `{"id":`+id+`}`))
		if m := r.next(); string(m.ID) != id || m.Code() != -32800 || data(t, m)["kind"] != "canceled" {
			t.Errorf("id %s: %s", id, m.Raw)
		}
	}
	// The same id in another spelling is the same id.
	r.send(call(`"\u0061/"`, "wait", `{}`), note("$/cancelRequest", `{"id":"a\/"}`))
	if m := r.next(); string(m.ID) != `"\u0061/"` || m.Code() != -32800 {
		t.Error(m.Raw)
	}
}

func TestREL17CancelBeforeTwiceAfter(t *testing.T) {
	r := serve(t, untilCanceled("wait"), echo)
	cancel := note("$/cancelRequest", `{"id":1}`)
	r.send(cancel, call("1", "echo", `{"n":1}`))
	if m := r.next(); string(m.Result) != "1" {
		t.Errorf("a cancel from before the request counts: %s", m.Raw)
	}
	r.send(cancel, call("1", "wait", `{}`), cancel, cancel, cancel, call("2", "echo", `{}`))
	got := map[string]int{}
	for range 2 {
		m := r.next()
		got[string(m.ID)] = m.Code()
	}
	if len(got) != 2 || got["1"] != -32800 || got["2"] != 0 {
		t.Errorf("got %v", got)
	}
	if m := r.ask("3", "echo", `{}`); m.Code() != 0 {
		t.Errorf("after it: %s", m.Raw)
	}
}

func TestREL17WhatACancelledCallAnswers(t *testing.T) {
	route := func(method string, give func(context.Context) (any, error)) server.Route {
		return server.Query(method, func(*none) int { return 0 }, func(ctx context.Context, _ int, _ *none) (any, error) {
			<-ctx.Done()
			return give(ctx)
		})
	}
	r := serve(t,
		route("result", func(context.Context) (any, error) { return map[string]string{"reason": "ABORTED"}, nil }),
		route("context", func(ctx context.Context) (any, error) { return nil, fmt.Errorf("model: %w", ctx.Err()) }),
		route("cause", func(ctx context.Context) (any, error) { return nil, context.Cause(ctx) }),
		route("wrapped", func(ctx context.Context) (any, error) {
			return nil, fault.New(fault.Unavailable, "x.y", "the model was interrupted: %w", ctx.Err())
		}),
		route("other", func(context.Context) (any, error) { return nil, fault.New(fault.Denied, "x.y", "a policy says no") }),
	)
	for method, want := range map[string]int{"result": 0, "context": -32800, "cause": -32800, "wrapped": -32800, "other": -32803} {
		r.send(call(`"`+method+`"`, method, `{}`), note("$/cancelRequest", `{"id":"`+method+`"}`))
		if m := r.next(); m.Code() != want {
			t.Errorf("%s: %s", method, m.Raw)
		}
	}
}

func TestOneIDTwiceInFlight(t *testing.T) {
	r := serve(t, untilCanceled("wait"))
	r.send(call("7", "wait", `{}`), call("7", "wait", `{}`))
	if m := r.next(); string(m.ID) != "7" || m.Code() != -32600 {
		t.Errorf("the second call got %s", m.Raw)
	}
	r.send(note("$/cancelRequest", `{"id":7}`))
	if m := r.next(); string(m.ID) != "7" || m.Code() != -32800 {
		t.Errorf("the first call got %s", m.Raw)
	}
	r.send(call("7", "wait", `{}`), note("$/cancelRequest", `{"id":7}`))
	if m := r.next(); m.Code() != -32800 {
		t.Errorf("an id cannot be used again: %s", m.Raw)
	}
}

func TestCancelIsHeardWhileTheClientDoesNotRead(t *testing.T) {
	ended := make(chan bool)
	r := serve(t, server.Query("wait", func(*count) int { return 0 }, func(ctx context.Context, _ int, _ *count) (any, error) {
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}))
	// The answers to 2, 3 and 4 are not read.
	r.send(call("1", "wait", `{}`), call("2", "nobody/knows", `{}`), call("3", "nobody/knows", `{}`), call("4", "nobody/knows", `{}`),
		note("$/cancelRequest", `{"id":1}`))
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the read loop waits for the client")
	}
}

// TestREL21PipelinedWithoutReading sends 10,000 requests before it reads.
func TestREL21PipelinedWithoutReading(t *testing.T) {
	const n = 10_000
	r := serve(t, untilCanceled("wait"))
	before := runtime.NumGoroutine()
	var all strings.Builder
	for i := range n {
		all.WriteString(servertest.Frame(call(fmt.Sprint(i), "wait", `{}`)))
	}
	if err := r.Send(all.String()); err != nil { // returns when the last has been read by the server
		t.Fatal(err)
	}
	if g := runtime.NumGoroutine() - before; g > 300 {
		t.Errorf("%d goroutines for %d calls", g, n)
	}
	for range n - 256 {
		m := r.next()
		if m.Code() != -32803 {
			t.Fatalf("got %s", m.Raw)
		}
		if d := data(t, m); d["kind"] != "overloaded" || d["retryable"] != true {
			t.Fatalf("got %s", m.Raw)
		}
	}
	go func() {
		for i := range n {
			r.Send(servertest.Frame(note("$/cancelRequest", fmt.Sprintf(`{"id":%d}`, i))))
		}
	}()
	for range 256 {
		if m := r.next(); m.Code() != -32800 {
			t.Fatalf("got %s", m.Raw)
		}
	}
}

// TestREL126UrgentRowsAreServedBehindOthers: what stops a run works when 256
// other requests are being served.
func TestREL126UrgentRowsAreServedBehindOthers(t *testing.T) {
	r := serve(t, untilCanceled("wait"), echo, server.Query("stop", func(p *count) int { return p.N },
		func(_ context.Context, n int, _ *count) (int, error) { return n, nil }).Urgent())
	for i := range 256 {
		r.send(call(fmt.Sprint(i), "wait", `{}`))
	}
	if m := r.ask("1000", "echo", `{"n":1}`); m.Code() != -32803 {
		t.Errorf("got %s", m.Raw)
	}
	if m := r.ask("1001", "stop", `{"n":2}`); string(m.Result) != "2" {
		t.Errorf("got %s", m.Raw)
	}
}

// TestREL17ManyQuickCallsWithCancels sends cancels before, right after and
// again, at random; each call is answered once. It is the stress test of
// libraries.md A0 as well: a context derived from a request's brings the process
// down in here.
func TestREL17ManyQuickCallsWithCancels(t *testing.T) {
	const n = 10_000
	var derived atomic.Int64
	r := serve(t, server.Query("quick", func(p *count) int { return p.N }, func(ctx context.Context, n int, _ *count) (any, error) {
		child, cancel := context.WithTimeout(ctx, time.Minute) // what net/http and genai do with it
		defer cancel()
		defer context.AfterFunc(child, func() { derived.Add(1) })()
		if n%3 == 0 {
			<-child.Done()
			return nil, child.Err()
		}
		return n, nil
	}))
	sent := make(chan struct{})
	open := make(chan struct{}, 200) // fewer than the server would refuse
	go func() {
		defer close(sent)
		rng := rand.New(rand.NewPCG(17, 1))
		for i := range n {
			open <- struct{}{}
			raw := servertest.Frame(call(fmt.Sprint(i), "quick", fmt.Sprintf(`{"n":%d}`, i)))
			cancel := servertest.Frame(note("$/cancelRequest", fmt.Sprintf(`{"id":%d}`, i)))
			if rng.IntN(4) == 0 {
				raw = cancel + raw
			}
			if i%3 == 0 || rng.IntN(4) == 0 {
				raw += cancel
			}
			if r.Send(raw) != nil {
				return
			}
		}
	}()
	answered := make(map[string]bool, n)
	for len(answered) < n {
		m := r.next()
		<-open
		id := string(m.ID)
		if answered[id] {
			t.Fatalf("%s is answered twice", id)
		}
		answered[id] = true
		var i int
		json.Unmarshal(m.ID, &i)
		if c := m.Code(); (i%3 == 0 && c != -32800) || (i%3 != 0 && c != 0) {
			t.Fatalf("call %d: %s", i, m.Raw)
		}
	}
	<-sent
}
