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
// Declare its body in body.go (or in the file of its family, as route.go), give it a row in bodies, and run the check
// command, which rewrites docs/protocol.md.
//
// # What it must not import
//
// Of this module only agents/model, agents/definition and internal/fault, whose
// values events carry.
//
// # Files
//
// body.go, route.go, parts.go, state.go, guard.go, graph.go and memory.go hold the bodies
// and their parts, types.go their names, purged.go what is left of each when it
// is erased. entry.go and scan.go read a line, encode.go writes one. log.go is
// the log's face, write.go its writer, tail.go the lines that it has in memory,
// segment.go its files. open.go and repair.go read a log at the start and fix
// what is damaged; follow.go, merge.go and whole.go are for readers; replay.go,
// purge.go, skim.go and watch.go do one thing each: fold again, erase, look
// into a log that is closed, read one that another process writes.
//
// # The life of an event
//
// [Log.Append] encodes it once, under the log's lock, and gives it its number;
// from then on it is bytes. The writer hands the bytes to the file, syncs where
// [Synced] asks for it, and announces. A [Follower] gets the same bytes, from
// memory or from the file, and [Entry.Wire] makes a notification of them
// without decoding. Only who needs the values calls [Entry.Event].
//
// # Invariants
//
// Numbers have no gap, also after damage: a note takes the place of what was
// lost. Nothing is announced before it is written, nor before the event before
// it (TestREL30Kill in internal/spine kills the process at any moment). What
// was announced never changes, but by a purge that a person asked for.
package activity
