package session

import (
	"slices"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/internal/fault"
)

// mark is a view as it was after an event: what a rewind brings back (spec 3.7).
// It shares the messages with the view, of which only the last one grows. What
// the editor showed is not part of it: the next message tells it whole (spec
// 3.6).
//
// A mark is warm while it has its messages and cold when it let them go; which one it
// is has no meaning for a rewind but its cost: cold ones are read from the log
// (bring).
type mark struct {
	seq, turn       uint64
	run             string
	messages        []model.Message // nil when cold
	parts           int             // of the last message
	started, active time.Time
	size, since     int
	open            *unfinished // nil for none
	epoch           int
	counted         bool
	failed          bool
	apart           bool
	cold            bool // the messages are to be had from the log
}

// unfinished is what a view has that is not in its messages.
type unfinished struct {
	batch  []openCall
	queued []model.Part
}

// bounds reports whether a view can be brought back as it is after an event: a
// turn has ended, or nothing goes on.
// Nothing in the middle of a turn is one: a context there may end with a reply whose
// calls have no results.
func bounds(e activity.Event) bool {
	switch b := e.Body.(type) {
	case activity.TurnFinished, activity.RunFinished, activity.ContextCleared:
		return true
	case activity.RunState:
		return b.To == activity.Interrupted || b.To == activity.Paused
	case activity.ContextCompressed:
		return e.Run == ""
	}
	return false
}

// mark keeps a view as it is after the event seq.
// s.mu is held. A view that has not changed since its newest mark gets no other.
func (s *Session) mark(agent string, v *view, seq uint64) {
	if v.marked {
		return
	}
	v.marked = true
	m := mark{
		seq: seq, turn: v.turn, run: v.run, messages: v.messages, started: v.started, active: v.active, epoch: v.epoch,
		size: v.size, since: v.since, counted: v.counted, failed: v.failed, apart: v.apart,
	}
	if n := len(v.messages); n > 0 {
		m.parts = len(v.messages[n-1].Parts)
	}
	if len(v.batch)+len(v.queued) > 0 {
		m.open = &unfinished{batch: slices.Clone(v.batch), queued: slices.Clip(v.queued)}
	}
	s.marks[agent] = append(s.marks[agent], m)
}

// view returns the view that the mark is of. Nothing that happens to it changes
// the mark.
func (m *mark) view() view {
	v := view{
		run: m.run, turn: m.turn, messages: slices.Clone(m.messages), started: m.started, active: m.active,
		size: m.size, since: m.since, counted: m.counted, failed: m.failed, apart: m.apart,
	}
	if n := len(v.messages); n > 0 {
		v.messages[n-1].Parts = v.messages[n-1].Parts[:m.parts:m.parts]
	}
	if m.open != nil {
		v.batch, v.queued = slices.Clone(m.open.batch), m.open.queued
	}
	return v
}

// cool lets go of what an agent's marks keep that its view does not have any
// more: a log that can be read has it (spec 3.1: in memory is the context).
func (s *Session) cool(agent string) {
	if s.warm {
		return
	}
	v := s.views[agent]
	for i := range s.marks[agent] {
		m := &s.marks[agent][i]
		if m.epoch != v.epoch && (m.messages != nil || m.open != nil) {
			m.messages, m.open, m.cold = nil, nil, true
		}
	}
}

// coolMarks lets marks cool, once the log has been read. Without a file nothing
// could be had again.
func (s *Session) coolMarks() {
	if s.store.cfg.Dir == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warm = false
	s.state.undone = nil
	for agent := range s.marks {
		s.cool(agent)
		s.marks[agent] = slices.Clip(s.marks[agent])
	}
}

// at returns an agent's newest mark up to an event; nil for none. s.mu is held.
func (s *Session) at(agent string, seq uint64) *mark {
	marks := s.marks[agent]
	for i := range slices.Backward(marks) {
		if marks[i].seq <= seq {
			return &marks[i]
		}
	}
	return nil
}

