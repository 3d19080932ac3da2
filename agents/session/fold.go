package session

import (
	"cmp"
	"slices"

	"github.com/agentls/agentls/agents/activity"
)

// fold is told every event but deltas, by the log, in order.
func (s *Session) fold(e activity.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waits := s.foldWaiting(e)
	s.total.apply(e)
	s.foldProgress(e)
	s.foldFiles(e)
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
	case activity.Rewound:
		s.back(e.Seq, b.ToSeq)
	}
	if !waits {
		s.foldView(e)
	}
}

// foldView folds an event into the view of the agent that it is about.
func (s *Session) foldView(e activity.Event) {
	agent := e.Agent
	switch b := e.Body.(type) {
	case activity.ContextCompressed:
		agent = valid(cmp.Or(b.Agent, agent))
		delete(s.texts, agent)
	case activity.ContextCleared:
		agent = valid(cmp.Or(b.Agent, agent))
		delete(s.texts, agent)
		if b.Purged {
			s.purged[agent] = e.Seq
			delete(s.marks, agent)
			for i := range s.waiting {
				if w := &s.waiting[i]; w.Agent == agent {
					w.Body = activity.Purged(w.Body)
				}
			}
		}
	}
	if agent == "" {
		return
	}
	v := s.view(agent)
	if _, begins := e.Body.(activity.RunStarted); begins {
		s.mark(agent, v, e.Seq-1)
	}
	epoch := v.epoch
	v.apply(e)
	if v.epoch != epoch {
		s.cool(agent)
	}
	if bounds(e) {
		s.mark(agent, v, e.Seq)
	}
}

// view returns an agent's view, which it begins.
func (s *Session) view(agent string) *view {
	v := s.views[agent]
	if v == nil {
		v = &view{}
		s.views[agent] = v
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
			s.view(input.Agent).apply(input)
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
