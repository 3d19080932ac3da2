package session

import (
	"cmp"
	"slices"

	"github.com/agentls/agentls/agents/activity"
)

// fold is told every event but deltas, by the log, in order.
//
// It runs under the log's lock, in the order of the events, for live ones and when a
// log is loaded; so it must be quick and must not call the log. The order of its
// steps matters: the totals know a run before its progress, its files and its state
// are folded, and the views come last, since a rewind (back) changes them.
func (s *Session) fold(e activity.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waits := s.foldWaiting(e)
	s.total.apply(e)
	s.foldProgress(e)
	s.foldFiles(e)
	s.foldState(e)
	switch b := e.Body.(type) {
	case activity.ApprovalChanged:
		s.approval = valid(b.To)
	case activity.RunStarted:
		if b.Taint != "" {
			s.foldTaint(e.Run, b.Taint)
		}
	case activity.ToolState:
		if b.Taint != "" {
			s.foldTaint(e.Run, b.Taint)
		}
	case activity.GraphNode:
		s.foldNode(e.Run, b)
		if b.Taint != "" {
			s.foldTaint(e.Run, b.Taint)
		}
	case activity.Rewound:
		s.back(e.Seq, b.ToSeq)
	}
	if !waits {
		s.foldView(e)
	}
}

// foldView folds an event into the view of the agent that it is about.
// s.mu is held. A mark is kept where a run begins and where bounds allows one, so
// that a rewind or a fork need not fold the log from its start. The view of a context
// of its own (a delegated run) is dropped when its run ends.
func (s *Session) foldView(e activity.Event) {
	id := e.ContextID()
	switch b := e.Body.(type) {
	case activity.ContextCompressed:
		id = cmp.Or(e.Context, valid(b.Agent), e.Agent)
		delete(s.texts, id)
	case activity.ContextCleared:
		id = valid(cmp.Or(b.Agent, e.Agent))
		delete(s.texts, id)
		if b.Purged {
			s.purged[id] = e.Seq
			delete(s.marks, id)
			s.forgetDelegated(id)
			for i := range s.waiting {
				if w := &s.waiting[i]; w.Agent == id {
					w.Body = activity.Purge(w.Body)
				}
			}
		}
	}
	if id == "" {
		return
	}
	v := s.view(id)
	if _, begins := e.Body.(activity.RunStarted); begins {
		s.mark(id, v, e.Seq-1)
	}
	epoch := v.epoch
	v.apply(e)
	if v.epoch != epoch {
		s.cool(id)
	}
	if bounds(e) {
		s.mark(id, v, e.Seq)
	}
	if _, over := e.Body.(activity.RunFinished); over && e.Context != "" {
		// Nobody goes on in it, and the log has it.
		delete(s.views, id)
		delete(s.marks, id)
		delete(s.texts, id)
	}
}

// forgetDelegated drops the contexts of an agent's delegated runs, which the log does
// not have any more.
func (s *Session) forgetDelegated(agent string) {
	for _, p := range s.progress {
		if o := p.told.Origin; o.Agent == agent && o.Context != "" {
			delete(s.views, o.Context)
			delete(s.marks, o.Context)
			delete(s.texts, o.Context)
		}
	}
}

// view returns the view of a context, which it begins.
func (s *Session) view(id string) *view {
	v := s.views[id]
	if v == nil {
		v = &view{}
		s.views[id] = v
	}
	return v
}

// foldWaiting folds an event of a run that waits for its turn, and reports
// whether it was one: such a run has no part in the context yet. Its input is
// said by its start; where the daemon ended first, by the agent's next run
// (REL-128).
func (s *Session) foldWaiting(e activity.Event) bool {
	r := s.total.run(e.Run)
	switch b := e.Body.(type) {
	case activity.Input:
		if r == nil && e.Run != "" {
			s.waiting = append(s.waiting, e)
		}
		return r == nil || r.State == activity.Finished
	case activity.RunStarted:
		s.waits(e.Run)
	case activity.RunState:
		if r != nil {
			return false
		}
		for _, input := range s.waits(e.Run) {
			if b.To != activity.Interrupted || input.Agent == "" {
				break // the person took it back
			}
			s.view(input.ContextID()).apply(input)
		}
		return true
	case activity.RunFinished:
		return r == nil
	}
	return false
}

// waits takes the inputs of a run that waited off the list.
func (s *Session) waits(run string) (inputs []activity.Event) {
	s.waiting = slices.DeleteFunc(s.waiting, func(e activity.Event) bool {
		if e.Run == run {
			inputs = append(inputs, e)
		}
		return e.Run == run
	})
	return inputs
}
