package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/settings"
)

// analysis is a graph with everything: a condition, a person, a tool, two branches side
// by side that join, a loop, and a nested graph.
const analysis = `graph:
  entry: analyzer
  nodes:
    - {name: analyzer, agent: analyzer}
    - {name: fixer, agent: fixer, input: "Fix: ${analyzer.summary}"}
    - {name: ask, human: "Fix ${analyzer.summary}?", input: {choices: [yes, no]}}
    - {name: test, tool: effect, input: {of: "${analyzer.summary}"}}
    - {name: look, tool: peek}
    - {name: docs, graph: inner}
    - {name: reviewer, agent: reviewer, input: "fixed by itself: ${analyzer.can_auto_fix}, ${docs}, ${look}"}
  edges:
    - {from: analyzer, to: fixer, condition: analyzer.can_auto_fix}
    - {from: analyzer, to: ask, else: true}
    - {from: ask, to: fixer}
    - {from: fixer, to: test}
    - {from: fixer, to: docs}
    - {from: test, to: look}
    - {from: look, to: reviewer}
    - {from: docs, to: reviewer}
    - {from: reviewer, to: analyzer, condition: "reviewer == 'again'"}
    - {from: reviewer, to: END, else: true}
  state: {notes: {reducer: append}}
tools: {allow: ['*']}`

const inner = `graph: {entry: a, nodes: [{name: a, agent: writer}], edges: [{from: a, to: END}]}
tools: {allow: ['*']}`

// peek is a tool that only reads.
type peek struct{ effect }

func (*peek) Spec() tool.Spec {
	return tool.Spec{Name: "peek", Risk: tool.Safe, Description: "Looks.", Parameters: json.RawMessage(`{"type":"object"}`)}
}

func (e *peek) Plan(ctx context.Context, env *tool.Env, args json.RawMessage) (*tool.Plan, error) {
	p, err := e.effect.Plan(ctx, env, args)
	p.Tool, p.Risk = "peek", tool.Safe
	return p, err
}

// crewOfGraph has the analysis, with what its models say by what they are told.
func crewOfGraph(t testing.TB) (tm *crew, e *effect) {
	tm = newCrew(t, map[string]string{
		"flow": analysis, "inner": inner, "fixer": "", "reviewer": "", "writer": "",
		"analyzer": "output: {schema: {type: object, properties: {can_auto_fix: {type: boolean}, summary: {type: string}, notes: {type: string}}}}",
	})
	tm.says = func(_ context.Context, agent string, _ int, req *model.Request) model.Answer {
		asked := wordsOf(req)
		switch {
		case agent == "analyzer":
			return several("complete_task", fmt.Sprintf(`{"result":{"can_auto_fix":%v,"summary":"a bug","notes":"seen"}}`, strings.Contains(asked, "again")))
		case agent == "reviewer" && strings.Contains(asked, "itself: false"):
			return completes("again")
		}
		return completes(agent + " is done")
	}
	e = &effect{}
	tm.tools = append(tm.tools, e, &peek{})
	return tm, e
}

