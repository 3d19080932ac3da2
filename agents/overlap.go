package agents

// Agents that routing cannot tell apart (agent/overlap of spec 1.5).

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/route"
)

// Overlap is another agent that the rules of routing cannot tell from one.
type Overlap struct {
	Other *definition.Definition
	By    route.Evidence // in which they are alike
}

// overlaps keeps the newest answer of PrepareRouting, by the agent's definition. It is
// read without a lock: hovers ask it.
type overlaps struct {
	of         atomic.Pointer[map[*definition.Definition][]Overlap]
	generation atomic.Uint64
}

// PrepareRouting compiles what routing needs of the newest catalog, and finds the agents
// that overlap, in each workspace folder where inputs are routed. It takes up to seconds
// with a thousand agents; whoever calls it does so in the background, one call at a
// time. It reports whether other agents overlap than before. When ctx ends before it is
// done, nothing is changed.
func (s *Service) PrepareRouting(ctx context.Context) bool {
	found := make(map[*definition.Definition][]Overlap)
	for _, folder := range slices.Backward(s.Folders()) { // the first one's is kept
		set := s.Settings(folder)
		if !set.Routing.Enabled {
			continue
		}
		known := s.routable(folder, set)
		for i, rivals := range known.index.Overlaps(ctx) {
			for _, r := range rivals {
				d, overlap := known.files[i], Overlap{known.files[r.Agent], r.By}
				if !slices.Contains(found[d], overlap) { // two folders have the person's own agents
					found[d] = append(found[d], overlap)
				}
			}
		}
	}
	if ctx.Err() != nil {
		return false
	}
	// Definitions are compared by pointer, so a new reading of the same file counts as another
	// agent.
	before := s.overlaps.of.Swap(&found)
	if (before == nil && len(found) == 0) || (before != nil && maps.EqualFunc(*before, found, slices.Equal)) {
		return false
	}
	s.overlaps.generation.Add(1)
	return true
}

// Overlaps returns the agents that the rules cannot tell from one of the catalog, as
// PrepareRouting found them last. It never waits.
func (s *Service) Overlaps(d *definition.Definition) []Overlap {
	if of := s.overlaps.of.Load(); of != nil {
		return (*of)[d]
	}
	return nil
}

// OverlapsGeneration grows when [Service.Overlaps] may answer otherwise.
func (s *Service) OverlapsGeneration() uint64 { return s.overlaps.generation.Load() }
