package trace_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/trace"
)

// story makes events, a second apart.
type story struct {
	events []activity.Event
	about  activity.Origin
}

func (s *story) say(bodies ...activity.Body) {
	for _, b := range bodies {
		n := len(s.events) + 1
		s.events = append(s.events, activity.Event{Seq: uint64(n), Time: time.Unix(int64(n), 0).UTC(), Session: "main", Origin: s.about, Body: b})
	}
}

// begin says who the next events are about.
func (s *story) begin(o activity.Origin, input, call string) {
	o.CorrelationID = "c"
	s.about = o
	s.say(activity.RunStarted{Input: []activity.ContentBlock{{Type: "text", Text: input}}, Model: "flash", Mode: "chat", Call: call})
}

func answer(text string, calls ...model.Call) []activity.Body {
	content := []model.Part{{Text: text}}
	for _, c := range calls {
		content = append(content, model.Part{Call: &c})
	}
	return []activity.Body{
		activity.ModelStarted{Model: "flash", Attempt: 1}, activity.ContentDelta{Text: text},
		activity.ModelFinished{Model: "flash", Finish: model.Stop, Usage: model.Usage{InputTokens: 100, OutputTokens: 10, CachedTokens: 5, ThoughtTokens: 3}, FirstTokenMs: 40},
		activity.ModelContent{Content: content},
	}
}

func call(id, name, args string, state activity.CallState) activity.ToolState {
	s := activity.ToolState{Call: id, Name: name, Args: json.RawMessage(args), State: state, Risk: "safe"}
	switch state {
	case activity.Success:
		s.Result = &activity.ToolResult{Content: "result of " + id}
	case activity.Failed, activity.Cancelled:
		s.Error = &activity.ToolError{Code: "tool.notFound", Message: "no such file"}
	}
	return s
}

func told(text string) activity.Body {
	return activity.RunFinished{Reason: activity.Reason(text), Text: "done", Usage: model.Usage{InputTokens: 200}}
}

// session is one of everything: a route, a question, a delegated run, a refused try of a
// model, a check, a hook, and a handoff.
func session() *story {
	s := new(story)
	s.begin(activity.Origin{Run: "a", Agent: "debugger"}, "fix it", "")
	s.say(activity.RouteDecided{Strategy: "hybrid", Agent: "debugger", By: "rule", Confidence: 90, Text: "→ debugger"})
	s.say(activity.TurnStarted{Turn: 1})
	s.say(activity.ModelStarted{Model: "flash", Attempt: 1}, activity.Retry{Of: "model", Attempt: 2, Cause: "too busy"})
	s.say(answer("I look.", model.Call{ID: "a#1-0", Name: "delegate_to_agent", Args: json.RawMessage(`{}`)})...)
	s.say(call("a#1-0", "delegate_to_agent", `{"agent":"helper"}`, activity.Validating))
	s.say(activity.ConfirmationAsked{ID: "q", Call: "a#1-0", Tool: "delegate_to_agent", Risk: "medium"}, activity.ConfirmationAnswered{ID: "q", Outcome: "once", By: "user"})
	parent := s.about
	s.begin(activity.Origin{Run: "b", ParentRun: "a", Agent: "helper"}, "help", "a#1-0")
	s.say(activity.TurnStarted{Turn: 1})
	s.say(answer("Helped.")...)
	s.say(activity.TurnFinished{Turn: 1}, told("GOAL"))
	s.about = parent
	s.say(call("a#1-0", "delegate_to_agent", `{"agent":"helper"}`, activity.Success))
	s.say(activity.GuardrailChecked{Guard: activity.Guard{Name: "output", Policy: "repair", Outcome: "repaired", Errors: []activity.GuardError{{Pointer: "/x", Message: "m"}}}})
	s.say(activity.HookRan{Event: "AfterTool", Name: "lint", Decision: "allow"})
	s.say(activity.TurnFinished{Turn: 1})
	s.say(activity.HandoffStarted{From: "debugger", To: "fixer", Reason: "needs a fix", Payload: json.RawMessage(`{"n":1}`), Run: "c"}, told("HANDOFF"))
	s.begin(activity.Origin{Run: "c", Agent: "fixer"}, "fix it", "")
	s.say(activity.TurnStarted{Turn: 1}, call("c#1-0", "read_file", `{"file_path":"x"}`, activity.Executing), call("c#1-0", "read_file", `{"file_path":"x"}`, activity.Failed))
	s.say(told("MAX_TURNS"))
	return s
}

