// Package mcp makes the tools of MCP servers tools of agents (spec 9.1).
//
// [Servers] holds the connections of a daemon: one for each server and workspace
// folder, started when it is first needed, shared by all runs, supervised, and
// ended ten minutes after its last use. What a server does is never trusted: what
// it writes is read within limits and checked before the library parses it, its
// descriptions are cut and shown as data, its results taint the session, and a
// tool that changed since the person approved it is not offered.
//
// A server is a process of the daemon's (package process), behind a wall where its
// scope asks for one (package sandbox). It gets the variables that commands get
// and those that its settings name, and nothing else of the daemon's environment.
//
// Others are reached over HTTP, at public addresses and those that the person named.
// A description that needs more is refused with the reason: see [Parse].
//
// # Life of a server
//
// [Servers] has one entry for each server and folder that the settings describe,
// whether it runs or not. Before each use Servers.current reads the descriptions
// again: a server with another [Server.Digest] is another server, so its connection
// is closed, and one that is described no more is shut. An entry is in one of the
// states [Idle], [Starting], [Ready], [Failed], [Stopped] and [Unusable].
//
//   - entry.begin starts an attempt, of which there is one at a time, unless the
//     person stopped the server, its description has a Problem, or it failed
//     maxFailures times in a row.
//   - entry.attempt waits for the backoff and for one of maxStarting slots,
//     connects, greets, lists the tools and prompts, and then makes the connection
//     the entry's own.
//   - entry.await waits for the end of that connection, counts it as a failure
//     unless it was idle, and closes it. Nothing restarts a server by itself: the
//     next use does.
//   - entry.acquire is what calls use: the connection that is there, or the outcome
//     of one attempt.
//
// # Life of a connection
//
// A connection is dead before it is gone. die, which whoever notices first calls
// with the reason, closes dead: from then on no call waits for an answer. close
// closes the server's input, gives it a while to end by itself, ends life, which
// kills the process tree or the requests over HTTP, and waits until gone is closed,
// after which no goroutine of the connection is left. The library's calls do not all
// heed a context, so each goes through connection.await, which leaves them behind
// rather than waits.
//
// # What a server sends
//
// Over stdio its output goes through lines, over HTTP through guard and, for
// streams, events. All of them give each message to a filter, which takes
// notifications, counts requests that are open, and passes on only what it could
// read itself. Results are kept as the server wrote them (keepRaw) and read by this
// package, since what the library makes of them loses parts. A login goes through
// account, whose requests pass a door of their own.
//
// # Locks
//
// Servers.mu guards the entries and is taken before entry.mu, never after it.
// entry.mu and connection.mu are held for short: no request is waited for under them
// (reading and writing the small file of approved tools is the exception).
// Config.Changed is called without locks of an entry, yet must not call Servers. The
// lock of [Logins] is between processes, and is the only one held over a network
// request.
package mcp
