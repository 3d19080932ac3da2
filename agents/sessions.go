package agents

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

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