// lines shows spans as a tree.
func lines(spans []*trace.Span) (all []string) {
	depth := map[uint64]int{}
	for _, s := range spans {
		if s.Parent != 0 {
			depth[s.ID] = depth[s.Parent] + 1
		}
		line := fmt.Sprintf("%s%s %s %s", strings.Repeat("  ", depth[s.ID]), s.Kind, s.Name, s.Duration())
		if s.After != 0 {
			line += fmt.Sprintf(" after %d", s.After)
		}
		if s.Error != "" {
			line += " ✗ " + s.Error
		}
		if s.Open {
			line += " open"
		}
		all = append(all, line)
	}
	return all
}

func TestSpans(t *testing.T) {
	want := []string{
		"run debugger 25s",
		"  route debugger 0s",
		"  turn turn 21s",
		"    llm flash 1s ✗ too busy",
		"    llm flash 2s",
		"    tool delegate_to_agent 11s",
		"      confirmation delegate_to_agent 1s",
		"      run helper 7s",
		"        turn turn 5s",
		"          llm flash 2s",
		"    guardrail output 0s",
		"    hook lint 0s",
		"  handoff debugger → fixer 0s",
		"run fixer 4s after 51 ✗ MAX_TURNS",
		"  turn turn 3s",
		"    tool read_file 1s ✗ tool.notFound",
	}
	if diff := cmp.Diff(want, lines(trace.Build(session().events))); diff != "" {
		t.Error(diff)
	}
}

