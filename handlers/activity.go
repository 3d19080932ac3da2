package handlers

import (
	"context"
	"sync"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/wire"
)

// follower sends the events of one session to this client, in order, from the
// first run that the client started there. A client that knows only LSP gets
// what progress.go makes of them instead.
type follower struct {
	session string

	mu    sync.Mutex
	sent  uint64        // the last event that was queued for the client
	moved chan struct{} // closed and replaced when sent grows
	ended bool
	watch map[string]func(activity.Event) // told the events of a run, by run
}

// follow makes sure that the events of a run are sent, and that watch, where it
// is not nil, is told them.
func (h *Handlers) follow(live *agents.Live, watch func(activity.Event)) (*follower, error) {
	log, err := h.house.Agents.Timeline(live.Session)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.followers[live.Session]
	fresh := f == nil
	if fresh {
		f = &follower{session: live.Session, sent: live.First - 1, moved: make(chan struct{}), watch: make(map[string]func(activity.Event))}
		h.followers[live.Session] = f
	}
	if watch != nil {
		f.mu.Lock()
		f.watch[live.ID] = watch
		f.mu.Unlock()
	}
	if fresh {
		h.work.Go(func() { h.send(f, log) })
	}
	return f, nil
}

// send ends with the connection or with the log.
func (h *Handlers) send(f *follower, log *activity.Log) {
	defer f.advance(0)
	var filter *activity.Filter
	if h.caps.Activity != nil {
		filter = activity.NewFilter(h.caps.Activity.OptOut)
	}
	var buf []byte
	slow := false // the client was, and has not caught up with the log since
	events := log.Follow(f.sent)
	for {
		batch, ok := events.Next(h.ctx)
		if !ok {
			if err := events.Err(); err != nil {
				h.Log.Error("the events of a session cannot be sent", "session", f.session, "err", err)
			}
			return
		}
		last := batch[len(batch)-1].Seq
		f.tell(batch)
		if filter != nil {
			if slow {
				batch = activity.Merge(batch)
			}
			slow = slow && last < log.Announced()
			for _, e := range filter.Apply(batch) {
				slow = h.relief() || slow // the log waits for the client, the run does not
				buf = e.Wire(f.session, buf[:0])
				if h.Peer.NotifyRaw(wire.MethodActivity, buf) != nil {
					return
				}
			}
		}
		f.advance(last)
	}
}

// relief waits while too much waits for the client, and reports whether it did,
// until the connection ends.
func (h *Handlers) relief() (waited bool) {
	for h.Peer.Pressure() {
		waited = true
		select {
		case <-h.Peer.Drained():
		case <-h.ctx.Done():
			return waited
		}
	}
	return waited
}

// tell gives the events of watched runs to who watches them.
func (f *follower) tell(batch []activity.Entry) {
	for _, e := range batch {
		f.mu.Lock()
		watch := f.watch[e.Run]
		f.mu.Unlock()
		if watch == nil {
			continue
		}
		if event, err := e.Event(f.session); err == nil {
			watch(event)
			if _, over := event.Body.(activity.RunFinished); over {
				f.forget(e.Run)
			}
		}
	}
}

// advance says that everything up to seq was queued; 0 that nothing more will
// be.
func (f *follower) advance(seq uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if seq == 0 {
		f.ended = true
	} else {
		f.sent = seq
	}
	close(f.moved)
	f.moved = make(chan struct{})
}

// reach waits until everything up to seq was queued for the client, or nothing
// more will be.
func (f *follower) reach(ctx context.Context, seq uint64) {
	for {
		f.mu.Lock()
		over, moved := f.ended || f.sent >= seq, f.moved
		f.mu.Unlock()
		if over {
			return
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return
		}
	}
}

// forget stops telling who watched a run.
func (f *follower) forget(run string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.watch, run)
}
