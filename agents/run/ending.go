package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/internal/fault"
)

// ending is how a loop ended.
//
// The zero ending is not an end: its reason is empty, and the loop goes on.
// interrupted ends the work without ending the run: no run.finished is written,
// and a later daemon goes on.
type ending struct {
	reason      activity.Reason
	recovered   activity.Reason // the limit that was hit before the goal was reached
	text        string
	output      json.RawMessage
	failure     *activity.Failure
	told        bool // the person was told of the failure
	interrupted bool
	why         string   // it was interrupted
	passes      *passing // control, to whom; nil for nobody
	anew        bool     // it is none: the model was asked, and is to be asked again
}

// endInterrupted is the end of a run that was interrupted.
func endInterrupted(ctx context.Context) ending {
	end := ending{reason: activity.Aborted, interrupted: true, why: "the daemon ended"}
	if errors.Is(context.Cause(ctx), ErrSuspended) {
		end.why = "the graph's time was used up"
	}
	return end
}

// endFailed is the end of a run that cannot go on: ERROR with a kind and a text
// for the person.
func endFailed(kind, message string) ending {
	return ending{reason: activity.Errored, failure: &activity.Failure{Kind: kind, Message: message}}
}

// over reports whether the run is to end before anything else is done, and how.
// It is asked between all steps. A log that cannot be written is dealt with
// here, before the next request: the run waits in here until it can be written
// or the person decides. How a context ended says its cause.
func (r *runner) over(ctx context.Context) (ending, bool) {
	r.mu.Lock()
	stop, halted := r.stop, r.halted
	r.mu.Unlock()
	// A person's cancel in a question goes before what a guard or a hook found meanwhile.
	if halted != nil && !stop && ctx.Err() == nil {
		return *halted, true
	}
	if stop {
		return ending{reason: activity.Aborted}, true
	}
	if ctx.Err() == nil {
		// What cannot be written down does not happen (spec 3.1).
		if err := r.Session.Err(); err == nil || r.unsaved {
			return ending{}, false
		} else if end, over := r.unwritable(ctx, err); ctx.Err() == nil {
			return end, over
		}
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrTimeout):
		return ending{reason: activity.Timeout, text: fmt.Sprintf("The run ended after %v.", r.MaxTime)}, true
	case errors.Is(cause, ErrInterrupted):
		return endInterrupted(ctx), true
	case errors.Is(cause, errGuarded) && halted != nil:
		return *halted, true
	}
	return ending{reason: activity.Aborted}, true
}

// endUnanswered is how a run ends whose model gave no answer.
// An error that is not the model's is a defect of ours, such as a conversation that cannot
// be sent.
func endUnanswered(err error) ending {
	var e *model.Error
	if errors.As(err, &e) {
		kind := fault.Provider
		if e.Class == model.Unauthorized {
			kind = fault.AuthRequired
		}
		return endFailed(string(kind), e.Error())
	}
	return endFailed(string(fault.Bug), err.Error())
}

// finish writes the last events of the run.
//
// It returns the result also for an interrupted run, whose log has only the
// state. It does not wait for the disk.
func (r *runner) finish(end ending) activity.RunFinished {
	if r.untold() && !end.interrupted {
		r.say(activity.Note{Level: "info",
			Message: "What was said last was not told to the model any more; the agent's next run begins with it."})
	}
	took := r.Now().Sub(r.began) + r.spent
	used, _ := r.account.total()
	link := r.Link
	link.Run, link.Agent, link.DurationMs, link.Usage = r.ID, r.Definition.Name, took.Milliseconds(), used.tokens
	result := activity.RunFinished{
		Reason: end.reason, Recovered: end.recovered, Text: end.text, Output: end.output,
		Usage: used.tokens, Cost: r.cost(),
		Turns: int(r.turn.Load()), ToolCalls: r.toolCalls, Fallbacks: r.fallbacks,
		Chain:      append(slices.Clone(r.Before), link),
		Guardrails: list(r.judged), Changes: list(r.changes), Problems: list(r.Problems), Error: end.failure,
	}
	if end.interrupted {
		r.move(activity.Interrupted, end.why, "agents/resume")
		return result
	}
	if end.failure != nil && !end.told {
		r.say(activity.ErrorSeen{Code: end.failure.Kind, Message: end.failure.Message, Where: "model"})
	}
	if end.passes != nil {
		r.tellHandoff(end.passes)
	}
	// The state first: run.finished is the last event of a run, whatever else is written.
	r.move(activity.Finished, string(end.reason), "")
	r.sayFor(result, took)
	// An interrupted run keeps its taint and answers at the gate, if the daemon lives on.
	r.Gate.Forget(r.ID)
	return result
}
