package main

import (
	"cmp"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// showDelegated shows an event of a run that another one started: who was asked for what,
// its calls, and what a person should know. What the delegated agent says is not shown,
// since it is meant for its caller. Lines begin with the path of agents, as several may
// run at once.
func (t *timeline) showDelegated(e wire.ActivityParams, body activity.Body) {
	who := t.path(e, body)
	switch b := body.(type) {
	case activity.RunStarted:
		t.settle(e, body)
		asked := ""
		// The first text is the request; files that ride along are not shown.
		for _, block := range b.Input {
			asked = cmp.Or(asked, first(block.Text))
		}
		t.say("  → %s: %s", who, tool.Escape(asked))
	case activity.ToolState:
		t.settle(e, body)
		t.call(who+": ", b)
	case activity.ConfirmationAsked:
		t.settle(e, body)
		t.mu.Lock()
		// What came before the question is shown, so it may be asked now (awaitEvent).
		close(t.question(b.ID))
		t.mu.Unlock()
	case activity.ConfirmationAnswered:
		switch {
		case b.By == "timeout":
			t.say("  %s: nobody answered in time: refused", who)
		case t.past:
			t.say("  ? %s: answered: %s, by %s", who, tool.Escape(b.Outcome), tool.Escape(b.By))
		}
	case activity.RunState:
		if b.To == activity.Paused || b.To == activity.Interrupted {
			t.say("  %s: %s: %s", who, b.To, tool.Escape(cmp.Or(b.Why, "no reason is given")))
		}
	case activity.GuardrailChecked, activity.LoopDetected:
		t.say("  %s: %s", who, tool.EventLine(b))
	case activity.Note:
		t.say("  %s: %s", who, tool.Escape(b.Message))
	case activity.ErrorSeen:
		t.say("  %s: error: %s", who, tool.Escape(b.Message))
	}
}

// path names the agents below the one that the person asked, down to that of an event:
// "middle → helper". It is known from the run's first event to its last.
func (t *timeline) path(e wire.ActivityParams, body activity.Body) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch b := body.(type) {
	case activity.RunStarted:
		// The chain begins with the agent that the person asked.
		if len(b.Chain) > 1 {
			if t.paths == nil {
				t.paths = make(map[string]string)
			}
			t.paths[e.Run] = tool.Escape(strings.Join(b.Chain[1:], " → "))
		}
	case activity.RunFinished:
		defer delete(t.paths, e.Run)
	}
	return cmp.Or(t.paths[e.Run], tool.Escape(e.Agent))
}
