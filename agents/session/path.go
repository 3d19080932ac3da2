package session

import "path/filepath"

// Blobs returns the folder in which what [Session.PutBlob] keeps lies, under
// its name; "" in memory.
func (s *Session) Blobs() string { return s.store.blobs.dir }

// File returns the path of the session's log; "" in memory.
// Later segments lie beside it, as <session>.2.jsonl and so on.
func (s *Session) File() string {
	if s.store.cfg.Dir == "" {
		return ""
	}
	return filepath.Join(s.store.cfg.Dir, s.ID+".jsonl")
}
