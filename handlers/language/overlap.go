package language

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/route"
)

// overlapping adds agent/overlap to the findings of an agent file. Only what the catalog
// has of the file is compared with others: of a buffer whose triggers, examples or
// description differ from it nothing is told until it is saved.
func (a *Query) overlapping(d *definition.Definition, problems []definition.Problem) []definition.Problem {
	e := a.catalogEntry(d)
	if e == nil || a.h.daemon.Agents == nil || !sameRouting(d, e.Definition) {
		return problems
	}
	var found []definition.Problem
	for _, o := range a.h.daemon.Agents.Overlaps(e.Definition) {
		at, alike := evidenceOf(d, o.By)
		p := definition.Problem{
			URI: a.URI(d.Path), Range: at, Code: "agent/overlap", Severity: definition.Warning,
			Message: fmt.Sprintf("Routing cannot tell this agent from %s: their %s are nearly the same; say in one what only it is for, or set routable: false there.", o.Other.Name, alike),
		}
		if o.Other.Path != "" {
			other, _ := evidenceOf(o.Other, o.By)
			p.Related = []definition.Related{{URI: definition.FileURI(o.Other.Path), Range: other,
				Message: fmt.Sprintf("The %s of %s are here.", alike, o.Other.Name)}}
		}
		found = append(found, p)
	}
	if found == nil {
		return problems
	}
	all := slices.Concat(problems, found)
	slices.SortStableFunc(all, func(x, y definition.Problem) int {
		return cmp.Or(cmp.Compare(x.Range.Start.Line, y.Range.Start.Line),
			cmp.Compare(x.Range.Start.Character, y.Range.Start.Character))
	})
	return all
}

// catalogEntry returns what the catalog has of an agent's file, or nil.
func (a *Query) catalogEntry(d *definition.Definition) *registry.Entry {
	e := a.Catalog.Find(d.Folder, d.Name)
	if e == nil || e.Definition.Path != d.Path {
		return nil // another agent has the name there, and inputs are routed to that one
	}
	return e
}

// sameRouting reports whether two definitions say the same to routing.
func sameRouting(a, b *definition.Definition) bool {
	return a == b || (a.Description == b.Description && a.Priority == b.Priority && a.Routable == b.Routable &&
		slices.Equal(a.Examples, b.Examples) && reflect.DeepEqual(a.Triggers, b.Triggers))
}

// evidenceOf returns where an agent says that in which it is like another one, and what
// it is called.
func evidenceOf(d *definition.Definition, by route.Evidence) (at definition.Range, name string) {
	switch by {
	case route.ByTriggers:
		at, name = d.TriggersRange, "triggers"
	case route.ByExamples:
		at, name = d.ExamplesRange, "examples"
	default:
		at, name = d.DescriptionRange, "descriptions"
	}
	if at == (definition.Range{}) {
		at = d.NameRange // the description of another tool's file may be elsewhere
	}
	return at, name
}
