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
package guard
