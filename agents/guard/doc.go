// Package guard decides whether a planned tool call may run, and is the only
// maker of the tokens without which none does (spec 4.2, 11.1).
//
// One table decides for every surface: [Gate.Authorize] looks up the approval
// mode and the risk, and rules may only make the outcome stricter, except that
// a person's earlier answer for the same agent, tool and shape stands for the
// question. [Gate.Permit] turns a decision, and where it was to ask the
// person's answer, into a [tool.Token] for exactly the plan that was decided
// about.
//
// Everything fails closed: the zero [Verdict], the zero [Decision] and an
// unknown mode refuse.
//
// # The order of a decision
//
// From strict to lenient, so that nothing later undoes what an earlier step
// refused: a call that cannot be shown as it is, an unknown mode, a rule that
// denies; then trust of the place; a missing wall where the settings require
// one; protected places for agents of a project; what was read before raises
// the tier; the table; what the agent's file or a hook asks besides; and only
// then an earlier answer or a rule of the person's own settings may stand for
// the question. Where nobody can be asked, asking is refusing.
//
// policy.go has the table and is the only place where a tier becomes a verdict;
// gate.go the order; grant.go what answers are kept for; commands.go what
// differs where a command runs. TestZeroRefuses and
// TestSEC33DenyBeatsEverything hold the invariants, and docs/security.md is
// checked against the table.
package guard
