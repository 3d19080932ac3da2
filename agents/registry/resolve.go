package registry

// The rules of spec 1.1: which agent hides which.

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/agentls/agentls/agents/definition"
)

// rank orders the scopes by precedence.
func rank(s definition.Scope) int {
	switch s {
	case definition.Project:
		return 0
	case definition.Global:
		return 1
	case definition.Extension:
		return 2
	}
	return 3
}

// mainName is the agent that no file replaces.
const mainName = "main"

// owner is a scope in which a name may be there once: a project folder, the
// global folder, an extension, the binary.
type owner struct {
	scope definition.Scope
	dir   string
}

// claim is one file's or system agent's claim to its name.
type claim struct {
	entry *Entry
	owner owner
	order int // of its place
	said  definition.Range
}

// resolve makes a snapshot of what was read; r.mu is held, or nobody else has r.
// Entries that did not change are those of the snapshot before.
func (r *Registry) resolve(last *Snapshot) *Snapshot {
	s := &Snapshot{places: slices.Clone(r.places), byName: make(map[string][]*Entry)}
	order := make(map[Place]int, len(r.places))
	for i, p := range r.places {
		if _, twice := order[p]; !twice {
			order[p] = i
		}
		if f := r.faults[p.Dir]; f != nil && f.place == p {
			s.problems = append(s.problems, f.now.Problems...)
		}
	}
	claims := make([]claim, 0, len(r.disk)+len(r.system))
	for _, f := range r.disk {
		e := &Entry{Definition: f.good, State: OK, Problems: f.now.Problems, Stale: f.stale()}
		if usable, _ := f.good.Usable(); !usable {
			e.State = Invalid
		}
		if e.Stale {
			s.stale = append(s.stale, f.path)
		}
		claims = append(claims, claim{e, owner{f.place.Scope, f.place.Dir}, order[f.place], f.now.NameRange})
	}
	slices.Sort(s.stale)
	for _, d := range r.system {
		claims = append(claims, claim{entry: &Entry{Definition: d, State: OK, Problems: d.Problems}, owner: owner{scope: definition.System}, order: len(r.places)})
	}
	slices.SortFunc(claims, func(a, b claim) int {
		x, y := a.entry.Definition, b.entry.Definition
		return cmp.Or(cmp.Compare(rank(x.Scope), rank(y.Scope)), cmp.Compare(x.Name, y.Name), cmp.Compare(a.order, b.order), cmp.Compare(x.Path, y.Path))
	})
	byName := make(map[string][]claim)
	for _, c := range claims {
		s.entries = append(s.entries, c.entry)
		byName[c.entry.Definition.Name] = append(byName[c.entry.Definition.Name], c)
	}
	for name, all := range byName {
		r.duplicates(all)
		s.byName[name] = shadow(name, all)
	}
	s.reuse(last)
	return s
}

// duplicates marks agents of one name in one scope. A name that was only guessed
// from the file's stem makes no duplicate.
func (r *Registry) duplicates(all []claim) {
	byOwner := make(map[owner][]claim)
	for _, c := range all {
		if !c.entry.Definition.Guessed && c.entry.Definition.Scope != definition.System {
			byOwner[c.owner] = append(byOwner[c.owner], c)
		}
	}
	for _, same := range byOwner {
		if len(same) < 2 {
			continue
		}
		for i, c := range same {
			other := same[(i+1)%len(same)].entry.Definition
			c.entry.State = Duplicate
			c.entry.Problems = insert(c.entry.Problems, definition.Problem{
				URI: r.config.URI(c.entry.Definition.Path), Range: c.said, Code: "agent/duplicate-name", Severity: definition.Error,
				Message: fmt.Sprintf("The name %s is also that of %s in this folder, so neither is used; rename one.", other.Name, filepath.Base(other.Path)),
			})
		}
	}
}

// insert returns problems with one more, in the order of the file. The slice
// given is not changed: it is a definition's.
func insert(problems []definition.Problem, p definition.Problem) []definition.Problem {
	at, _ := slices.BinarySearchFunc(problems, p, func(a, b definition.Problem) int {
		return cmp.Or(cmp.Compare(a.Range.Start.Line, b.Range.Start.Line), cmp.Compare(a.Range.Start.Character, b.Range.Start.Character))
	})
	return slices.Insert(slices.Clone(problems), at, p)
}

// shadow marks who is hidden among the agents of one name, and returns what the
// name may mean, best first: agents of the best scope, one for each workspace
// folder there.
func shadow(name string, all []claim) []*Entry {
	if name == mainName {
		// A file of this name is an error of its own and hides nothing.
		for _, c := range all {
			if c.entry.Definition.Scope == definition.System {
				return []*Entry{c.entry}
			}
		}
	}
	winners := make(map[owner]*Entry)
	var found []*Entry
	best := all[0]
	for _, c := range all {
		switch winner := winners[c.owner]; {
		case c.owner.scope != best.owner.scope || c.owner != best.owner && c.owner.scope != definition.Project:
			hide(c.entry, best.entry)
		case winner == nil:
			winners[c.owner] = c.entry
			found = append(found, c.entry)
		case winner.Definition.Guessed && !c.entry.Definition.Guessed:
			// Only a name that a file gives is sure to be its name.
			winners[c.owner] = c.entry
			found[slices.Index(found, winner)] = c.entry
		}
	}
	return found
}

// hide marks an entry as shadowed, unless it is broken by itself.
func hide(e, by *Entry) {
	if e.State == OK {
		e.State, e.ShadowedBy = Shadowed, by.Definition.Path
	}
}

// reuse takes the entries of the snapshot before where nothing changed, so that
// who keeps several snapshots keeps each entry once.
func (s *Snapshot) reuse(last *Snapshot) {
	if last == nil {
		return
	}
	before := make(map[string]*Entry, len(last.entries))
	for _, e := range last.entries {
		before[e.Definition.Path] = e
	}
	for i, e := range s.entries {
		old := before[e.Definition.Path]
		if old == nil || !equal(old, e) {
			continue
		}
		named := s.byName[e.Definition.Name]
		if at := slices.Index(named, e); at >= 0 {
			named[at] = old
		}
		s.entries[i] = old
	}
}
