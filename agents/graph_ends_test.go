package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/settings"
)

// TestGraphEnds: each way in which a graph ends says which node it was and why.
func TestGraphEnds(t *testing.T) {
	const always = "\n  edges: [{from: a, to: END}]\ntools: {allow: ['*']}"
	for _, c := range []struct {
		name, graph string
		says        func(agent string, n int) model.Answer
		person      func(q tool.Question) (tool.Answer, error)
		limits      func(*settings.Limits)
		want        string // of the error; "" = the result is fine
		text        string
		attempts    int // of a
	}{
		{name: "loops", graph: "graph:\n  entry: a\n  max_steps: 4\n  nodes: [{name: a, agent: x}, {name: b, tool: peek}]\n  edges: [{from: a, to: b}, {from: b, to: a, condition: \"b != 'x'\"}, {from: b, to: END, else: true}]",
			want: "has taken 4 steps, which is its limit (max_steps), and is not at END; the next would be a. Raise graph.max_steps, or look at the conditions of the loop: a → b → a → b.", attempts: 2},
		{name: "no edge holds", graph: "graph:\n  entry: a\n  nodes: [{name: a, agent: x}]\n  edges: [{from: a, to: END, condition: a.ok}]", want: "No edge of the node a holds, so the graph cannot go on. Its conditions saw: a.ok", attempts: 1},
		{name: "fails", graph: "graph:\n  entry: a\n  nodes: [{name: a, agent: x, retries: 2}]" + always, says: func(string, int) model.Answer { return model.Answer{Finish: model.Blocked, Blocked: "SAFETY"} },
			want: "The node a failed: x ended with ERROR: The model's provider blocked the answer (SAFETY).", attempts: 3},
		{name: "is tried again", graph: "graph:\n  entry: a\n  nodes: [{name: a, agent: x, retries: 2}]" + always, says: func(_ string, n int) model.Answer {
			if n == 1 {
				return model.Answer{Finish: model.Blocked, Blocked: "SAFETY"}
			}
			return completes("at last")
		}, text: "at last", attempts: 2},
		{name: "tool fails", graph: "graph:\n  entry: a\n  nodes: [{name: a, tool: read_file, input: {path: none.txt}}]" + always, want: "The node a failed: ", attempts: 1},
		{name: "no such tool", graph: "graph:\n  entry: a\n  nodes: [{name: a, tool: bash, input: {command: ls}}]\n  edges: [{from: a, to: END}]\ntools: {allow: [read_file]}", want: "The node a failed: Tool not allowed for this agent: bash", attempts: 1},
		{name: "declined", graph: "graph:\n  entry: a\n  nodes: [{name: a, human: Sure?}]" + always, person: func(tool.Question) (tool.Answer, error) { return tool.Answer{Action: "decline"}, nil },
			want: "The node a failed: the person did not answer its question", attempts: 1},
		{name: "nested too deep", graph: "graph:\n  entry: a\n  nodes: [{name: a, graph: one}]" + always, limits: func(l *settings.Limits) { l.Depth = 1 }, want: "The node a failed: one ended with ERROR: The node n failed: it lies 2 runs deep, and 1 are allowed (agents.limits.depth)", attempts: 1},
		{name: "too many runs", graph: "graph:\n  entry: a\n  nodes: [{name: a, agent: x}, {name: b, agent: x}]\n  edges: [{from: a, to: b}, {from: b, to: END}]", limits: func(l *settings.Limits) { l.Runs = 1 }, want: "The node b failed: Nothing was delegated: this request has started 1 agents", attempts: 1},
		{name: "sum of a text", graph: "graph:\n  entry: a\n  state: {a: {reducer: sum}}\n  nodes: [{name: a, agent: x}]" + always, want: `The result of the node a does not fit the state: "fine" is no number, and the reducer of a is sum`, attempts: 1},
		{name: "no output", graph: "output: {schema: {type: object, required: [ok]}}\ngraph:\n  entry: a\n  nodes: [{name: a, agent: x}]" + always, want: "The result of the graph is not what the agent's output says: ", attempts: 1},
		{name: "two ends", graph: "graph:\n  entry: a\n  nodes: [{name: a, agent: x}, {name: b, agent: x}, {name: c, agent: x}]\n  edges: [{from: a, to: b}, {from: a, to: c}, {from: b, to: END}, {from: c, to: END}]", text: "b: fine\n\nc: fine", attempts: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			tm := newCrew(t, map[string]string{"flow": c.graph, "x": "", "one": "graph: {entry: n, nodes: [{name: n, agent: x}], edges: [{from: n, to: END}]}\ntools: {allow: ['*']}"})
			tm.tools = append(tm.tools, &peek{})
			if c.limits != nil {
				c.limits(&tm.limits)
			}
			tm.says = func(_ context.Context, agent string, n int, _ *model.Request) model.Answer {
				if c.says != nil {
					return c.says(agent, n)
				}
				return completes("fine")
			}
			s := tm.service()
			frontend := &answering{at: at{tm.site, tm}, says: func(_ context.Context, q tool.Question) (tool.Answer, error) { return c.person(q) }}
			live := tm.startGraph(s, "flow", frontend)
			<-live.Done()
			got := live.Result()
			switch {
			case c.want != "" && (got.Reason != activity.Errored || got.Error == nil || got.Error.Kind != "graph" || !strings.Contains(got.Error.Message, c.want)):
				t.Errorf("%+v: %+v\nwant %s", got, got.Error, c.want)
			case c.want == "" && (got.Reason != activity.Goal || got.Text != c.text):
				t.Errorf("%+v: %+v", got, got.Error)
			}
			attempts := 0
			for _, e := range tm.events(s) {
				if b, is := e.Body.(activity.GraphNode); is && b.Node == "a" && b.State == activity.NodeRunning {
					attempts++
				}
			}
			if attempts != c.attempts {
				t.Errorf("%d attempts", attempts)
			}
		})
	}
}

