package agents

import (
	"cmp"
	"slices"

	"github.com/agentls/agentls/agents/guard"
)

// Permissions returns the answers that are remembered: those for runs and for
// the session of that id, or of every open session for "", and those for always.
// They are in the order of agent, tool, scope and what they cover. The error is
// the store's, fault.Internal or fault.Denied. It is a copy.
func (s *Service) Permissions(session string) ([]guard.Grant, error) {
	var all []guard.Grant
	for _, gate := range s.gates(session) {
		all = append(all, gate.Grants()...)
	}
	if s.Grants != nil {
		kept, err := s.Grants.Grants()
		if err != nil {
			return nil, err
		}
		all = append(all, kept...)
	}
	slices.SortFunc(all, func(a, b guard.Grant) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Scope, b.Scope),
			cmp.Compare(a.Covers, b.Covers), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// ForgetPermission drops a remembered answer, and reports whether there was one
// of that id: what it was for is asked about again. Calls that are permitted
// already are not taken back. The error is the store's, and then it holds on. A session
// that is not open has no answers: they end with it.
func (s *Service) ForgetPermission(id string) (bool, error) {
	for _, gate := range s.gates("") {
		if gate.ForgetGrant(id) {
			return true, nil
		}
	}
	if s.Grants == nil {
		return false, nil
	}
	return s.Grants.Forget(id)
}

// gates returns the gates of one open session, or of all for "".
// A session that is not open has none: its answers went when it was closed.
func (s *Service) gates(session string) []*guard.Gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*guard.Gate
	for id, conv := range s.sessions {
		if session == "" || session == id {
			all = append(all, conv.gate)
		}
	}
	return all
}
