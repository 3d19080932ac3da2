package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/trace"
)

type (
	// TraceGetParams asks for a session's trace.
	TraceGetParams struct {
		Session string   `json:"session,omitempty"` // absent = main
		FromSeq uint64   `json:"fromSeq,omitempty"` // without what began before this event of the session
		Types   []string `json:"types,omitempty"`   // of events: llm_call, tool_call, …; absent = all
	}

	// TraceGetResult is a trace: what took time in a session, and what came of it.
	TraceGetResult struct {
		Events []trace.FileEvent `json:"events"` // in the order of time; what goes on still has no end
	}

	// ReplayResult is what happened in a session, step by step, and what it adds up to.
	ReplayResult struct {
		// In the order of events.
		Steps []ReplayStep `json:"steps"`
		// Runs of agents.
		Agents int `json:"agents"`
		// Calls of tools.
		Tools int `json:"tools"`
		// Times that control passed on.
		Handoffs int `json:"handoffs"`
		// Judgements of guardrails.
		Guardrails int    `json:"guardrails"`
		DurationMs int64  `json:"durationMs"` // from the first event to the last
		Text       string `json:"text"`       // all of it for people, a line a step
	}

	// ReplayStep is one thing that happened.
	ReplayStep struct {
		Seq     uint64 `json:"seq"`     // of the event that tells of it
		AfterMs int64  `json:"afterMs"` // since the session's first event
		// The run that it is about.
		Run string `json:"run,omitempty"`
		// The agent whose run it is.
		Agent string `json:"agent,omitempty"`
		Kind  string `json:"kind"` // run, llm, tool, handoff, guardrail, route, confirmation, hook, node
		// The step in a line, for people.
		Text  string `json:"text"`
		Error string `json:"error,omitempty"` // why it failed
		// How long it took, where that is known.
		DurationMs int64 `json:"durationMs,omitzero"`
	}

	// TraceExportParams asks for a session's trace in a format.
	TraceExportParams struct {
		Session string `json:"session,omitempty"` // absent = main
		Format  string `json:"format"`            // json, otlp, html
		Content bool   `json:"content,omitzero"`  // prompts and results also with otlp, which is for sending
	}

	// TraceExportResult is the trace: Text for json and otlp, and for html a file, which
	// is there as long as the connection.
	TraceExportResult struct {
		// The trace itself, with json and otlp.
		Text string `json:"text,omitempty"`
		// The page, with html.
		URI string `json:"uri,omitempty"`
	}
)

// TraceFormats are the formats of a trace.
func TraceFormats() []string { return []string{"json", "otlp", "html"} }

// Check implements the server's check of parameters.
func (p *TraceGetParams) Check() (string, error) {
	for i, t := range p.Types {
		if !slices.Contains(trace.Types(), t) {
			return fmt.Sprintf("types[%d]", i), fmt.Errorf("is %q; use %s", t, strings.Join(trace.Types(), ", "))
		}
	}
	return checkSession(p.Session)
}

// Check implements the server's check of parameters.
func (p *TraceExportParams) Check() (string, error) {
	if !slices.Contains(TraceFormats(), p.Format) {
		return "format", fmt.Errorf("is %q; use json, otlp or html", p.Format)
	}
	return checkSession(p.Session)
}
