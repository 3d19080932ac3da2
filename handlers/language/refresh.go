package language

import (
	"context"
	"sync"
	"time"

	"github.com/agentls/agentls/agents"
)

// refresher tells a client one thing that it should ask for again. Its goroutine, follow,
// is started by Begin and ends with the connection.
type refresher struct {
	tell func(context.Context) error
	runs bool          // also when a run has ended
	due  chan struct{} // capacity 1
}

// Refresh has the client ask again for what it shows of agents: the agents, the
// settings or trust may be other than before. It never waits, and what happens
// while the client is being told is told once.
// It may be called from any goroutine.
func (h *Handlers) Refresh() {
	h.scheduleChecks()
	for _, r := range h.refreshers {
		r.demand()
	}
}

// demand has the client told soon.
func (r refresher) demand() {
	select {
	case r.due <- struct{}{}:
	default: // it is due already
	}
}

// ObserveRuns is told that a run has begun, waits or has ended. It never waits.
func (h *Handlers) ObserveRuns() {
	// Nothing that is shown changes before a run has ended: a lens tells how the last one went.
	if !h.live.ended(h.daemon.Agents.Live) {
		return
	}
	for _, r := range h.refreshers {
		if r.runs {
			r.demand()
		}
	}
}

// liveRuns are the runs there are, as they were last.
type liveRuns struct {
	mu sync.Mutex // held while they are read: what is kept is never older than what was
	of map[string]bool
}

// ended reads the runs, and reports whether one has ended since they were read last.
func (l *liveRuns) ended(read func() []*agents.Live) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, ended := make(map[string]bool), false
	for _, live := range read() {
		now[live.ID] = true
	}
	for run := range l.of {
		ended = ended || !now[run]
	}
	l.of = now
	return ended
}

// setRefreshers finds out what the client can be told to ask for again. It is called
// before anything can change.
func (h *Handlers) setRefreshers() {
	add := func(supported *bool, runs bool, tell func(context.Context) error) {
		if on(supported) {
			h.refreshers = append(h.refreshers, refresher{tell, runs, make(chan struct{}, 1)})
		}
	}
	h.refreshers = nil // an initialize that failed may have been here before
	w := h.client.Workspace
	if w == nil {
		return
	}
	if c := w.CodeLens; c != nil {
		add(c.RefreshSupport, true, h.Peer.CodeLensRefresh) // it has how the last run went
	}
	if c := w.InlayHint; c != nil {
		add(c.RefreshSupport, false, h.Peer.InlayHintRefresh)
	}
	if c := w.SemanticTokens; c != nil {
		add(c.RefreshSupport, false, h.Peer.SemanticTokensRefresh)
	}
	if h.pulls() {
		add(w.Diagnostics.RefreshSupport, false, h.Peer.DiagnosticRefresh)
	}
}

// startRefreshing begins to tell the client, once it is ready.
func (h *Handlers) startRefreshing() {
	for _, r := range h.refreshers {
		h.Work.Go(func() { r.follow(h) })
	}
}

// refreshPatience is how long a client may take to say that it will ask again.
const refreshPatience = 10 * time.Second

// follow tells whenever it is due, until the connection ends. A client that does
// not answer is told again all the same.
func (r refresher) follow(h *Handlers) {
	for {
		select {
		case <-r.due:
		case <-h.ctx.Done():
		}
		if h.ctx.Err() != nil {
			return // both may have happened
		}
		ctx, cancel := context.WithTimeout(h.ctx, refreshPatience)
		if err := r.tell(ctx); err != nil {
			h.Log.Debug("the client did not take it that it should ask again", "err", err)
		}
		cancel()
	}
}
