// Package activity is the vocabulary of what can be seen to happen in a
// session, and the log that keeps it.
//
// A session has one timeline (spec 3.1). Everything that a client shows, a
// model is sent again, a trace stores or a test asserts is a view of it: there
// is no second channel. Events are numbered from 1 without gaps, so a client
// that reconnects asks for what follows the last number that it saw.
//
// # Adding an event
//
// Declare its body in body.go, give it a row in bodies, and run the check
// command, which rewrites docs/protocol.md.
//
// # What it must not import
//
// Of this module only agents/model, agents/definition and internal/fault, whose
// values events carry.
package activity
