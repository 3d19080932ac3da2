package server

import (
	"sync/atomic"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/internal/fault"
)

// state is where a connection is in the life that LSP gives it.
type state uint32

const (
	created      state = iota // only initialize is served; exit ends the connection
	initializing              // initialize is being answered
	ready                     // everything is served
	shutDown                  // only exit is left
)

// lifecycle is the state of one connection. It is changed on the read loop
// only, and may be read anywhere.
//
// A table without a row for initialize has no lifecycle: it is ready from the
// start, and nothing but hanging up or exit ends it.
//
// The states follow each other in their order. There are two steps back or
// aside: a failed initialize returns to created, and exit ends the connection
// from any of them.
type lifecycle struct{ now atomic.Uint32 }

// is returns the state at this moment. Off the read loop it may have changed by
// the time the caller looks at it.
func (l *lifecycle) is() state { return state(l.now.Load()) }

// set changes the state; for the read loop only.
func (l *lifecycle) set(s state) { l.now.Store(uint32(s)) }

// refuses returns why a method is not served now, or nil (REL-01 to REL-03).
// Requests are answered with the error, notifications are dropped.
func (l *lifecycle) refuses(method string) error {
	switch l.is() {
	case created:
		if method != protocol.MethodInitialize {
			return fault.New(fault.NotReady, "server.handle",
				"%s came before initialize, which has to be the first request", method)
		}
	case initializing:
		return fault.New(fault.NotReady, "server.handle", "%s came before initialize was answered", method)
	case ready:
		if method == protocol.MethodInitialize {
			return fault.New(fault.Misplaced, "server.handle",
				"this connection is initialized already; initialize is sent once")
		}
	case shutDown:
		return fault.New(fault.Misplaced, "server.handle", "%s came after shutdown, after which only exit may be sent",
			method)
	}
	return nil
}

// An Ending is what ended a connection.
//
// Whoever calls [Serve] needs it for two things: what to write to the log, and
// whether runs go on. A client that is gone leaves its runs interrupted,
// however it went.
type Ending uint8

// The ways in which a connection ends.
const (
	HungUp   Ending = iota // the client closed its end, or what was written to it failed
	Exited                 // the client sent exit
	Desynced               // a header left no way to tell where the next message begins (REL-05)
	Stalled                // the client left more unread than the outbox holds (REL-37)
	Orphaned               // the process that started the daemon is gone (REL-26)
	Stopped                // the context that Serve was given is done
)

// String returns the ending's name, as logs show it.
func (e Ending) String() string {
	return [...]string{"hung up", "exited", "desynced", "stalled", "orphaned", "stopped"}[e]
}

// An Outcome is how a connection ended. The zero Outcome is a client that hung
// up without a word.
type Outcome struct {
	Ending   Ending
	ShutDown bool // the client had sent shutdown
}

// Code returns the exit code that LSP asks of a process that served this one
// connection: 0 if shutdown came before the end, else 1 (REL-04, REL-25).
func (o Outcome) Code() int {
	if o.ShutDown {
		return 0
	}
	return 1
}
