package agents

import (
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
// cursor that is none. It reads the directory, half a second for some thousand
// sessions, and does not heed a context.
func (s *Service) ListSessions(cursor string, limit int) (list []session.Info, next string, err error) {
	after, err := parseCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	all, err := s.listing(cursor)
	if err != nil {
		return nil, "", err
	}
	// For the next page, whatever this one has.
	defer func() { s.keepListing(next, all) }()
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

// listing is the list that a page was taken from, for the page that follows: each
// look at thousands of sessions costs half a second.
type listing struct {
	cursor string // of the page that follows
	at     time.Time
	all    []session.Info
}

// keepListings is how long a list is good for another page.
const keepListings = 10 * time.Second

// listing returns the sessions for the page that a cursor names. It is called without
// mu.
func (s *Service) listing(cursor string) ([]session.Info, error) {
	s.mu.Lock()
	kept := s.listed
	s.mu.Unlock()
	if kept != nil && cursor != "" && kept.cursor == cursor && s.Now().Sub(kept.at) < keepListings {
		return kept.all, nil
	}
	return s.Sessions.List()
}

// keepListing keeps a list for the page that follows, for a while. One list is kept:
// the newest.
func (s *Service) keepListing(next string, all []session.Info) {
	var kept *listing
	if next != "" {
		kept = &listing{next, s.Now(), all}
		// A list of thousands of sessions is not kept in memory for a client that asked for one
		// page and went.
		time.AfterFunc(keepListings, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.listed == kept {
				s.listed = nil
			}
		})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed = kept
}

// place is where a page of sessions ended: the newest event and the id of its
// last one. The zero place is before all.
type place struct {
	at time.Time
	id string
}

// before reports whether a session stands after p in the list. The list is ordered by
// the newest event, then by the id.
func (p place) before(info session.Info) bool {
	if p.id == "" {
		return true
	}
	if c := info.UpdatedAt.Compare(p.at); c != 0 {
		return c < 0
	}
	return info.Session > p.id
}

// cursorOf is the cursor of the page behind a session; it has no meaning but that.
func cursorOf(info session.Info) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", info.UpdatedAt.UnixNano(), info.Session))
}

// parseCursor reads one; "" is the beginning. The error is Invalid.
func parseCursor(cursor string) (place, error) {
	if cursor == "" {
		return place{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	at, id, ok := strings.Cut(string(raw), " ")
	n, notNumber := strconv.ParseInt(at, 10, 64)
	if err != nil || !ok || notNumber != nil || session.CheckID(id) != nil {
		return place{}, fault.New(fault.Invalid, "agents.sessions",
			"the cursor is none that agents/session/list gave; begin without one")
	}
	return place{time.Unix(0, n), id}, nil
}
