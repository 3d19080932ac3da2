// Package hook runs what the settings want to be run at points of runs and sessions
// (spec 9.2): commands, by the contract that gemini-cli documents, and Go code that an
// installation is built with.
//
// [Hooks] is the whole; it implements run.Hooks. What a hook may decide, and what
// becomes of one that fails, is in this package; what becomes of a decision is in
// package run. A hook that comes before something (Before…) is a guard: one that cannot
// be run to its end, or whose answer cannot be read, blocks what it guards. Any other is
// an observer: its failure is told and changes nothing. No hook permits anything: what
// it lets pass, and what it changes, goes through the whole policy.
//
// # How an event is decided
//
// [Hooks.Fire] gathers the hooks that match, those of [Config.Compiled] first, and runs
// them at the same time, at most maxAtOnce in the daemon; where one is sequential all
// run one after another. What they say is put together by merging, always in the order
// of the hooks and never in that in which they end:
//
//   - of decisions the strictest counts: deny, then ask, then allow;
//   - Continue: false ends the run, whatever the others decide;
//   - of edits of the same member the later hook's counts; an object is laid over what
//     is there member by member;
//   - of tools that are selected an agent has those of all hooks together, and none
//     where one says NONE.
//
// # A hook of the settings
//
// A command gets the event as one JSON object on its standard input. Exit code 0 with a
// JSON object on standard output is its answer, with any other text a message to the
// person. Exit code 2 denies, with standard error as the reason. Any other code is a
// failure. It runs in the workspace folder, or in the person's home where the folder is
// not trusted, behind the wall that its description asks for, and whatever it started
// has ended when it has.
package hook
