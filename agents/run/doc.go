// Package run takes one agent through one request: it asks the model, does what
// the model calls for, and asks again, until the run ends (spec 3.3 to 3.5).
//
// It keeps no screen and knows no wire. What it does is to be read from the
// session's log; what it wants to know from a person it asks through [Person].
//
// # What ends a run
//
// The causes of the context's end tell a person who cancels ([ErrCancelled])
// from a daemon that ends ([ErrInterrupted]). Each call that was asked for has
// exactly one result in the log whatever happens (REL-61), and nothing is
// executed from an answer that is not complete.
//
// # Goroutines
//
// A run owns one goroutine for each call of a batch and waits for them. A tool
// that does not return within half a second of a cancellation is left to
// [Config.Leftovers], whose owner waits for it.
package run
