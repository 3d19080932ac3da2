package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/settings"
)

// gives is a tool that gives what its arguments say: size bytes, with a taint.
type gives struct{}

func (gives) Spec() tool.Spec {
	return tool.Spec{Name: "gives", Risk: tool.Safe, Description: "Gives.", Parameters: json.RawMessage(`{"type":"object"}`)}
}

func (gives) Plan(_ context.Context, _ *tool.Env, args json.RawMessage) (*tool.Plan, error) {
	var asked struct {
		Size  int
		Taint string
		Text  string
	}
	if err := json.Unmarshal(args, &asked); err != nil {
		return nil, err
	}
	return &tool.Plan{Tool: "gives", Args: args, Risk: tool.Safe, Title: "gives", Do: func(context.Context, *tool.Env) (*tool.Result, error) {
		return &tool.Result{Content: asked.Text + strings.Repeat("x", asked.Size), Taint: tool.TaintOf(asked.Taint)}, nil
	}}, nil
}

// TestGraphLeavesRoomInTheState: what nodes give takes none of the room that agents have
// for values, and of what is too large for the state its beginning is told, and that it
// is one.
func TestGraphLeavesRoomInTheState(t *testing.T) {
	const nodes = 30
	list, edges := "", ""
	for i := range nodes {
		list += fmt.Sprintf("{name: n%d, tool: gives, input: {size: 39000}}, ", i)
		edges += fmt.Sprintf("{from: n%d, to: n%d}, ", i, i+1)
	}
	tm := newCrew(t, map[string]string{
		"flow": fmt.Sprintf("graph:\n  entry: n0\n  max_steps: 50\n  nodes: [%s{name: n%d, agent: writer}, {name: last, agent: x}]\n  edges: [%s{from: n%d, to: last}, {from: last, to: END}]\ntools: {allow: ['*']}", list, nodes, edges, nodes),
		"x":    "tools: {allow: ['*']}", "writer": "",
	})
	tm.tools = append(tm.tools, gives{})
	tm.says = func(_ context.Context, agent string, n int, _ *model.Request) model.Answer {
		switch {
		case agent == "writer":
			return completes(strings.Repeat("x", 200000))
		case n == 1:
			return several("set_state", `{"key":"note","value":"seen"}`)
		}
		return completes("fine")
	}
	s := tm.service()
	live := tm.startGraph(s, "flow", &answering{at: at{tm.site, tm}})
	<-live.Done()
	if got := live.Result(); got.Reason != activity.Goal {
		t.Fatalf("%+v %+v", got, got.Error)
	}
	if said := tm.results("x"); len(said) != 1 || strings.Contains(said[0], "allowed") {
		t.Errorf("set_state: %q", said)
	}
	told := false
	for _, e := range tm.events(s) {
		b, is := e.Body.(activity.StateChanged)
		if !is || b.Key != fmt.Sprintf("temp:n%d", nodes) {
			continue
		}
		told = true
		var text string
		if err := json.Unmarshal(b.Value, &text); err != nil || b.Cut != 200002 || !strings.HasPrefix(text, "xxx") || !strings.HasSuffix(text, "[… cut: 200000 bytes in all]") {
			t.Errorf("cut %d, %d bytes: %v", b.Cut, len(b.Value), err)
		}
	}
	if !told {
		t.Error("nothing was told of a large value")
	}
}

