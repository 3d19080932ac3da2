package run

import (
	"slices"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/fault"
)

// moves is the whole machine of a run (spec 3.5). The empty state is that of a
// run which has not begun.
var moves = map[activity.State][]activity.State{
	"":                   {activity.Running},
	activity.Running:     {activity.Waiting, activity.Paused, activity.Interrupted, activity.Finished},
	activity.Waiting:     {activity.Running, activity.Interrupted, activity.Finished},
	activity.Paused:      {activity.Running, activity.Interrupted, activity.Finished},
	activity.Interrupted: {activity.Running, activity.Finished},
	activity.Finished:    nil,
}

// calls is the whole machine of a call (spec 3.4). A cancellation can come in
// every state; so can a refusal by the policy before anything is executed.
var calls = map[activity.CallState][]activity.CallState{
	"":                        {activity.Validating},
	activity.Validating:       {activity.Scheduled, activity.Failed, activity.Cancelled},
	activity.Scheduled:        {activity.AwaitingApproval, activity.Executing, activity.Failed, activity.Cancelled},
	activity.AwaitingApproval: {activity.Executing, activity.Failed, activity.Cancelled},
	activity.Executing:        {activity.Success, activity.Failed, activity.Cancelled},
	activity.Success:          nil,
	activity.Failed:           nil,
	activity.Cancelled:        nil,
}

// step returns next, or a fault that says that a machine has no such move.
// It changes nothing: the caller takes over what it returns.
func step[S ~string](machine map[S][]S, from, next S) (S, error) {
	if !slices.Contains(machine[from], next) {
		return from, fault.New(fault.Internal, "run.step", "%q cannot become %q", from, next)
	}
	return next, nil
}

// context returns the key of the run's context.
func (r *runner) context() string { return r.origin().ContextID() }

// move says that the run's state changed. A move that the machine does not have
// is a bug: it is told, and the run goes on.
func (r *runner) move(to activity.State, why, resumes string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moveLocked(to, why, resumes)
}

// moveLocked is move with mu held.
func (r *runner) moveLocked(to activity.State, why, resumes string) {
	r.shift(activity.RunState{To: to, Why: why, Resumes: resumes})
}

// shift is move with all that there is to say of it; mu is held.
func (r *runner) shift(moved activity.RunState) {
	next, err := step(moves, r.state, moved.To)
	if err != nil {
		r.say(activity.ErrorSeen{Code: "internal", Message: fault.Message(err), Where: "run"})
		return
	}
	moved.From = r.state
	r.say(moved)
	r.state = next
}

// asking marks that a person is waited for, until the function that it returns
// is called. Meanwhile the run's clock stands still. A tool that outlives the
// run marks nothing.
// It may be nested and called from several goroutines: the state is waiting while any
// question is open. The function that it returns must be called on every path.
func (r *runner) asking(why string) (answered func()) {
	// The callers first, without this run's lock: their clocks stand still before this run
	// says that it waits.
	release := r.holdCallers()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open++; r.open == 1 && !r.ended() {
		r.clock.pause()
		r.holdNodes(true)
		r.moveLocked(activity.Waiting, why, "the answer")
		r.tellWaits()
	}
	return func() {
		defer release()
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.open--; r.open == 0 && !r.ended() {
			r.moveLocked(activity.Running, "", "")
			r.clock.resume()
			r.holdNodes(false)
			r.tellWaits()
		}
	}
}

// holdCallers stops the clocks of the runs that wait for this one, while this one waits
// for a person, until release is called.
// Callers are locked one after the other and never two at once.
func (r *runner) holdCallers() (release func()) {
	hold := func(still bool) {
		for up := r.Under; up != nil; up = up.r.Under {
			up.r.mu.Lock()
			up.r.holdNodes(still)
			up.r.mu.Unlock()
			if still {
				up.r.clock.pause()
			} else {
				up.r.clock.resume()
			}
		}
	}
	hold(true)
	return func() { hold(false) }
}

// tellWaits tells that the run begins or ends to wait for a person. mu may be held, so
// Waits must not call back into the run.
func (r *runner) tellWaits() {
	if r.Waits != nil {
		r.Waits()
	}
}

// ended reports whether the last event of the run is written; mu is held.
func (r *runner) ended() bool {
	return r.state == activity.Finished || r.state == activity.Interrupted
}
