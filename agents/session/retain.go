package session

import (
	"slices"
	"time"
)

// Retention says which sessions are kept (spec 12, REL-107).
type Retention struct {
	Days        int      // those in which something happened in so many days; 0 = any
	MaxSessions int      // so many, the newest; 0 = any number
	Pinned      []string // ids of sessions that are kept
	Dry         bool     // nothing is removed, only told
}

// Retain removes the sessions that need not be kept and returns their ids, newest
// first; the log is told of each. Never removed is a session that is open, here or
// in another daemon, one with a run that the person has not seen the end of, since
// it was interrupted, is paused or waits for them, one that is pinned, and one of
// which something cannot be read. With Dry nothing is removed.
//
// The error is fault.Unavailable: the sessions cannot be listed, or one could not
// be removed; the others were.
//
// It takes time in proportion to what it removes and may be called while sessions
// are in use.
func (s *Store) Retain(p Retention) (removed []string, err error) {
	if s.cfg.Dir == "" {
		return nil, nil // what is in memory is open
	}
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	s.tidy()
	oldest := s.cfg.Now().Add(-time.Duration(p.Days) * 24 * time.Hour)
	for i, info := range all {
		old := p.Days > 0 && info.UpdatedAt.Before(oldest)
		many := p.MaxSessions > 0 && i >= p.MaxSessions
		if (!old && !many) || info.Locked || info.Problem != "" || info.State != Idle ||
			slices.Contains(p.Pinned, info.Session) {
			continue
		}
		gone, failed := s.delete(info.Session, false, p.Dry)
		if failed != nil && err == nil {
			err = failed
		}
		if !gone {
			continue
		}
		removed = append(removed, info.Session)
		if s.cfg.Log != nil {
			s.cfg.Log.Info("session not kept", "session", info.Session, "title", info.Title, "updated",
				info.UpdatedAt, "dry", p.Dry)
		}
	}
	return removed, err
}
