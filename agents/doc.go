// Package agents is the daemon's agents as its handlers see them: start a run,
// follow it, answer it, stop it.
//
// A run belongs to the [Service], and its events to the log of its session.
// Under stdio the daemon has one client, so a run ends with its client's
// connection: it is left interrupted (spec 3.1). What a run needs of the
// person and the editor it reaches through a [Frontend] that the client's handlers
// provide.
//
// The package is a face: it decides nothing that a sub-package could decide. It
// knows no wire and no editor: nothing here imports workspace, server or
// internal/wire.
package agents
