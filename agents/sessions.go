package agents

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/internal/fault"
)

// ListSessions returns a page of the workspace's sessions, newest first, and the
// cursor of the next page; "" for the first page and after the last one. limit
// is at least 1. No session is opened for it. A session in which something
// happens meanwhile may be left out of the pages that follow, since it is new
// again. The errors are those of [session.Store.List], and fault.Invalid for a
// cursor that is none.
func (s *Service) ListSessions(cursor string, limit int) (list []session.Info, next string, err error) {
	after, err := parseCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	all, err := s.Sessions.List()
	if err != nil {
		return nil, "", err
	}
	for i, info := range all {
		if !after.before(info) {
			continue
		}
		if len(list) == limit {
			return list, cursorOf(all[i-1]), nil
		}
		list = append(list, info)
	}
	return list, "", nil
}

// Session returns what a session adds up to, and its runs in the order of their
// start; "" is the default session. It is not opened for it, so one that another
// daemon has can be looked at. The error has the reason unknownSession.
func (s *Service) Session(id string) (session.Info, []session.Run, error) {
	return s.Sessions.Peek(s.Named(id))
}

// Named returns the session that an id names: the default one for "".
func (s *Service) Named(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(id, s.standard, session.Default)
}

// NewSession begins a session and returns its id. title is shown for it; "" for
// the first line of its first request.
func (s *Service) NewSession(title string) (id string, err error) {
	begun, err := s.Sessions.New(title)
	if err != nil {
		return "", err
	}
	conv, _, err := s.open(begun.ID)
	if err != nil {
		return "", err
	}
	return conv.ID, nil
}

// CloseSession lets go of a session; "" is the default one. The next request that
// names it opens it again, without what was only kept in memory: answers that hold
// for the session, which files an agent has read and, where sessions are not kept
// on disk, all of it. One that is not open stays as it is. closed, which may be
// nil, is called when its log is closed, before anybody can open it again. The
// error has the reason unknownSession, or busy while a run goes on or waits there.
func (s *Service) CloseSession(id string, closed func()) error {
	id = s.Named(id)
	return s.depart(id, closed, func(conv *conversation) error {
		if conv == nil {
			_, _, err := s.Sessions.Peek(id)
			return err
		}
		return conv.Close()
	})
}

// DeleteSession erases a session from disk. A session that begins under its name
// later is another one. closed is as with CloseSession. The error has the reason
// unknownSession, or busy while a run goes on or waits there, or while another
// daemon has the session.
func (s *Service) DeleteSession(id string, closed func()) error {
	return s.depart(id, closed, func(conv *conversation) error {
		if conv != nil {
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
// can open it. The error has the reason busy, or is that of gone.
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
				"a run goes on in session %s (%s, of %s): wait for it or cancel it", id, live.ID, live.Agent).Because(fault.Busy, "run", live.ID)
		}
	}
	for key := range s.excluded {
		if key[0] == id {
			return fault.New(fault.Unavailable, "agents.session", "the context of %s in session %s is being changed; ask again when that is done", key[1], id).Because(fault.Busy)
		}
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

func departing(id string) error {
	return fault.New(fault.Unavailable, "agents.session", "the session %s is being closed or deleted; ask again when that is done", id).Because(fault.Busy)
}

// Fork begins a session with the events of another up to atSeq, and returns its
// id; "" is the default one. The errors are those of [session.Store.Fork] and
// [session.Store.Get].
func (s *Service) Fork(ctx context.Context, id string, atSeq uint64) (newID string, err error) {
	conv, err := s.kept(id)
	if err != nil {
		return "", err
	}
	forked, err := s.Sessions.Fork(ctx, conv.Session, atSeq)
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
// is fault.Invalid for what is no mode, fault.Unavailable when the mode could not
// be recorded: it holds until the daemon ends.
func (s *Service) SetApproval(ctx context.Context, id string, to Approval) (Approval, error) {
	if !to.Valid() {
		return "", fault.New(fault.Invalid, "agents.approval", "%q is no mode; there are plan, ask, edits and auto", to)
	}
	conv, err := s.kept(id)
	if err != nil {
		return "", err
	}
	conv.mu.Lock() // two changes are told in the order in which they count
	from, seq := s.approvalOf(conv), uint64(0)
	if from != to || conv.Approval() == "" {
		seq = conv.Append(activity.Origin{}, activity.ApprovalChanged{From: string(from), To: string(to)}, 0)
	}
	conv.mu.Unlock()
	if seq == 0 {
		return to, nil
	}
	if err := conv.Commit(ctx, seq); err != nil {
		return "", fault.New(fault.Unavailable, "agents.approval", "the mode %s could not be recorded and holds until the daemon ends: %w", to, err)
	}
	return to, nil
}

// approvalOf returns the mode of a session's runs that were given none of their
// own.
func (s *Service) approvalOf(conv *conversation) Approval {
	if kept := Approval(conv.Session.Approval()); kept.Valid() {
		return kept
	}
	return s.Approval
}

// place is where a page of sessions ended: the newest event and the id of its
// last one. The zero place is before all.
type place struct {
	at time.Time
	id string
}

// before reports whether a session stands after p in the list.
func (p place) before(info session.Info) bool {
	if p.id == "" {
		return true
	}
	if c := info.UpdatedAt.Compare(p.at); c != 0 {
		return c < 0
	}
	return info.Session > p.id
}

func cursorOf(info session.Info) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", info.UpdatedAt.UnixNano(), info.Session))
}

func parseCursor(cursor string) (place, error) {
	if cursor == "" {
		return place{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	at, id, ok := strings.Cut(string(raw), " ")
	n, notNumber := strconv.ParseInt(at, 10, 64)
	if err != nil || !ok || notNumber != nil || session.CheckID(id) != nil {
		return place{}, fault.New(fault.Invalid, "agents.sessions", "the cursor is none that agents/session/list gave; begin without one")
	}
	return place{time.Unix(0, n), id}, nil
}
