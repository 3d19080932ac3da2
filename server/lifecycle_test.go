package server_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/server"
)

func TestREL01BeforeInitialize(t *testing.T) {
	changed := false
	r := serve(t, lifecycle(echo, server.Notify("change", func(context.Context, *none) error { changed = true; return nil }))...)
	r.send(note("change", `{}`))
	for id, method := range map[string]string{"1": "echo", "2": "nobody/knows", "3": "shutdown"} {
		if m := r.ask(id, method, `{}`); m.Code() != -32002 || data(t, m)["kind"] != "notReady" {
			t.Errorf("%s: %s", method, m.Raw)
		}
	}
	r.handshake()
	if m := r.ask("4", "echo", `{"n":4}`); string(m.Result) != "4" {
		t.Error(m.Raw)
	}
	if changed {
		t.Error("a notification from before initialize was served")
	}
}

func TestREL01ExitBeforeInitialize(t *testing.T) {
	r := serve(t, lifecycle()...)
	r.send(note("exit", `null`))
	if o := r.ends(); o.Ending != server.Exited || o.Code() != 1 {
		t.Errorf("%v, code %d", o.Ending, o.Code())
	}
}

func TestREL02SecondInitialize(t *testing.T) {
	r := serve(t, lifecycle(echo)...)
	r.handshake()
	if m := r.ask("2", "initialize", `{"capabilities":{}}`); m.Code() != -32600 {
		t.Error(m.Raw)
	}
	if m := r.ask("3", "echo", `{"n":3}`); string(m.Result) != "3" {
		t.Errorf("the first session is harmed: %s", m.Raw)
	}
}

func TestInitializeThatFailsMayBeRepeated(t *testing.T) {
	tries := 0
	r := serve(t, echo, server.Now("initialize", func(context.Context, *protocol.InitializeParams) (any, error) {
		if tries++; tries == 1 {
			return nil, errors.New("not today")
		}
		return none{}, nil
	}))
	if m := r.ask("1", "initialize", `{"capabilities":{}}`); m.Code() != -32603 {
		t.Error(m.Raw)
	}
	if m := r.ask("2", "echo", `{}`); m.Code() != -32002 {
		t.Error(m.Raw)
	}
	if m := r.ask("3", "initialize", `{"capabilities":{}}`); m.Code() != 0 {
		t.Error(m.Raw)
	}
	if m := r.ask("4", "echo", `{}`); m.Code() != 0 {
		t.Error(m.Raw)
	}
}

func TestREL03AfterShutdown(t *testing.T) {
	changed := false
	r := serve(t, lifecycle(echo, server.Notify("change", func(context.Context, *none) error { changed = true; return nil }))...)
	r.handshake()
	if m := r.ask("1", "shutdown", `null`); string(m.Result) != "null" || m.Error != nil {
		t.Errorf("shutdown: %s", m.Raw)
	}
	r.send(note("change", `{}`))
	for id, method := range map[string]string{"2": "echo", "3": "shutdown", "4": "initialize", "5": "nobody/knows"} {
		if m := r.ask(id, method, `{}`); m.Code() != -32600 {
			t.Errorf("%s: %s", method, m.Raw)
		}
	}
	if changed {
		t.Error("a notification after shutdown was served")
	}
}

func TestREL04Exit(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(*rig)
		how  server.Ending
		code int
	}{
		{"after shutdown", func(r *rig) { r.ask("1", "shutdown", `null`); r.send(note("exit", `null`)) }, server.Exited, 0},
		{"without shutdown", func(r *rig) { r.send(note("exit", `null`)) }, server.Exited, 1},
		{"REL-25 end of file", func(r *rig) { r.Close() }, server.HungUp, 1},
		{"end of file after shutdown", func(r *rig) { r.ask("1", "shutdown", `null`); r.Close() }, server.HungUp, 0},
		{"REL-29 a signal", func(r *rig) { r.stop() }, server.Stopped, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := serve(t, lifecycle(untilCanceled("wait"))...)
			r.handshake()
			r.send(call("9", "wait", `{}`))
			c.do(r)
			if o := r.ends(); o.Ending != c.how || o.Code() != c.code || r.err != nil {
				t.Errorf("%v, code %d, %v", o.Ending, o.Code(), r.err)
			}
		})
	}
}

func TestExitRunsItsRow(t *testing.T) {
	ran := false
	r := serve(t, lifecycle(server.Notify("exit", func(context.Context, *none) error { ran = true; panic("late bug") }))...)
	r.handshake()
	r.send(note("exit", `null`))
	if o := r.ends(); !ran || o.Ending != server.Exited {
		t.Errorf("ran %v, %v", ran, o.Ending)
	}
}

// TestNothingBeforeTheInitializeReply proves spec 2.1: what LSP does not allow
// before the reply is held back, in order, and nothing is lost.
func TestNothingBeforeTheInitializeReply(t *testing.T) {
	var r *rig
	r = serve(t, lifecycle(echo,
		server.Now("initialize", func(ctx context.Context, _ *protocol.InitializeParams) (any, error) {
			r.peer.Notify(ctx, "agents/didChange", count{1})
			r.peer.NotifyRaw("agents/activity", []byte(`{"n":2}`))
			r.peer.ShowMessage(ctx, &protocol.ShowMessageParams{Message: "hello"})
			r.peer.LogMessage(ctx, &protocol.LogMessageParams{Message: "hello"})
			for _, token := range []protocol.ProgressToken{protocol.String("mine"), protocol.Integer(7)} {
				pr, err := r.peer.BeginProgress(ctx, server.ProgressStart{Token: token, Title: "starting"})
				if err != nil {
					return nil, err
				}
				pr.End("")
			}
			return none{}, nil
		}))[0:2]...)
	r.send(call("1", "echo", `{}`), call("0", "initialize", `{"capabilities":{},"workDoneToken":7}`))
	var got []string
	for len(got) < 11 {
		m := r.next()
		what := m.Method
		if what == "" {
			what = string(m.ID)
		}
		if what == "$/progress" {
			what += map[bool]string{true: " 7", false: " mine"}[strings.Contains(m.Raw, `"token":7`)]
		}
		if got = append(got, what); len(got) == 6 {
			r.send(call("2", "echo", `{}`))
		}
	}
	want := "1 window/showMessage window/logMessage $/progress 7 $/progress 7 0 agents/didChange $/progress mine $/progress mine agents/activity 2"
	// The answer to 2 may overtake the stream, and agents/activity comes when the first lane is empty.
	alt := "1 window/showMessage window/logMessage $/progress 7 $/progress 7 0 agents/didChange $/progress mine $/progress mine 2 agents/activity"
	if g := strings.Join(got, " "); g != want && g != alt {
		t.Errorf("got  %s\nwant %s", g, want)
	}
}