// TestFileEvents: each type of spec 7.2 has its details, in their order, and without
// content nothing of what was said.
func TestFileEvents(t *testing.T) {
	spans := trace.Build(session().events)
	var got []string
	for _, e := range trace.Events("main", spans, true) {
		got = append(got, fmt.Sprintf("%s %s %d %s %s", e.EventType, e.AgentName, e.DurationMs, e.Details, e.Error))
	}
	want := []string{
		`agent_start debugger 0 {"run":"a","model":"flash","mode":"chat","approval":"","input":"fix it"} `,
		`route debugger 0 {"routing_method":"rule","routing_confidence":90,"agent":"debugger","text":"→ debugger"} `,
		`llm_call debugger 1000 {"model":"flash","prompt":"user: fix it"} too busy`,
		`llm_call debugger 2000 {"model":"flash","prompt":"user: fix it","response":"I look.\ndelegate_to_agent({})","tokens":{"input":100,"output":10,"cached":5,"thoughts":3},"finish":"stop"} `,
		`tool_call debugger 11000 {"tool_name":"delegate_to_agent","tool_args":{"agent":"helper"},"tool_result":"result of a#1-0"} `,
		`tool_confirmation debugger 1000 {"tool":"delegate_to_agent","args":{"agent":"helper"},"risk":"medium","why":"","approved":true,"outcome":"once","by":"user"} `,
		`agent_start helper 0 {"run":"b","model":"flash","mode":"chat","approval":"","input":"help"} `,
		`llm_call helper 2000 {"model":"flash","prompt":"user: help","response":"Helped.","tokens":{"input":100,"output":10,"cached":5,"thoughts":3},"finish":"stop"} `,
		`agent_complete helper 7000 {"reason":"GOAL","turns":0,"tool_calls":0,"tokens":{"input":200,"output":0,"cached":0,"thoughts":0},"text":"done"} `,
		`guardrail debugger 0 {"guardrail_type":"output_validation","guardrail_result":"repaired","policy":"repair","errors":[{"pointer":"/x","message":"m"}]} `,
		`handoff debugger 0 {"from_agent":"debugger","to_agent":"fixer","handoff_reason":"needs a fix","payload":{"n":1}} `,
		`agent_complete debugger 25000 {"reason":"HANDOFF","turns":0,"tool_calls":0,"tokens":{"input":200,"output":0,"cached":0,"thoughts":0},"text":"done"} `,
		`agent_start fixer 0 {"run":"c","model":"flash","mode":"chat","approval":"","input":"fix it"} `,
		`tool_call fixer 1000 {"tool_name":"read_file","tool_args":{"file_path":"x"},"tool_error":"no such file"} tool.notFound`,
		`agent_error fixer 4000 {"reason":"MAX_TURNS","turns":0,"tool_calls":0,"tokens":{"input":200,"output":0,"cached":0,"thoughts":0},"text":"done"} MAX_TURNS`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	bare, err := json.Marshal(trace.Events("main", spans, false))
	otlp, err2 := trace.OTLP("main", "1", spans, false)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	for _, text := range []string{"fix it", "I look", "result of", "no such file", "needs a fix", `\"n\"`, "done"} {
		if bytes.Contains(bare, []byte(text)) || bytes.Contains(otlp, []byte(text)) {
			t.Errorf("without content there is %q", text)
		}
	}
}

// TestEverySpanEndsOnce: live, each span that begins ends once when its run has, also
// where the log ends anywhere or a run begins with any of its events; what is open then
// says so.
func TestEverySpanEndsOnce(t *testing.T) {
	all := session().events
	for from := range all {
		for until := from; until <= len(all); until++ {
			var b trace.Builder
			state := map[uint64]int{}
			for _, e := range all[from:until] {
				for _, m := range b.Add(e) {
					want := 1
					if m.Begins {
						want = 0
					}
					if state[m.ID] != want {
						t.Fatalf("events %d to %d: span %d (%s %s) begins or ends twice", from, until, m.ID, m.Kind, m.Name)
					}
					state[m.ID]++
				}
			}
			for id, n := range state {
				if until == len(all) && n != 2 {
					t.Errorf("from event %d: span %d never ends", from, id)
				}
			}
		}
	}
}

// TestInterrupted: what a daemon's end cut off ends with the last thing that is known, and
// the run goes on under its own span.
func TestInterrupted(t *testing.T) {
	s := new(story)
	s.begin(activity.Origin{Run: "a", Agent: "debugger"}, "fix it", "")
	s.say(activity.TurnStarted{Turn: 1}, call("a#1-0", "bash", `{}`, activity.Executing), activity.ModelStarted{Model: "flash"})
	s.say(activity.RunState{From: activity.Running, To: activity.Interrupted})
	s.say(call("a#1-0", "bash", `{}`, activity.Executing))
	s.events[5].Body = activity.ToolState{Call: "a#1-0", Name: "bash", Args: json.RawMessage(`{}`), State: activity.Cancelled, Error: &activity.ToolError{Code: "tool.interrupted"}}
	s.say(activity.TurnStarted{Turn: 2})
	want := []string{"run debugger 6s open", "  turn turn 2s", "    tool bash 1s ✗ interrupted", "    llm flash 0s ✗ interrupted", "  turn turn 0s open"}
	if diff := cmp.Diff(want, lines(trace.Build(s.events))); diff != "" {
		t.Error(diff)
	}
}

// TestInterruptedTree: a child that a daemon's end cut off with its caller ends there too, and
// goes on under its own span as a part of the call that asked for it.
func TestInterruptedTree(t *testing.T) {
	s := new(story)
	s.begin(activity.Origin{Run: "a", Agent: "lead"}, "ask", "")
	s.say(activity.TurnStarted{Turn: 1}, call("a#1-0", "delegate_to_agent", `{}`, activity.Executing))
	parent := s.about
	s.begin(activity.Origin{Run: "b", ParentRun: "a", Agent: "helper"}, "help", "a#1-0")
	child := s.about
	s.say(activity.TurnStarted{Turn: 1}, activity.ModelStarted{Model: "flash"}, activity.RunState{From: activity.Running, To: activity.Interrupted})
	s.about = parent
	s.say(activity.RunState{From: activity.Running, To: activity.Interrupted})
	s.about = child
	s.say(activity.TurnStarted{Turn: 2}, activity.TurnFinished{Turn: 2}, told("GOAL"))
	want := []string{
		"run lead 10s open", "  turn turn 5s", "    tool delegate_to_agent 4s ✗ interrupted", "      run helper 7s", "        turn turn 1s", "          llm flash 0s ✗ interrupted",
		"        turn turn 1s",
	}
	if diff := cmp.Diff(want, lines(trace.Build(s.events))); diff != "" {
		t.Error(diff)
	}
	if page, err := trace.HTML("main", trace.Build(s.events)); err != nil || len(page) == 0 {
		t.Error(err)
	}
}

// TestOTLP: spans are one tree for each chain of handoffs, with the attributes of the
// GenAI conventions.
func TestOTLP(t *testing.T) {
	data, err := trace.OTLP("main", "1.2", trace.Build(session().events), true)
	if err != nil {
		t.Fatal(err)
	}
	var body struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct {
					TraceID, SpanID, ParentSpanID, Name, StartTimeUnixNano, EndTimeUnixNano string
					Kind                                                                    int
					Attributes                                                              []struct {
						Key   string
						Value map[string]any
					}
					Status struct{ Code int }
				}
			}
		}
	}
	if err := json.Unmarshal(data, &body); err != nil {
		t.Fatal(err)
	}
	ids, names := map[string]string{}, map[string]bool{}
	roots := 0
	for _, s := range body.ResourceSpans[0].ScopeSpans[0].Spans {
		if len(s.TraceID) != 32 || len(s.SpanID) != 16 || s.TraceID != body.ResourceSpans[0].ScopeSpans[0].Spans[0].TraceID {
			t.Errorf("the ids of %s: %s %s", s.Name, s.TraceID, s.SpanID)
		}
		if s.ParentSpanID == "" {
			roots++
		} else if ids[s.ParentSpanID] == "" {
			t.Errorf("the parent of %s is not there", s.Name)
		}
		ids[s.SpanID] = s.Name
		for _, a := range s.Attributes {
			for _, v := range a.Value {
				names[fmt.Sprintf("%s|%s=%v", s.Name, a.Key, v)] = true
			}
		}
	}
	if roots != 1 {
		t.Errorf("%d roots", roots)
	}
	for _, want := range []string{
		"invoke_agent debugger|gen_ai.operation.name=invoke_agent", "invoke_agent debugger|gen_ai.agent.name=debugger", "invoke_agent debugger|gen_ai.conversation.id=main",
		"chat flash|gen_ai.operation.name=chat", "chat flash|gen_ai.request.model=flash", "chat flash|gen_ai.usage.input_tokens=100", "chat flash|gen_ai.usage.output_tokens=10",
		"chat flash|gen_ai.usage.cache_read.input_tokens=5", "chat flash|error.type=llm",
		`chat flash|gen_ai.output.messages=[{"parts":[{"content":"Helped.","type":"text"}],"role":"assistant"}]`,
		"execute_tool read_file|gen_ai.tool.name=read_file", "execute_tool read_file|error.type=tool.notFound", `execute_tool read_file|gen_ai.tool.call.arguments={"file_path":"x"}`,
		"route debugger|agentls.route.routing_confidence=90", "handoff debugger → fixer|agentls.handoff.to_agent=fixer",
	} {
		if !names[want] {
			t.Errorf("there is no %s", want)
		}
	}
}

