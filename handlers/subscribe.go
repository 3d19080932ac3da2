package handlers

import (
	"context"
	"math"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
)

// The size of a page of past events.
const (
	maxPage      = 500     // events (spec 2.2)
	maxPageBytes = 1 << 20 // of events, but for one that is larger
)

// subscribe serves agents/subscribe. Past events come in answers; after the last
// page they come live. What this client is sent live already, because it started
// a run in the session, it gets on pages too where it asks for that: a view that
// is opened again has nothing of it.
// No event is missed between the last page and what comes live: the follower is
// made under the lock under which it was seen that there is no other, begins
// with the page's nextSeq, and starts after the answer was queued.
func (h *Handlers) subscribe(_ context.Context, _ struct{}, p *wire.SubscribeParams) (server.Answer, error) {
	log, err := h.daemon.Agents.Timeline(p.Session)
	if err != nil {
		return server.Answer{}, err
	}
	from := max(1, p.FromSeq)
	if last := log.LastAnnounced(); from > last+1 {
		return server.Answer{}, server.BadParams(wire.MethodSubscribe, "fromSeq",
			"is %d, but the last event of the session is %d", p.FromSeq, last)
	}
	name := stream{strings.Clone(h.daemon.Agents.SessionID(p.Session)), true}
	for {
		h.mu.Lock()
		f := h.followers[name]
		h.mu.Unlock()
		until := uint64(math.MaxUint64)
		if f != nil {
			until = f.lastQueued()
		}
		// Without the lock, since it reads the disk. Whether f is still the follower is
		// looked at again below.
		page, err := h.page(log, name.session, from, until)
		if err != nil || page.More {
			return server.Answer{Result: page}, err
		}
		h.mu.Lock()
		if h.followers[name] != f {
			h.mu.Unlock()
			continue // a run began meanwhile, or the session was left: read again up to there
		}
		if f != nil {
			f.left = false
			h.mu.Unlock()
			return server.Answer{Result: page}, nil
		}
		f = h.newFollower(name, page.NextSeq)
		h.mu.Unlock()
		// If the connection has ended Close may already be waiting, so start nothing.
		return server.Answer{Result: page, Then: func() {
			if h.ctx.Err() == nil {
				h.work.Go(func() { f.run(log) })
			}
		}}, nil
	}
}

// page returns past events from a number on, up to until, as agents/activity
// would send them to a client that is late.
// A page ends after maxPage events or maxPageBytes, whichever comes first, and
// has one event at least where there is one.
// Events are merged and filtered as for a client that is late, and masked as when they are
// sent. nextSeq may pass over events that were left out.
func (h *Handlers) page(log *activity.Log, session string, from, until uint64) (*wire.SubscribeResult, error) {
	page := &wire.SubscribeResult{Events: []wire.ActivityParams{}, NextSeq: from}
	filter := h.filter()
	var buf []byte
	size := 0
	for {
		batch, err := log.Read(page.NextSeq-1, maxPage)
		if err != nil {
			return nil, err
		}
		for len(batch) > 0 && batch[len(batch)-1].Seq > until {
			batch = batch[:len(batch)-1]
		}
		if len(batch) == 0 {
			return page, nil
		}
		next := batch[len(batch)-1].Seq + 1
		for _, e := range filter.Apply(activity.Merge(batch)) {
			buf = e.Wire(session, buf[:0])
			sent := h.maskEvent(e.Type, buf)
			if n := len(page.Events); n == maxPage || (n > 0 && size+len(sent) > maxPageBytes) {
				// The event may be several that were merged, so the next page begins with
				// the first of them.
				page.NextSeq, page.More = e.FromSeq, true
				return page, nil
			}
			var event wire.ActivityParams
			if err := (wire.Codec{}).Unmarshal(sent, &event); err != nil {
				return nil, fault.New(fault.Internal, "handlers.subscribe",
					"event %d of the session %s cannot be read back: %w", e.Seq, session, err)
			}
			page.Events = append(page.Events, event)
			size += len(sent)
		}
		page.NextSeq = next
	}
}

// unsubscribe serves agents/unsubscribe. Runs that the client started are still
// told to their end; nothing of the session comes after the answer otherwise.
// To unsubscribe where nothing is subscribed to is no error.
func (h *Handlers) unsubscribe(ctx context.Context, _ struct{}, p *wire.UnsubscribeParams) (*wire.Empty, error) {
	h.mu.Lock()
	f := h.followers[stream{h.daemon.Agents.SessionID(p.Session), true}]
	if f == nil {
		h.mu.Unlock()
		return &wire.Empty{}, nil
	}
	f.left = true
	over := !f.running()
	if over {
		h.forget(f)
		f.end()
	}
	h.mu.Unlock()
	if over {
		select {
		case <-f.gone:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return &wire.Empty{}, nil
}
