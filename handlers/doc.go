// Package handlers is the daemon's surface: one row of [Handlers.Routes] for
// each method, one file for each family of methods. What editors ask about agent
// files is served by handlers/language, whose rows are among them.
//
// A handler decodes nothing and knows no error code. It turns the protocol's
// words into the words of workspace and agents, calls one function, and turns
// the answer back. What a client cannot do is served by what every LSP client
// can (spec 2.6): see dialogs.go, progress.go and commands.go.
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