// TestREL127GraphIsCancelled: a graph ends within a second in whatever it does, with all
// that it started.
func TestREL127GraphIsCancelled(t *testing.T) {
	for name, node := range map[string]string{"agent": "agent: x", "nested": "graph: one", "human": "human: Sure?", "tool": "tool: hangs", "confirmation": "tool: effect"} {
		t.Run(name, func(t *testing.T) {
			tm := newCrew(t, map[string]string{"flow": "graph: {entry: a, nodes: [{name: a, " + node + ", retries: 3}, {name: b, agent: x}], edges: [{from: a, to: b}, {from: b, to: END}]}\ntools: {allow: ['*']}",
				"x": "", "one": "graph: {entry: n, nodes: [{name: n, agent: x}], edges: [{from: n, to: END}]}\ntools: {allow: ['*']}"})
			there := make(chan struct{}, 1)
			hang := func(ctx context.Context) {
				there <- struct{}{}
				<-ctx.Done()
			}
			tm.tools = append(tm.tools, &effect{}, &hangs{hang: hang, risk: tool.Safe})
			tm.says = func(ctx context.Context, _ string, _ int, _ *model.Request) model.Answer {
				hang(ctx)
				return model.Answer{}
			}
			tm.asks = func(ctx context.Context, _ Question) Answer { hang(ctx); return Answer{Outcome: guard.Reject} }
			s := tm.service()
			frontend := &answering{at: at{tm.site, tm}, says: func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
				hang(ctx)
				return tool.Answer{}, ctx.Err()
			}}
			live := tm.startGraph(s, "flow", frontend)
			<-there
			began := time.Now()
			s.Cancel("root", "")
			<-live.Done()
			if took := time.Since(began); took > time.Second {
				t.Errorf("it took %v", took)
			}
			if got := live.Result(); got.Reason != activity.Aborted {
				t.Errorf("%+v %+v", got, got.Error)
			}
			states := ""
			for _, e := range tm.events(s) {
				if b, is := e.Body.(activity.GraphNode); is && e.Run == "root" {
					states += b.Node + " " + b.State + " "
				}
			}
			if !strings.HasSuffix(states, "a cancelled ") || strings.Contains(states, "b ") {
				t.Error(states)
			}
			if len(s.Live()) > 0 {
				t.Error("something goes on")
			}
		})
	}
}

