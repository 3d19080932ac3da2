package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/server/servertest"
)

func TestQuerySeesWhatWasSentBeforeIt(t *testing.T) {
	world := 0
	r := serve(t,
		server.Notify("set", func(_ context.Context, p *count) error {
			if p.N != world+1 {
				t.Errorf("set %d after %d", p.N, world)
			}
			world = p.N // on the read loop: no lock
			return nil
		}),
		server.Query("get", func(*count) int { return world },
			func(_ context.Context, seen int, _ *count) (count, error) {
				for range seen * 7919 % 1000 {
					// Answers come in any order.
				}
				return count{seen}, nil
			}),
	)
	var bodies []string
	for i := 1; i <= 200; i++ {
		bodies = append(bodies, note("set", fmt.Sprintf(`{"n":%d}`, i)), call(fmt.Sprint(i), "get", `{}`))
	}
	r.send(bodies...)
	for range 200 {
		m := r.next()
		if want := `{"n":` + string(m.ID) + `}`; string(m.Result) != want {
			t.Errorf("get after set %s = %s", m.ID, m.Raw)
		}
	}
}

func TestErrorsCarryCodes(t *testing.T) {
	fail := map[string]error{
		"plain":    errors.New("boom"),
		"stale":    fmt.Errorf("hover: %w", fault.New(fault.Stale, "workspace.edit", "version 3 came after 4")),
		"canceled": context.Canceled, // nobody asked for it
		"reason":   fault.New(fault.NotFound, "agents.find", "there is no agent %q", "x").Because(fault.UnknownAgent, "suggestions", []string{"y"}),
	}
	r := serve(t,
		server.Query("fail", func(p *map[string]string) string {
			if (*p)["how"] == "early panic" {
				panic("kaboom on the read loop")
			}
			return (*p)["how"]
		}, func(_ context.Context, how string, _ *map[string]string) (any, error) {
			switch how {
			case "panic":
				panic("kaboom: secret")
			case "no JSON":
				return func() {}, nil
			}
			return nil, fail[how]
		}),
		server.Notify("note", func(context.Context, *count) error { return errors.New("disk full") }),
		server.Notify("panic", func(context.Context, *count) error { panic("kaboom") }),
	)
	for how, want := range map[string]int{
		"plain": -32603, "stale": -32801, "canceled": -32803, "reason": -32803, "panic": -32603, "early panic": -32603, "no JSON": -32603,
	} {
		m := r.ask("1", "fail", `{"how":"`+how+`"}`)
		if m.Code() != want {
			t.Errorf("%s: got %s, want code %d", how, m.Raw, want)
		}
		d := data(t, m)
		switch how {
		case "reason":
			if d["kind"] != "unknownAgent" || fmt.Sprint(d["suggestions"]) != "[y]" || d["retryable"] != false || m.Error.Message != `there is no agent "x"` {
				t.Error(m.Raw)
			}
		case "stale":
			if d["kind"] != "stale" || d["retryable"] != true {
				t.Error(m.Raw)
			}
		}
	}

	// Neither a notification that fails nor one that nobody serves ends the session.
	r.send(note("note", `{}`), note("panic", `{}`), note("$/unheardOf", `{}`))
	if m := r.ask("2", "unheardOf", `{}`); m.Code() != -32601 {
		t.Errorf("unheardOf: got %s", m.Raw)
	}
}

