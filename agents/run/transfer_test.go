package run_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/handoff"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
)

// passes gives the world's agent handoffs.
func (w *world) passes(entries ...definition.Handoff) *world {
	var list handoff.List
	for _, h := range entries {
		if h.When == "" {
			h.When = "manual"
		}
		list = append(list, handoff.New(h, handoff.Target{Title: strings.ToUpper(h.To), Description: "Does it."}))
	}
	w.config.Handoffs = run.Handoffs{
		List: list, Max: 5, NewRun: func() string { return "next-run" },
		Resolve: func(to string) (string, error) {
			if to == "gone" {
				return "", errors.New("there is no agent gone")
			}
			return to, nil
		},
	}
	return w
}

const because = `{"reason":"It is your trade."}`

func TestTransferEndsTheRun(t *testing.T) {
	in(t, func(w *world) {
		w.config.Project = "/p"
		w.passes(definition.Handoff{To: "code-fixer"}).says(asks(text("I look."), calls("transfer_to_code_fixer", `{"reason":"r","summary":"s","context":"c"}`)))
		got := w.do()
		w.ended(got, activity.HandedOff)
		if got.Text != "s" {
			t.Errorf("the text is %q", got.Text)
		}
		b := of[activity.HandoffStarted](w)
		if len(b) != 1 || fmt.Sprintf("%+v", b[0]) != fmt.Sprintf("%+v", activity.HandoffStarted{From: agentName, To: "code-fixer", Reason: "r", Summary: "s", Context: "c", Chain: []string{agentName, "code-fixer"}, Depth: 1, Run: "next-run", Project: "/p"}) {
			t.Errorf("told is %+v", b)
		}
		if names := of[activity.RunStarted](w)[0].Tools; !slices.Contains(names, "transfer_to_code-fixer") {
			t.Errorf("offered are %q", names)
		}
		if n := len(w.model.requests[0].Tools); w.model.requests[0].Tools[n-1].Description != "Does it.\nTarget agent: CODE-FIXER" {
			t.Errorf("the model is told %+v", w.model.requests[0].Tools[n-1])
		}
	})
}

// TestTransferToUser: the run ends with the summary for the person.
func TestTransferToUser(t *testing.T) {
	in(t, func(w *world) {
		w.passes(definition.Handoff{To: "user"}).says(asks(calls("transfer_to_user", `{"reason":"r","summary":"Decide it yourself."}`)))
		got := w.do()
		w.ended(got, activity.HandedOff)
		b := of[activity.HandoffStarted](w)
		if got.Text != "Decide it yourself." || len(b) != 1 || b[0].To != "user" || b[0].Run != "" || len(b[0].Chain) != 1 {
			t.Errorf("%q, %+v", got.Text, b)
		}
	})
}

// TestRefusedTransfers: each refusal has its code, as the call's result and as an
// event, and the run goes on.
func TestRefusedTransfers(t *testing.T) {
	for name, c := range map[string]struct {
		entry  definition.Handoff
		chain  []string
		call   string
		args   string
		code   handoff.Code
		refers string
	}{
		"not permitted":   {definition.Handoff{To: "a"}, nil, "transfer_to_admin", because, handoff.PermissionDenied, "admin"},
		"no such agent":   {definition.Handoff{To: "gone"}, nil, "transfer_to_gone", because, handoff.AgentNotFound, "no agent gone"},
		"condition":       {definition.Handoff{To: "a", When: "conditional", Condition: "last_tool == 'x'"}, nil, "transfer_to_a", because, handoff.ConditionNotMet, "last_tool"},
		"condition fails": {definition.Handoff{To: "a", When: "conditional", Condition: "state.x.y == 1"}, nil, "transfer_to_a", because, handoff.ConditionNotMet, "cannot be judged"},
		"payload":         {definition.Handoff{To: "a", Payload: []byte(`{"required":["file"],"properties":{"file":{"type":"string"}}}`)}, nil, "transfer_to_a", because, handoff.InvalidPayload, "file"},
		"too deep":        {definition.Handoff{To: "a"}, []string{"1", "2", "3", "4", agentName}, "transfer_to_a", because, handoff.MaxDepthExceeded, "agents.maxHandoffDepth"},
		"circular":        {definition.Handoff{To: "a"}, []string{"a", agentName}, "handoff_to_a", because, handoff.CircularHandoff, "user → a → tester"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				if c.chain != nil {
					w.config.Chain = c.chain
				}
				w.passes(c.entry).says(asks(calls(c.call, c.args)), says("I finish it."))
				w.ended(w.do(), activity.Goal)
				result := w.results(1)[0]
				if !result.Error || !strings.Contains(result.Content, string(c.code)) || !strings.Contains(result.Content, c.refers) {
					t.Errorf("the model is told %q", result.Content)
				}
				b := of[activity.HandoffRejected](w)
				if len(b) != 1 || b[0].Code != string(c.code) || b[0].From != agentName || b[0].To == "" {
					t.Errorf("told is %+v", b)
				}
			})
		})
	}
}

// TestTwoTransfersInABatch: the first wins, and the second is refused.
func TestTwoTransfersInABatch(t *testing.T) {
	in(t, func(w *world) {
		w.passes(definition.Handoff{To: "a"}, definition.Handoff{To: "b"}).says(asks(calls("transfer_to_a", because), calls("transfer_to_b", because)))
		w.ended(w.do(), activity.HandedOff)
		started, rejected := of[activity.HandoffStarted](w), of[activity.HandoffRejected](w)
		if len(started) != 1 || started[0].To != "a" || len(rejected) != 1 || rejected[0].To != "b" {
			t.Errorf("%+v %+v", started, rejected)
		}
	})
}

