package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/loop"
	"github.com/agentls/agentls/agents/model"
)

// turns takes turns until the run is to end, and says how.
//
// Each pass is one turn: begun, one answer, its calls, finished. It may be called
// again after it returned, when a guard or a hook sends a result back; the turns
// count on. An answer that was cut off by the limit of tokens goes on once, and
// before has its first half, since only both together are the run's text.
func (r *runner) turns(ctx context.Context) ending {
	before := "" // text of an answer that was cut and goes on
	continued := false
	for {
		if end, over := r.over(ctx); over {
			return end
		}
		if int(r.turn.Load()) >= r.maxTurns {
			return ending{reason: activity.MaxTurns, text: fmt.Sprintf("The run ended after %d turns.", r.maxTurns)}
		}
		r.remind()
		turn := r.beginTurn()
		began := r.Now()
		answer, shown, end, ok := r.answer(ctx)
		if !ok {
			// The turn is over also without an answer: each turn that began in the log has its
			// end.
			r.sayFor(activity.TurnFinished{Turn: turn}, r.Now().Sub(began))
			if end.reason == "" {
				if !end.anew {
					r.maxTurns++ // this one asked nothing
				}
				continue
			}
			return end
		}
		calls := callsOf(answer)
		// What cannot go on begins anew: the model is not sent this answer.
		anew := answer.Finish == model.Length && (len(calls) > 0 || textOf(answer) == "")
		if answer.Finish == model.Length || answer.Finish == model.Blocked {
			calls = nil // a call of an answer that was cut or blocked is not complete
		}
		var done []loop.Call
		if len(calls) > 0 {
			r.toolCalls += len(calls)
			done = r.act(ctx, calls)
			if errors.Is(context.Cause(ctx), ErrInterrupted) {
				return endInterrupted(ctx) // the turn is finished when the run is resumed
			}
		}
		if anew && !continued {
			r.say(activity.Retry{Of: "model", Attempt: 2, Cause: "the answer was cut off before it could be used",
				Discard: shown})
		}
		r.sayFor(activity.TurnFinished{Turn: turn, Usage: answer.Usage, ToolCalls: len(calls)}, r.Now().Sub(began))
		// A completed task comes before all that could stop the run after its calls.
		if end, ok := r.completion(); ok {
			return end
		}
		// The order of the cases matters: calls lead on whatever else the answer was; an answer
		// that was blocked or cut is no result; only a whole answer without calls asks whether
		// the person has said something, which also closes the run for further words.
		switch {
		case len(calls) > 0:
			if end, over := r.overAfterCalls(ctx, done, answer); over {
				return end
			}
			continued, before = false, "" // each answer may go on once
			continue
		case answer.Finish == model.Blocked:
			return endFailed("blocked", fmt.Sprintf("The model's provider blocked the answer (%s).", answer.Blocked))
		case answer.Finish == model.Length && !continued:
			if continued = true; !anew {
				before = textOf(answer)
			}
			continue
		case answer.Finish == model.Length:
			end := endFailed("truncated", "The answer is longer than the model can write, also when it went on once.")
			end.text = before + textOf(answer)
			return end
		case !r.closed():
			continued, before = false, "" // the person has said something meanwhile
			continue
		case r.tools != nil:
			return ending{reason: activity.NoCompleteTask, text: fmt.Sprintf("The agent stopped without calling %s.",
				CompleteTask)}
		}
		return ending{reason: activity.Goal, text: before + textOf(answer)}
	}
}

// overAfterCalls reports whether a run ends after the calls of a turn, and how.
// Each of the checks may ask the person, and the first that ends the run is the last
// that is made.
func (r *runner) overAfterCalls(ctx context.Context, done []loop.Call, answer *model.Answer) (end ending, over bool) {
	if end, over = r.over(ctx); !over {
		end, over = r.calm(ctx)
	}
	if !over {
		end, over = r.pauseIfFailing(ctx)
	}
	if !over {
		end, over = r.looks(ctx, done, answer)
	}
	return end, over
}

// answer gets the model's next answer, in a context that is short enough. What
// stops it may be fixed by a person; else end is how the run ends. An end without
// a reason is none: the person has said something while the run was paused, and
// the model is to hear it first; or the answer was stopped, and the model is to give
// another (anew).
//
// shown is whether a part of a failed answer was told and not withdrawn.
func (r *runner) answer(ctx context.Context) (answer *model.Answer, shown bool, end ending, ok bool) {
	for {
		// Compression is inside of the loop: it asks a model, so it may fail for the same
		// reasons as the answer, and a person may fix these in the same way.
		err := r.compress(ctx)
		if err == nil {
			answer, shown, err = r.think(ctx)
		}
		if err == nil {
			return answer, shown, ending{}, true
		}
		// A context that ended fails the request. Its cause says how the run ends, and not the
		// error of the model.
		if end, over := r.over(ctx); over {
			return nil, shown, end, false
		}
		var budget *errBudget
		var runaway *errRunaway
		var refused *errHook
		switch {
		case errors.As(err, &refused):
			return nil, shown, endFailed("hook", refused.reason), false
		// The answer is in the log as one that is not sent again. Whether the run goes on after
		// such an answer is judged as for other loops.
		case errors.As(err, &runaway):
			if end, over := r.repeats(ctx, r.detector.Text(runaway.text)); over {
				return nil, shown, end, false
			}
			r.say(activity.Retry{Of: "model", Attempt: 1, Cause: err.Error(), Discard: shown})
			return nil, shown, ending{anew: true}, false
		case errors.As(err, &budget):
			if r.more(ctx, budget) {
				if r.spoken() {
					return nil, shown, ending{}, false
				}
				continue
			}
			end = ending{reason: activity.Budget, text: "The run ended. " + budget.text}
		case provided(err):
			why := "The model does not answer: " + err.Error()
			if unauthorized(err) { // the error says how to fix them
				why = "The credentials for the model are refused: " + err.Error()
			}
			if r.pause(ctx, "", why, "Try again") {
				r.say(activity.Retry{Of: "model", Attempt: 1, Cause: "the person let the run go on", Discard: shown})
				if r.spoken() {
					return nil, shown, ending{}, false
				}
				continue
			}
			end = endUnanswered(err)
		default:
			end = endUnanswered(err)
		}
		if over, is := r.over(ctx); is {
			end = over
		}
		return nil, shown, end, false
	}
}

// looks looks for loops in a turn that called tools.
// done are the calls with what they came to, in call order. over is as for
// [runner.repeats].
func (r *runner) looks(ctx context.Context, done []loop.Call, answer *model.Answer) (ending, bool) {
	if r.Repeats == nil || !r.Repeats.On() {
		return ending{}, false
	}
	findings := r.detector.Text(textOf(answer)) // before the calls, which end what text it is compared with
	return r.repeats(ctx, append(findings, r.detector.Calls(done)...))
}
