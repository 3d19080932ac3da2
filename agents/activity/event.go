package activity

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"
)

// Event is one entry of a session's timeline (spec 3.2).
type Event struct {
	Seq uint64 // from 1, without gaps, in the order of happening
	// UTC, whole milliseconds, as the line has it; zero for a line without one
	Time    time.Time
	Session string // not part of the log's lines
	Origin         // who it is about
	Body    Body   // what happened
	// How long what ended took, in milliseconds; 0 where nothing ended.
	DurationMs int64
}

// Origin says which run an event is about. The zero Origin is the session's
// own.
type Origin struct {
	// The id of the run, which a client may choose; "" for the session's own
	// events.
	Run string `json:"run,omitempty"`
	// The run that waits for this one, where it was delegated.
	ParentRun string `json:"parentRun,omitempty"`
	Turn      int    `json:"turn,omitempty"` // from 1; 0 = outside of turns
	// The name of the agent; two runs of one agent have one context, unless
	// Context says otherwise.
	Agent         string `json:"agent,omitempty"`
	CorrelationID string `json:"correlationId,omitempty"` // the same along a chain of handoffs
	Context       string `json:"context,omitempty"`       // of a delegated run, which has a context of its own; "" = the agent's
}

// ContextID returns the key of the context that the event belongs to: the agent's
// name for the agent's own.
// "" for the session's own events.
func (o Origin) ContextID() string { return cmp.Or(o.Context, o.Agent) }

// Body says what happened. The bodies of body.go are all there are, and
// [Unknown] for those of a newer version.
//
// Bodies are values: they are copied into events, and what they point to (slices,
// raw JSON) is not changed by anybody after Append. Whoever switches over them
// must have a default for Unknown.
type Body interface {
	// Type is the body's name in the log and on the wire: never reused.
	Type() string
}

// Plus returns what both add, field by field.
func (x Extended) Plus(y Extended) Extended {
	return Extended{
		Turns: x.Turns + y.Turns, Seconds: x.Seconds + y.Seconds, ModelCalls: x.ModelCalls + y.ModelCalls,
		InputTokens: x.InputTokens + y.InputTokens, Tokens: x.Tokens + y.Tokens, USD: x.USD + y.USD,
	}
}

// Unknown is a body that this version has no type for. It is kept as it is.
type Unknown struct {
	Name string
	Data json.RawMessage
}

// Type returns the name that the line had.
func (u Unknown) Type() string { return u.Name }

// MarshalJSON returns the data as it was read; {} where there is none.
func (u Unknown) MarshalJSON() ([]byte, error) {
	if len(u.Data) == 0 {
		return []byte("{}"), nil
	}
	return u.Data, nil
}

// Decode returns the body of the given type. A type that this version does not
// know gives an [Unknown]; data that does not fit its type gives an error.
// data is copied where it is kept.
func Decode(name string, data []byte) (Body, error) {
	read, ok := bodies[name]
	if !ok {
		return Unknown{Name: name, Data: append(json.RawMessage(nil), data...)}, nil
	}
	b, err := read(data)
	if err != nil {
		return nil, fmt.Errorf("the data of a %s event: %w", name, err)
	}
	return b, nil
}

// Synced reports whether an event must be on stable storage before anybody is
// told of it (spec 3.1): what a person or a side effect depends on. Deltas and
// what read-only tools do are not.
//
// Each type costs a sync of the disk for each event, so the list is as short as
// it can be: an event is in it if a person would be misled, or a side effect
// repeated, by a daemon that died after telling of it and forgot it.
func Synced(b Body) bool {
	switch b := b.(type) {
	case RunStarted, RunState, RunFinished, ConfirmationAnswered, Input, ApprovalChanged,
		ChangeResolved, Rewound, Forked:
		return true
	case Checkpoint:
		return len(b.Kept) > 0 // a file is about to be written
	case GraphNode:
		return b.State == NodeFinished
	case ToolState:
		return b.Risk != "safe" && (b.State == Executing || b.State.Terminal())
	}
	return false
}
