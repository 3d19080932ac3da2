package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/guardrail"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
)

// maxRepairs is how often the model is asked to repair a result that one guard refused
// (spec 6.1).
const maxRepairs = 2

// errGuarded is the cause with which a guard of the input cancels a run.
var errGuarded = errors.New("a guardrail refused the request")

// guardInput judges what the agent is asked, before the model is; a guard that is to run
// beside it is begun. over is whether the run ends. What was judged before the run was
// taken up is not judged again.
// cancel ends the loop's context, for guards that run beside the model.
func (r *runner) guardInput(ctx context.Context, cancel context.CancelCauseFunc) (end ending, over bool) {
	r.mu.Lock()
	before := slices.Clone(r.judged) // those that are begun here add to it
	r.mu.Unlock()
	for _, g := range r.Guards {
		if !g.Input || slices.ContainsFunc(before, func(told activity.Guard) bool { return told.Name == g.Name }) {
			continue
		}
		s := guardrail.Subject{Text: r.input, Values: r.values(nil)}
		// A schema of an input is about the agent's inputs; without any it gets the text.
		if g.Schema != nil && r.Inputs != nil {
			s.Output = r.Inputs
		}
		if g.Parallel {
			r.guarding.Go(func() {
				if refused, is := r.judgeInput(ctx, g, s); is {
					r.mu.Lock()
					if r.halted == nil {
						r.halted = &refused
					}
					r.mu.Unlock()
					cancel(errGuarded)
				}
			})
			continue
		}
		refused, is := r.judgeInput(ctx, g, s)
		if end, over := r.over(ctx); over {
			return end, true
		}
		if is {
			return refused, true
		}
	}
	return ending{}, false
}

// judgeInput has a guard judge what the agent is asked, and tells the outcome.
// Nothing is told, and nothing refused, where ctx ended meanwhile: the guard did not come
// to judge. A warning lets the request pass.
func (r *runner) judgeInput(ctx context.Context, g *guardrail.Guard, s guardrail.Subject) (end ending, refused bool) {
	began := r.Now()
	found, _ := g.Judge(ctx, s)
	if ctx.Err() != nil {
		return ending{}, false
	}
	outcome := "passed"
	switch {
	case len(found) > 0 && g.Policy == definition.Warn:
		outcome = "warned"
	case len(found) > 0:
		outcome = "failed"
	}
	r.tellGuard(activity.GuardrailChecked{Guard: activity.Guard{Name: g.Name, Policy: g.Policy, Outcome: outcome,
		Errors: found}}, r.Now().Sub(began))
	return endStopped("request", g.Name, found), outcome == "failed"
}

// awaitInput waits for the guards that judge the input beside the model, and reports
// whether one ends the run.
func (r *runner) awaitInput(end *ending) bool {
	r.guarding.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.halted == nil || r.halted.reason != activity.Guardrail || end.interrupted {
		return false
	}
	*end = *r.halted
	return true
}

// guard judges the run's result, in the order of the agent's file, and reports whether
// the model is to repair it: then it has been told, and takes further turns. After a
// repair all guards judge anew: what one has asked for must not undo another. last is
// whether the run has no turns left.
//
// It may wait for guards that run programs or other agents; they heed ctx.
func (r *runner) guard(ctx context.Context, end *ending, last bool) (again bool) {
	for _, g := range r.Guards {
		if g.Input || end.reason != activity.Goal {
			continue
		}
		began := r.Now()
		s := guardrail.Subject{Text: end.text, Output: end.output, Values: r.values(end)}
		found, broken := g.Judge(ctx, s)
		// A guard that was cut off has not refused; how the run ends is for its context to say.
		if stop, over := r.over(ctx); over {
			*end = stop
			return false
		}
		asked := r.repairs[g.Name]
		told := activity.GuardrailChecked{Guard: activity.Guard{Name: g.Name, Policy: g.Policy,
			Outcome: "passed", Errors: found}}
		if len(asked) > 0 {
			for _, repair := range asked {
				told.Outputs = append(told.Outputs, repair.Output)
			}
			told.Outputs = append(told.Outputs, resultOf(end))
		}
		switch mayRepair := !broken && !last && len(asked) < maxRepairs && int(r.turn.Load()) < r.maxTurns; {
		case len(found) == 0 && len(asked) > 0:
			told.Outcome, told.Errors = "repaired", asked[0].Errors
		case len(found) == 0:
		case g.Policy == definition.Warn:
			told.Outcome = "warned"
		case g.Policy == definition.Repair && mayRepair:
			r.askRepair(g, end, found)
			return true
		default:
			told.Outcome = "failed"
			*end = endStopped("result", g.Name, found)
		}
		r.tellGuard(told, r.Now().Sub(began))
	}
	return false
}

