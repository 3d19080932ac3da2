// Package fault says what kind of thing went wrong, in words that no transport
// owns.
//
// Code below the wire returns faults. Package server turns a fault's [Kind]
// into a JSON-RPC code at the one place where errors leave the process, so a
// package that means "the document moved on" never has to know about -32801.
//
// # Use
//
// Call [New] where the kind is decided, and wrap with fmt.Errorf and %w below
// that. A fault that a client tells apart from others of its kind carries a
// [Reason], which travels as data.kind (spec 2.5), and the reason's own data.
//
// It imports nothing of this module.
package fault

import (
	"context"
	"errors"
	"fmt"
)

// Kind sorts errors by what the caller can do about them.
type Kind uint8

const (
	// Internal is a bug in this program. It is the zero value, so an error that
	// nobody sorted is never blamed on the caller.
	Internal    Kind = iota
	Invalid          // the parameters make no sense; do not retry
	NotFound         // well formed, but it names nothing that exists
	NotReady         // sent before initialize
	Stale            // true of a state that has been superseded; ask again
	Canceled         // the caller gave up
	Denied           // a guardrail, a policy or a person said no
	Unavailable      // a model, a process or the disk failed; a retry may help
	Unserved         // no such method
	Misplaced        // right method, wrong time or wrong way: after shutdown, twice, without an id
	kinds            // how many there are; keep it last
)

// Count is the number of kinds. A table indexed by Kind is complete if it is
// this long.
const Count = int(kinds)

var names = [Count]string{
	Internal: "internal", Invalid: "invalid", NotFound: "notFound", NotReady: "notReady",
	Stale: "stale", Canceled: "canceled", Denied: "denied", Unavailable: "unavailable",
	Unserved: "unserved", Misplaced: "misplaced",
}

// String returns the kind's name, as logs show it.
func (k Kind) String() string { return names[k] }

// Reason is the name under which a client knows an error of the domain: the
// value of data.kind of an answer with code -32803 (spec 2.5). It is part of
// the protocol: never renamed.
type Reason string

// The reasons of spec 2.5.
const (
	UnknownAgent   Reason = "unknownAgent" // data: suggestions
	UnknownSession Reason = "unknownSession"
	UnknownRun     Reason = "unknownRun"
	Busy           Reason = "busy"
	Overloaded     Reason = "overloaded"
	NoAgent        Reason = "noAgent"      // data: candidates
	AuthRequired   Reason = "authRequired" // data: command
	Provider       Reason = "provider"     // data: status
	Untrusted      Reason = "untrusted"    // data: folder
	InvalidAgent   Reason = "invalidAgent" // data: problems
	Config         Reason = "config"
	OutOfDate      Reason = "stale"
	Refused        Reason = "denied"
	Bug            Reason = "internal"
)

// Error is an error with a kind.
type Error struct {
	Kind   Kind
	Op     string         // what was being done, as package.verb: "run.start"; for logs
	Reason Reason         // "" where the kind says enough
	Data   map[string]any // of the reason; JSON values; may be nil
	Err    error          // what a person reads
}

// Error returns what was being done and what went wrong, for logs. What a
// client is shown is [Message].
func (e *Error) Error() string { return e.Op + ": " + e.Err.Error() }

// Unwrap returns the error that a person reads.
func (e *Error) Unwrap() error { return e.Err }

// New returns an error of the given kind. Op is package.verb; format takes %w
// and is one sentence that says what happened and what to do.
func New(kind Kind, op, format string, args ...any) *Error {
	return &Error{Kind: kind, Op: op, Err: fmt.Errorf(format, args...)}
}

// Because returns e with a reason and, as alternating keys and values, its
// data. A key without a value is a bug and panics.
func (e *Error) Because(reason Reason, data ...any) *Error {
	next := *e
	next.Reason = reason
	if len(data) > 0 {
		next.Data = make(map[string]any, len(data)/2)
	}
	for i := 0; i < len(data); i += 2 {
		next.Data[data[i].(string)] = data[i+1]
	}
	return &next
}

// KindOf reports the kind of the outermost fault in err's chain. An error that
// carries none is sorted by what it wraps (a done context, say) and is
// otherwise [Internal].
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	switch {
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return Unavailable
	}
	return Internal
}

// ReasonOf returns the reason and the data of the outermost fault in err's
// chain that has a reason; "" and nil when none has.
func ReasonOf(err error) (Reason, map[string]any) {
	for err != nil {
		e, ok := errors.AsType[*Error](err)
		if !ok {
			return "", nil
		}
		if e.Reason != "" {
			return e.Reason, e.Data
		}
		err = e.Err
	}
	return "", nil
}

// Message returns what a person is shown of err: the text without the names of
// operations that faults put before it in logs.
func Message(err error) string {
	for {
		e, ok := err.(*Error)
		if !ok {
			return err.Error()
		}
		err = e.Err
	}
}
