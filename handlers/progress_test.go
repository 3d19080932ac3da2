package handlers

import (
	"context"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
)

// TestEndingNamesFallbacks: who another model answered than they chose sees it.
func TestEndingNamesFallbacks(t *testing.T) {
	r := activity.RunFinished{Reason: activity.Goal, Turns: 2, Usage: model.Usage{TotalTokens: 4000}}
	if got := ending(r); got != "done in 2 turns, 4k tok" {
		t.Error(got)
	}
	r.Fallbacks = []string{"m2", "m3"}
	if got := ending(r); got != "done in 2 turns, 4k tok, answered by m2 and m3" {
		t.Error(got)
	}
}

// TestProgressLine is the line of spec 2.6.
func TestProgressLine(t *testing.T) {
	l := &progressLine{agent: "debugger", turns: 30}
	for _, c := range []struct {
		body activity.Body
		want string // "" = no new line
	}{
		{activity.TurnStarted{Turn: 1}, "debugger · thinking · 1/30 turns"},
		{activity.ContentDelta{Text: "x"}, ""},
		{activity.ModelFinished{Usage: model.Usage{TotalTokens: 11_600}}, "debugger · thinking · 1/30 turns · 12k tok"},
		{activity.ToolState{Name: "read_file", State: activity.Validating, Path: "file:///w/app.ts"}, ""},
		{activity.ToolState{Name: "read_file", State: activity.Executing, Path: "file:///w/app.ts"}, "debugger · read_file app.ts · 1/30 turns · 12k tok"},
		{activity.ToolState{Name: "bash", State: activity.AwaitingApproval}, "debugger · bash waits for you · 1/30 turns · 12k tok"},
		{activity.TurnStarted{Turn: 2}, "debugger · thinking · 2/30 turns · 12k tok"},
		{activity.Retry{Cause: "cut\x1b[2J"}, `debugger · trying again: cut\x1b[2J · 2/30 turns · 12k tok`},
		{activity.RunState{From: activity.Running, To: activity.Waiting}, ""},
		{activity.RunState{From: activity.Running, To: activity.Paused, Why: "the budget is used up"}, "debugger · paused: the budget is used up · 2/30 turns · 12k tok"},
		{activity.RunState{From: activity.Paused, To: activity.Running}, "debugger · goes on · 2/30 turns · 12k tok"},
		{activity.RunState{From: activity.Running, To: activity.Paused}, "debugger · paused · 2/30 turns · 12k tok"},
		{activity.ContextCompressed{Before: 120_000, After: 40_400, Status: "COMPRESSED"}, "debugger · compressed 120k → 40k tok · 2/30 turns · 12k tok"},
		{activity.ContextCompressed{Status: "NOOP"}, "debugger · not compressed (NOOP) · 2/30 turns · 12k tok"},
		{activity.LoopDetected{Kind: "call", Count: 5, What: "grep x\x07"}, `debugger · repeats itself: grep x\x07 · 2/30 turns · 12k tok`},
		{activity.TodosChanged{}, ""},
		{activity.TodosChanged{Todos: []activity.Todo{{Description: "read", Status: "completed"}, {Description: "write", Status: "in_progress"}, {Status: "pending"}}},
			"debugger · 2/3 write · 2/30 turns · 12k tok"},
		{activity.TodosChanged{Todos: []activity.Todo{{Status: "completed"}, {Status: "cancelled"}}}, "debugger · 2/2 · 2/30 turns · 12k tok"},
		{activity.HandoffRejected{To: "admin", Code: "PERMISSION_DENIED"}, "debugger · may not hand over to admin (PERMISSION_DENIED) · 2/30 turns · 12k tok"},
		{activity.HandoffStarted{From: "debugger", To: "fixer", Reason: "it\nneeds a fix"}, "debugger · debugger → fixer: it needs a fix · 2/30 turns · 12k tok"},
		{activity.TurnStarted{Turn: 1}, "debugger · debugger → fixer: it needs a fix · 1/30 turns · 12k tok"},
		{activity.TurnStarted{Turn: 2}, "debugger · thinking · 2/30 turns · 12k tok"},
	} {
		if got := l.take(activity.Event{Body: c.body}); got != (c.want != "") {
			t.Errorf("%+v: a new line: %v", c.body, got)
		}
		if c.want != "" && l.String() != c.want {
			t.Errorf("%+v: %q, want %q", c.body, l, c.want)
		}
	}
}

// TestProgressNamesTheAgentOnce: an editor shows the title before each report.
func TestProgressNamesTheAgentOnce(t *testing.T) {
	c := connect(t, func(context.Context, string, []byte) (any, error) { return nil, nil })
	p := c.h.beginProgress(t.Context(), &agents.Live{ID: "r", Agent: "fixer", MaxTurns: 9}, []byte(`"t"`))
	if begin := <-c.told; !strings.Contains(begin, `"title":"fixer"`) {
		t.Errorf("begun with %s", begin)
	}
	p.take(activity.Event{Body: activity.TurnStarted{Turn: 1}})
	if report := <-c.told; !strings.Contains(report, `"message":"thinking · 1/9 turns"`) {
		t.Errorf("reported %s", report)
	}
	p.end(activity.RunFinished{Reason: activity.Goal})
}
