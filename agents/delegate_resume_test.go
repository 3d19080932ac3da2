package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
)

// effect is a tool that may change something and counts its executions by call.
type effect struct {
	mu   sync.Mutex
	done []string
}

// Spec implements tool.Tool.
func (*effect) Spec() tool.Spec {
	return tool.Spec{Name: "effect", Risk: tool.Low, Description: "Does it.", Parameters: json.RawMessage(`{"type":"object"}`)}
}

// Plan implements tool.Tool.
func (e *effect) Plan(context.Context, *tool.Env, json.RawMessage) (*tool.Plan, error) {
	return &tool.Plan{Tool: "effect", Args: json.RawMessage(`{}`), Risk: tool.Low, Why: "it does it", Title: "effect", Do: func(_ context.Context, env *tool.Env) (*tool.Result, error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.done = append(e.done, env.Call)
		return &tool.Result{Content: "did it"}, nil
	}}, nil
}

// answered reports whether the conversation has results already.
func answered(req *model.Request) bool {
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			if p.Result != nil {
				return true
			}
		}
	}
	return false
}

// TestREL103TreeResumesAtEveryEvent: a daemon that dies after any event of a tree of runs
// leaves one that is resumed from its first run: to the same end, each child under its
// own id, and no call executes in both lives.
func TestREL103TreeResumesAtEveryEvent(t *testing.T) {
	build := func(t *testing.T) (*crew, *effect) {
		tm := newCrew(t, map[string]string{
			"lead": "subagents: [middle, quick]", "middle": "subagents: [worker]\ntools: {allow: ['*']}", "worker": "tools: {allow: ['*']}", "quick": "handoffs: [{to: closer}]", "closer": "",
		})
		tm.asks = func(context.Context, Question) Answer { return Answer{Outcome: guard.Once, By: "user"} }
		tm.says = func(_ context.Context, agent string, _ int, req *model.Request) model.Answer {
			switch {
			case agent == "lead" && answered(req):
				return text("Done.")
			case agent == "lead":
				return several(tool.Delegate, `{"agent_name":"middle","query":"one"}`, tool.Delegate, `{"agent_name":"quick","query":"two"}`)
			case agent == "middle" && !answered(req):
				return delegates("worker", "deep")
			case agent == "worker" && !answered(req):
				return several("effect", `{}`)
			case agent == "quick":
				return several("transfer_to_closer", `{"reason":"it closes"}`)
			case agent == "closer":
				return text("closer is done")
			}
			return completes(agent + " is done")
		}
		e := &effect{}
		tm.tools = append(tm.tools, e)
		return tm, e
	}
	tm, _ := build(t)
	s := tm.service()
	if got := tm.runs(s, "lead", "go"); got.Text != "Done." || got.Usage.TotalTokens != 88 {
		t.Fatalf("%+v", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(tm.dir, "main.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	resumed, children := 0, 0
	for n := 2; n < len(lines); n++ {
		var last struct{ Type, Agent string }
		if err := json.Unmarshal(lines[n-1], &last); err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("after %d %s of %s", n-1, last.Type, last.Agent), func(t *testing.T) {
			tm, effect := build(t)
			if err := os.WriteFile(filepath.Join(tm.dir, "main.jsonl"), bytes.Join(lines[:n], nil), 0o600); err != nil {
				t.Fatal(err)
			}
			executed := map[string]bool{} // in the life before
			began := map[string]bool{}
			for _, line := range lines[:n] {
				var e struct {
					Type, Run string
					Data      struct{ Call, State, Name string }
				}
				if json.Unmarshal(line, &e) != nil {
					continue
				}
				if e.Type == "tool.state" && e.Data.State == "executing" && e.Data.Name == "effect" {
					executed[e.Data.Call] = true
				}
				if e.Type == "run.started" {
					began[e.Run] = true
				}
			}
			s := tm.service()
			conv, err := s.openKept(session.Default)
			if err != nil {
				t.Fatal(err)
			}
			if r, _ := runIn(conv.Runs(), "root"); r.State == activity.Finished {
				return
			}
			resumed++
			if len(began) > 1 {
				children++
			}
			live, err := s.Resume(t.Context(), Resume{Run: "root", Frontend: at{tm.site, tm}, Client: t.Context()})
			if err != nil {
				t.Fatal(err)
			}
			<-live.Done()
			if got := live.Result(); got.Reason != activity.Goal || got.Text != "Done." {
				t.Errorf("it ended %+v", got)
			}
			for _, call := range effect.done {
				if executed[call] {
					t.Errorf("%s was executed in both lives", call)
				}
				executed[call] = true
			}
			if len(executed) != 1 {
				t.Errorf("%d calls were executed", len(executed))
			}
			runs := conv.Runs()
			if len(runs) != 5 {
				t.Errorf("%d runs", len(runs))
			}
			for _, r := range runs {
				want := activity.Goal
				if r.Agent == "quick" {
					want = activity.HandedOff
				}
				if r.State != activity.Finished || r.Reason != want {
					t.Errorf("%s is left %s %s", r.Agent, r.State, r.Reason)
				}
			}
			said := strings.Join(tm.results("lead"), "\n")
			complete := strings.Count(said, "finished (GOAL") == 2 && strings.Contains(said, "middle is done") && strings.Contains(said, "closer is done")
			if len(tm.requests["lead"]) > 0 && !complete {
				t.Errorf("the first agent was told %q", said)
			}
			if state := conv.Info().State; state != session.Idle {
				t.Errorf("the session is %s", state)
			}
			if got := live.Result().Usage.TotalTokens; got < 77 {
				t.Errorf("%d tokens: what was used before does not count", got)
			}
		})
	}
	if resumed < 20 || children < 15 {
		t.Errorf("%d resumes, %d with children: this shows little", resumed, children)
	}
}

// TestTreeIsInterruptedAndResumed: a daemon that ends in good order leaves the call that
// delegates open, and the next one goes on with it.
func TestTreeIsInterruptedAndResumed(t *testing.T) {
	tm := newCrew(t, map[string]string{"lead": "subagents: [helper]", "helper": ""})
	there := make(chan struct{}, 1)
	first := true
	tm.says = func(ctx context.Context, agent string, n int, req *model.Request) model.Answer {
		switch {
		case agent == "lead" && answered(req):
			return text("Done.")
		case agent == "lead":
			return delegates("helper", "Look.")
		case first:
			there <- struct{}{}
			<-ctx.Done()
			return model.Answer{}
		}
		return completes("found")
	}
	s := tm.service()
	live := tm.start(s, "lead", "go")
	<-there
	s.Interrupt()
	<-live.Done()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	first = false
	s = tm.service()
	live, err := s.Resume(t.Context(), Resume{Run: "root", Frontend: at{tm.site, tm}, Client: t.Context()})
	if err != nil {
		t.Fatal(err)
	}
	<-live.Done()
	runs := map[string]bool{}
	for _, e := range tm.events(s) {
		runs[e.Run] = true
	}
	if got := live.Result(); got.Text != "Done." || len(runs) != 2 {
		t.Errorf("%+v; %d runs", got, len(runs))
	}
	if said := tm.results("lead"); len(said) != 1 || !strings.Contains(said[0], "finished (GOAL") {
		t.Errorf("%q", said)
	}
}