// TestREL103GraphIsInterrupted: a daemon that ends while a node is at work leaves the graph
// interrupted, no node has failed, and the next daemon goes on to the same end.
func TestREL103GraphIsInterrupted(t *testing.T) {
	for name, node := range map[string]string{"agent": "agent: x", "nested": "graph: one", "human": "human: Sure?", "tool": "tool: hangs", "confirmation": "tool: effect"} {
		t.Run(name, func(t *testing.T) {
			tm := newCrew(t, map[string]string{"flow": "graph: {entry: a, nodes: [{name: a, " + node + "}, {name: b, agent: y}], edges: [{from: a, to: b}, {from: b, to: END}]}\ntools: {allow: ['*']}",
				"x": "", "y": "", "one": "graph: {entry: n, nodes: [{name: n, agent: x}], edges: [{from: n, to: END}]}\ntools: {allow: ['*']}"})
			there, second := make(chan struct{}, 1), false
			hang := func(ctx context.Context) {
				if !second {
					there <- struct{}{}
					<-ctx.Done()
				}
			}
			tm.tools = append(tm.tools, &effect{}, &hangs{hang: hang, risk: tool.Safe})
			tm.says = func(ctx context.Context, _ string, _ int, _ *model.Request) model.Answer {
				hang(ctx)
				return completes("fine")
			}
			tm.asks = func(ctx context.Context, _ Question) Answer {
				hang(ctx)
				return Answer{Outcome: guard.Once, By: "user"}
			}
			frontend := &answering{at: at{tm.site, tm}, says: func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
				hang(ctx)
				return tool.Answer{Action: "accept", Text: "yes"}, ctx.Err()
			}}
			s := tm.service()
			live := tm.startGraph(s, "flow", frontend)
			<-there
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			<-live.Done()
			second = true
			s = tm.service()
			live, err := s.Resume(t.Context(), Resume{Run: "root", Frontend: frontend, Client: t.Context()})
			if err != nil {
				t.Fatal(err)
			}
			<-live.Done()
			if got := live.Result(); got.Reason != activity.Goal || got.Text != "fine" {
				t.Errorf("%+v %+v", got, got.Error)
			}
			failed := 0
			for _, e := range tm.events(s) {
				if b, is := e.Body.(activity.GraphNode); is && (b.State == activity.NodeFailed || b.State == activity.NodeCancelled) {
					failed++
				}
			}
			if want := map[string]int{"tool": 1}[name]; failed != want { // a call that only reads is made again
				t.Errorf("%d failed", failed)
			}
		})
	}
}

// TestGraphIsToldTheRequest: a node without an input gets the request as it was asked,
// with what the person has in the editor, and of a handoff what was handed over.
func TestGraphIsToldTheRequest(t *testing.T) {
	tm := newCrew(t, map[string]string{"first": "handoffs: [{to: flow}]", "flow": "graph: {entry: a, nodes: [{name: a, agent: x}, {name: b, agent: y}], edges: [{from: a, to: b}, {from: b, to: END}]}", "x": "", "y": ""})
	tm.says = func(_ context.Context, agent string, _ int, _ *model.Request) model.Answer {
		if agent == "first" {
			return several("transfer_to_flow", `{"reason":"it has steps","summary":"a nil map"}`)
		}
		return completes(agent + " is done")
	}
	s := tm.service()
	live, err := s.Start(t.Context(), Start{
		Agent: "first", Input: []activity.ContentBlock{{Type: "text", Text: "look at it"}}, Context: &activity.EditorContext{URI: "file:///w/a.go"},
		Frontend: at{tm.site, tm}, Client: t.Context(),
	})
	if err != nil {
		t.Fatal(err)
	}
	<-live.Done()
	if got := live.Result(); got.Text != "y is done" || got.Reason != activity.Goal {
		t.Fatalf("%+v %+v", got, got.Error)
	}
	for agent, want := range map[string][]string{"x": {"look at it", "a nil map", "it has steps", "a.go"}, "y": {"look at it", "The result of a:\nx is done"}} {
		for _, text := range want {
			if said := wordsOf(tm.requests[agent][0]); !strings.Contains(said, text) {
				t.Errorf("%s is not told %q:\n%s", agent, text, said)
			}
		}
	}
	// Words that are said to a graph are for its nodes.
	live = tm.startGraph(s, "flow", at{tm.site, tm})
	_, err = s.Steer("root", []activity.ContentBlock{{Type: "text", Text: "x"}})
	<-live.Done()
	if err == nil || (!strings.Contains(err.Error(), "graph") && !strings.Contains(err.Error(), "root")) {
		t.Error(err)
	}
}

