package trace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// FileEvent is a span, or the beginning or the end of a run, as files of traces have it
// (spec 7.2).
// Others read these files, so members are added and not renamed.
type FileEvent struct {
	// Of a span: session and number; of the beginning of a run with -start behind.
	EventID       string `json:"event_id"`
	EventType     string `json:"event_type"` // llm_call, tool_call, handoff, guardrail, route, tool_confirmation, agent_start, agent_complete, agent_error
	Timestamp     int64  `json:"timestamp"`  // of the beginning, ms since 1970
	SessionID     string `json:"session_id"`
	AgentName     string `json:"agent_name"`
	CorrelationID string `json:"correlation_id"`
	// An object; its members depend on EventType.
	Details json.RawMessage `json:"details"`
	// Milliseconds; 0 at a beginning.
	DurationMs int64 `json:"duration_ms,omitzero"`
	// Why it failed; "" = it did not.
	Error string `json:"error,omitempty"`
}

// types are the names of spans that files have; turns and hooks are not in them.
var types = map[Kind]string{
	Model: "llm_call", Tool: "tool_call", Handoff: "handoff", Guardrail: "guardrail", Route: "route",
	Confirmation: "tool_confirmation",
}

// Group is the name under which settings choose the kind of a span (tracing.events);
// "" for runs and turns, which are always there.
func (k Kind) Group() string {
	switch k {
	case Confirmation, Hook:
		return string(Tool)
	case Run, Turn:
		return ""
	}
	return string(k)
}

// File returns what files have of a moment; false for one that they leave out. Without
// content it has no texts, arguments and results.
// Only runs have a beginning there; all else is told when it ends. Without content an
// error is a code or a word. Details that cannot be written as JSON are an empty
// object.
func (m Moment) File(session string, content bool) (FileEvent, bool) {
	e := FileEvent{SessionID: session, AgentName: m.Agent, CorrelationID: m.CorrelationID,
		Timestamp: m.Start.UnixMilli(), EventID: fmt.Sprintf("%s-%d", session, m.ID)}
	details := m.Details
	if m.Kind == Run {
		details = m.half()
	}
	switch {
	case m.Kind == Run && m.Begins:
		e.EventType, e.EventID = "agent_start", e.EventID+"-start"
	case m.Begins:
		return e, false
	case m.Kind == Run:
		e.EventType, e.Timestamp, e.DurationMs, e.Error = "agent_complete", m.End.UnixMilli(),
			m.Duration().Milliseconds(), m.Error
		if m.Error != "" {
			e.EventType = "agent_error"
		}
	default:
		if e.EventType = types[m.Kind]; e.EventType == "" {
			return e, false
		}
		e.DurationMs, e.Error = m.Duration().Milliseconds(), m.Error
	}
	if !content {
		details = details.Without()
		if e.Error != "" {
			e.Error = m.failure(false)
		}
	}
	data, err := details.MarshalJSON()
	if err != nil {
		data = []byte("{}")
	}
	e.Details = data
	return e, true
}

// half returns what is known of a run at its beginning, or what its end adds. The field
// reason is the first of those that the end adds.
func (m Moment) half() Details {
	end := slices.IndexFunc(m.Details, func(f Field) bool { return f.Name == "reason" })
	switch {
	case end < 0:
		return m.Details
	case m.Begins:
		return m.Details[:end]
	}
	return m.Details[end:]
}

// Events returns spans as files have them, in the order of time.
// Of those that are open runs have their beginning, and others nothing. It is never
// nil.
func Events(session string, spans []*Span, content bool) []FileEvent {
	type placed struct {
		FileEvent
		seq uint64
	}
	var list []placed
	for _, s := range spans {
		for _, begins := range []bool{true, false} {
			if s.Open && !begins {
				continue
			}
			e, ok := (Moment{s, begins}).File(session, content)
			if !ok {
				continue
			}
			one := placed{e, s.Seq}
			// The end of a run has an event of its own; everything else is placed by its
			// first event.
			if s.Kind == Run && !begins {
				one.seq = s.Until
			}
			list = append(list, one)
		}
	}
	// Much happens within one millisecond; there the order of the log counts.
	slices.SortStableFunc(list, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.Timestamp, b.Timestamp), cmp.Compare(a.seq, b.seq))
	})
	events := []FileEvent{}
	for _, one := range list {
		events = append(events, one.FileEvent)
	}
	return events
}

// Types are the types of events that files have.
// The caller owns the slice.
func Types() []string {
	return []string{"llm_call", "tool_call", "handoff", "guardrail", "route", "tool_confirmation", "agent_start",
		"agent_complete", "agent_error"}
}
