package server_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/server"
)

type outcome struct {
	Outcome string `json:"outcome"`
}

func TestREL16AnswersInReverseOrder(t *testing.T) {
	const n = 50
	r := serve(t)
	got := make(chan error, n)
	for i := range n {
		go func() {
			var back count
			err := r.peer.Call(t.Context(), "agents/ask", count{i}, &back)
			if err == nil && back.N != i*i {
				err = fmt.Errorf("%d for %d", back.N, i)
			}
			got <- err
		}()
	}
	var answers []string
	for range n {
		m := r.next()
		var i int
		fmt.Sscanf(string(m.Params), `{"n":%d}`, &i)
		answers = append([]string{result(string(m.ID), fmt.Sprintf(`{"n":%d}`, i*i))}, answers...)
	}
	r.send(answers...)
	for range n {
		if err := <-got; err != nil {
			t.Error(err)
		}
	}
}

// asking is a request that puts a question to the client and is answered with
// what comes of it.
func asking(r **rig, ask func(context.Context, server.Peer) (any, error)) server.Route {
	return server.Query("agents/run", func(*none) int { return 0 }, func(ctx context.Context, _ int, _ *none) (any, error) {
		return ask(ctx, (*r).peer)
	})
}

func confirm(ctx context.Context, p server.Peer) (any, error) {
	var back outcome
	err := p.Call(ctx, "agents/confirm", none{}, &back)
	return back, err
}

