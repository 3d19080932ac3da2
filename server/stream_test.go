package server_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/server/servertest"
)

// TestREL39QuestionBehindAStream asks while 10 MB of progress are under way.
func TestREL39QuestionBehindAStream(t *testing.T) { synctest.Test(t, questionBehindAStream) }

func questionBehindAStream(t *testing.T) {
	var r *rig
	event := fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", 16<<10))
	r = serve(t, server.Query("agents/run", func(*none) int { return 0 }, func(ctx context.Context, _ int, _ *none) (string, error) {
		for range 400 { // 6.4 MB, unread
			if err := r.peer.NotifyRaw("agents/activity", event); err != nil {
				return "", err
			}
		}
		var answer struct {
			Outcome string `json:"outcome"`
		}
		if err := r.peer.Call(ctx, "agents/confirm", count{1}, &answer); err != nil {
			return "", err
		}
		for range 200 {
			for r.peer.Pressure() {
				<-r.peer.PressureGone()
			}
			if err := r.peer.NotifyRaw("agents/activity", event); err != nil {
				return "", err
			}
		}
		return answer.Outcome, nil
	}).InStream())
	r.send(call("1", "agents/run", `{}`))
	synctest.Wait() // the question is queued, and the first event is being written
	before := 0
	for {
		m := r.next()
		if m.Method == "agents/confirm" {
			r.send(result(string(m.ID), `{"outcome":"once"}`))
			break
		}
		before++
	}
	if before > 1 {
		t.Errorf("%d events came before the question", before)
	}
	for events := before; ; events++ {
		if m := r.next(); m.Method == "" {
			if events != 600 || string(m.Result) != `"once"` {
				t.Errorf("%s after %d events", m.Raw, events)
			}
			break
		}
	}
}

// TestEveryEventBeforeTheAnswer proves spec 2.4: with wait: end, every event of
// the run is sent before the answer, while other answers go ahead.
func TestEveryEventBeforeTheAnswer(t *testing.T) { synctest.Test(t, everyEventBeforeTheAnswer) }

func everyEventBeforeTheAnswer(t *testing.T) {
	var r *rig
	r = serve(t, echo, server.Query("agents/run", func(*none) int { return 0 }, func(ctx context.Context, _ int, _ *none) (any, error) {
		progress, err := r.peer.BeginProgress(ctx, server.ProgressStart{Token: protocol.Integer(5), Title: "run"})
		for i := range 500 {
			r.peer.NotifyRaw("agents/activity", fmt.Appendf(nil, `{"seq":%d}`, i))
		}
		progress.End("done")
		return nil, err
	}).InStream())
	r.send(call("1", "agents/run", `{}`))
	synctest.Wait() // all of it is queued, and progress begins
	r.send(call("2", "echo", `{"n":2}`))
	synctest.Wait()
	seq, echoed, begun, ended := 0, -1, -1, -1
	for {
		m := r.next()
		switch {
		case m.Method == "agents/activity":
			if want := fmt.Sprintf(`{"seq":%d}`, seq); string(m.Params) != want {
				t.Fatalf("%s for %s", m.Params, want)
			}
			seq++
			continue
		case m.Method == "$/progress" && begun < 0:
			begun = seq
			continue
		case m.Method == "$/progress":
			ended = seq
			continue
		case string(m.ID) == "2":
			echoed = seq
			continue
		}
		break
	}
	if seq != 500 {
		t.Errorf("the answer came after %d events", seq)
	}
	if begun != 0 || ended != 0 {
		t.Errorf("progress began before event %d and ended before event %d", begun, ended)
	}
	if echoed != 0 {
		t.Errorf("the answer to 2 came after %d events", echoed)
	}
}

// TestREL37FollowersLoseNothing has ten followers and a client that reads slowly.
func TestREL37FollowersLoseNothing(t *testing.T) {
	const followers, each = 10, 2000
	r := serve(t, echo)
	var all sync.WaitGroup
	text := strings.Repeat("x", 1000)
	for f := range followers {
		all.Go(func() {
			for i := range each {
				for r.peer.Pressure() {
					<-r.peer.PressureGone()
				}
				if err := r.peer.NotifyRaw("agents/activity", fmt.Appendf(nil, `{"f":%d,"i":%d,"text":%q}`, f, i, text)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var next [followers]int
	for range followers * each {
		m := r.next()
		f := int(m.Params[5] - '0')
		if want := fmt.Appendf(nil, `{"f":%d,"i":%d,`, f, next[f]); !bytes.HasPrefix(m.Params, want) {
			t.Fatalf("%.40s for %s", m.Params, want)
		}
		next[f]++
	}
	all.Wait()
}

func TestREL37AClientThatNeverReadsIsGone(t *testing.T) {
	near, far := osPipes(t)
	r := serveOn(t, near, far, server.Config{}, echo, untilCanceled("wait"))
	r.Send(servertest.Frame(call("1", "wait", `{}`)))
	event := fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", 64<<10))
	n := 0
	for r.peer.NotifyRaw("agents/activity", event) == nil {
		n++
	}
	if held := n * len(event); held < 8<<20 || held > 9<<20 {
		t.Errorf("%d bytes were taken", held)
	}
	if o := r.ends(); o.Ending != server.Stalled || r.err == nil {
		t.Errorf("%v, %v", o.Ending, r.err)
	}
	if r.peer.Pressure() {
		t.Error("there is pressure on nobody")
	}
	<-r.peer.PressureGone()
}

func TestNotificationsAreOneOrder(t *testing.T) {
	r := serve(t, echo)
	for i := range 500 {
		if err := r.peer.Notify(t.Context(), "agents/status", count{i}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 500 {
		if m := r.next(); string(m.Params) != fmt.Sprintf(`{"n":%d}`, i) {
			t.Fatalf("%d is %s", i, m.Raw)
		}
	}
	if err := r.peer.Notify(t.Context(), "agents/status", func() {}); err == nil {
		t.Error("a function was sent")
	}
}

// TestThenFollowsTheAnswer: what Then sends in the lane of the answer comes
// after it, also when the client reads late; without an answer it does not run.
func TestThenFollowsTheAnswer(t *testing.T) { synctest.Test(t, thenFollowsTheAnswer) }

func thenFollowsTheAnswer(t *testing.T) {
	var r *rig
	r = serve(t,
		server.Query("agents/subscribe", func(*none) int { return 0 }, func(context.Context, int, *none) (server.Answer, error) {
			return server.Answer{Result: count{1}, Then: func() {
				for i := range 3 {
					r.peer.NotifyRaw("agents/activity", fmt.Appendf(nil, `{"seq":%d}`, i))
				}
			}}, nil
		}).InStream(),
		server.Query("agents/refused", func(*none) int { return 0 }, func(context.Context, int, *none) (server.Answer, error) {
			return server.Answer{Result: make(chan int), Then: func() { t.Error("what follows no answer ran") }}, nil
		}).InStream(),
	)
	r.send(call("1", "agents/refused", `{}`))
	if m := r.answer("1"); m.Error == nil {
		t.Errorf("got %s", m.Raw)
	}
	r.send(call("2", "agents/subscribe", `{}`))
	synctest.Wait()
	if m := r.next(); string(m.ID) != "2" || string(m.Result) != `{"n":1}` {
		t.Errorf("first came %s", m.Raw)
	}
	for i := range 3 {
		if m := r.next(); m.Method != "agents/activity" || string(m.Params) != fmt.Sprintf(`{"seq":%d}`, i) {
			t.Errorf("event %d: %s", i, m.Raw)
		}
	}
}
