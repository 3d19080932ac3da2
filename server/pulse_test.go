package server_test

import (
	"context"
	"net"
	"runtime"
	"testing"

	"github.com/agentls/agentls/server"
)

// TestREL32ThePulseOfTheReadLoop: it beats while the loop waits for the client
// or takes messages, and not while one keeps the loop.
func TestREL32ThePulseOfTheReadLoop(t *testing.T) {
	pulse := new(server.Pulse)
	pulse.Ping() // of no connection
	near, far := net.Pipe()
	held, leave := make(chan struct{}), make(chan struct{})
	r := serveOn(t, near, far, server.Config{Pulse: pulse}, echo,
		server.Notify("hold", func(context.Context, *none) error { held <- struct{}{}; <-leave; return nil }))
	r.ask("1", "echo", `{"n":1}`)
	pulse.Ping() // it waits, or is about to
	r.send(note("hold", `{}`))
	<-held
	pinged := make(chan struct{})
	go func() {
		defer close(pinged)
		pulse.Ping()
	}()
	for !pulse.Asked() {
		runtime.Gosched()
	}
	for range 1000 {
		runtime.Gosched() // it could return now
	}
	select {
	case <-pinged:
		t.Error("a loop that is held beats")
	default:
	}
	r.send(note("hold", `{}`))
	leave <- struct{}{}
	<-held // the loop came round
	<-pinged
	leave <- struct{}{}
	r.ask("2", "echo", `{"n":2}`)
	near.Close()
	r.ends()
	pulse.Ping() // it has ended
}
