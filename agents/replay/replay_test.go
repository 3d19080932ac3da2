package replay_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/replay"
)

// session is a run that called two tools at once, one of which asked.
func session(change func(i int, b activity.Body) activity.Body) (events []activity.Event) {
	call := func(id, name, result string) activity.ToolState {
		return activity.ToolState{Call: "r#" + id, Name: name, Args: json.RawMessage(`{"a": 1}`), State: activity.Success, Risk: "low", Result: &activity.ToolResult{Content: result}}
	}
	for i, b := range []activity.Body{
		activity.RunStarted{Definition: "1", Model: "flash"},
		activity.ModelContent{Content: []model.Part{{Text: "I look."}, {Call: &model.Call{ID: "r#1-0", Name: "write_file", Args: json.RawMessage(`{"a":1}`)}}}},
		activity.ConfirmationAsked{ID: "q", Call: "r#1-0", Tool: "write_file", Risk: "medium"},
		activity.ConfirmationAnswered{ID: "q", Outcome: "once", By: "user"},
		call("1-0", "write_file", "written"),
		call("1-1", "ls", "a file"),
		activity.HandoffStarted{From: "writer", To: "reviewer", Reason: "look"},
		activity.RunFinished{Reason: activity.Goal, Text: "done", Turns: 1, ToolCalls: 2},
	} {
		if change != nil {
			b = change(i, b)
		}
		if b != nil {
			events = append(events, activity.Event{Seq: uint64(i + 1), Session: "main", Origin: activity.Origin{Run: "r", Agent: "writer", CorrelationID: "r"}, Body: b})
		}
	}
	return events
}

// TestREL108FirstDifference: whatever comes otherwise is found, by the name of its event and its
// field; times, ids and the order of calls that run side by side do not count.
func TestREL108FirstDifference(t *testing.T) {
	swap := session(nil)
	swap[4], swap[5] = swap[5], swap[4]
	for name, c := range map[string]struct {
		now  []activity.Event
		want string
	}{
		"nothing":     {session(nil), ""},
		"other order": {swap, ""},
		"a prompt": {session(func(i int, b activity.Body) activity.Body {
			if s, ok := b.(activity.RunStarted); ok {
				s.Definition = "2"
				return s
			}
			return b
		}), `event 1, run.started of writer: definition: was "1", is now "2"`},
		"a result": {session(func(i int, b activity.Body) activity.Body {
			if s, ok := b.(activity.ToolState); ok && s.Name == "ls" {
				s.Result = &activity.ToolResult{Content: "no file"}
				return s
			}
			return b
		}), `event 6, tool.state ls of writer: result: was "a file", is now "no file"`},
		"a policy": {session(func(i int, b activity.Body) activity.Body {
			if i == 2 || i == 3 {
				return nil
			}
			return b
		}), `event 3, confirmation.asked write_file of writer: was confirmation.asked write_file, is now tool.state write_file`},
		"a handoff": {session(func(i int, b activity.Body) activity.Body {
			if h, ok := b.(activity.HandoffStarted); ok {
				h.To = "tester"
				return h
			}
			return b
		}), `event 7, handoff.started of writer: to: was "reviewer", is now "tester"`},
		"its end": {session(nil)[:7], `event 8, run.finished of writer: was run.finished, is now no more events`},
	} {
		t.Run(name, func(t *testing.T) {
			r := replay.Read(session(nil))
			if r.Unable != "" {
				t.Fatal(r.Unable)
			}
			n, first := r.Compare(c.now)
			switch {
			case c.want == "" && (first != nil || n != 8):
				t.Errorf("%d events, %v", n, first)
			case c.want != "" && (first == nil || first.String() != c.want):
				t.Errorf("%v, want %s", first, c.want)
			}
		})
	}
}

// TestUnable: what cannot come again is said.
func TestUnable(t *testing.T) {
	for want, b := range map[string]activity.Body{
		"was interrupted":             activity.RunState{To: activity.Interrupted},
		"did not keep what hooks":     activity.HookRan{Event: "BeforeTool", Call: "r#1-0"},
		"was purged":                  activity.ContextCleared{Agent: "writer", Purged: true},
		"was changed while it went":   activity.ApprovalChanged{To: "auto"},
		"has an event rewound":        activity.Rewound{},
		"of a newer version (x.y)":    activity.Unknown{Name: "x.y"},
		"ended TIMEOUT":               activity.RunFinished{Reason: activity.Timeout},
		"the person picked the agent": activity.RouteDecided{By: "user"},
		"ran commands of its prompt":  activity.RunStarted{Shell: []string{"ls"}},
		"not answered by the person":  activity.ConfirmationAnswered{By: "timeout"},
	} {
		events := session(func(i int, old activity.Body) activity.Body {
			if i == 1 {
				return b
			}
			return old
		})
		if got := replay.Read(events).Unable; !strings.Contains(got, want) {
			t.Errorf("%T: %q, want %q", b, got, want)
		}
	}
	if got := replay.Read(session(nil)[:7]).Unable; got != "run r has not ended" {
		t.Errorf("%q", got)
	}
	if got := replay.Read(nil).Unable; got != "the session has no runs" {
		t.Errorf("%q", got)
	}
}
