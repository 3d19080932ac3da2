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
		Type     string            `json:"type"`
		Text     string            `json:"text,omitempty"`
		Data     string            `json:"data,omitempty"` // base64
		MimeType string            `json:"mimeType,omitempty"`
		URI      string            `json:"uri,omitempty"`
		Name     string            `json:"name,omitempty"`
		Range    *definition.Range `json:"range,omitempty"`
		Resource *Resource         `json:"resource,omitempty"`
		Items    json.RawMessage   `json:"items,omitempty"` // LSP diagnostics
	}

	// Resource is a file or a part of one, with its content.
	Resource struct {
		URI      string            `json:"uri"`
		Range    *definition.Range `json:"range,omitempty"`
		MimeType string            `json:"mimeType,omitempty"`
		Text     string            `json:"text,omitempty"`
		Blob     string            `json:"blob,omitempty"`
	}

	// Cost is money. It is absent where a price is unknown.
	Cost struct {
		Amount    float64 `json:"amount"`
		Currency  string  `json:"currency"`
		Enforced  bool    `json:"enforced"` // run.max_cost is kept
		Estimated bool    `json:"estimated,omitempty"`
	}

	// Link is one run of a chain of handoffs.
	Link struct {
		Run        string      `json:"run"`
		Agent      string      `json:"agent"`
		From       string      `json:"from,omitempty"`
		Reason     string      `json:"reason,omitempty"`
		DurationMs int64       `json:"durationMs"`
		Usage      model.Usage `json:"usage"`
	}

	// Change is what an agent did to one file.
	Change struct {
		URI    string `json:"uri"`
		Kind   string `json:"kind"` // create, edit, delete, move
		OldURI string `json:"oldUri,omitempty"`
		Patch  string `json:"patch"` // unified
		Hunks  []Hunk `json:"hunks"`
	}

	// Hunk is a part of a change that a person can keep or undo by itself.
	Hunk struct {
		ID     string           `json:"id"`
		Range  definition.Range `json:"range"`  // in the new text
		Status string           `json:"status"` // pending, kept, undone
	}

	// Failure is why a run ended as an error.
	Failure struct {
		Kind    string `json:"kind"` // a reason of spec 2.5, or truncated, blocked, hook, script
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
		Message string `json:"message"`
	}

	// ToolResult is what came of a tool call that succeeded.
	ToolResult struct {
		Content string `json:"content"` // as the model got it
		Display string `json:"display,omitempty"`
		Blob    string `json:"blob,omitempty"` // SHA-256 of the whole, where Content is cut
		Bytes   int    `json:"bytes"`          // of the whole
		// Media are images and documents that the model got besides, each in a
		// blob of the session.
		Media []model.Media `json:"media,omitempty"`
	}

	// ToolError is what came of a tool call that failed; the model got Message.
	ToolError struct {
		Code    string `json:"code"` // stable, as tool.stale
		Message string `json:"message"`
	}
)

// CallState is where a tool call stands (spec 3.4).
type CallState string

// The states of a tool call.
const (
	Validating       CallState = "validating"
	Scheduled        CallState = "scheduled"
	AwaitingApproval CallState = "awaiting_approval"
	Executing        CallState = "executing"
	Success          CallState = "success"
	Failed           CallState = "error"
	Cancelled        CallState = "cancelled"
)

// Terminal reports whether a call in s will never move again.
func (s CallState) Terminal() bool { return s == Success || s == Failed || s == Cancelled }

// Reason says how a run ended (spec 3.5).
type Reason string

// The reasons.
const (
	Goal           Reason = "GOAL"
	Timeout        Reason = "TIMEOUT"
	MaxTurns       Reason = "MAX_TURNS"
	Errored        Reason = "ERROR"
	Aborted        Reason = "ABORTED"
	NoCompleteTask Reason = "ERROR_NO_COMPLETE_TASK_CALL"
	Loop           Reason = "LOOP"
	Budget         Reason = "BUDGET"
	HandedOff      Reason = "HANDOFF"
	Guardrail      Reason = "GUARDRAIL"
)

// State is where a run stands (spec 3.5).
type State string

// The states of a run.
const (
	Running     State = "running"
	Waiting     State = "waiting"
	Paused      State = "paused"
	Interrupted State = "interrupted"
	Finished    State = "finished"
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
