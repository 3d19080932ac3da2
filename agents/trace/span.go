package trace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/model"
)

// Kind says what a span is about.
type Kind string

// The kinds of spans. A run holds turns, and these the others.
const (
	// A run of an agent, from its beginning to its end.
	Run Kind = "run"
	// An answer of the model and the calls that it asks for.
	Turn Kind = "turn"
	// A question to a model, whoever asks.
	Model Kind = "llm"
	// A call of a tool, from when it was asked for to its result.
	Tool Kind = "tool"
	// Control that passes to another agent, or is refused to.
	Handoff Kind = "handoff"
	// A check of an output.
	Guardrail Kind = "guardrail"
	// The choice of the agent that answers.
	Route Kind = "route"
	// A hook that was run.
	Hook Kind = "hook"
	// A question to the person about a call, until they answered.
	Confirmation Kind = "confirmation"
)

// Span is something in a session that took time. Do not change one that has ended.
// It belongs to the builder until it has ended.
type Span struct {
	ID     uint64 // unique in its session, and grows with Seq
	Seq    uint64 // the number of the event with which it begins
	Until  uint64 // and of the one with which it ends; 0 = it is open
	Parent uint64 // the span that it is part of; 0 = none
	After  uint64 // of a run: the handoff that led to it; 0 = none
	Kind   Kind
	Name   string // of the model, the tool, the agent, …
	Agent  string
	Run    string
	// CorrelationID is the same along a chain of handoffs: the id of the run that
	// the person asked for.
	CorrelationID string

	// Times of the log. Of a span that is open, End is the time of the newest event in what [Build]
	// returns, and else not known.
	Start, End time.Time
	Open       bool   // it has not ended
	Error      string // why it failed; "" = it did not
	Details    Details

	// Tokens; of a run those of all its turns.
	Usage model.Usage
	// How a model's answer ended, or a run; "" = it has not.
	Finish string
	// From the question to the first piece of the answer; 0 = not known.
	FirstToken time.Duration
	// Of a tool: the call's id; of a model that a tool asked, too.
	Call string
}

// Duration is how long the span took, up to now for one that is open. It is never
// negative, also where the clock was set back.
func (s *Span) Duration() time.Duration { return max(s.End.Sub(s.Start), 0) }

// failure returns why the span failed; without content a code, since the message may
// quote what was said.
// "" where it did not fail.
func (s *Span) failure(content bool) string {
	if content || s.Error == "" {
		return s.Error
	}
	switch s.Kind {
	case Tool, Route, Guardrail, Confirmation: // codes, and sentences of this package
		return s.Error
	case Handoff:
		code, _, _ := strings.Cut(s.Error, ": ")
		return code
	}
	return cmp.Or(s.Finish, "failed")
}

// Field is one thing that is known of a span.
type Field struct {
	Name    string
	Value   any  // a string, a number, a bool or what encoding/json writes
	Content bool // it is what somebody said, or a tool gave
}

// Details are the fields of a span in the order of spec 7.2.
type Details []Field

// Get returns the value of a field; nil for none.
func (d Details) Get(name string) any {
	for _, f := range d {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// Without returns the fields that are no content.
func (d Details) Without() (left Details) {
	for _, f := range d {
		if !f.Content {
			left = append(left, f)
		}
	}
	return left
}

// MarshalJSON writes an object with the fields in their order. A map would sort them.
func (d Details) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range d {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(f.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(f.Value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Text returns a field's value as people read it: a text as it is, anything else as
// JSON.
func (f Field) Text() string {
	if s, ok := f.Value.(string); ok {
		return s
	}
	data, err := json.Marshal(f.Value)
	if err != nil {
		return ""
	}
	return string(data)
}
