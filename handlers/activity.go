package handlers

import (
	"context"
	"sync"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/wire"
)

// stream names a follower: there is one at most for a session that is sent, and
// one for the runs of a client that is not sent any.
type stream struct {
	session string
	// The client is sent the events themselves.
	told bool
}

// follower reads the events of one session, in order, from the first run that
// the client started there or from where it subscribed, and sends them. A client
// that knows only LSP, and did not subscribe, gets what progress.go makes of
// them instead.
// start, begun, before and told are set by newFollower. At any time took <= last, and sent
// moves on whole batches, with what the filter left out.
type follower struct {
	stream
	h     *Handlers
	start uint64          // the first event that it reads
	ctx   context.Context // ends it, with the connection at the latest
	end   context.CancelFunc
	begun chan struct{} // closed when it runs: what the client gets before is on its way
	gone  chan struct{} // closed when it has ended

	before <-chan struct{} // closed when the one before it, of the same stream, has ended; nil = there was none
	left   bool            // the client unsubscribed: it ends with the last of its runs; guarded by h.mu

	mu    sync.Mutex
	over  bool          // nothing more is sent
	last  uint64        // the last event that was sent, or is being; those that were left out since are not covered yet
	took  uint64        // the last event that is on its way to the client
	sent  uint64        // the last event that was queued for the client, or left out
	moved chan struct{} // closed and replaced when sent grows
	// Nothing more will be queued.
	ended bool
	watch map[string]func(activity.Event) // told the events of a run, by run
	runs  map[string]*agents.Live         // of the client's, that have not ended as far as it was told
}

// follow makes sure that the events of a run are sent, and that watch, where it
// is not nil, is told them.
// They are sent from the run's first event on, without those that the follower
// before has sent already. The error is that of opening the log; nothing is
// followed then.
func (h *Handlers) follow(live *agents.Live, watch func(activity.Event)) (*follower, error) {
	log, err := h.daemon.Agents.Timeline(live.Session)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	name := stream{live.Session, h.caps.Activity != nil}
	f := h.followers[name]
	fresh := f == nil
	if fresh {
		start := live.First
		if past := h.past[name]; past != nil {
			start = max(start, past.lastSent()+1) // it may have gone on into this run
		}
		f = h.newFollower(name, start)
	}
	f.mu.Lock()
	f.runs[live.ID] = live
	if watch != nil {
		f.watch[live.ID] = watch
	}
	f.mu.Unlock()
	if fresh {
		h.work.Go(func() { f.run(log) })
	}
	return f, nil
}

// newFollower returns a follower that begins with an event and does not run yet.
// h.mu is held.
func (h *Handlers) newFollower(name stream, start uint64) *follower {
	f := &follower{
		stream: name, h: h, start: start, begun: make(chan struct{}), gone: make(chan struct{}),
		moved: make(chan struct{}),
		last:  start - 1, took: start - 1, sent: start - 1, watch: make(map[string]func(activity.Event)),
		runs: make(map[string]*agents.Live),
	}
	// An earlier follower of the stream may still be sending its last events.
	if past := h.past[name]; past != nil {
		f.before = past.gone
	}
	f.ctx, f.end = context.WithCancel(h.ctx)
	h.followers[name] = f
	return f
}

// run sends the events of a log until the connection ends, the log ends, or the
// client has unsubscribed and its runs in the session have ended. It runs in a
// goroutine of its own and begins when the follower before it has ended.
// The order at its end matters: it is dropped first, so that nobody adds a run to it; then
// who waits in reach is let go; then gone is closed, on which the next follower of the
// stream waits.
func (f *follower) run(log *activity.Log) {
	h := f.h
	defer close(f.gone)
	defer f.end()
	defer f.advance(0)
	defer h.drop(f)
	if f.before != nil {
		<-f.before // it is ending
	}
	close(f.begun)
	filter := h.filter()
	// One buffer for all events: a frame gets a copy of it.
	var buf []byte
	slow := false // the client was, and has not caught up with the log since
	// No lock is needed to read sent: only this goroutine changes it.
	events := log.Follow(f.sent)
	for {
		batch, ok := events.Next(f.ctx)
		if !ok {
			if err := events.Err(); err != nil {
				h.Log.Error("the events of a session cannot be sent", "session", f.session, "err", err)
			}
			return
		}
		last := batch[len(batch)-1].Seq
		ended := f.tell(batch)
		if f.told {
			if slow {
				batch = activity.Merge(batch)
			}
			slow = slow && last < log.LastAnnounced()
			for _, e := range filter.Apply(batch) {
				slow = h.drained(f.ctx) || slow // the log waits for the client, the run does not
				buf = e.Wire(f.session, buf[:0])
				if !f.send(e.Seq, h.maskEvent(e.Type, buf)) {
					return
				}
			}
		}
		f.advance(last)
		f.forget(ended) // not before: a run whose end is not queued yet keeps the follower
		if h.unwanted(f) {
			return
		}
	}
}

// send sends the event seq, and reports whether more may follow.
//
// last is set before and took after the event is handed over, so that a follower which
// begins meanwhile sends neither too much nor too little.
func (f *follower) send(seq uint64, event []byte) bool {
	f.mu.Lock()
	over := f.over
	if !over {
		f.last = seq
	}
	f.mu.Unlock()
	if over || f.h.Peer.NotifyRaw(wire.MethodActivity, event) != nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.took = seq
	return true
}