// wordsOf is what a request says.
func wordsOf(req *model.Request) string {
	var b strings.Builder
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// answering answers the questions of nodes.
type answering struct {
	at
	mu    sync.Mutex
	asked []tool.Question
	says  func(ctx context.Context, q tool.Question) (tool.Answer, error)
}

// Ask implements [Frontend].
func (a *answering) Ask(string, string, string) tool.Ask {
	return func(ctx context.Context, q tool.Question) (tool.Answer, error) {
		a.mu.Lock()
		a.asked = append(a.asked, q)
		a.mu.Unlock()
		if a.says != nil {
			return a.says(ctx, q)
		}
		return tool.Answer{Action: "accept", Text: q.Choices[0]}, nil
	}
}

func (tm *crew) startGraph(s *Service, agent string, frontend Frontend) *Live {
	tm.t.Helper()
	live, err := s.Start(tm.t.Context(), Start{
		Run: "root", Agent: agent, Input: []activity.ContentBlock{{Type: "text", Text: "look at it"}}, Frontend: frontend, Client: tm.t.Context(),
	})
	if err != nil {
		tm.t.Fatal(err)
	}
	return live
}

// told is what the log says of a graph's run.
type told struct {
	finished []string // steps, in their order
	ran      map[string]int
	state    map[string]string
	children int
	errors   []string
}

func toldBy(events []activity.Event) told {
	all := told{ran: map[string]int{}, state: map[string]string{}}
	for _, e := range events {
		switch b := e.Body.(type) {
		case activity.GraphNode:
			switch {
			case e.Run == "root" && b.State == activity.NodeFinished:
				all.finished = append(all.finished, b.Step)
			case e.Run == "root" && b.State == activity.NodeRunning:
				all.ran[b.Step]++
			}
		case activity.StateChanged:
			all.state[b.Key] = string(b.Value)
		case activity.RunStarted:
			all.children++
		case activity.ErrorSeen:
			all.errors = append(all.errors, b.Code+": "+b.Message)
		}
	}
	return all
}

// wantSteps and wantState are of every run of the analysis, whatever happens to it.
var (
	wantSteps = strings.Fields("analyzer#1 analyzer#2 ask#1 docs#1 docs#2 fixer#1 fixer#2 look#1 look#2 reviewer#1 reviewer#2 test#1 test#2")
	wantState = map[string]string{
		"temp:analyzer": `{"can_auto_fix":true,"notes":"seen","summary":"a bug"}`, "temp:notes": `["seen","seen"]`, "temp:ask": `"yes"`, "temp:docs": `"writer is done"`,
		"temp:a": `"writer is done"`, "temp:fixer": `"fixer is done"`, "temp:look": `"did it"`, "temp:reviewer": `"reviewer is done"`, "temp:test": `"did it"`,
	}
)

// TestGraphRuns: nodes run in their order, each is told what its input says, the
// branches are side by side and join, and what they gave is in the session's state.
func TestGraphRuns(t *testing.T) {
	tm, e := crewOfGraph(t)
	s := tm.service()
	frontend := &answering{at: at{tm.site, tm}}
	live := tm.startGraph(s, "flow", frontend)
	<-live.Done()
	if got := live.Result(); got.Reason != activity.Goal || got.Text != "reviewer is done" || got.Usage.TotalTokens != 88 || got.ToolCalls != 4 {
		t.Fatalf("%+v %v", got, got.Error)
	}
	all := toldBy(tm.events(s))
	slices.Sort(all.finished)
	if !slices.Equal(all.finished, wantSteps) || !maps.Equal(all.state, wantState) || len(all.errors) > 0 || all.children != 11 || len(e.done) != 2 {
		t.Errorf("%+v, %d effects", all, len(e.done))
	}
	if len(frontend.asked) != 1 || frontend.asked[0].Title != "flow: ask" || frontend.asked[0].Message != "Fix a bug?" || !slices.Equal(frontend.asked[0].Choices, []string{"yes", "no"}) {
		t.Errorf("%+v", frontend.asked)
	}
	if said := wordsOf(tm.requests["fixer"][0]); !strings.Contains(said, "Fix: a bug") {
		t.Error(said)
	}
	if said := wordsOf(tm.requests["analyzer"][1]); !strings.Contains(said, "look at itThe result of reviewer:\nagain") {
		t.Error(said)
	}
}

// TestREL103GraphResumesAtEveryEvent: a daemon that dies after any event of a graph
// leaves one that is resumed to the same end: what has finished does not run again, and
// no call executes in both lives.
func TestREL103GraphResumesAtEveryEvent(t *testing.T) {
	tm, _ := crewOfGraph(t)
	s := tm.service()
	live := tm.startGraph(s, "flow", &answering{at: at{tm.site, tm}})
	<-live.Done()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(tm.dir, "main.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	resumed := 0
	for n := 2; n < len(lines); n++ {
		var last struct {
			Type, Agent string
			Data        struct{ State, Node, To string }
		}
		if err := json.Unmarshal(lines[n-1], &last); err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("after %d %s of %s %s%s %s", n-1, last.Type, last.Agent, last.Data.State, last.Data.To, last.Data.Node), func(t *testing.T) {
			tm, effect := crewOfGraph(t)
			if err := os.WriteFile(filepath.Join(tm.dir, "main.jsonl"), bytes.Join(lines[:n], nil), 0o600); err != nil {
				t.Fatal(err)
			}
			s := tm.service()
			before := toldBy(tm.events(s))
			executed := map[string]bool{} // in the life before
			for _, line := range lines[:n] {
				var e struct {
					Data struct{ Call, State, Name string }
				}
				if json.Unmarshal(line, &e) == nil && e.Data.Name == "effect" {
					executed[e.Data.Call] = executed[e.Data.Call] || e.Data.State == "executing"
				}
			}
			conv, err := s.openKept(session.Default)
			if err != nil {
				t.Fatal(err)
			}
			if r, _ := runIn(conv.Runs(), "root"); r.State == activity.Finished {
				return
			}
			resumed++
			frontend := &answering{at: at{tm.site, tm}}
			frontend.says = func(_ context.Context, q tool.Question) (tool.Answer, error) {
				if slices.Contains(q.Choices, "Go on without its result") {
					return tool.Answer{Action: "accept", Text: "Go on without its result"}, nil
				}
				return tool.Answer{Action: "accept", Text: "yes"}, nil
			}
			live, err := s.Resume(t.Context(), Resume{Run: "root", Frontend: frontend, Client: t.Context()})
			if err != nil {
				t.Fatal(err)
			}
			<-live.Done()
			if got := live.Result(); got.Reason != activity.Goal || got.Text != "reviewer is done" {
				t.Errorf("it ended %+v %+v", got, got.Error)
			}
			all := toldBy(tm.events(s))
			for _, step := range before.finished {
				if all.ran[step] != before.ran[step] {
					t.Errorf("%s had finished and ran again", step)
				}
			}
			slices.Sort(all.finished)
			if !slices.Equal(all.finished, wantSteps) || len(all.errors) > 0 || all.children != 11 {
				t.Errorf("%+v", all)
			}
			if all.state["temp:test"] == "null" { // the person went on without
				all.state["temp:test"] = `"did it"`
			}
			if !maps.Equal(all.state, wantState) {
				t.Errorf("%v", all.state)
			}
			for _, call := range effect.done {
				if executed[call] {
					t.Errorf("%s was executed in both lives", call)
				}
				executed[call] = true
			}
			ran := 0
			for _, is := range executed {
				if is {
					ran++
				}
			}
			if ran != 2 {
				t.Errorf("%d effects: %v", ran, executed)
			}
			for _, r := range conv.Runs() {
				if r.State != activity.Finished || r.Reason != activity.Goal {
					t.Errorf("%s is left %s %s", r.Agent, r.State, r.Reason)
				}
			}
		})
	}
	if resumed < len(lines)-6 {
		t.Errorf("%d of %d were resumed", resumed, len(lines))
	}
}

// TestNodesRunByTheSettings: the agents of nodes have the models that the settings give
// them, also where the file's is not to be had, and before the one that the person names.
func TestNodesRunByTheSettings(t *testing.T) {
	tm := newCrew(t, map[string]string{
		"flow": "graph: {entry: a, nodes: [{name: a, agent: one}, {name: b, agent: two}], edges: [{from: a, to: b}, {from: b, to: END}]}",
		"one":  "model: elsewhere/sonnet",
		"two":  "",
	})
	tm.rules.Overrides = map[string][]settings.Raw{"one": {mine(`{"model": "first"}`)}, "two": {mine(`{"model": "second"}`)}}
	tm.says = func(_ context.Context, agent string, _ int, _ *model.Request) model.Answer { return completes(agent) }
	s := tm.service()
	s.Provider = func(id string) (model.Model, *model.Retries, error) {
		if strings.HasPrefix(id, "elsewhere/") {
			return nil, nil, fmt.Errorf("no provider is configured for %s", id)
		}
		return tm, nil, nil
	}
	live, err := s.Start(t.Context(), Start{Agent: "flow", Model: "asked", Frontend: at{tm.site, tm}, Client: t.Context(),
		Input: []activity.ContentBlock{{Type: "text", Text: "go"}}})
	if err != nil {
		t.Fatal(err)
	}
	<-live.Done()
	if got := live.Result(); got.Reason != activity.Goal || tm.requests["one"][0].Model != "first" || tm.requests["two"][0].Model != "second" {
		t.Errorf("%+v, %+v", got, tm.requests)
	}
}
