package main

import (
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/chat"
)

// call shows what became of a call; who is in front of it, for a delegated run. That a
// call begins is shown of commands only, which may take a while. A call that was refused
// since the folder is not trusted counts as unanswered, for the exit code.
func (t *timeline) call(who string, b activity.ToolState) {
	switch b.State {
	case activity.Executing:
		if b.Name == "bash" {
			t.say("  … %s%s", who, chat.Subject(b)) // it may take a while
		}
	case activity.Success:
		display := b.Result.Display
		if b.Name == "bash" {
			display = chat.PrintedText(display)
		}
		line := "  ✓ " + who + chat.Subject(b)
		if said := tool.Escape(first(display)); said != b.Name { // the tools that end or pass on a run say no more
			line += "  " + said
		}
		t.say("%s", line)
	case activity.Failed, activity.Cancelled:
		if t.terminal != nil && strings.Contains(b.Error.Message, "is not trusted") {
			t.terminal.unanswered.Store(true) // nobody was asked whether it is
		}
		t.say("  ✗ %s%s  %s", who, chat.Subject(b), tool.Escape(first(b.Error.Message)))
	}
}

// first returns the first line that says something: not the fence of a block of
// code. Its columns stay apart.
func first(s string) string {
	s = strings.TrimSpace(s)
	for strings.HasPrefix(s, "```") {
		_, s, _ = strings.Cut(s, "\n")
	}
	line, rest, _ := strings.Cut(s, "\n")
	line = strings.Join(strings.FieldsFunc(line, func(r rune) bool { return r == '\t' }), "  ")
	if rest != "" && rest != "```" {
		line += " …"
	}
	return line
}
