package handlers

import (
	"context"
	"slices"

	"github.com/agentls/agentls/internal/wire"
)

// waiting is a question of a run that waits for the person: one of the two is set. Its
// fields are guarded by the frontend's lock.
type waiting struct {
	confirm *wire.ConfirmParams
	ask     *wire.AskParams
}

// list lists a question until done is called.
// The questions are in the order in which they were asked. done may be called again.
func (d *frontend) list(w *waiting) (done func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = append(d.waiting, w)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.waiting = slices.DeleteFunc(d.waiting, func(other *waiting) bool { return other == w })
	}
}

// pending serves agents/pending. It opens no session, so it does not matter who holds it.
// The questions are those that are open and those that wait for their turn, the oldest first; one
// that waits has no nonce yet, so that agents/respond cannot answer it.
func (h *Handlers) pending(_ context.Context, _ struct{}, p *wire.PendingParams) (*wire.PendingResult, error) {
	result := &wire.PendingResult{Confirmations: []wire.ConfirmParams{}, Questions: []wire.AskParams{}}
	h.frontend.mu.Lock()
	defer h.frontend.mu.Unlock()
	for _, w := range h.frontend.waiting {
		switch {
		case w.confirm != nil && (p.Session == "" || p.Session == w.confirm.Session):
			result.Confirmations = append(result.Confirmations, *w.confirm)
		case w.ask != nil && (p.Session == "" || p.Session == w.ask.Session):
			result.Questions = append(result.Questions, *w.ask)
		}
	}
	for i := range result.Confirmations {
		result.Confirmations[i].QueueLength = len(result.Confirmations) - i - 1
	}
	return result, nil
}
