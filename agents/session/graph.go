package session

import (
	"maps"

	"github.com/agentls/agentls/agents/activity"
)

// foldNode folds what became of a node of a graph. s.mu is held.
func (s *Session) foldNode(run string, b activity.GraphNode) {
	if s.nodes == nil {
		s.nodes = make(map[string]map[string]string)
	}
	if s.nodes[run] == nil {
		s.nodes[run] = make(map[string]string)
	}
	s.nodes[run][valid(b.Node)] = valid(b.State)
}

// Nodes returns the states of the nodes of a run's graph, each of its newest step
// ([activity.GraphNode]); none for nodes that have not begun.
//
// The map is the caller's. A run that is no graph, or not of this session, has none.
func (s *Session) Nodes(run string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.nodes[run])
}
