package run

// What a run tells its session.

import (
	"context"
	"fmt"
	"time"

	"github.com/sourcegraph/conc/panics"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/fault"
)

// defect is what a session is told of a panic; the stack is for the log only.
func (r *runner) defect(p *panics.Recovered, where string) activity.ErrorSeen {
	if r.Log != nil {
		r.Log.Error("panic in a run", "run", r.ID, "where", where, "bug", fault.BugID(p.Callers), "stack",
			fault.PanicText(p.Value, p.Stack))
	}
	return activity.ErrorSeen{Code: "internal", Message: "a defect of agentls" + bug(p), Where: where}
}

// bug says how a defect is reported (REL-20).
func bug(p *panics.Recovered) string {
	return fmt.Sprintf(" (bug %s, under which the log has the details)", fault.BugID(p.Callers))
}

// say appends an event of the run to the log and returns its number, 0 where
// the log is closed. It does not wait and may be called with or without mu.
func (r *runner) say(b activity.Body) uint64 { return r.sayFor(b, 0) }

// sayFor is say with how long what ended has taken.
func (r *runner) sayFor(b activity.Body, took time.Duration) uint64 {
	return r.Session.Append(r.origin(), b, took)
}

// origin is what the run's events have in common.
// The turn is the one that goes on, also for what a tool in the background says.
func (r *runner) origin() activity.Origin {
	return activity.Origin{
		Run: r.ID, ParentRun: r.Parent, Turn: int(r.turn.Load()), Agent: r.Definition.Name,
		CorrelationID: r.CorrelationID, Context: r.ContextID,
	}
}

// track registers how a call is cancelled; nil releases and forgets it.
// cancel is called by [Run.CancelCall] with its own cause.
func (r *runner) track(call string, cancel context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cancel == nil {
		if end := r.cancels[call]; end != nil {
			end(nil)
		}
		delete(r.cancels, call)
	} else {
		r.cancels[call] = cancel
	}
}

// list returns s, and an empty list instead of none: absent means unknown on
// the wire.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
