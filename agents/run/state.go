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
func step[S ~string](machine map[S][]S, from, next S) (S, error) {
	if !slices.Contains(machine[from], next) {
		return from, fault.New(fault.Internal, "run.step", "%q cannot become %q", from, next)
	}
	return next, nil
}
