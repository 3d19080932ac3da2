package agents

import (
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/internal/fault"
)

// read returns a session for reading: our own, or, where another daemon has it, as its
// log tells it by now (spec 3.1). The errors are those of opening, but for busy. It is
// the caller's for reading only, and must not be closed. A session of another daemon is
// followed from then on until the service closes.
func (s *Service) read(id string) (*session.Session, error) {
	conv, err := s.openKept(id)
	if err == nil {
		return conv.Session, nil
	}
	if reason, _ := fault.ReasonOf(err); reason != fault.Busy || id == "" {
		return nil, err
	}
	s.mu.Lock()
	watched := s.watched[id]
	s.mu.Unlock()
	if watched != nil {
		return watched, watched.Log.Look()
	}
	// Without s.mu: two may read the same log at once, and one of the two is dropped below.
	own, err := s.Sessions.Watch(id) // it may be long; nobody waits for it
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if watched = s.watched[id]; s.closed || watched != nil {
		_ = own.Log.Close() // nothing was written
	}
	switch {
	case s.closed:
		return nil, fault.New(fault.Unavailable, "agents.read", "the daemon is ending")
	case watched != nil: // another was faster
		return watched, nil
	case s.watched == nil:
		s.watched = make(map[string]*session.Session)
	}
	s.watched[id] = own
	return own, nil
}

// closeWatched ends the reading of other daemons' sessions.
func (s *Service) closeWatched() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, watched := range s.watched {
		_ = watched.Log.Close() // nothing was written
	}
}
