package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
)

// Limits bound what a run may use, 0 = none. The call of a model that would
// cross one is refused, not the one after (spec 3.3).
type Limits struct {
	ModelCalls  int     // of models
	InputTokens int     // of all requests; not where nobody can be asked and Tokens is given
	Tokens      int     // in and out: run.max_tokens
	USD         float64 // run.max_cost
}

// Extension is how much more a paused run may use; the zero Extension is as
// much again as the limit that it hit.
type Extension struct {
	Turns   int
	Seconds int
	Tokens  int
	USD     float64
}

// errBudget is why a model was not asked.
type errBudget struct {
	limit string // which: calls, input, tokens, cost
	text  string
}

func (e *errBudget) Error() string { return e.text }

// reminders is the share of a limit, in per cent, from which the model is told.
const reminders = 80

// usage is what the run has used.
type usage struct {
	tokens model.Usage
	calls  int
	usd    float64
	priced bool // usd is all of it
	rough  bool // some answer's tokens were not counted by the provider
}

// count takes an answer in to a request of about so many tokens. Where the
// provider does not count, limits go by the estimate (REL-69).
func (r *runner) count(choice Choice, answer *model.Answer, tokens int) {
	u := answer.Usage
	if !answer.Counted && u == (model.Usage{}) || u.InputTokens < 0 || u.OutputTokens < 0 || u.ThoughtTokens < 0 || u.CachedTokens < 0 {
		u = model.Usage{}
		u.InputTokens, u.OutputTokens = tokens, model.EstimateTokens(textOf(answer))
		u.TotalTokens = u.InputTokens + u.OutputTokens
	}
	r.used.tokens = r.used.tokens.Add(u)
	usd, known := model.Cost(choice.Entry, u)
	r.used.usd += usd
	if !known && !r.unknown && r.Limits.USD > 0 {
		r.unknown = true
		r.say(activity.Note{Level: "warning", Message: fmt.Sprintf(
			"run.max_cost is not enforced for answers of %s: no price is known for it. Add one with the setting model.table.", choice.ID)})
	}
	r.used.priced = r.used.priced && known
	r.used.rough = r.used.rough || !answer.Counted
}

// spent returns the tokens that run.max_tokens is about.
func (u usage) spent() int {
	return u.tokens.InputTokens + u.tokens.OutputTokens + u.tokens.ThoughtTokens
}

// budget returns an *errBudget if a request of about so many tokens would cross
// a limit.
func (r *runner) budget(choice Choice, tokens int) error {
	l, u := r.limits, r.used
	switch {
	case l.ModelCalls > 0 && u.calls+1 > l.ModelCalls:
		return &errBudget{"calls", fmt.Sprintf("The run has asked models %d times, which is its limit (agents.limits.modelCalls).", u.calls)}
	case r.boundsInput() && u.tokens.InputTokens+tokens > l.InputTokens:
		return &errBudget{"input", fmt.Sprintf("The next request has about %d tokens, and %d were sent already; the limit of a run is %d (agents.limits.inputTokens).", tokens, u.tokens.InputTokens, l.InputTokens)}
	case l.Tokens > 0 && u.spent()+tokens > l.Tokens:
		return &errBudget{"tokens", fmt.Sprintf("The run has used %d tokens and its next request has about %d; run.max_tokens is %d.", u.spent(), tokens, l.Tokens)}
	case l.USD > 0:
		usd, _ := model.Cost(choice.Entry, model.Usage{InputTokens: tokens}) // 0 where it is not known
		if u.usd+usd > l.USD {
			return &errBudget{"cost", fmt.Sprintf("The run has cost $%.4f and its next request costs about $%.4f; run.max_cost is $%.2f.", u.usd, usd, l.USD)}
		}
	}
	return nil
}

// boundsInput reports whether the tree's limit of input tokens holds: where
// nobody can be asked, an agent's own takes its place (spec 3.3).
func (r *runner) boundsInput() bool {
	return r.limits.InputTokens > 0 && (r.Env.Ask != nil || r.limits.Tokens == 0)
}

