// Package server runs one JSON-RPC connection: it frames, orders, guards and
// answers, and it knows no feature.
//
// What the daemon can do is a table of [Route] values that package handlers
// builds. What the server adds to every row is the same: parameters are
// decoded and checked, state is captured in wire order, slow work leaves the
// read loop, a panic becomes an error, and an error becomes a code.
//
// # Order
//
// The read loop hands messages over one at a time. A [Notify] row runs there to
// the end, so didChange 7 is applied before didChange 8 is even read. A [Query]
// row runs its capture there and its answer on a goroutine of its own, so a
// hover sees exactly the edits that were sent before it, however long it takes.
// A [Now] row is answered there: initialize and shutdown, which what follows
// must not overtake. $/cancelRequest is heard there too, so it overtakes every
// call that is being answered.
//
// What goes out has two lanes, each in order of sending. The first lane holds
// answers, calls of ours and every notification of [Peer.Notify]; the stream
// lane holds what [Peer.NotifyRaw] sends and the answers of rows that are
// [Route.InStream]. Whenever something waits in the first lane it goes next, so
// a question to a person is at most one message behind a stream, however much
// of the stream waits (REL-39). A run's events and then its answer are one
// order because both are in the stream lane; $/progress begin, report and end
// are one order because all are in the first.
//
// # Who waits for whom
//
// Nobody who sends waits for the client: not the read loop, which would stop
// hearing cancel, and not a run. Who can hold back (a follower of a log) asks
// [Peer.Pressure] first and waits for [Peer.Drained]. A client that leaves 8 MiB
// unread counts as gone; it can come back and catch up from the log (REL-37).
//
// # Contexts
//
// A handler's context is derived from the connection's, never from the
// request's: jsonrpc2 v1.0.1 zeroes and reuses a request's context when its
// handler returns, and a context derived from it is still looked at afterwards,
// by a goroutine of package context that nothing can recover. The process dies
// of it. A request's context goes to jsonrpc2.Async and nowhere else; calls are
// cancelled through a map by id. TestREL17ManyQuickCallsWithCancels is the
// stress test that stands guard.
//
// # Ids
//
// The transport never sees an id of the client's: each call gets a number of
// ours on the way in, and the client's own bytes back on the way out. So an id
// is echoed byte for byte (REL-14), two calls with one id cannot be mixed up,
// and an answer is known by its number when its lane is chosen.
//
// # What it must not import
//
// Nothing of agents, workspace, handlers or extensions: see internal/layering.
package server
