package agents

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/session"
)

// TestReserve: a run that a client named can be cancelled from when its request
// was read, and begins cancelled then (spec 2.2).
func TestReserve(t *testing.T) {
	s := NewService(t.Context(), Config{Sessions: session.New(session.Config{Now: time.Now}), Log: slog.New(slog.DiscardHandler)})
	release := s.Reserve("mine")
	if s.Cancel("other", "") || s.Cancel("mine", "mine#1-0") || !s.Cancel("mine", "") || !s.Cancel("mine", "") {
		t.Error("what is reserved cannot be cancelled, or what is not can")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	conv, _, err := s.open("s")
	if err != nil {
		t.Fatal(err)
	}
	live := &Live{ID: "mine", Session: "s", Agent: "a", log: conv.Log, cancel: cancel, begun: make(chan func()), done: make(chan struct{}), ended: make(chan struct{})}
	if _, err := s.enlist(live, false); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(context.Cause(ctx), run.ErrCancelled) {
		t.Errorf("the run that was cancelled before it began goes on: %v", context.Cause(ctx))
	}
	close(live.begun)
	release()
	release()
	<-live.Done() // nobody waits for a run that did not come to begin
	s.mu.Lock()
	left := len(s.reserved) + len(s.runs)
	s.mu.Unlock()
	if left != 0 || s.Cancel("mine", "") {
		t.Error("a reservation outlives its request")
	}
	s.work.Wait()
}
