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
//
// # Who may be trusted with what
//
// A tool is part of the daemon and trusted; its arguments, the files that it
// reads and the servers that it asks are not. So Plan never believes a path, a
// name or a size that it was given: paths go through [Resolve], at planning and
// once more right before use, and the folder's handle is what a file is opened
// by. What a tool returns is text for a model, and may hold anything;
// [Result.Taint] and [Env.TaintOf] say who may have written it.
//
// # Files
//
// tool.go and env.go are the contract. args.go checks arguments; path.go,
// protected*.go and survey.go say what a place means, by name, by link and by
// folder; rule*.go are the entries of settings about tools; token.go, taint.go
// and risk.go what a decision goes by; set.go who has which tool; escape*.go,
// fence.go, markdown.go, lines.go, result.go and event.go how text is shown to
// people and models; program.go and enclose.go start programs that settings
// describe.
package tool
