package agents

import (
	"cmp"
	"context"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/internal/fault"
)

// Session returns what a session adds up to, and its runs in the order of their
// start; "" is the default session. It is not opened for it, so one that another
// daemon has can be looked at. The error has the reason unknownSession. It reads from
// disk where the session is not open.
func (s *Service) Session(id string) (session.Info, []session.Run, error) {
	return s.Sessions.Peek(s.SessionID(id))
}

// SessionID returns the session that an id names: the default one for "".
func (s *Service) SessionID(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(id, s.standard, session.Default)
}

// NewSession begins a session and returns its id. title is shown for it; "" for
// the first line of its first request. agent is who answers in it where a request
// names nobody; "" for main. It is open then, and its lock is this daemon's.
func (s *Service) NewSession(title, agent string) (id string, err error) {
	begun, err := s.Sessions.New(title, agent)
	if err != nil {
		return "", err
	}
	// Opened at once, so that this window has its lock before the client knows the id.
	conv, _, err := s.open(begun.ID)
	if err != nil {
		return "", err
	}
	return conv.ID, nil
}

// Elsewhere returns the error with the reason busy where another window or terminal has a
// session, or the one of a run which goes on there; nil otherwise. "" is no session and no
// run. It reads from disk.
func (s *Service) Elsewhere(id, run string) error {
	if run != "" {
		return s.Sessions.RunElsewhere(run)
	}
	return s.Sessions.Elsewhere(s.SessionID(id))
}

// AgentOf returns the agent that a session was begun for, "" for none in particular.
func (s *Service) AgentOf(session string) string { return s.Sessions.AgentOf(session) }

// CloseSession lets go of a session; "" is the default one. The next request that
// names it opens it again, without what was only kept in memory: answers that hold
// for the session, which files an agent has read and, where sessions are not kept
// on disk, all of it. One that is not open stays as it is. closed, which may be
// nil, is called when its log is closed, before anybody can open it again. The
// error has the reason unknownSession, or busy while a run goes on or waits there
// or changes are being kept or undone. It waits for the log and for hooks of the
// session's end, endHooksIn at most.
func (s *Service) CloseSession(id string, closed func()) error {
	id = s.SessionID(id)
	return s.depart(id, closed, func(conv *conversation) error {
		if conv == nil {
			// It only tells a session that is kept from one that there is not.
			_, _, err := s.Sessions.Peek(id)
			return err
		}
		s.endHooks(s.ctx, conv, "other", "")
		return conv.Close()
	})
}

// DeleteSession erases a session from disk. A session that begins under its name
// later is another one. closed is as with CloseSession. The error has the reason
// unknownSession, or busy as with CloseSession and while another daemon has the
// session.
func (s *Service) DeleteSession(id string, closed func()) error {
	return s.depart(id, closed, func(conv *conversation) error {
		if conv != nil {
			s.endHooks(s.ctx, conv, "other", "")
			if err := conv.Close(); err != nil {
				s.Log.Debug("a session that is deleted could not be written to its end", "session", id, "err", err)
			}
		}
		if err := s.Sessions.Delete(id); err != nil && (conv == nil || fault.KindOf(err) != fault.NotFound) {
			return err // one that was in memory only went when it was closed
		}
		return nil
	})
}

// depart takes a session out of use where nothing goes on in it, and calls gone
// with it, nil when it was not open, then closed; until both have returned nobody
// can open it. The error has the reason busy, or is that of gone. gone and closed run
// without the service's mu.
func (s *Service) depart(id string, closed func(), gone func(*conversation) error) error {
	s.mu.Lock()
	if err := s.inUse(id); err != nil {
		s.mu.Unlock()
		return err
	}
	conv, over := s.sessions[id], make(chan struct{})
	delete(s.sessions, id)
	if s.standard == id {
		s.standard = ""
	}
	if s.leaving == nil {
		s.leaving = make(map[string]chan struct{})
	}
	// Whoever opens the session meanwhile waits for over, and finds it closed or gone then.
	s.leaving[id] = over
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.leaving, id)
		close(over)
	}()
	err := gone(conv)
	if conv != nil && closed != nil {
		closed()
	}
	return err
}