// maskEvent returns an event of some type as it leaves: without what looks like a
// credential. What a person is asked stays as it is, since they must see what
// would be done.
func (h *Handlers) maskEvent(kind string, event []byte) []byte {
	if kind == (activity.ConfirmationAsked{}).Type() {
		return event
	}
	return h.daemon.MaskText(event)
}

// lastQueued returns the last event that reaches the client before what is sent to
// it from now on.
func (f *follower) lastQueued() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.took
}

// lastSent returns the last event that a follower which was forgotten sends.
func (f *follower) lastSent() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	return f.last
}

// filter returns what leaves out the types that the client does not want.
// A client that says nothing about activity gets all types.
func (h *Handlers) filter() *activity.Filter {
	if h.caps.Activity == nil {
		return activity.NewFilter(nil)
	}
	return activity.NewFilter(h.caps.Activity.OptOut)
}

// drop forgets a follower that ends.
func (h *Handlers) drop(f *follower) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget(f)
}

// forget makes room for another follower of the stream, which begins where f
// ended and when it has ended. h.mu is held.
// lastSent keeps f from sending anything more.
func (h *Handlers) forget(f *follower) {
	if h.followers[f.stream] == f {
		delete(h.followers, f.stream)
		h.past[f.stream] = f
	}
	f.lastSent()
}

// unwanted reports whether nobody wants the follower any more, which is then
// forgotten: nobody can want it again.
// It decides and forgets under one lock, so that follow cannot add a run to a
// follower that is about to end.
func (h *Handlers) unwanted(f *follower) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !f.left || f.running() {
		return false
	}
	h.forget(f)
	return true
}

// running reports whether a run of the client's goes on, or its end is not told
// yet.
// A run that has ended without its end having been written counts as ended: its
// end will never come by.
func (f *follower) running() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, live := range f.runs {
		select {
		case <-live.Done():
			if live.Last() <= f.sent || !live.Written() {
				delete(f.runs, id)
			}
		default:
		}
	}
	return len(f.runs) > 0
}

// relief waits while too much waits for the client, until the connection ends.
func (h *Handlers) relief() { h.drained(h.ctx) }

// drained waits while too much waits for the client, and reports whether it did,
// until ctx ends.
// It waits for the bytes that are queued for the client to become few (see
// [server.Peer]); only the goroutine that sends waits, never a run.
func (h *Handlers) drained(ctx context.Context) (waited bool) {
	for h.Peer.Pressure() {
		waited = true
		select {
		case <-h.Peer.PressureGone():
		case <-ctx.Done():
			return waited
		}
	}
	return waited
}

// tell gives the events of watched runs to who watches them, and returns the runs
// that end in the batch.
func (f *follower) tell(batch []activity.Entry) (ended []string) {
	for _, e := range batch {
		f.mu.Lock()
		watch := f.watch[e.Run]
		// The first event of a run says for whom it works. The others need not be decoded
		// to know it.
		if watch == nil && len(f.watch) > 0 && e.Type == (activity.RunStarted{}).Type() {
			watch = f.watchDelegated(e)
		}
		f.mu.Unlock()
		if watch != nil {
			if event, err := e.Event(f.session); err == nil {
				watch(event)
			}
		}
		if e.Type == (activity.HandoffStarted{}).Type() {
			f.passOn(e)
		}
		if e.Type == (activity.RunFinished{}).Type() {
			ended = append(ended, e.Run)
		}
	}
	return ended
}

// passOn has who watches a run watch the one that control passes to.
//
// Both share the request's live run, whose end is that of the chain.
func (f *follower) passOn(e activity.Entry) {
	event, err := e.Event(f.session)
	if err != nil {
		return
	}
	b, ok := event.Body.(activity.HandoffStarted)
	if !ok || b.Run == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if live := f.runs[e.Run]; live != nil {
		f.runs[b.Run] = live
	}
	if watch := f.watch[e.Run]; watch != nil {
		f.watch[b.Run] = watch
	}
}

// watchDelegated has who watches a run watch the one that it delegates to. f.mu is held.
//
// It returns nil for a run that nobody watches.
func (f *follower) watchDelegated(started activity.Entry) func(activity.Event) {
	event, err := started.Event(f.session)
	if err != nil || event.ParentRun == "" {
		return nil
	}
	watch := f.watch[event.ParentRun]
	if watch != nil {
		f.watch[event.Run] = watch
	}
	return watch
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
// It returns early without an error when ctx ends. An answer is sent after it, so
// that a client has had all events of a run when it reads how the run ended.
func (f *follower) reach(ctx context.Context, seq uint64) {
	select {
	case <-f.begun:
	case <-ctx.Done():
		return
	}
	for {
		f.mu.Lock()
		over, moved := f.ended || f.sent >= seq, f.moved
		f.mu.Unlock()
		if over {
			break
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return
		}
	}
	if f.told {
		return
	}
	f.h.mu.Lock()
	also := f.h.followers[stream{f.session, true}] // a client that knows only LSP, and subscribed
	f.h.mu.Unlock()
	if also != nil {
		also.reach(ctx, seq)
	}
}

// forget stops telling who watched runs, whose ends are queued.
func (f *follower) forget(ended []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, run := range ended {
		delete(f.watch, run)
		delete(f.runs, run)
	}
}
