package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/trace"
	"github.com/agentls/agentls/agents/trace/export"
	"github.com/agentls/agentls/internal/wire"
)

// replaySession serves agents/session/replay.
// Nothing is run: it reads the log.
// Texts are masked. The error has the reason unknownSession.
func (h *Handlers) replaySession(_ context.Context, _ struct{}, p *wire.SessionParams) (*wire.ReplayResult, error) {
	session := strings.Clone(h.daemon.Agents.SessionID(p.Session))
	log, err := h.daemon.Agents.Timeline(session)
	if err != nil {
		return nil, err
	}
	events, err := trace.Read(log, session, h.daemon.Mask)
	if err != nil {
		return nil, err
	}
	steps, totals := trace.Replay(events)
	result := &wire.ReplayResult{
		Steps: []wire.ReplayStep{}, Agents: totals.Agents, Tools: totals.Tools, Handoffs: totals.Handoffs,
		Guardrails: totals.Guardrails, DurationMs: totals.Duration.Milliseconds(),
	}
	var text strings.Builder
	for _, s := range steps {
		result.Steps = append(result.Steps, wire.ReplayStep{
			Seq: s.Seq, AfterMs: s.After.Milliseconds(), Run: s.Run, Agent: s.Agent, Kind: s.Kind, Text: s.Text,
			Error: s.Error, DurationMs: s.Took.Milliseconds(),
		})
		failure := ""
		if s.Error != "" {
			failure = "  ✗ " + s.Error
		}
		fmt.Fprintf(&text, "%8s  %s\n", "+"+export.ShortTime(s.After), export.InLine(s.Text+failure))
	}
	fmt.Fprintf(&text, "\n%s\n", totals)
	result.Text = text.String()
	return result, nil
}

// spans returns what a session's log says of what took time, without what looks like a
// credential.
//
// The session's log is read whole.
// Spans that have not ended end at the newest event. With an error those of the events
// before it are returned.
func (h *Handlers) spans(session string) ([]*trace.Span, error) {
	log, err := h.daemon.Agents.Timeline(session)
	if err != nil {
		return nil, err
	}
	events, err := trace.Read(log, session, h.daemon.Mask)
	return trace.Build(events), err
}

// getTrace serves agents/trace/get.
// Spans that began before fromSeq are left out, and so are types that were not asked for.
func (h *Handlers) getTrace(_ context.Context, _ struct{}, p *wire.TraceGetParams) (*wire.TraceGetResult, error) {
	session := strings.Clone(h.daemon.Agents.SessionID(p.Session))
	spans, err := h.spans(session)
	if err != nil {
		return nil, err
	}
	spans = slices.DeleteFunc(spans, func(s *trace.Span) bool { return s.Seq < p.FromSeq })
	events := trace.Events(session, spans, true)
	if len(p.Types) > 0 {
		events = slices.DeleteFunc(events, func(e trace.FileEvent) bool {
			return !slices.Contains(p.Types,
				e.EventType)
		})
	}
	return &wire.TraceGetResult{Events: events}, nil
}

// exportTrace serves agents/trace/export.
// A page is written into a file of the daemon's own, which goes with the connection; every other
// format is in the answer.
// OTLP has texts, arguments and results only with content; the other formats always have them.
func (h *Handlers) exportTrace(_ context.Context, _ struct{}, p *wire.TraceExportParams) (*wire.TraceExportResult,
	error) {
	session := strings.Clone(h.daemon.Agents.SessionID(p.Session))
	spans, err := h.spans(session)
	if err != nil {
		return nil, err
	}
	var text []byte
	switch p.Format {
	case "html":
		text, err = trace.HTML(session, spans)
	case "otlp":
		text, err = trace.OTLP(session, h.Version, spans, p.Content)
	default:
		text, err = json.MarshalIndent(trace.Events(session, spans, true), "", "  ")
	}
	if err != nil || p.Format != "html" {
		return &wire.TraceExportResult{Text: string(text)}, err
	}
	path, err := h.keepShown("trace-"+session+".html", string(text))
	if err != nil {
		return nil, err
	}
	return &wire.TraceExportResult{URI: string(uri.File(path))}, nil
}