// inUse returns why a session cannot be taken out of use now. s.mu is held.
func (s *Service) inUse(id string) error {
	for _, live := range s.runs {
		if live.Session == id {
			return fault.New(fault.Unavailable, "agents.session",
				"a run goes on in session %s (%s, of %s): wait for it or cancel it", id, live.ID,
				live.Agent).Because(fault.Busy, "run", live.ID)
		}
	}
	for key := range s.excluded {
		if key[0] == id {
			return fault.New(fault.Unavailable, "agents.session",
				"the context of %s in session %s is being changed; ask again when that is done", key[1],
				id).Because(fault.Busy)
		}
	}
	if s.resolves[id] > 0 {
		return fault.New(fault.Unavailable, "agents.session",
			"changes of the session %s are being kept or undone; ask again when that is done", id).Because(fault.Busy)
	}
	if s.leaving[id] != nil {
		return departing(id)
	}
	return nil
}

// present returns an error where the session that conv was opened as is out of
// use by now. s.mu is held.
func (s *Service) present(id string, log *activity.Log) error {
	if conv := s.sessions[id]; conv == nil || conv.Log != log {
		return departing(id)
	}
	return nil
}

// departing is the error, with the reason busy, for a session that is being closed or deleted.
func departing(id string) error {
	return fault.New(fault.Unavailable, "agents.session",
		"the session %s is being closed or deleted; ask again when that is done", id).Because(fault.Busy)
}

// Fork begins a session with the events of another up to atSeq, and returns its
// id; "" is the default one. The errors are those of [session.Store.Fork] and
// [session.Store.Get]. Files stay as they are: the fork has only what was said and
// done.
func (s *Service) Fork(ctx context.Context, id string, atSeq uint64) (newID string, err error) {
	from, err := s.read(s.SessionID(id)) // one that another window has can be forked: nothing of it changes
	if err != nil {
		return "", err
	}
	forked, err := s.Sessions.Fork(ctx, from, atSeq)
	if err != nil {
		return "", err
	}
	next, _, err := s.open(forked.ID)
	if err != nil {
		return "", err
	}
	return next.ID, nil
}

// SetApproval gives a session a mode, which its runs have from their next call
// on and later daemons too, and returns it; "" is the default session. The error
// is fault.Invalid for what is no mode; fault.Unavailable when the mode could not
// be recorded, and then it holds until the daemon ends, or when the session was
// closed meanwhile, and then nothing was changed.
func (s *Service) SetApproval(ctx context.Context, id string, to Approval) (Approval, error) {
	if !to.Valid() {
		return "", fault.New(fault.Invalid, "agents.approval", "%q is no mode; there are plan, ask, edits and auto", to)
	}
	conv, err := s.openKept(id)
	if err != nil {
		return "", err
	}
	conv.mu.Lock() // two changes are told in the order in which they count
	from, seq := s.approvalOf(conv), uint64(0)
	// Chosen though the setting says the same, a mode is written down: the setting may change.
	other := from != to || conv.Approval() == ""
	if other {
		seq = conv.Append(activity.Origin{}, activity.ApprovalChanged{From: string(from), To: string(to)}, 0)
	}
	conv.mu.Unlock()
	switch {
	case !other:
		return to, nil
	case seq == 0:
		return "", fault.New(fault.Unavailable, "agents.approval",
			"the session %s was closed meanwhile, so its mode is still %s; ask again", conv.ID, from)
	}
	if err := conv.Commit(ctx, seq); err != nil {
		return "", fault.New(fault.Unavailable, "agents.approval",
			"the mode %s could not be recorded and holds until the daemon ends: %w", to, err)
	}
	return to, nil
}

// approvalOf returns the mode of a session's runs that were given none of their
// own. It is read from the log, so later daemons have it as well.
func (s *Service) approvalOf(conv *conversation) Approval {
	if kept := Approval(conv.Session.Approval()); kept.Valid() {
		return kept
	}
	return s.Approval
}
