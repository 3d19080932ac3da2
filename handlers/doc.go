// Package handlers is the daemon's surface: one row of [Handlers.Routes] for
// each method, one file for each family of methods. What editors ask about agent
// files is served by handlers/language, whose rows are among them.
//
// A handler decodes nothing and knows no error code. It turns the protocol's
// words into the words of workspace and agents, calls one function, and turns
// the answer back. What a client cannot do is served by what every LSP client
// can (spec 2.6): see dialogs.go, progress.go and commands.go.
//
// # Files
//
// The rows are in handlers.go, and what serves them is in the file that stands above them
// there.
//
//   - A connection: lifecycle.go begins it and reports the status, shutdown.go ends it,
//     folders.go has its workspace folders, documents.go its open documents.
//   - Runs: runs.go and graph.go start them and answer with their result; input.go,
//     resources.go, customcommands.go and routing.go say what they are told, and by whom
//     it is answered. activity.go, subscribe.go and progress.go tell what they do.
//   - Questions: approvals.go puts them, confirmation.go writes the text of one about a
//     call, dialogs.go, choice.go and scratch.go ask where the client has no dialog of
//     ours. pending.go and permissions.go list what is open and what was answered for
//     longer.
//   - Files for runs ([agents.Frontend]): files.go reads, edits.go and restore.go write,
//     languages.go asks the editor's language servers.
//   - Trust: trust.go has the requests, review.go the dialogs, agenttexts.go whose the
//     text of an agent file is that is saved.
//   - Agent files: catalog.go, create.go, delete.go, import.go, import_places.go and
//     export.go.
//   - What is kept: sessions.go, changes.go, state.go, memory.go, traces.go,
//     transcript.go.
//   - Commands of LSP (commands.go): selection.go with focus.go, inline_run.go with
//     inline_answer.go, and tests.go.
//
// # Clients that know less
//
//   - Without agents in their capabilities they know only LSP (Handlers.plain): a run is
//     shown as progress, else as lines of the log; answers of commands are shown as
//     documents, else as messages.
//   - Without a dialog for calls they are asked by window/showMessageRequest, which
//     offers fewer answers; without one for questions of agents also by a file in which
//     the person writes.
//   - Without window/showDocument a message has the path of the file. What does not fit
//     into a dialog can then only be refused.
//   - Without workspace/applyEdit files are written on disk, and none whose document has
//     unsaved changes.
//
// # Texts of a request
//
// The strings of params may share the memory of the whole message ([wire.Codec]). What
// outlives the request, as the name of a session or of a run, is cloned where it is
// handed on.
//
// # Goroutines
//
// Followers of logs and reporters of status belong to the connection:
// [Handlers.Close] waits for them.
//
// # Life of a connection
//
// [New] makes the handlers before anything was read. initialize (lifecycle.go)
// reads what the client can do, has [Config.Build] make the [Daemon], and
// answers; everything else in this package relies on the daemon being there,
// since the server lets nothing through before. initialized tells the person
// what is wrong and starts the reporters. shutdown interrupts the runs, so that
// the next connection can resume them, and waits, a second at most, until what
// they did is on its way to the client. [Handlers.Close] ends the daemon and
// waits for every goroutine of the connection.
//
// # Order
//
//   - The events of a session reach a client in the order of the log, each live
//     once: one follower at a time sends a stream, and the next one waits until
//     the one before has ended (activity.go).
//   - An answer that has a run's result comes after the run's events
//     (follower.reach), and that of agents/session/close or agents/unsubscribe
//     after the last event of the session.
//   - The questions of runs are put one at a time in the order in which they
//     came (frontend.enter), apart from those that the person asked for
//     themselves.
//   - Saves of agent files are worked off in order, and whoever asks for agents
//     gets them as they are after all saves before (sequence, Handlers.catalog).
//
// # Locks
//
// Handlers.mu is taken before follower.mu, progress.mu before Handlers.mu, and
// agentTexts.mu before the lock of a sequence; frontend.mu is taken alone. None
// of these is held while the client is asked something or the disk is read.
// Handlers.telling is held while agents/didChange is sent. What is marked "set
// by initialize" needs no lock: the server serves nothing else before, and
// nothing changes it after.
package handlers
