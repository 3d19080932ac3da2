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
package handlers
