package route_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/route"
)

// TestOverlaps names pairs of agents of which the rules can tell, or cannot, who an
// input is for (agent/overlap of spec 1.5).
func TestOverlaps(t *testing.T) {
	words := func(priority int, keywords ...string) []definition.Trigger {
		return []definition.Trigger{{Keywords: keywords, Priority: priority}}
	}
	patterns := func(patterns ...string) []definition.Trigger {
		return []definition.Trigger{{Patterns: patterns, Priority: 50}}
	}
	fixing := []string{"fix the failing test", "why does this crash", "repair the build"}
	writing := []string{"write a changelog", "document this function", "explain it in the readme"}
	for name, c := range map[string]struct {
		a, b route.Agent
		want string
	}{
		"the same keywords":            {route.Agent{Triggers: words(50, "bug", "crash")}, route.Agent{Triggers: words(50, "Crash", "bug")}, "triggers"},
		"keywords within another's":    {route.Agent{Triggers: words(50, "bug")}, route.Agent{Triggers: words(50, "bug", "crash", "panic")}, "triggers"},
		"one keyword of several":       {route.Agent{Triggers: words(50, "bug", "leak")}, route.Agent{Triggers: words(50, "bug", "crash", "panic")}, ""},
		"a higher priority wins":       {route.Agent{Triggers: words(50, "bug")}, route.Agent{Triggers: words(90, "bug")}, ""},
		"the same pattern":             {route.Agent{Triggers: patterns(`\berr\b`)}, route.Agent{Triggers: patterns(`\berr\b`)}, "triggers"},
		"a pattern is no keyword":      {route.Agent{Triggers: patterns(`bug`)}, route.Agent{Triggers: words(50, "bug")}, ""},
		"other scripts":                {route.Agent{Triggers: words(50, "性能")}, route.Agent{Triggers: words(50, "性能")}, "triggers"},
		"examples tell them apart":     {route.Agent{Triggers: words(50, "code"), Examples: fixing}, route.Agent{Triggers: words(50, "code"), Examples: writing}, ""},
		"the same examples":            {route.Agent{Examples: fixing}, route.Agent{Examples: slices.Clone(fixing)}, "examples"},
		"examples in another order":    {route.Agent{Examples: fixing}, route.Agent{Examples: []string{fixing[2], fixing[0], fixing[1]}}, "examples"},
		"examples that differ":         {route.Agent{Examples: fixing}, route.Agent{Examples: writing}, ""},
		"examples of other priorities": {route.Agent{Examples: fixing, Priority: 90}, route.Agent{Examples: fixing, Priority: 50}, ""},
		"the same description":         {route.Agent{Description: "Reviews Go code."}, route.Agent{Description: "Reviews go code"}, "description"},
		"descriptions of one kind":     {route.Agent{Description: "Reviews Go code for mistakes."}, route.Agent{Description: "Reviews texts for readers abroad."}, ""},
		"a trigger beside the same description": {
			route.Agent{Description: "Reviews Go code.", Triggers: words(50, "review")}, route.Agent{Description: "Reviews Go code."}, "",
		},
		"nothing": {route.Agent{}, route.Agent{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := route.NewIndex([]route.Agent{c.a, c.b, {Name: "c", Description: "Plays chess."}}).Overlaps(t.Context())
			kinds := map[route.Evidence]string{route.ByTriggers: "triggers", route.ByExamples: "examples", route.ByDescription: "description"}
			said := func(i, rival int) string {
				switch {
				case len(got[i]) == 0:
					return ""
				case len(got[i]) > 1 || got[i][0].Agent != rival:
					return fmt.Sprint(got[i])
				}
				return kinds[got[i][0].By]
			}
			if a, b := said(0, 1), said(1, 0); a != c.want || b != c.want || len(got[2]) > 0 {
				t.Errorf("got %q and %q, want %q; of the third %v", a, b, c.want, got[2])
			}
		})
	}
}

// TestOverlapsAreFew names few of many agents that are all alike.
func TestOverlapsAreFew(t *testing.T) {
	agents := make([]route.Agent, 60)
	for i := range agents {
		agents[i] = route.Agent{Name: fmt.Sprint(i), Triggers: []definition.Trigger{{Keywords: []string{"bug"}, Priority: 50}}}
	}
	for i, rivals := range route.NewIndex(agents).Overlaps(t.Context()) {
		if len(rivals) != 5 || slices.ContainsFunc(rivals, func(r route.Rival) bool { return r.Agent == i }) {
			t.Errorf("agent %d has the rivals %v", i, rivals)
		}
	}
}

// TestOverlapsOfCLINC150 splits each of ten domains in two agents: those overlap, and
// no others do.
func TestOverlapsOfCLINC150(t *testing.T) {
	c := newClinc(t)
	if got := route.NewIndex(c.agents).Overlaps(t.Context()); slices.ContainsFunc(got, func(r []route.Rival) bool { return len(r) > 0 }) {
		t.Errorf("domains overlap: %v", got)
	}
	var halves []route.Agent
	for _, a := range c.agents {
		one, other := a, a
		one.Examples, other.Examples = nil, nil
		for i, text := range a.Examples {
			if i%2 == 0 {
				one.Examples = append(one.Examples, text)
			} else {
				other.Examples = append(other.Examples, text)
			}
		}
		halves = append(halves, one, other)
	}
	for i, rivals := range route.NewIndex(halves).Overlaps(t.Context()) {
		if len(rivals) != 1 || rivals[0].Agent != i^1 || rivals[0].By != route.ByExamples {
			t.Errorf("half %d of %s has the rivals %v", i%2, halves[i].Name, rivals)
		}
	}
}

// BenchmarkOverlaps compares a thousand agents with a hundred examples each.
func BenchmarkOverlaps(b *testing.B) {
	x := route.NewIndex(many(1000, 100))
	for b.Loop() {
		x.Overlaps(b.Context())
	}
}
