package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// Limits bound what a run may use, 0 = none. The call of a model that would
// cross one is refused, not the one after (spec 3.3).
//
// ModelCalls and InputTokens are of a whole tree of runs, Tokens and USD of the run with
// those that it delegates to. Tokens are estimates until the provider has counted.
type Limits struct {
	ModelCalls  int     // of models
	InputTokens int     // of all requests; not where nobody can be asked and Tokens is given
	Tokens      int     // in and out: run.max_tokens
	USD         float64 // run.max_cost
}

// Extension is how much more a paused run may use; the zero Extension is as
// much again as the limit that it hit.
//
// Seconds are of run.max_time. None of them may be negative.
type Extension struct {
	Turns   int
	Seconds int
	Tokens  int
	USD     float64
}

// errBudget is why a model was not asked.
type errBudget struct {
	limit   string // which: calls, input, tokens, cost
	text    string
	of      *account // whose limit it is: the run's, or that of a run which waits for it
	decided int      // by the person until then, as the account has it
}

// Error returns the text, which is for the person.
func (e *errBudget) Error() string { return e.text }

// reminders is the share of a limit, in per cent, from which the model is told.
const reminders = 80

// usage is what a run has used.
type usage struct {
	tokens model.Usage
	calls  int
	usd    float64
	priced bool // usd is all of it
	rough  bool // some answer's tokens were not counted by the provider
}

// count takes an answer in to a request of about so many tokens. Where the
// provider does not count, limits go by the estimate (REL-69).
// tokens is what begin had reserved, and is given back in any case.
func (r *runner) count(choice Choice, answer *model.Answer, tokens int) {
	u := answer.Usage
	if (!answer.Counted && u == (model.Usage{})) || u.InputTokens < 0 || u.OutputTokens < 0 ||
		u.ThoughtTokens < 0 || u.CachedTokens < 0 {
		u = model.Usage{}
		u.InputTokens, u.OutputTokens = tokens, model.EstimateTokens(textOf(answer))
		u.TotalTokens = u.InputTokens + u.OutputTokens
	}
	usd, known := model.Cost(choice.Entry, u)
	if !known && !r.unknown && r.Limits.USD > 0 {
		r.unknown = true
		r.say(activity.Note{Level: "warning", Message: fmt.Sprintf(
			"run.max_cost is not enforced for answers of %s: no price is known for it. Add one with the setting model.table.", choice.ID)})
	}
	r.account.count(tokens, usage{tokens: u, usd: usd, priced: known, rough: !answer.Counted})
}

// total returns the tokens that run.max_tokens is about.
func (u usage) total() int {
	return u.tokens.InputTokens + u.tokens.OutputTokens + u.tokens.ThoughtTokens
}

