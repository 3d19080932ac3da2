package model

import (
	"fmt"
	"time"
)

// Class sorts a provider's failures by what helps (spec 3.3).
type Class string

// The classes.
const (
	// Busy: 408, 429, 5xx or no connection, before the first byte of an answer.
	// Waiting and asking again helps: 5 attempts and 3 minutes at most.
	Busy Class = "busy"
	// Cut: the answer began and did not end as one: cut, stalled, or not
	// readable. Asking again helps: twice at most.
	Cut Class = "cut"
	// Unauthorized: the credentials are refused (401, and 400 or 403 that say
	// so). Asking again helps only with other credentials.
	Unauthorized Class = "unauthorized"
	// Fatal: the request is refused as it is, or the quota of the day is used
	// up. Asking again does not help.
	Fatal Class = "fatal"
)

// Error is a failure of a provider. Its text is the provider's message and
// never holds a key.
//
// It may be shared; whoever adds to a message copies it first.
type Error struct {
	Class      Class
	Status     int           // HTTP; 0 without an answer
	Code       string        // the provider's name of the error (RESOURCE_EXHAUSTED); may be ""
	Message    string        // the provider's words, or ours where there are none
	RetryAfter time.Duration // what the provider asks to wait; 0 = it does not say
	PerModel   bool          // the limit is one of this model: others may answer the same key
	TooLong    bool          // the conversation has more tokens than the model takes
	Err        error         // what is below; may be nil
}

// Error returns the provider's message with the status.
func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%s (HTTP %d)", e.Message, e.Status)
	}
	return e.Message
}

// Unwrap returns what is below.
func (e *Error) Unwrap() error { return e.Err }
