// Package wire is the daemon's own part of the protocol: its methods, their
// parameters and results, and the codec that both ends use (spec 2.1 to 2.5).
//
// docs/protocol.md and docs/protocol.schema.json are written from this package
// and from the bodies of agents/activity, and a test holds them together. A
// type here is a promise to clients: members may be added, never renamed.
// Every field carries a json tag, since the codec matches names by case.
//
// It imports values that travel in events (agents/activity, agents/model,
// agents/definition), since an event is the same value in the log and on the
// wire; nothing of agents imports it.
package wire