// remind tells the model, once for each limit, that it has used most of it.
func (r *runner) remind() {
	l, u := r.limits, r.used
	for _, part := range []struct {
		limit, what string
		used, of    float64
	}{
		{"calls", "calls of the model", float64(u.calls), float64(l.ModelCalls)},
		{"input", "input tokens", float64(u.tokens.InputTokens), float64(boundOf(r.boundsInput(), l.InputTokens))},
		{"tokens", "tokens", float64(u.spent()), float64(l.Tokens)},
		{"cost", "money", u.usd, l.USD},
	} {
		if part.of <= 0 || part.used*100 < part.of*reminders || r.reminded[part.limit] {
			continue
		}
		if r.reminded == nil {
			r.reminded = make(map[string]bool)
		}
		r.reminded[part.limit] = true
		r.say(activity.Note{Level: "warning", ToModel: true, Message: fmt.Sprintf(
			"%d %% of the %s that this run may use are used up. Come to the end: do what matters most, and say what is left.", int(part.used*100/part.of), part.what)})
	}
}

func boundOf(holds bool, limit int) int {
	if holds {
		return limit
	}
	return 0
}

// extend gives a run more of what it has used up: what was said, else as much
// again as the limit that it hit.
func (r *runner) extend(hit *errBudget, e Extension) {
	first := r.Limits
	switch hit.limit {
	case "calls":
		r.limits.ModelCalls += first.ModelCalls
	case "input":
		r.limits.InputTokens += cmp.Or(e.Tokens, first.InputTokens)
	case "tokens":
		r.limits.Tokens += cmp.Or(e.Tokens, first.Tokens)
	case "cost":
		r.limits.USD += cmp.Or(e.USD, first.USD)
	}
	delete(r.reminded, hit.limit)
	r.more(e)
}

// more adds turns and time.
func (r *runner) more(e Extension) {
	r.maxTurns += e.Turns
	r.clock.add(e.Seconds)
}

// cost is what the run has cost, nil where a price is not known.
func (r *runner) cost() *activity.Cost {
	if !r.used.priced {
		return nil
	}
	return &activity.Cost{Amount: r.used.usd, Currency: "USD", Enforced: r.Limits.USD > 0, Estimated: r.used.rough}
}

// unpriced tells a person that the limit of cost of an agent is not kept.
func (r *runner) unpriced() {
	if r.Limits.USD == 0 {
		return
	}
	for _, c := range r.Models {
		if len(c.Entry.Prices) == 0 && !r.unknown {
			r.unknown = true
			r.say(activity.Note{Level: "warning", Message: fmt.Sprintf(
				"run.max_cost is not enforced: no price is known for the model %s. Add one with the setting model.table.", c.ID)})
			return
		}
	}
}

// pause stops the run until a person lets it go on. It returns false if it is
// to end: the person says so, or nobody can be asked. on is what the person is
// offered.
func (r *runner) pause(ctx context.Context, why, on string) (Extension, bool) {
	ask := r.Env.Ask
	if ask == nil {
		return Extension{}, false
	}
	resumed := make(chan Extension, 1)
	r.mu.Lock()
	r.clock.pause()
	r.moveLocked(activity.Paused, why, "agents/resume")
	r.resumed = resumed
	r.tellWaits()
	r.mu.Unlock()

	asking, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	answers := make(chan bool, 1)
	r.Leftovers.Go(func() {
		answer, err := ask(asking, tool.Question{
			Title: r.Definition.Title + " has stopped", Message: why, Choices: []string{on, endIt}, Aside: true,
		})
		if err == nil && answer.Action == "cancel" {
			return // dismissed, not answered: the run stays as it is
		}
		answers <- err == nil && answer.Action == "accept" && answer.Text == on
	})
	var e Extension
	goOn := false
	select {
	case goOn = <-answers:
	case e = <-resumed:
		goOn = true
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resumed = nil
	select { // whoever was told that it resumes is right
	case e = <-resumed:
		goOn = true
	default:
	}
	if goOn && ctx.Err() == nil {
		r.moveLocked(activity.Running, "", "")
		r.clock.resume()
	}
	r.tellWaits()
	return e, goOn && ctx.Err() == nil
}

// endIt is the answer with which a person ends a run that has stopped.
const endIt = "End the run"

// Resume lets a paused run go on with more of what was used up, and reports
// whether it was paused.
func (run *Run) Resume(e Extension) bool {
	r := run.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.resumed == nil {
		return false
	}
	r.resumed <- e
	r.resumed = nil
	return true
}

// provided reports whether a failure of models may mend by itself: what a
// person may want to wait for and try again.
func provided(err error) bool {
	var e *model.Error
	return errors.As(err, &e) && (e.Class == model.Busy || e.Class == model.Cut)
}

// unauthorized reports whether a model refused the credentials: another one may
// have its own.
func unauthorized(err error) bool {
	var e *model.Error
	return errors.As(err, &e) && e.Class == model.Unauthorized
}
