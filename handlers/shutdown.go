package handlers

import (
	"context"
	"time"

	"github.com/agentls/agentls/agents"
)

// flushWithin is how long shutdown waits at most for runs to end and their
// events to go out: half of what a client gives the whole end (12.2).
const flushWithin = time.Second

// flush waits until runs that were interrupted have ended and everything that
// happened in them is on its way to the client (REL-03). A client that does not
// read gets the rest from the log, later.
// It gives up after flushWithin.
func (h *Handlers) flush(runs []*agents.Live) {
	ctx, cancel := context.WithTimeout(h.ctx, flushWithin)
	defer cancel()
	for _, live := range runs {
		select {
		case <-live.Done():
		case <-ctx.Done():
			return
		}
		// Its end is in no log, so waiting for it would take the whole time.
		if !live.Written() {
			continue
		}
		h.mu.Lock()
		var of []*follower
		for name, f := range h.followers {
			if name.session == live.Session {
				of = append(of, f)
			}
		}
		h.mu.Unlock()
		for _, f := range of {
			f.reach(ctx, live.Last())
		}
	}
}