// TestHTMLRunsNothingOfTheSession: what a session says cannot end the element that holds
// it, and the page's policy names its own script and style only.
func TestHTMLRunsNothingOfTheSession(t *testing.T) {
	s := new(story)
	s.begin(activity.Origin{Run: "a", Agent: `</script><script>alert(1)</script>`}, "</script><img src=x onerror=alert(1)><!-- {{script}} {{data}}", "")
	page, err := trace.HTML("<b>main</b>", trace.Build(s.events))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(page), "<script"); n != 2 || strings.Contains(string(page), "<img") || strings.Contains(string(page), "<b>") {
		t.Errorf("%d scripts:\n%s", n, page)
	}
	policy := regexp.MustCompile(`content="(default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none')"`).FindString(string(page))
	if policy == "" || strings.Contains(policy, "unsafe") {
		t.Error("the policy of the page is another")
	}
	if slices.ContainsFunc([]string{" src=\"", "href=", "@import", "url("}, func(s string) bool { return strings.Contains(string(page), s) }) {
		t.Error("the page loads something")
	}
}

// TestOldLogs: logs of versions that were released, with everything that they can have, give
// spans and all forms of them, also with lines missing anywhere.
func TestOldLogs(t *testing.T) {
	logs, err := filepath.Glob("../activity/testdata/format1*.jsonl")
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		for n, keep := range []int{0, 2, 3, 7} { // every keep-th line is damaged
			lines := bytes.SplitAfter(bytes.Clone(text), []byte("\n"))
			for i := range lines {
				if keep > 0 && i > 0 && i%keep == 0 && len(lines[i]) > 20 {
					lines[i][10] ^= 1
				}
			}
			id := fmt.Sprint("old", n)
			file := filepath.Join(dir, id+".jsonl")
			if err := os.WriteFile(file, bytes.Join(lines, nil), 0o600); err != nil {
				t.Fatal(err)
			}
			log, _, err := activity.Open(activity.Config{Path: file, Session: id, Now: time.Now})
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			events, err := trace.Read(log, id, nil)
			spans := trace.Build(events)
			if err != nil || len(spans) == 0 {
				t.Errorf("%s: %d spans, %v", path, len(spans), err)
			}
			page, err := trace.HTML(id, spans)
			otlp, err2 := trace.OTLP(id, "1", spans, true)
			if err != nil || err2 != nil || len(page) == 0 || !json.Valid(otlp) {
				t.Errorf("%s: %v %v", path, err, err2)
			}
			if steps, _ := trace.Replay(events); len(steps) == 0 {
				t.Errorf("%s: no steps", path)
			}
			if err := log.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