// TestSEC118AndREL20PanicsAreTold: under an id, with the stack in the log, and
// without the value, which may hold what a person said.
func TestSEC118AndREL20PanicsAreTold(t *testing.T) {
	r := serve(t, echo, server.Query("break", func(*count) int { return 0 }, func(context.Context, int, *count) (any, error) {
		panic("kaboom: secret")
	}))
	var ids []string
	for range 2 {
		m := r.ask("1", "break", `{}`)
		d := data(t, m)
		id, _ := d["bug"].(string)
		if m.Code() != -32603 || d["kind"] != "internal" || len(id) != 8 || !strings.Contains(m.Error.Message, id) || strings.Contains(m.Raw, "secret") {
			t.Errorf("got %s", m.Raw)
		}
		ids = append(ids, id)
	}
	if ids[0] != ids[1] {
		t.Errorf("one bug has the ids %v", ids)
	}
	if log := r.log.String(); !strings.Contains(log, "bug="+ids[0]) || !strings.Contains(log, "conn_test.go") || !strings.Contains(log, "panic: a string") || strings.Contains(log, "secret") {
		t.Errorf("the log says %s", log)
	}
	if m := r.ask("2", "echo", `{"n":2}`); string(m.Result) != "2" {
		t.Errorf("the next request: %s", m.Raw)
	}
}

func TestRequestWithoutAnIDDoesNotRun(t *testing.T) {
	ran := false
	r := serve(t, echo, server.Query("agents/run", func(*count) int { ran = true; return 0 },
		func(context.Context, int, *count) (any, error) { return nil, nil }))
	r.send(note("agents/run", `{}`))
	r.ask("1", "echo", `{}`)
	if ran {
		t.Error("a run was started that nobody can be told of")
	}
}

func TestNowIsNotOvertaken(t *testing.T) {
	started := false
	r := serve(t,
		server.Now("initialize", func(context.Context, *none) (none, error) { started = true; return none{}, nil }),
		server.Query("started", func(*none) bool { return started }, func(_ context.Context, s bool, _ *none) (bool, error) { return s, nil }))
	r.send(call("1", "initialize", `{}`), call("2", "started", `{}`))
	if m := r.next(); string(m.ID) != "1" {
		t.Errorf("first came %s", m.Raw)
	}
	if m := r.next(); string(m.Result) != "true" {
		t.Error(m.Raw)
	}
}

func TestEndsOfAQuery(t *testing.T) {
	ended := make(chan error, 1)
	r := serve(t, echo, server.Query("sleep", func(*count) int { return 0 }, func(ctx context.Context, _ int, _ *count) (any, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}))
	r.send(call("1", "sleep", `{}`))
	r.ask("2", "echo", `{}`) // by now the call runs
	r.Close()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the answer outlived the connection")
	}
}

func TestTwoRowsForOneMethodPanic(t *testing.T) {
	for name, routes := range map[string][]server.Route{
		"twice":      {echo, echo},
		"initialize": {server.Query("initialize", func(*none) int { return 0 }, func(context.Context, int, *none) (any, error) { return nil, nil })},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it is served")
				}
			}()
			server.Serve(t.Context(), pipes{}, server.Config{Now: time.Now}, func(context.Context, server.Peer) []server.Route { return routes })
		})
	}
}

// stuck is a client that sends what is in first, and then neither sends, reads
// nor hangs up; Close wakes nothing, as on stdio.
type stuck struct {
	first            *strings.Reader
	reading, writing chan bool // closed when that begins to last
	released         chan bool // closed by the test at its end
}

func (s stuck) Read(p []byte) (int, error) {
	if n, _ := s.first.Read(p); n > 0 {
		return n, nil
	}
	close(s.reading)
	<-s.released
	return 0, io.EOF
}

func (s stuck) Write([]byte) (int, error) {
	close(s.writing)
	<-s.released
	return 0, io.ErrClosedPipe
}

func (stuck) Close() error { return nil }