// TestSEC135GraphStateKeepsTaints: a key to which several nodes gave has the worst of
// their taints, and so has the result of a call that an earlier daemon made.
func TestSEC135GraphStateKeepsTaints(t *testing.T) {
	const flow = `graph:
  entry: page
  nodes:
    - {name: page, tool: gives, input: {text: '{"notes":"a"}', taint: web}}
    - {name: own, tool: gives, input: {text: '{"notes":"b"}'}}
  edges: [{from: page, to: own}, {from: own, to: END}]
  state: {notes: {reducer: append}}
tools: {allow: ['*']}`
	tm := newCrew(t, map[string]string{"flow": flow})
	tm.tools = append(tm.tools, gives{})
	s := tm.service()
	live := tm.startGraph(s, "flow", &answering{at: at{tm.site, tm}})
	<-live.Done()
	if got := live.Result(); got.Reason != activity.Goal {
		t.Fatalf("%+v %+v", got, got.Error)
	}
	events := tm.events(s)
	want := []string{`temp:page web`, `temp:notes web`, `temp:own `, `temp:notes web`}
	if got := taintsTold(events); strings.Join(got, ",") != strings.Join(want, ",") {
		t.Errorf("%q, want %q", got, want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// The daemon dies between the first call's end and its node's.
	resumed := tm.cutAfter(`"tool.state"`, `"success"`)
	live, err := resumed.Resume(t.Context(), Resume{Run: "root", Frontend: &answering{at: at{tm.site, tm}}, Client: t.Context()})
	if err != nil {
		t.Fatal(err)
	}
	<-live.Done()
	if got := taintsTold(tm.events(resumed)); strings.Join(got, ",") != strings.Join(want, ",") {
		t.Errorf("resumed: %q, want %q", got, want)
	}
}

// taintsTold is which keys were set, and with what taint, until the run ended.
func taintsTold(events []activity.Event) (told []string) {
	for _, e := range events {
		if b, is := e.Body.(activity.StateChanged); is && b.Value != nil {
			told = append(told, b.Key+" "+b.Taint)
		}
	}
	return told
}

// TestGraphWithoutModel: a graph of tools and questions runs where no model is
// configured; one with an agent is refused before it begins.
func TestGraphWithoutModel(t *testing.T) {
	tm := newCrew(t, map[string]string{
		"flow":   "graph: {entry: a, nodes: [{name: a, tool: peek}, {name: b, graph: inner}], edges: [{from: a, to: b}, {from: b, to: END}]}\ntools: {allow: ['*']}",
		"inner":  "graph: {entry: c, nodes: [{name: c, tool: peek}], edges: [{from: c, to: END}]}\ntools: {allow: ['*']}",
		"asks":   "graph: {entry: a, nodes: [{name: a, tool: peek}, {name: b, graph: deeper}], edges: [{from: a, to: b}, {from: b, to: END}]}\ntools: {allow: ['*']}",
		"deeper": "graph: {entry: c, nodes: [{name: c, agent: x}], edges: [{from: c, to: END}]}\ntools: {allow: ['*']}", "x": "",
	})
	tm.tools = append(tm.tools, &peek{})
	s := NewService(t.Context(), Config{
		Agents: func() *registry.Snapshot { return tm.agents }, Sessions: session.New(session.Config{Dir: tm.dir, Now: time.Now}), Table: model.NewTable(time.Now), Tools: tm.tools,
		Folders: func() []string { return []string{tm.site.folder} }, Trusted: func(string) bool { return true },
		Settings: func(string) *Settings { return &Settings{Values: settings.Values{Limits: tm.limits}} }, Approval: "ask", Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Provider: func(id string) (model.Model, *model.Retries, error) {
			return nil, nil, fault.New(fault.NotFound, "test", "no provider is configured for the model %q", id).Because(fault.Config)
		},
	})
	t.Cleanup(func() { _ = s.Close() })
	live := tm.startGraph(s, "flow", &answering{at: at{tm.site, tm}})
	<-live.Done()
	if got := live.Result(); got.Reason != activity.Goal || got.Text != "did it" {
		t.Errorf("%+v %+v", got, got.Error)
	}
	_, err := s.Start(t.Context(), Start{Agent: "asks", Input: []activity.ContentBlock{{Type: "text", Text: "x"}}, Frontend: at{tm.site, tm}, Client: t.Context()})
	if err == nil || !strings.Contains(err.Error(), "no provider is configured") {
		t.Errorf("a graph that asks a model: %v", err)
	}
}

// TestGraphAttemptsThatTheDaemonCutOffDoNotCount: a node that reads and that daemons cut
// off twice has all its retries still.
func TestGraphAttemptsThatTheDaemonCutOffDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tm := newCrew(t, map[string]string{"flow": "graph: {entry: a, nodes: [{name: a, tool: hangs, retries: 1}], edges: [{from: a, to: END}]}\ntools: {allow: ['*']}"})
		begun := 0
		var closing *Service
		closed := make(chan error)
		h := &hangs{risk: tool.Safe, fails: func(n int) bool { return n == 3 }}
		h.hang = func(ctx context.Context) {
			if begun++; begun <= 2 {
				go func() { closed <- closing.Close() }()
				<-ctx.Done()
			}
		}
		tm.tools = append(tm.tools, h)
		frontend := &answering{at: at{tm.site, tm}}
		closing = tm.service()
		live := tm.startGraph(closing, "flow", frontend)
		<-live.Done()
		for range 2 {
			if err := <-closed; err != nil {
				t.Fatal(err)
			}
			closing = tm.service()
			var err error
			if live, err = closing.Resume(t.Context(), Resume{Run: "root", Frontend: frontend, Client: t.Context()}); err != nil {
				t.Fatal(err)
			}
			<-live.Done()
		}
		if got := live.Result(); got.Reason != activity.Goal || begun != 4 {
			t.Errorf("%+v %+v after %d attempts", got, got.Error, begun)
		}
		if err := closing.Close(); err != nil {
			t.Error(err)
		}
	})
}

