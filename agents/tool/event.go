package tool

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/agentls/agentls/agents/activity"
)

// EventLine says for people, in one line as [Escape] has it, what happened to a session, its
// contexts or around its runs; "" for an event that is shown in another way, or not at all.
//
// It is the one text for the terminal, for dialogs and for transcripts, so that an event is
// called the same everywhere.
func EventLine(body activity.Body) string {
	return Escape(strings.TrimSuffix(eventText(body), ": ")) // of a purged session nobody knows why
}

// eventText is EventLine before it is escaped.
// It is "" for an event that has no line of its own, such as what a model says or a tool
// does.
func eventText(body activity.Body) string {
	switch b := body.(type) {
	case activity.RouteDecided:
		return b.Text
	case activity.ChangeResolved:
		return fmt.Sprintf("changes to %s were %s", FileName(cmp.Or(b.URI, "a file")), resolution(b.Action))
	case activity.ApprovalChanged:
		return fmt.Sprintf("the mode was set from %s to %s", b.From, b.To)
	case activity.Rewound:
		return rewindText(b)
	case activity.Forked:
		if b.From {
			return fmt.Sprintf("this session began with the first %d events of %s", b.AtSeq, b.Session)
		}
		return fmt.Sprintf("session %s began with the first %d events of this one", b.Session, b.AtSeq)
	case activity.ContextCompressed:
		return "the context of " + b.Agent + ": " + CompressionText(b)
	case activity.ContextCleared:
		if b.Purged {
			return "the context of " + b.Agent + " was cleared, and what it held was erased"
		}
		return "the context of " + b.Agent + " was cleared"
	case activity.HandoffStarted:
		return fmt.Sprintf("%s → %s: %s", b.From, b.To, strings.Join(strings.Fields(b.Reason), " "))
	case activity.HandoffRejected:
		return fmt.Sprintf("the handoff from %s to %s was refused: %s", b.From, b.To, line(b.Message))
	case activity.GuardrailChecked:
		return line(b.Line())
	case activity.MCPState:
		if b.State == "failed" {
			return fmt.Sprintf("the MCP server %s failed: %s", b.Server, b.Why)
		}
	case activity.HookRan:
		if b.Decision != "allow" {
			return line(b.Line())
		}
	case activity.LoopDetected:
		return fmt.Sprintf("%s (%s)", RepetitionText(b), b.Action)
	}
	return ""
}

// resolution says what a person did with changes, in the past tense.
func resolution(action string) string {
	if action == "undo" {
		return "undone"
	}
	return "kept"
}

// rewindText says how far a session went back.
func rewindText(b activity.Rewound) string {
	text := fmt.Sprintf("went back to %d", b.ToSeq)
	if n := len(b.Files); n > 0 {
		text += ", with " + Count(n, "file", "files")
	}
	if n := len(b.Left); n > 0 {
		text += "; " + Count(n, "file", "files") + " left as somebody changed them"
	}
	return text
}

// CompressionText says in a few words what became of a compression.
func CompressionText(b activity.ContextCompressed) string {
	if b.Status == "COMPRESSED" {
		return fmt.Sprintf("compressed %s → %s tok", Tokens(b.Before), Tokens(b.After))
	}
	return "not compressed (" + b.Status + ")"
}

// RepetitionText says in a few words what a run does over and over.
func RepetitionText(b activity.LoopDetected) string {
	if b.What == "" {
		return fmt.Sprintf("repeats itself %d times: %s", b.Count, b.Kind)
	}
	return "repeats itself: " + b.What // which has how often
}

// line joins the lines of a text.
func line(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
}