// hangs is a tool that waits for its end.
type hangs struct {
	effect
	hang  func(context.Context)
	fails func(n int) bool // the call, from 1; nil = none does
	calls int
	risk  tool.Risk
}

func (*hangs) Spec() tool.Spec {
	s := (*peek)(nil).Spec()
	s.Name = "hangs"
	return s
}

func (h *hangs) Plan(ctx context.Context, env *tool.Env, args json.RawMessage) (*tool.Plan, error) {
	p, err := h.effect.Plan(ctx, env, args)
	p.Tool, p.Risk = "hangs", h.risk
	p.Do = func(ctx context.Context, _ *tool.Env) (*tool.Result, error) {
		h.calls++
		n := h.calls
		h.hang(ctx)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case h.fails != nil && h.fails(n):
			return nil, tool.Errorf(tool.CodeFailed, "It failed.")
		}
		return &tool.Result{Content: "fine"}, nil
	}
	return p, err
}

// TestGraphTimeout: an attempt at a node ends with its time, which stands still while the
// person is asked about it.
func TestGraphTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tm := newCrew(t, map[string]string{"flow": "graph: {entry: a, nodes: [{name: a, tool: effect, timeout: 5}, {name: b, agent: x, timeout: 60, retries: 1}], edges: [{from: a, to: b}, {from: b, to: END}]}\ntools: {allow: ['*']}", "x": ""})
		tm.tools = append(tm.tools, &effect{})
		tm.asks = func(context.Context, Question) Answer {
			time.Sleep(time.Hour)
			return Answer{Outcome: guard.Once, By: "user"}
		}
		tm.says = func(ctx context.Context, _ string, _ int, _ *model.Request) model.Answer {
			<-ctx.Done()
			return model.Answer{}
		}
		s := tm.service()
		began := time.Now()
		live := tm.startGraph(s, "flow", &answering{at: at{tm.site, tm}})
		<-live.Done()
		got := live.Result()
		if got.Error == nil || got.Error.Message != "The node b failed: it took longer than its timeout of 1m0s" {
			t.Errorf("%+v %+v", got, got.Error)
		}
		if took := time.Since(began).Round(time.Second); took != time.Hour+2*time.Minute {
			t.Errorf("it took %v", took)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestSEC130GraphGivesNoPower: an agent that a graph runs has no tool that the graph's
// agent has not, and is asked about what that one's file says.
func TestSEC130GraphGivesNoPower(t *testing.T) {
	tm := newCrew(t, map[string]string{"flow": "graph: {entry: a, nodes: [{name: a, agent: x}], edges: [{from: a, to: END}]}\ntools: {allow: [ls]}", "x": "tools: {allow: ['*']}"})
	e := &effect{}
	tm.tools = append(tm.tools, e)
	tm.says = func(_ context.Context, _ string, n int, _ *model.Request) model.Answer {
		if n == 1 {
			return several("effect", "{}", "ls", `{"path":"."}`)
		}
		return completes(fmt.Sprint(len(e.done)))
	}
	s := tm.service()
	live := tm.startGraph(s, "flow", &answering{at: at{tm.site, tm}})
	<-live.Done()
	said := strings.Join(tm.results("x"), "\n")
	if got := live.Result(); got.Text != "0" || !strings.Contains(said, "Tool not allowed for this agent: effect") || !strings.Contains(said, "Tools of this agent: ls") {
		t.Errorf("%+v\n%s", got, said)
	}
}

// TestGraphGoesOnAfterItsTime: a graph that came to its max_time while a node was at work
// is resumed: what has finished does not run again, in nested graphs neither, and that a
// node was cut off does not count towards its retries.
func TestGraphGoesOnAfterItsTime(t *testing.T) {
	for name, c := range map[string]struct {
		node   string
		tokens int // of models that answered
	}{"agent": {"agent: x", 33}, "nested": {"graph: one", 55}, "tool": {"tool: hangs", 11}} {
		node := c.node
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tm := newCrew(t, map[string]string{
					"flow": "run: {max_time: 60}\ngraph: {entry: a, nodes: [{name: a, agent: y}, {name: b, " + node + ", retries: 1}], edges: [{from: a, to: b}, {from: b, to: END}]}\ntools: {allow: ['*']}",
					"x":    "", "y": "", "z": "",
					"one": "graph: {entry: m, nodes: [{name: m, agent: z}, {name: n, agent: x}], edges: [{from: m, to: n}, {from: n, to: END}]}\ntools: {allow: ['*']}"})
				begun := 0 // attempts at b: two are cut off, one fails
				hang := func(ctx context.Context) {
					if begun++; begun <= 2 {
						<-ctx.Done()
					}
				}
				tm.tools = append(tm.tools, &hangs{hang: hang, risk: tool.Safe})
				tm.says = func(ctx context.Context, agent string, _ int, _ *model.Request) model.Answer {
					if agent == "y" || agent == "z" {
						return completes("first")
					}
					if hang(ctx); begun == 3 {
						return model.Answer{Finish: model.Blocked, Blocked: "SAFETY"}
					}
					return completes("fine")
				}
				s := tm.service()
				live := tm.startGraph(s, "flow", &answering{at: at{tm.site, tm}})
				<-live.Done()
				for range 2 {
					if got := live.Result(); got.Reason != activity.Timeout {
						t.Fatalf("%+v %+v", got, got.Error)
					}
					var err error
					if live, err = s.Resume(t.Context(), Resume{Run: "root", Frontend: &answering{at: at{tm.site, tm}}, Client: t.Context()}); err != nil {
						t.Fatal(err)
					}
					<-live.Done()
				}
				if got := live.Result(); got.Reason != activity.Goal || got.Text != "fine" || len(tm.requests["y"]) != 1 || got.Usage.TotalTokens != c.tokens {
					t.Errorf("%+v %+v, a ran %d times", got, got.Error, len(tm.requests["y"]))
				}
				if name == "nested" && len(tm.requests["z"]) != 2 { // b was tried twice, its second try runs all
					t.Errorf("m ran %d times", len(tm.requests["z"]))
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestGraphWaitsForPlaces: nodes, nested graphs' too, and an agent that judges wait where
// all places for live runs are taken, and none fails; the model that the person asked for
// is that of the nodes' agents.
func TestGraphWaitsForPlaces(t *testing.T) {
	const both = ", nodes: [{name: a, agent: x}, {name: b, agent: y}, {name: c, graph: inner}, {name: d, agent: x}], edges: [{from: a, to: b}, {from: a, to: c}, {from: a, to: d}, {from: b, to: END}, {from: c, to: END}, {from: d, to: END}]}"
	tm := newCrew(t, map[string]string{
		"flow": "graph: {entry: a" + both + "\ntools: {allow: ['*']}", "y": "", "z": "",
		"inner": "graph: {entry: k, nodes: [{name: k, agent: y}, {name: l, agent: z}, {name: m, agent: z}], edges: [{from: k, to: l}, {from: k, to: m}, {from: l, to: END}, {from: m, to: END}]}\ntools: {allow: ['*']}",
		"x":     "output: {schema: {type: string}}\nguardrails: {custom_validator: 'agent:judge'}", "judge": "",
	})
	tm.limits.Live, tm.limits.Depth = 1, 4
	tm.says = func(_ context.Context, agent string, _ int, _ *model.Request) model.Answer {
		if agent == "judge" {
			return several("complete_task", `{"result":{"valid":true}}`)
		}
		return completes("fine")
	}
	s := tm.service()
	live, err := s.Start(t.Context(), Start{
		Run: "root", Agent: "flow", Model: "pro", Input: []activity.ContentBlock{{Type: "text", Text: "look at it"}}, Frontend: at{tm.site, tm}, Client: t.Context(),
	})
	if err != nil {
		t.Fatal(err)
	}
	<-live.Done()
	if got := live.Result(); got.Reason != activity.Goal {
		t.Errorf("%+v %+v", got, got.Error)
	}
	if len(tm.requests["judge"]) != 2 {
		t.Errorf("the judge was asked %d times", len(tm.requests["judge"]))
	}
	for _, e := range tm.events(s) {
		if b, is := e.Body.(activity.RunStarted); is && b.Asked != "pro" && e.Agent != "judge" {
			t.Errorf("%s was started with the model %q", e.Agent, b.Asked)
		}
	}
}
