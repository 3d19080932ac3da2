package activity

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
)

type (
	// ContentBlock is a piece of a person's input (spec 2.2). Type says which
	// of the other fields count: text, image (Data, MimeType), resource_link
	// (URI, Name), resource (Resource), diagnostics (URI, Items).
	ContentBlock struct {
		Type string `json:"type"`
		// The text, of type text.
		Text     string `json:"text,omitempty"`
		Data     string `json:"data,omitempty"` // base64
		MimeType string `json:"mimeType,omitempty"`
		// Where it lies.
		URI string `json:"uri,omitempty"`
		// For people.
		Name string `json:"name,omitempty"`
		// The part that is meant; absent = the whole.
		Range    *definition.Range `json:"range,omitempty"`
		Resource *Resource         `json:"resource,omitempty"`
		Items    json.RawMessage   `json:"items,omitempty"` // LSP diagnostics
	}

	// Resource is a file or a part of one, with its content.
	Resource struct {
		URI string `json:"uri"`
		// The part that Text is; absent = the whole.
		Range    *definition.Range `json:"range,omitempty"`
		MimeType string            `json:"mimeType,omitempty"`
		// Its content as text; a resource has this or blob.
		Text string `json:"text,omitempty"`
		// Its content in base64.
		Blob string `json:"blob,omitempty"`
	}

	// Cost is money. It is absent where a price is unknown.
	Cost struct {
		Amount float64 `json:"amount"`
		// ISO 4217, as USD
		Currency string `json:"currency"`
		Enforced bool   `json:"enforced"` // run.max_cost is kept
		// A part of the usage was not told by the provider but estimated.
		Estimated bool `json:"estimated,omitempty"`
	}

	// Link is one run of a chain of handoffs.
	Link struct {
		Run   string `json:"run"`
		Agent string `json:"agent"`
		// The agent that passed control to this one; absent for the first.
		From string `json:"from,omitempty"`
		// Why it did, in its words.
		Reason string `json:"reason,omitempty"`
		// Milliseconds from the run's start to its end.
		DurationMs int64       `json:"durationMs"`
		Usage      model.Usage `json:"usage"`
	}

	// Change is what an agent did to one file.
	Change struct {
		URI  string `json:"uri"`
		Kind string `json:"kind"` // create, edit, delete, move
		// Where it was before a move.
		OldURI string `json:"oldUri,omitempty"`
		// The unified difference; "" where a side is no text or too large to compare.
		Patch string `json:"patch"` // unified
		// Its parts that can be kept or undone by themselves; never null.
		Hunks []Hunk `json:"hunks"`
	}

	// Hunk is a part of a change that a person can keep or undo by itself.
	Hunk struct {
		// Names the hunk by its lines and those beside it; it changes when these do.
		ID     string           `json:"id"`
		Range  definition.Range `json:"range"`  // in the new text
		Status string           `json:"status"` // pending, kept, undone
	}

	// Failure is why a run ended as an error.
	Failure struct {
		Kind string `json:"kind"` // a reason of spec 2.5, or truncated, blocked, hook, script
		// For a person.
		Message string `json:"message"`
	}

	// Guard is the outcome of one guardrail (spec 6.1).
	Guard struct {
		Name    string       `json:"name"`
		Policy  string       `json:"policy"`  // reject, repair, warn
		Outcome string       `json:"outcome"` // passed, failed, repaired, warned
		Errors  []GuardError `json:"errors,omitempty"`
	}

	// GuardError is what a guardrail found. Of a repaired result it is what was wrong
	// first.
	GuardError struct {
		Pointer string `json:"pointer"` // JSON pointer into the result; "" = the whole
		// What is wrong there, in words for the model that repairs it.
		Message string `json:"message"`
	}

	// ToolResult is what came of a tool call that succeeded.
	ToolResult struct {
		Content string `json:"content"` // as the model got it
		// For people, Markdown, where it differs from content.
		Display string `json:"display,omitempty"`
		Blob    string `json:"blob,omitempty"` // SHA-256 of the whole, where Content is cut
		Bytes   int    `json:"bytes"`          // of the whole
		// Media are images and documents that the model got besides, each in a
		// blob of the session.
		Media []model.Media `json:"media,omitempty"`
	}

	// ToolError is what came of a tool call that failed; the model got Message.
	ToolError struct {
		Code string `json:"code"` // stable, as tool.stale
		// As the model got it.
		Message string `json:"message"`
	}
)

