package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/chat"
	"github.com/agentls/agentls/internal/wire"
)

// endsText reports whether the text before an event was not the final one: something
// follows.
func endsText(body activity.Body) bool {
	switch body.(type) {
	case activity.ToolState, activity.TurnStarted, activity.Retry, activity.RunStarted:
		return true
	}
	return false
}

// finish writes the text that a run ended with to out, where out gets no more than that.
// Text that was kept and is not the final one goes to err. r is nil where there is no
// result.
func (t *timeline) finish(r *wire.RunResult) {
	t.mu.Lock()
	said := t.tried.String()
	t.tried.Reset()
	t.mu.Unlock()
	text := ""
	if r != nil && r.Reason == activity.Goal { // else the text says how it ended, which is told
		text = r.Text
	}
	if strings.TrimSpace(said) != "" && strings.TrimSpace(said) != strings.TrimSpace(text) {
		t.say("%s", strings.TrimRight(chat.PlainText(said), "\n"))
	}
	if text != "" {
		t.text(strings.TrimRight(text, "\n") + "\n")
	}
}

// endings say how a run ended, for people. A reason that is not here is shown by its
// name.
var endings = map[activity.Reason]string{
	activity.Aborted: "Cancelled.", activity.Timeout: "Out of time.", activity.MaxTurns: "Out of turns.",
	activity.Budget: "Out of budget.",
	activity.Loop:   "Stopped, since it repeated itself.", activity.NoCompleteTask: "Ended without its result.",
	activity.Guardrail: "Stopped by a guardrail.",
}

// joinLines escapes a message, which may have several lines, for one line.
func joinLines(s string) string {
	return tool.Escape(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), " "))
}

// end shows how a run ended, an error that was not shown yet, and what it took: turns,
// calls and tokens, of all agents of a chain together.
func (t *timeline) end(r *activity.RunFinished) {
	t.mu.Lock()
	told := t.failed
	t.failed = ""
	t.mu.Unlock()
	switch {
	// The error was shown when it came up.
	case r.Error != nil && told == r.Error.Message:
	case r.Error != nil:
		t.say("%s (%s): %s", r.Reason, r.Error.Kind, joinLines(r.Error.Message))
	case r.Reason == activity.HandedOff:
		t.say("a person is needed: %s", tool.Escape(r.Text))
	case r.Reason != activity.Goal:
		t.say("%s %s", cmp.Or(endings[r.Reason], string(r.Reason)+":"), tool.Escape(r.Text))
	}
	by := ""
	if len(r.Fallbacks) > 0 {
		by = ", answered by " + tool.Escape(strings.Join(r.Fallbacks, " and "))
	}
	used, agents := r.Usage, ""
	if len(r.Chain) > 1 { // the turns are the last agent's
		used = model.Usage{}
		for _, link := range r.Chain {
			used = used.Add(link.Usage)
		}
		agents = fmt.Sprintf("%d agents, ", len(r.Chain))
	}
	t.say("%s%s, %s, %d tokens in, %d out%s", agents, count(r.Turns, "turn"), count(r.ToolCalls, "tool call"),
		used.InputTokens, used.OutputTokens+used.ThoughtTokens, by)
}
