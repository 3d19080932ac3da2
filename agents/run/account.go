package run

import (
	"fmt"
	"sync"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
)

// account is what a run and all those that it delegates to have used, and may use. An
// account without a parent is that of a whole tree of runs (spec 3.3).
//
// A request passes three calls: begin, which takes it in or refuses it, and then either
// count, when it was answered, or release. What is between them is in asked, so that
// requests that go on at the same time cannot together cross a limit that each of them
// keeps. An account is valid as long as its run; that of a child has done its part once
// the child's requests are counted.
type account struct {
	parent *account    // of the run that waits for this one; nil for none
	mu     *sync.Mutex // of the whole tree; guards limits, used and asked
	limits Limits      // with what a person has added
	used   usage
	asked  int  // tokens of the requests that are not answered yet, estimated
	asks   bool // a person can be asked
	before Spent

	asking  chan struct{} // holds one while a person is asked for more
	decided int           // how often the person has said whether there is more; guarded by mu
	goOn    bool          // what they said last; guarded by mu
}

// Spent is what the runs of a chain of handoffs used of the limits of their tree.
// They are what a tree's limits are about: calls of models, and tokens of their
// requests.
type Spent struct{ Calls, InputTokens int }

// SpentSoFar returns what the run, those that it delegated to and those before it in its
// chain used, less what a person has added to the limits: the successor begins with the
// limits as they were first.
// It may be asked at any time, also after Do; the successor's Config.Spent takes it.
func (run *Run) SpentSoFar() Spent {
	a, first := run.r.account, run.r.Limits
	a.mu.Lock()
	defer a.mu.Unlock()
	return Spent{
		Calls:       a.before.Calls + a.used.calls - max(0, a.limits.ModelCalls-first.ModelCalls),
		InputTokens: a.before.InputTokens + a.used.tokens.InputTokens - max(0, a.limits.InputTokens-first.InputTokens),
	}
}

// Charge counts what the model used that picked the run's agent; nil for none.
// It is called before Do. A model that did not answer cost nothing that is known.
// Where the router's model has no price that is known, neither has the run.
func (run *Run) Charge(router *activity.RouteModel) {
	if router == nil || !router.Answered() {
		return
	}
	used := usage{tokens: router.Usage, calls: 1, priced: router.Cost != nil}
	if used.priced {
		used.usd = router.Cost.Amount
	}
	run.r.account.past(used)
}

// newAccount returns the account of a run that another one waits for; parent is nil
// where none does. The tree's limits are the first run's.
func newAccount(parent *account, limits Limits, asks bool) *account {
	a := &account{parent: parent, limits: limits, asks: asks, used: usage{priced: true}, asking: make(chan struct{}, 1)}
	if parent == nil {
		a.mu = new(sync.Mutex)
		return a
	}
	a.mu = parent.mu
	// These two are of the whole tree, and are checked in the account at its root.
	a.limits.ModelCalls, a.limits.InputTokens = 0, 0
	return a
}

// begin takes a request of about so many tokens in, before it is sent, unless it would
// cross a limit of the run or of one that waits for it: then the error is an *errBudget.
// All accounts are checked before any of them takes it in, so a refusal changes nothing.
// It is ended by count or by release.
func (a *account) begin(choice Choice, tokens int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for at := a; at != nil; at = at.parent {
		if err := at.check(choice, tokens); err != nil {
			err.of, err.decided = at, at.decided
			return err
		}
	}
	for at := a; at != nil; at = at.parent {
		// The call counts from here on, answered or not: only its tokens are given back.
		at.used.calls++
		at.asked += tokens
	}
	return nil
}

// release ends a request that was not answered.
func (a *account) release(tokens int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for at := a; at != nil; at = at.parent {
		at.asked -= tokens
	}
}

// count ends a request that was answered.
func (a *account) count(tokens int, used usage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for at := a; at != nil; at = at.parent {
		at.asked -= tokens
		at.used.add(used)
	}
}

// past takes in what the run, and those that it delegated to, used in an earlier daemon.
// It checks no limit: what was used is used, and the next request is refused if need be.
func (a *account) past(used usage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for at := a; at != nil; at = at.parent {
		at.used.add(used)
	}
}

// total returns what was used, and the limits that hold.
// What children used is in it.
func (a *account) total() (usage, Limits) {
	a.mu.Lock()
	defer a.mu.Unlock()
	limits := a.limits
	if !a.boundsInput() {
		limits.InputTokens = 0
	}
	return a.used, limits
}

// check returns an *errBudget if a request of about so many tokens would cross a
// limit of the account. a.mu is held.
func (a *account) check(choice Choice, tokens int) *errBudget {
	l, u := a.limits, a.used
	calls := a.before.Calls + u.calls
	input, spent := a.before.InputTokens+u.tokens.InputTokens+a.asked, u.total()+a.asked
	switch {
	case l.ModelCalls > 0 && calls+1 > l.ModelCalls:
		return &errBudget{limit: "calls",
			text: fmt.Sprintf("The run has asked models %d times, which is its limit (agents.limits.modelCalls).",
				calls)}
	case a.boundsInput() && input+tokens > l.InputTokens:
		return &errBudget{limit: "input",
			text: fmt.Sprintf("The next request has about %d tokens, and %d were sent already; the limit of a run is %d (agents.limits.inputTokens).", tokens, input, l.InputTokens)}
	case l.Tokens > 0 && spent+tokens > l.Tokens:
		return &errBudget{limit: "tokens",
			text: fmt.Sprintf("The run has used %d tokens and its next request has about %d; run.max_tokens is %d.",
				spent, tokens, l.Tokens)}
	// Only the input has a price beforehand: nobody knows how long the answer will be.
	case l.USD > 0:
		usd, _ := model.Cost(choice.Entry, model.Usage{InputTokens: tokens + a.asked}) // 0 where it is not known
		if u.usd+usd > l.USD {
			return &errBudget{limit: "cost",
				text: fmt.Sprintf("The run has cost $%.4f and its next request costs about $%.4f; run.max_cost is $%.2f.", u.usd, usd, l.USD)}
		}
	}
	return nil
}

// boundsInput reports whether the tree's limit of input tokens holds: where nobody can
// be asked, an agent's own takes its place (spec 3.3). a.mu is held.
func (a *account) boundsInput() bool {
	return a.limits.InputTokens > 0 && (a.asks || a.limits.Tokens == 0)
}

// add adds what was used elsewhere.
func (u *usage) add(other usage) {
	u.tokens = u.tokens.Add(other.tokens)
	u.calls += other.calls
	u.usd += other.usd
	u.priced = u.priced && other.priced
	u.rough = u.rough || other.rough
}
