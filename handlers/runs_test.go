package handlers

import (
	"context"
	"errors"
	"testing"
)

// TestREL128CancelledWhileItWaits: a request that is cancelled while it waits for the one
// before it is answered at once, and those behind it still wait for both.
func TestREL128CancelledWhileItWaits(t *testing.T) {
	h := new(Handlers)
	before, released, started := make(chan struct{}), make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.run(ctx, request{release: func() { close(released) }, before: before, started: func() { close(started) }}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	<-released
	select {
	case <-started:
		t.Error("those behind it go on before the one before it")
	default:
	}
	close(before)
	<-started
	h.work.Wait()
}