// CallState is where a tool call stands (spec 3.4).
// A value that is none of these comes from a newer version; it is not Terminal.
type CallState string

// The states of a tool call.
const (
	// The arguments are checked, and the call is planned.
	Validating CallState = "validating"
	// It was planned, and waits for its turn or for the gate.
	Scheduled CallState = "scheduled"
	// A person is asked.
	AwaitingApproval CallState = "awaiting_approval"
	// From here on it may have had an effect, whatever comes after.
	Executing CallState = "executing"
	// It ended, with a result.
	Success CallState = "success"
	// It ended, or was refused, with an error that the model is told.
	Failed CallState = "error"
	// It was given up before its end; what it had done by then stays done.
	Cancelled CallState = "cancelled"
)

// Terminal reports whether a call in s will never move again.
func (s CallState) Terminal() bool { return s == Success || s == Failed || s == Cancelled }

// Reason says how a run ended (spec 3.5).
type Reason string

// The reasons.
const (
	// The agent ended by itself: with an answer, or with complete_task.
	Goal Reason = "GOAL"
	// Its limit run.max_time was used up.
	Timeout Reason = "TIMEOUT"
	// Its limit run.max_turns was used up.
	MaxTurns Reason = "MAX_TURNS"
	// It could not go on; error says why.
	Errored Reason = "ERROR"
	// A person cancelled it.
	Aborted Reason = "ABORTED"
	// A task run answered without complete_task, also in its last turn.
	NoCompleteTask Reason = "ERROR_NO_COMPLETE_TASK_CALL"
	// It repeated itself after it had been told.
	Loop Reason = "LOOP"
	// A limit of calls, tokens or money, and nobody gave more.
	Budget Reason = "BUDGET"
	// Control passed to another agent, whose result is the answer.
	HandedOff Reason = "HANDOFF"
	// A guardrail refused what came out, or what went in.
	Guardrail Reason = "GUARDRAIL"
)

// State is where a run stands (spec 3.5).
type State string

// The states of a run.
const (
	// It works.
	Running State = "running"
	// A person has to answer.
	Waiting State = "waiting"
	// Something has to be given or repaired first; agents/resume takes it up.
	Paused State = "paused"
	// Its daemon or its client ended meanwhile; agents/resume takes it up.
	Interrupted State = "interrupted"
	// It has a Reason and never moves again.
	Finished State = "finished"
)

// Line says for a person what a hook decided.
func (h HookRan) Line() string {
	text := fmt.Sprintf("hook %s (%s): ", h.Name, h.Event)
	switch h.Decision {
	case "deny":
		text += "refused"
	case "ask":
		text += "asks you"
	case "stop":
		text += "stopped the run"
	default:
		text += h.Decision
	}
	if h.Reason != "" {
		text += ": " + h.Reason
	}
	return text
}

// TextOf returns what a person said, as text: of what is no text, where it lies.
//
// Blocks are joined by line feeds, in order; images without a URI are left out.
func TextOf(blocks []ContentBlock) string {
	var parts []string
	for _, block := range blocks {
		switch {
		case block.Text != "":
			parts = append(parts, block.Text)
		case block.Resource != nil:
			parts = append(parts, "("+block.Resource.URI+")")
		case block.URI != "":
			parts = append(parts, "("+block.URI+")")
		}
	}
	return strings.Join(parts, "\n")
}
