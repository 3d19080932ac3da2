package session

import (
	"path/filepath"

	"github.com/agentls/agentls/agents/activity"
)

// Watch returns a session as its log tells it, without its lock: another daemon may
// write it. It is for reading, as are its contexts; what is new is seen by
// [activity.Log.Look]. Close its Log.
//
// A bad id gives fault.Invalid; one that no session has fault.NotFound with the reason
// unknownSession; a log that cannot be read fault.Unavailable.
//
// The Session has no lock and is in no table: Store.Close does not close it, and two calls give
// two. Methods that append do nothing and return 0.
func (s *Store) Watch(id string) (*Session, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	if s.cfg.Dir == "" {
		return nil, unknown(id)
	}
	session := s.blank(id)
	cfg := s.config(session, opening{})
	cfg.Path = filepath.Join(s.cfg.Dir, segmentName(id, 1))
	if !exists(s.cfg.Files, cfg.Path) {
		return nil, unknown(id)
	}
	log, err := activity.Watch(cfg)
	if err != nil {
		return nil, err
	}
	session.Log = log
	session.readHeader()
	return session, nil
}
