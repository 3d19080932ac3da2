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
package hook