// TestTransferWaitsForOtherCalls: what else was called in the batch finishes first,
// and counts for the condition.
func TestTransferWaitsForOtherCalls(t *testing.T) {
	in(t, func(w *world) {
		w.tool("look", tool.Safe, nil)
		w.passes(definition.Handoff{To: "a", When: "conditional", Condition: "last_tool == 'look'"}).
			says(asks(calls("transfer_to_a", because), calls("look", `{}`)))
		w.ended(w.do(), activity.HandedOff)
		if names := of[activity.RunStarted](w)[0].Tools; slices.Contains(names, "transfer_to_a") {
			t.Errorf("offered before its condition holds: %q", names)
		}
		var ended []string
		for _, s := range of[activity.ToolState](w) {
			if s.State.Terminal() {
				ended = append(ended, s.Name+" "+string(s.State))
			}
		}
		if strings.Join(ended, ", ") != "look success, transfer_to_a success" {
			t.Errorf("%q", ended)
		}
	})
}

// TestConditionalTransferIsOfferedWhileItHolds.
func TestConditionalTransferIsOfferedWhileItHolds(t *testing.T) {
	in(t, func(w *world) {
		w.tool("look", tool.Safe, nil)
		w.passes(definition.Handoff{To: "a", When: "conditional", Condition: "last_tool == 'look'"}).
			says(asks(calls("look", `{}`)), says("done"))
		w.ended(w.do(), activity.Goal)
		var offered []int
		for _, r := range w.model.requests {
			offered = append(offered, len(r.Tools))
		}
		if fmt.Sprint(offered) != "[1 2]" {
			t.Errorf("tools offered: %v", offered)
		}
	})
}

// TestAutomaticHandoff: the end of the work is a handoff, by the first entry whose
// condition holds.
func TestAutomaticHandoff(t *testing.T) {
	never := definition.Handoff{To: "never", When: "auto", Condition: "task.status == 'failed'"}
	broken := definition.Handoff{To: "broken", When: "auto", Condition: "state.x.y"}
	tester := definition.Handoff{To: "tester-2", When: "auto", Condition: "task.status == 'completed' && task.result contains 'fixed'"}
	in(t, func(w *world) {
		w.passes(never, broken, tester).says(says("I fixed it."))
		got := w.do()
		w.ended(got, activity.HandedOff)
		b := of[activity.HandoffStarted](w)
		if got.Text != "I fixed it." || len(b) != 1 || b[0].To != "tester-2" || b[0].Summary != "I fixed it." || !strings.Contains(b[0].Reason, "work is done") {
			t.Errorf("%q, %+v", got.Text, b)
		}
		if notes := of[activity.Note](w); len(notes) != 1 || !strings.Contains(notes[0].Message, "broken (state.x.y) cannot be judged") {
			t.Errorf("%+v", notes)
		}
	})
	in(t, func(w *world) {
		w.passes(never, tester).says(says("I could not."))
		w.ended(w.do(), activity.Goal)
	})
	in(t, func(w *world) { // the structured result
		w.task(reportSchema, "").passes(definition.Handoff{To: "a", When: "auto", Condition: "output.title == 'T'"}).
			says(asks(calls(run.CompleteTask, `{"report":{"title":"T"}}`)))
		got := w.do()
		w.ended(got, activity.HandedOff)
		if string(got.Output) != `{"title":"T"}` {
			t.Errorf("%s", got.Output)
		}
	})
	in(t, func(w *world) { // one that is refused leaves the end as it was
		w.config.Chain = []string{"tester-2", agentName}
		w.passes(tester).says(says("I fixed it."))
		w.ended(w.do(), activity.Goal)
		if b := of[activity.HandoffRejected](w); len(b) != 1 || b[0].Code != string(handoff.CircularHandoff) {
			t.Errorf("%+v", b)
		}
	})
}

// TestChainOfARun: the result has a link for each run up to this one.
func TestChainOfARun(t *testing.T) {
	in(t, func(w *world) {
		w.config.Before = []activity.Link{{Run: "r0", Agent: "debugger", DurationMs: 5}}
		w.config.Link = activity.Link{From: "debugger", Reason: "r"}
		w.says(says("done"))
		got := w.do()
		if len(got.Chain) != 2 || got.Chain[0].Run != "r0" || got.Chain[1].Run != runID || got.Chain[1].Agent != agentName || got.Chain[1].From != "debugger" || got.Chain[1].Reason != "r" || got.Chain[1].Usage == got.Chain[0].Usage {
			t.Errorf("%+v", got.Chain)
		}
	})
}

// TestConditionsSeeTheBeginningOfLongTexts: also of those in a structured result.
func TestConditionsSeeTheBeginningOfLongTexts(t *testing.T) {
	in(t, func(w *world) {
		w.config.Mode = definition.Task
		w.config.Definition.Output = &definition.Output{Name: "result", Schema: json.RawMessage(`{"type":"object"}`)}
		w.passes(definition.Handoff{To: "code-fixer", When: "auto", Condition: "len(output.report) == 32768"})
		w.says(asks(calls("complete_task", `{"result":{"report":"`+strings.Repeat("x", 40_000)+`"}}`)))
		w.ended(w.do(), activity.HandedOff)
	})
}
