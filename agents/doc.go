// Package agents is the daemon's agents as its handlers see them: start a run,
// follow it, answer it, stop it.
//
// A run belongs to the [Service], and its events to the log of its session.
// Under stdio the daemon has one client, so a run ends with its client's
// connection: it is left interrupted (spec 3.1). What a run needs of the
// person and the editor it reaches through a [Frontend] that the client's handlers
// provide.
//
// The package is a face: it decides nothing that a sub-package could decide. It
// knows no wire and no editor: nothing here imports workspace, server or
// internal/wire.
//
// # A run's way
//
// [Service.Start] finds the agent (find.go), plans what it is asked and with what
// (start.go), opens the session (conversation.go) and begins the run (begin.go), which
// waits its turn where its agent has another one there (queue.go). A [Live] is the run
// as others see it: to steer, cancel and wait for. When it has ended control may pass
// on (handoff.go); what it waits for itself are runs as well: delegates (delegate.go),
// nodes of a graph (graph.go), judges (guardrails.go), all of one tree with one budget
// (tree.go). A run that a daemon's end cut off is taken up by resume.go and restore.go.
//
// # Locks
//
// Service.mu guards which sessions, runs and exclusions there are. It is held for
// moments only and never while a disk, a model or a person is waited for.
// conversation.changes is held while files are brought back, kept or undone, and is
// taken before conversation.mu. Who needs a context for itself excludes runs of it
// (contexts.go) and holds no lock meanwhile.
//
// # Errors
//
// They are faults whose reasons are those of spec 2.5: unknownAgent, unknownSession,
// unknownRun, busy, overloaded, noAgent, authRequired, provider, untrusted,
// invalidAgent, denied. A run that has begun has no error: how it ended is its result.
package agents