// back makes every view what it was after the event toSeq. s.mu is held.
//
// Marks are set before and after, so that this rewind can itself be rewound.
func (s *Session) back(seq, toSeq uint64) {
	for agent, v := range s.views {
		s.mark(agent, v, seq-1) // a rewind to before this one brings it back
		next := view{}
		if m := s.at(agent, toSeq); m != nil && !m.cold {
			next = m.view()
		} else if b, ok := s.brought[agent]; ok && m != nil {
			next = b
		} else if m != nil {
			next = *v // nobody asked Rewind: better what is there than nothing
		}
		next.epoch, next.marked = v.epoch+1, false
		*v = next
		s.cool(agent)
		s.mark(agent, v, seq)
	}
	s.brought = nil
	s.backState(seq, toSeq)
}

// Boundary returns the event after which a context is what going back to the event
// toSeq makes it; 0 where it would be empty. What its agent did to files since then is
// undone with it.
func (s *Session) Boundary(id string, toSeq uint64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.at(id, toSeq); m != nil {
		return m.seq
	}
	return 0
}

// Rewind goes back: each agent's context becomes what it was at the last
// boundary of a turn up to the event toSeq (spec 3.7). files are the URIs of
// those files that were brought back, left of those that were not, and kept what
// the former were and are: they are only recorded. Runs that began after toSeq
// and have not finished end ABORTED. What was used stays used. It returns the
// number of the event that says so, and going back to before that event undoes
// it.
//
// The error is fault.Invalid for an event that there is not; fault.Unavailable
// with the reason busy while a run goes on or waits for a person, and without
// one when the log is closed or cannot be read: then nothing has changed.
//
// It appends and does not wait for the disk; a caller that answers a person commits
// the event. The contexts are changed when it returns. The caller writes the files
// before, and tells here what it did.
func (s *Session) Rewind(toSeq uint64, files, left []string, kept []activity.Kept) (seq uint64, err error) {
	const op = "session.rewind"
	s.rewinding.Lock()
	defer s.rewinding.Unlock()
	if last := s.Log.Last(); toSeq == 0 || toSeq > last {
		return 0, fault.New(fault.Invalid, op, "there is no event %d in the session %s, which has events 1 to %d",
			toSeq, s.ID, last)
	}
	s.mu.Lock()
	var live string
	var begun []string
	for _, r := range s.total.runs {
		switch {
		case r.live():
			live = r.Run
		case r.State != activity.Finished && r.seq > toSeq:
			begun = append(begun, r.Run)
		}
	}
	cold := make(map[string]uint64)
	for agent := range s.views {
		if m := s.at(agent, toSeq); m != nil && m.cold {
			cold[agent] = m.seq
		}
	}
	warm := s.warm
	s.mu.Unlock()
	if live != "" {
		return 0, fault.New(fault.Unavailable, op, "A run goes on in the session %s (%s): wait for it or cancel it.",
			s.ID, live).
			Because(fault.Busy, "run", live)
	}
	// Before anything is changed: a log that cannot be read leaves the session as it is.
	if !warm {
		if err := s.bring(toSeq, cold); err != nil {
			return 0, err
		}
	}
	// Before the event, which takes the open calls out of the contexts: they would never end.
	for _, run := range begun {
		s.abort(run)
	}
	seq = s.Log.Append(activity.Origin{}, activity.Rewound{
		ToSeq: toSeq, Files: append([]string{}, files...), Left: left, Kept: kept,
	}, 0)
	if seq == 0 {
		return 0, fault.New(fault.Unavailable, op, "The session %s is closed: it did not go back.", s.ID)
	}
	return seq, nil
}

// bring reads from the log, up to an event, what the state was then, and what the
// contexts of agents were after those of the given events, for back.
func (s *Session) bring(until uint64, after map[string]uint64) error {
	past, brought := s.store.blank(s.ID), make(map[string]view)
	// A context is taken when the first event behind its mark is about to be folded.
	take := func(before uint64) {
		for agent, seq := range after {
			v := past.views[agent]
			if _, has := brought[agent]; has || v == nil || seq >= before {
				continue
			}
			past.mark(agent, v, seq)
			brought[agent] = past.at(agent, seq).view()
		}
	}
	if err := s.Log.Replay(until, func(e activity.Event) {
		take(e.Seq)
		past.fold(e)
	}); err != nil {
		return err
	}
	take(until + 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.brought, s.stateThen = brought, &past.state
	return nil
}