func TestREL25ServeReturns(t *testing.T) { // REL-04, REL-29
	asks := servertest.Frame(call("1", "ask", `{}`))
	for _, c := range []struct {
		name, first string
		wait        func(stuck) <-chan bool
	}{
		{"while nothing can end the read", "", func(s stuck) <-chan bool { return s.reading }},
		{"while an answer is not read", servertest.Frame(call("1", "echo", `{}`)), func(s stuck) <-chan bool { return s.writing }},
		{"while a question is not answered", asks, func(s stuck) <-chan bool { return s.writing }},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := stuck{strings.NewReader(c.first), make(chan bool), make(chan bool), make(chan bool)}
			defer close(client.released)
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan server.Outcome, 1)
			go func() {
				o, _ := server.Serve(ctx, client, server.Config{Now: time.Now}, func(_ context.Context, p server.Peer) []server.Route {
					return []server.Route{echo, server.Query("ask", func(*none) int { return 0 }, func(ctx context.Context, _ int, _ *none) (any, error) {
						return nil, p.Call(ctx, "agents/confirm", none{}, nil)
					})}
				})
				done <- o
			}()
			<-c.wait(client)
			began := time.Now()
			cancel()
			select {
			case o := <-done:
				if took := time.Since(began); took > 20*time.Second || o.Ending != server.Stopped {
					t.Errorf("%v after %v", o.Ending, took)
				}
			case <-time.After(time.Minute):
				t.Error("Serve does not return")
			}
		})
	}
}

// pipes is a client that writes its requests, closes, and then reads: what
// `agentls serve < requests` is.
type pipes struct{ in, out *os.File }

func (p pipes) Read(b []byte) (int, error)  { return p.in.Read(b) }
func (p pipes) Write(b []byte) (int, error) { return p.out.Write(b) }
func (p pipes) Close() error                { return errors.Join(p.in.Close(), p.out.Close()) }

// osPipes returns both ends of a connection of two pipes.
func osPipes(t testing.TB) (near, far pipes) {
	t.Helper()
	inR, inW, err1 := os.Pipe()
	outR, outW, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return pipes{outR, inW}, pipes{inR, outW}
}

func TestAnswersOutliveTheRequestsEnd(t *testing.T) { // REL-25
	for _, takes := range []time.Duration{0, 100 * time.Microsecond, 5 * time.Millisecond} {
		for range 50 {
			near, far := osPipes(t)
			r := serveOn(t, near, far, server.Config{}, server.Query("slow", func(p *count) int { return p.N }, func(ctx context.Context, _ int, _ *count) (any, error) {
				select {
				case <-time.After(takes):
				case <-ctx.Done():
					return nil, ctx.Err()
				}
				return "x", nil
			}))
			r.Send(servertest.Frame(call("1", "slow", `{}`)) + servertest.Frame(call("2", "slow", `{}`)))
			near.out.Close()
			if o := r.ends(); o.Ending != server.HungUp || o.Code() != 1 {
				t.Fatalf("%v, code %d", o.Ending, o.Code())
			}
			got, _ := io.ReadAll(near.in)
			if n := strings.Count(string(got), `"result":"x"`); n != 2 {
				t.Fatalf("an answer takes %v: %d of 2 came: %s", takes, n, got)
			}
		}
	}
}

func TestREL27ClosedStdoutIsAHangUp(t *testing.T) {
	near, far := osPipes(t)
	canceled := make(chan error, 1)
	r := serveOn(t, near, far, server.Config{}, echo, server.Query("wait", func(*none) int { return 0 }, func(ctx context.Context, _ int, _ *none) (any, error) {
		<-ctx.Done()
		canceled <- ctx.Err()
		return nil, ctx.Err()
	}))
	near.in.Close()
	r.Send(servertest.Frame(call("1", "wait", `{}`)) + servertest.Frame(call("2", "echo", `{}`)))
	if o := r.ends(); o.Ending != server.HungUp || r.err != nil {
		t.Errorf("%v, %v", o.Ending, r.err)
	}
	<-canceled
}

func TestResultsOfAnySize(t *testing.T) {
	r := serve(t, server.Query("long", func(p *count) int { return p.N }, func(_ context.Context, n int, _ *count) (string, error) {
		return strings.Repeat("x", n), nil
	}))
	for i, n := range []int{0, 1, 64 << 10, 20 << 20} { // more than the outbox holds, to a client that reads
		m := r.ask(fmt.Sprint(i), "long", fmt.Sprintf(`{"n":%d}`, n))
		var s string
		if json.Unmarshal(m.Result, &s); len(s) != n {
			t.Errorf("%d bytes of %d", len(s), n)
		}
	}
}
