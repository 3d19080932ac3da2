// Package tool says what a tool is: how a model's call becomes a plan, what the
// plan says about its consequences, and what it takes to run it.
//
// # From a call to a result
//
// A call has three steps, and nothing happens to the world before the third:
//
//   - [Tool.Plan] checks the arguments and works out what the call would do:
//     which files it reads and writes, the diff or the parsed command that a
//     person is shown, how risky it is. It changes nothing.
//   - Package guard decides about the plan (spec 4.2) and, if it may run, mints
//     a [Token] for exactly that plan.
//   - [Plan.Run] spends the token. A token is of one plan, works once, and dies
//     with its run (spec 11.1 rule 3), so what was shown is what runs.
//
// # What tools share
//
// [Resolve] finds out where a path leads and what may be done there, [Schema]
// checks arguments, [Escape] makes text fit to be shown, [Cut] bounds
// results, and [Set] is the tools that one agent has. tooltest holds every tool
// to the contract.
//
// # Errors
//
// What the model can fix is an *[Error]: it becomes the result of the call.
// Any other error of Plan or Run is told to the model as an internal failure of
// the tool, and never ends the run.
//
// The package imports nothing that knows an editor or a wire: what tools need
// of the world above they reach through [Files], [Edits] and [Ask].
package tool
