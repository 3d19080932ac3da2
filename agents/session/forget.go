package session

import (
	"regexp"
)

// chainForm is how a line of a log names the chain of handoffs that its event is of.
// Where the text of an event has it, its quotes are escaped.
var chainForm = regexp.MustCompile(`"correlationId":"([^"\\]{1,200})"`)

// forget has what is kept elsewhere of a session removed, whose log's files are given; see
// [Config.Forget].
func (s *Store) forget(id, agent string, before uint64, files []string) error {
	if s.cfg.Forget == nil {
		return nil
	}
	chains := make(map[string]bool)
	for _, path := range files {
		if err := s.chains(path, chains); err != nil {
			return err
		}
	}
	return s.cfg.Forget(id, agent, before, chains)
}

// chains adds the correlation ids of a log's file.
func (s *Store) chains(path string, all map[string]bool) error {
	return s.scan(path, 256, func(piece []byte) {
		for _, found := range chainForm.FindAllSubmatch(piece, -1) {
			all[string(found[1])] = true
		}
	})
}

// forget has what is kept elsewhere of an open session removed; see [Config.Forget].
func (s *Session) forget(agent string, before uint64) error {
	if s.store.cfg.Forget == nil {
		return nil
	}
	chains := make(map[string]bool)
	s.mu.Lock()
	for _, r := range s.total.runs {
		chains[r.about.CorrelationID] = true
	}
	s.mu.Unlock()
	return s.store.cfg.Forget(s.ID, agent, before, chains)
}