// cutAfter returns a service whose log ends with the first event that has all words.
func (tm *crew) cutAfter(words ...string) *Service {
	tm.t.Helper()
	name := filepath.Join(tm.dir, "main.jsonl")
	data, err := os.ReadFile(name)
	if err != nil {
		tm.t.Fatal(err)
	}
	kept := 0
	for line := range bytes.Lines(data) {
		kept += len(line)
		if !slices.ContainsFunc(words, func(word string) bool { return !bytes.Contains(line, []byte(word)) }) {
			break
		}
	}
	if kept == len(data) {
		tm.t.Fatal("the log has no such event")
	}
	if err := os.WriteFile(name, data[:kept], 0o600); err != nil {
		tm.t.Fatal(err)
	}
	return tm.service()
}

// TestGraphAsksWhatItsTimeCutOff: of a call that the graph's time cut off the person is
// asked, and told so.
func TestGraphAsksWhatItsTimeCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tm := newCrew(t, map[string]string{"flow": "run: {max_time: 60}\ngraph: {entry: a, nodes: [{name: a, tool: hangs}], edges: [{from: a, to: END}]}\ntools: {allow: ['*']}"})
		h := &hangs{risk: tool.Low}
		h.hang = func(ctx context.Context) {
			if h.calls == 1 {
				<-ctx.Done()
			}
		}
		tm.tools = append(tm.tools, h)
		frontend := &answering{at: at{tm.site, tm}, says: func(context.Context, tool.Question) (tool.Answer, error) {
			return tool.Answer{Action: "accept", Text: "Run it again"}, nil
		}}
		s := tm.service()
		live := tm.startGraph(s, "flow", frontend)
		<-live.Done()
		if got := live.Result(); got.Reason != activity.Timeout {
			t.Fatalf("%+v %+v", got, got.Error)
		}
		live, err := s.Resume(t.Context(), Resume{Run: "root", Frontend: frontend, Client: t.Context()})
		if err != nil {
			t.Fatal(err)
		}
		<-live.Done()
		if got := live.Result(); got.Reason != activity.Goal || h.calls != 2 {
			t.Errorf("%+v %+v", got, got.Error)
		}
		if len(frontend.asked) != 1 || !strings.HasPrefix(frontend.asked[0].Message, "The graph's time was used up while hangs ran.") {
			t.Errorf("%+v", frontend.asked)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
