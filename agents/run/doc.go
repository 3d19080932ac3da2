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
//
// # The life of a run
//
// [New], then [Run.Begin] or, for one that is taken up again, [Run.Continue],
// then [Run.Do], each once and in this order; other methods may be called from
// any goroutine meanwhile. Begin writes the first event: a run that has begun
// is in the log and has to be brought to its end. Do returns when the last
// event is appended; the caller commits it.
//
// # Files
//
// run.go has the configuration and the order of a run's parts; turn.go is the
// loop, think.go one answer of a model with its retries, act.go a batch of
// calls, permit.go a call's way through the gate and the person, execute.go the
// tool itself, outcome.go how a call ends. What may stop or turn a run has a
// file each: limits.go and account.go, repeat.go, flood.go, compress.go,
// steer.go, guards.go, hooks.go and hooks_model.go, ending.go. keep.go and
// commands.go are about what calls do to files. task.go, transfer.go and
// graph.go are the other ways to end or to go on; past.go takes a run up again.
//
// # Locks
//
// The runner's mu guards what others touch while the loop runs; it is taken
// before the session's log and never held while a person, a model, a tool or
// the disk is waited for. Of two runs the one that waits is locked after its
// child has let go of its own lock. Fields without a remark belong to the
// goroutine of Do.
package run