// resultOf is what a run came to, as text.
func resultOf(end *ending) string {
	if end.output != nil {
		return string(end.output)
	}
	return end.text
}

// endStopped is how a run ends that a guard does not let pass.
func endStopped(what, guard string, found []activity.GuardError) ending {
	end := endFailed("guardrail", fmt.Sprintf("The %s was refused by the guardrail %s: %s", what, guard,
		activity.ErrorText(found)))
	end.reason, end.told = activity.Guardrail, true // by the guard's event
	return end
}

// tellGuard tells a guard's outcome, once where it stays the same.
func (r *runner) tellGuard(told activity.GuardrailChecked, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.repairs, told.Name)
	i := slices.IndexFunc(r.judged, func(g activity.Guard) bool { return g.Name == told.Name })
	switch {
	case i < 0:
		r.judged = append(r.judged, told.Guard)
	case told.Outcome == "passed" && (r.judged[i].Outcome == "passed" || r.judged[i].Outcome == "repaired"):
		return // it judged again after a repair
	default:
		r.judged[i] = told.Guard
	}
	r.sayFor(told, took)
}

// askRepair has the model repair its result.
// What the guard found is fenced: it may quote the model or a page. The question is in
// the log with it, so that a run that is resumed here asks the same.
func (r *runner) askRepair(g *guardrail.Guard, end *ending, found []activity.GuardError) {
	var b strings.Builder
	fmt.Fprintf(&b, "Your result was checked by %s and refused:\n", g.Name)
	for _, e := range found {
		fmt.Fprintf(&b, "- %s\n", tool.Fence(e.String(), r.mark))
	}
	if g.Schema != nil {
		fmt.Fprintf(&b, "It must fit this JSON Schema:\n%s\n", g.Schema)
	}
	if r.tools != nil {
		fmt.Fprintf(&b, "Correct it and call %s again, with the whole result.", CompleteTask)
	} else {
		b.WriteString("Correct it and answer with the whole result again, and with nothing else.")
	}
	repair := activity.Repair{Guard: g.Name, Errors: found, Output: resultOf(end), Ask: b.String()}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.repairs == nil {
		r.repairs = make(map[string][]activity.Repair)
	}
	r.repairs[g.Name] = append(slices.Clip(r.repairs[g.Name]), repair)
	r.say(activity.Retry{
		Of: "guardrail", Attempt: len(r.repairs[g.Name]) + 1, Cause: g.Name + ": " + activity.ErrorText(found),
		Discard: r.tools == nil, Repair: &repair,
	})
	// The run is open again: for a new completion, and for words of the person.
	r.done, r.closing = nil, false
}

// inputText is what the agent is asked, with what came along, as text.
func inputText(input []activity.ContentBlock) string {
	var texts []string
	for _, part := range session.Render(input) {
		if part.Text != "" {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// recallGuards takes what the guards had found before the run was taken up.
func (r *runner) recallGuards(p *Past) {
	r.judged, r.repairs = slices.Clone(p.Guards), maps.Clone(p.Repairs)
}