// remind tells the model, once for each limit, that it has used most of it.
//
// Most is so many percent (reminders). A limit of 0 is none.
func (r *runner) remind() {
	// The limits are those that hold now, with what a person has added. Two of them are of
	// the whole tree, which has also what the runs before in the chain used.
	u, l := r.account.total()
	before := r.account.before
	for _, part := range []struct {
		limit, what string
		used, of    float64
	}{
		{"calls", "calls of the model", float64(before.Calls + u.calls), float64(l.ModelCalls)},
		{"input", "input tokens", float64(before.InputTokens + u.tokens.InputTokens), float64(l.InputTokens)},
		{"tokens", "tokens", float64(u.total()), float64(l.Tokens)},
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

// extension is what a person gives a run: what they said, and where that names
// none of the limit that the run hit, as much again.
// As much again is as much as the limit was at first, not as it is with what was added
// before. Tokens count for both limits of tokens, where the run has them.
func (r *runner) extension(hit string, e Extension) activity.Extended {
	first := r.Limits
	x := activity.Extended{Turns: e.Turns, Seconds: e.Seconds, USD: e.USD}
	if first.InputTokens > 0 {
		x.InputTokens = e.Tokens
	}
	if first.Tokens > 0 {
		x.Tokens = e.Tokens
	}
	switch hit {
	case "calls":
		x.ModelCalls = first.ModelCalls
	case "input":
		x.InputTokens = cmp.Or(x.InputTokens, first.InputTokens)
	case "tokens":
		x.Tokens = cmp.Or(x.Tokens, first.Tokens)
	case "cost":
		x.USD = cmp.Or(x.USD, first.USD)
	}
	return x
}

// extend gives the run more of what limits it.
// mu may be held: the account has its own lock.
func (r *runner) extend(x activity.Extended) {
	r.account.extend(x)
	r.maxTurns += x.Turns
	if r.MaxTime > 0 {
		r.MaxTime += time.Duration(x.Seconds) * time.Second
	}
	if r.clock != nil { // else it does not go on yet
		r.clock.add(x.Seconds)
	}
}

// giveMore gives a run that waits for another more of the limits that both share, and says
// so: the state is as it was.
func (r *runner) giveMore(x activity.Extended) {
	r.account.extend(x)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.say(activity.RunState{From: r.state, To: r.state, Extended: &x})
}

// extend adds to the limits; one that there is not stays away.
func (a *account) extend(x activity.Extended) {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := &a.limits
	if l.ModelCalls > 0 {
		l.ModelCalls += x.ModelCalls
	}
	if l.InputTokens > 0 {
		l.InputTokens += x.InputTokens
	}
	if l.Tokens > 0 {
		l.Tokens += x.Tokens
	}
	if l.USD > 0 {
		l.USD += x.USD
	}
}

// cost is what the run has cost, nil where a price is not known.
func (r *runner) cost() *activity.Cost {
	used, _ := r.account.total()
	if !used.priced {
		return nil
	}
	return &activity.Cost{Amount: used.usd, Currency: "USD", Enforced: r.Limits.USD > 0, Estimated: used.rough}
}

// warnUnpriced tells a person that the limit of cost of an agent is not kept.
func (r *runner) warnUnpriced() {
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
// to end: the person says so, or nobody can be asked. limit is the one that it
// would cross, "" for another reason; on is what the person is offered.
// The run's clock and those of its callers stand still meanwhile.
func (r *runner) pause(ctx context.Context, limit, why, on string) bool {
	_, goOn := r.pauseUntil(ctx, r, limit, why, []string{on}, nil)
	return goOn
}

// more asks the person for more of what a request would use up. The limit may be that of
// a run which waits for this one: of all that come to it one asks at a time, and the
// answer counts for those that came to it meanwhile.
func (r *runner) more(ctx context.Context, budget *errBudget) (goOn bool) {
	if r.Env.Ask == nil {
		return false
	}
	// While another run asks about the same limit, this one waits for the person as well:
	// its time does not count.
	release := r.holdCallers()
	r.clock.pause()
	select {
	case budget.of.asking <- struct{}{}:
		defer func() { <-budget.of.asking }()
	case <-ctx.Done():
	}
	r.clock.resume()
	release()
	if ctx.Err() != nil {
		return false
	}
	if goOn, decided := budget.of.decision(budget.decided); decided {
		return goOn
	}
	// The limit may be that of a run which waits for this one: what the person gives is told
	// as given to that run.
	holder := r
	for up := r.Under; up != nil && holder.account != budget.of; up = up.r.Under {
		holder = up.r
	}
	_, goOn = r.pauseUntil(ctx, holder, budget.limit, budget.text, []string{"Go on, with as much again"}, nil)
	if ctx.Err() == nil { // a run that was cancelled meanwhile has decided nothing for the others
		budget.of.decide(goOn)
	}
	return goOn
}

// decision returns what the person has decided since so many decisions; false for
// nothing.
func (a *account) decision(since int) (goOn, decided bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.goOn, a.decided != since
}

// decide records what the person said, for those who came to the same limit meanwhile.
func (a *account) decide(goOn bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.decided++
	a.goOn = goOn
}

// pauseUntil stops the run until a person lets it go on in one of the ways that
// are offered, or until what stopped it goes away: gone waits for that, and may
// be nil. choice is the way that was chosen, "" where none was. A run that goes on
// has what it was given, or holder has it: the run itself, or one that waits for it.
//
// Three may let it go on: the person's answer, [Run.Resume], and gone. The state is
// changed back under the lock in which resumed is taken away, so whoever was told by
// Resume that the run goes on was told the truth, also when the answer came in the same
// moment.
func (r *runner) pauseUntil(ctx context.Context, holder *runner, limit, why string, ways []string,
	gone func(context.Context) error) (choice string, goOn bool) {
	if r.Env.Ask == nil {
		return "", false
	}
	resumed := make(chan Extension, 1)
	defer r.holdCallers()()
	r.mu.Lock()
	r.clock.pause()
	r.shift(activity.RunState{To: activity.Paused, Why: why, Resumes: "agents/resume", Limit: limit})
	r.resumed = resumed
	r.tellWaits()
	r.mu.Unlock()

	// Whatever lets the run go on withdraws the question and ends the wait for gone.
	asking, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	answers, away := r.askToResume(asking, why, ways), r.awaitGone(asking, gone)
	var e Extension
	select {
	case choice = <-answers:
		goOn = choice != ""
	case e = <-resumed:
		goOn = true
	case <-away:
		goOn = true
	case <-ctx.Done():
	}
	// Two runs are never locked at once, so the holder is given its part after this run's
	// lock, which is released before this function runs.
	var shared activity.Extended
	defer func() { // without this run's lock
		if shared != (activity.Extended{}) {
			holder.giveMore(shared)
		}
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resumed = nil
	select { // whoever was told that it resumes is right
	case e = <-resumed:
		goOn = true
	default:
	}
	goOn = goOn && ctx.Err() == nil
	if goOn {
		moved := activity.RunState{To: activity.Running}
		x := holder.extension(limit, e)
		if holder != r { // turns and time are each run's own
			shared = x
			shared.Turns, shared.Seconds = 0, 0
			x = activity.Extended{Turns: x.Turns, Seconds: x.Seconds}
		}
		if x != (activity.Extended{}) {
			moved.Extended = &x
			r.extend(x)
			delete(r.reminded, limit)
		}
		r.shift(moved)
		r.clock.resume()
	}
	r.tellWaits()
	return choice, goOn
}

// askToResume asks the person whether a run that is paused goes on; the answer is one of
// the ways, or "".
// Nothing comes where the person dismissed the question, or ctx ended first; the channel
// is never closed. The question is put on a goroutine of Leftovers, since the pause may
// end by other means.
func (r *runner) askToResume(ctx context.Context, why string, ways []string) <-chan string {
	answers := make(chan string, 1)
	r.Leftovers.Go(func() {
		answer, err := r.Env.Ask(ctx, r.addChain(tool.Question{
			Title: r.Definition.Title + " has stopped", Message: why,
			Choices: append(slices.Clone(ways), endIt), Aside: true,
		}))
		if err == nil && answer.Action == "cancel" {
			return // dismissed, not answered: the run stays as it is
		}
		if err != nil || answer.Action != "accept" || !slices.Contains(ways, answer.Text) {
			answer.Text = ""
		}
		answers <- answer.Text
	})
	return answers
}

// awaitGone waits for what paused a run to go away; gone may be nil.
// Nothing comes where gone is nil, or fails.
func (r *runner) awaitGone(ctx context.Context, gone func(context.Context) error) <-chan struct{} {
	away := make(chan struct{}, 1)
	if gone != nil {
		r.Leftovers.Go(func() {
			if gone(ctx) == nil && ctx.Err() == nil {
				away <- struct{}{}
			}
		})
	}
	return away
}

// addChain returns a question with the agents that led to who asks it.
func (r *runner) addChain(q tool.Question) tool.Question {
	if len(r.Chain) > 1 {
		q.Title += " (" + strings.Join(r.Chain, " → ") + ")"
	}
	return q
}

// The ways on of a run whose session cannot be written.
const (
	tryAgain  = "Try again"
	goUnsaved = "Go on without saving"
)

// unwritable pauses a run whose session cannot be written, until it can, or the
// person lets it go on in memory (REL-96).
func (r *runner) unwritable(ctx context.Context, err error) (ending, bool) {
	for err != nil {
		why := "The session cannot be written: " + fault.Message(err) +
			" Nothing is lost so far. Make room or repair the disk, and the run goes on by itself."
		choice, goOn := r.pauseUntil(ctx, r, "", why, []string{tryAgain, goUnsaved}, r.Session.WaitWritable)
		if !goOn {
			return endFailed(string(fault.Config),
				"The run ended, since its session cannot be written: "+fault.Message(err)), true
		}
		if choice == goUnsaved {
			r.unsaved = true
			r.Session.GoUnsaved()
			return ending{}, false
		}
		err = r.Session.Err()
	}
	return ending{}, false
}

// endIt is the answer with which a person ends a run that has stopped.
const endIt = "End the run"

// Resume lets a paused run go on with more of what was used up, and reports
// whether it was paused.
//
// It does not wait. The run may still end at once, when it was cancelled in the same
// moment.
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

// provided reports whether a failure of models may fix, by itself or by other
// credentials: what a person may want to wait for and try again.
func provided(err error) bool {
	var e *model.Error
	return errors.As(err, &e) && (e.Class == model.Busy || e.Class == model.Cut || e.Class == model.Unauthorized)
}

// unauthorized reports whether a model refused the credentials: another one may
// have its own.
func unauthorized(err error) bool {
	var e *model.Error
	return errors.As(err, &e) && e.Class == model.Unauthorized
}