func TestPeersErrorIsNotOurs(t *testing.T) {
	var r *rig
	var refused error
	r = serve(t, asking(&r, func(ctx context.Context, p server.Peer) (any, error) {
		_, refused = p.ApplyEdit(ctx, &protocol.ApplyWorkspaceEditParams{})
		return nil, refused
	}))
	r.send(call("1", "agents/run", `{}`))
	m := r.next()
	if m.Method != "workspace/applyEdit" {
		t.Fatal(m.Raw)
	}
	r.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32601,"message":"not here"}}`)
	if m := r.answer("1"); m.Code() != -32603 {
		t.Errorf("our method is said not to exist: %s", m.Raw)
	}
	if e, ok := errors.AsType[*jsonrpc2.Error](refused); !ok || e.Code != jsonrpc2.MethodNotFound {
		t.Errorf("the caller is not told the code: %v", refused)
	}
}

func TestAnswersThatCannotBeReadRefuse(t *testing.T) {
	for _, back := range []string{
		`"result":{"outcome":"reject","outcome":"once"}`,
		`"result":{"outcome":5}`,
		`"result":{"outcome":"once"},"result":{"outcome":"once"}`,
		`"result":{"outcome":"once"},"error":{"code":1,"message":"x"}`,
		`"error":{"code":1.5,"message":"x"}`,
		`"error":null`,
		`"result":{"outcome":"once"},"more":1,"more":2`,
	} {
		var r *rig
		r = serve(t, asking(&r, confirm))
		r.send(call("1", "agents/run", `{}`))
		r.send(`{"jsonrpc":"2.0","id":` + string(r.next().ID) + `,` + back + `}`)
		if m := r.answer("1"); m.Code() == 0 {
			t.Errorf("%s: %s", back, m.Raw)
		}
	}
	var r *rig
	r = serve(t, asking(&r, confirm))
	r.send(call("1", "agents/run", `{}`))
	r.send(result(string(r.next().ID), `null`))
	if m := r.answer("1"); string(m.Result) != `{"outcome":""}` {
		t.Errorf("null: %s", m.Raw)
	}
}

func TestACallThatNobodyWaitsForIsCancelled(t *testing.T) {
	var r *rig
	r = serve(t, asking(&r, confirm), server.Query("typed", func(*none) int { return 0 }, func(ctx context.Context, _ int, _ *none) (any, error) {
		return r.peer.ShowMessageRequest(ctx, &protocol.ShowMessageRequestParams{Message: "?"})
	}))
	for id, method := range map[string]string{"1": "agents/run", "2": "typed"} {
		r.send(call(id, method, `{}`))
		question := r.next()
		r.send(note("$/cancelRequest", `{"id":`+id+`}`))
		var cancelled, answered int
		for range 2 {
			switch m := r.next(); {
			case m.Method == "$/cancelRequest":
				if cancelled++; string(m.Params) != `{"id":`+string(question.ID)+`}` {
					t.Errorf("question %s: %s", question.ID, m.Raw)
				}
			case string(m.ID) == id && m.Code() == -32800:
				answered++
			default:
				t.Errorf("unexpected %s", m.Raw)
			}
		}
		if cancelled != 1 || answered != 1 {
			t.Errorf("%s: %d cancels, %d answers", method, cancelled, answered)
		}
		r.send(result(string(question.ID), `{"outcome":"once"}`)) // too late, and ignored
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.peer.Call(ctx, "agents/confirm", none{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up before: %v", err)
	}
	if err := r.peer.Call(t.Context(), "agents/confirm", func() {}, nil); err == nil {
		t.Error("a function was sent")
	}
	r.send(call("3", "nobody", `{}`))
	if m := r.next(); string(m.ID) != "3" {
		t.Errorf("unexpected %s", m.Raw)
	}
}

func TestACallEndsWithTheConnection(t *testing.T) {
	r := serve(t)
	got := make(chan error, 1)
	go func() { got <- r.peer.Call(context.Background(), "agents/ask", none{}, nil) }()
	r.next()
	r.Close()
	if err := <-got; fault.KindOf(err) != fault.Unavailable {
		t.Errorf("got %v", err)
	}
	r.ends()
	if err := r.peer.Call(context.Background(), "agents/ask", none{}, nil); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("later: %v", err)
	}
	if err := r.peer.Notify(context.Background(), "agents/status", none{}); err == nil {
		t.Error("a notification was sent to nobody")
	}
}

func TestProgressIsFourReportsASecond(t *testing.T) { // spec 2.6
	synctest.Test(t, func(t *testing.T) {
		r := serve(t)
		type sent struct {
			at   time.Duration
			body string
		}
		var got []sent
		began := time.Now()
		read := make(chan struct{})
		go func() {
			defer close(read)
			for {
				m, err := r.Next()
				if err != nil {
					return
				}
				got = append(got, sent{time.Since(began), string(m.Params)})
				if m.Method == "window/workDoneProgress/create" {
					r.send(result(string(m.ID), `null`))
				}
				if strings.Contains(m.Raw, `"end"`) {
					return
				}
			}
		}()
		p, err := r.peer.BeginProgress(t.Context(), server.ProgressStart{Title: "debugger", Cancellable: true})
		if err != nil {
			t.Fatal(err)
		}
		if p.Token() != protocol.String("agentls/1") {
			t.Errorf("token %v", p.Token())
		}
		for i := range 99 {
			p.Report(fmt.Sprintf("step %d", i), i)
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second) // step 98 is held, and then sent
		p.Report("last", -1)
		p.Report("very last", 200)
		p.End("")
		p.End("again")
		p.Report("too late", 1)
		<-read
		want := []sent{
			{0, `{"token":"agentls/1"}`},
			{0, `{"token":"agentls/1","value":{"kind":"begin","title":"debugger","cancellable":true}}`},
			{250 * time.Millisecond, "step 24"}, {500 * time.Millisecond, "step 49"}, {750 * time.Millisecond, "step 74"}, {1000 * time.Millisecond, "step 98"},
			{1990 * time.Millisecond, `{"token":"agentls/1","value":{"kind":"report","message":"last"}}`},
			{1990 * time.Millisecond, `{"token":"agentls/1","value":{"kind":"end","message":"very last"}}`},
		}
		if len(got) != len(want) {
			t.Fatalf("got %v", got)
		}
		for i, w := range want {
			// At one instant, the report that is made and the one that is held are both right.
			near := strings.HasPrefix(w.body, "step")
			if got[i].at != w.at || (!near && got[i].body != w.body) || (near && !strings.Contains(got[i].body, `"message":"step `)) {
				t.Errorf("%d: got %v, want %v", i, got[i], w)
			}
		}
		if !strings.Contains(got[5].body, "step 98") {
			t.Errorf("the last state is %v", got[5])
		}
	})
}

func TestProgressThatTheClientRefuses(t *testing.T) { // REL-23
	r := serve(t)
	got := make(chan error, 1)
	go func() {
		_, err := r.peer.BeginProgress(t.Context(), server.ProgressStart{Title: "x"})
		got <- err
	}()
	r.send(`{"jsonrpc":"2.0","id":` + string(r.next().ID) + `,"error":{"code":-32601,"message":"?"}}`)
	if err := <-got; err == nil {
		t.Error("it goes on")
	}
}
