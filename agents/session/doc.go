// Package session is a conversation across runs: its log, its files, and the
// views of the log that runs need.
//
// A [Store] holds the sessions of one workspace. A [Session] is one timeline
// ([activity.Log]) that one daemon writes at a time; who writes it holds the
// lock on "<session>.lock", which the system lets go when the process ends.
//
// # One log, many views
//
// What a model is sent, which runs there are and what they used are folded from
// the events, by the same code when an event is appended and when a session is
// loaded. So a session that was loaded is the session that was live.
//
// # What always holds
//
// A context alternates between user and model, begins with the user, and every
// call in it has exactly one result before the model speaks again (REL-61):
// whatever a run does or a crash leaves out, the fold closes what is open.
//
// # What it must not import
//
// Of this module only agents/activity, agents/model, agents/definition and
// internal/fault.
package session
