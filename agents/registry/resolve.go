package registry

// The rules of spec 1.1: which agent hides which.

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
)

// ranks is how many scopes there are.
const ranks = 4

// rank orders the scopes by precedence, from 0.
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
	order int // of its place
}

// owner returns the scope in which the claim's name may be there once.
func (c claim) owner() owner {
	if f := c.entry.file; f != nil {
		return owner{f.place.Scope, f.place.Dir}
	}
	return owner{scope: definition.System}
}

// change is what became of one file; nil = it was not there, or is not.
type change struct{ before, after *file }

// precedes orders entries by scope and name.
func precedes(a, b *Entry) int { return precedesName(a, rank(b.Definition.Scope), b.Definition.Name) }

// precedesName orders an entry and a scope's rank and name.
func precedesName(e *Entry, scope int, name string) int {
	return cmp.Or(cmp.Compare(rank(e.Definition.Scope), scope), strings.Compare(e.Definition.Name, name))
}

// byPrecedence orders claims by scope, name, place and path.
func byPrecedence(a, b claim) int {
	return cmp.Or(precedes(a.entry, b.entry), cmp.Compare(a.order, b.order),
		strings.Compare(a.entry.Definition.Path, b.entry.Definition.Path))
}

// orders returns the order of the places.
func (r *Registry) orders() map[*Place]int {
	order := make(map[*Place]int, len(r.places))
	for i, p := range r.places {
		p.Dir = filepath.Clean(p.Dir)
		if at := r.known[p]; at != nil {
			if _, twice := order[at]; !twice {
				order[at] = i
			}
		}
	}
	return order
}

// claimOf returns a file's claim, before others' are looked at.
func claimOf(f *file, order map[*Place]int) claim {
	e := &Entry{Definition: f.good, State: OK, Problems: f.now.Problems, Stale: f.stale(), file: f}
	if usable, _ := f.good.Usable(); !usable {
		e.State = Invalid
	}
	return claim{e, order[f.place]}
}

// claimsOfSystem returns the claims of the agents in the binary.
func (r *Registry) claimsOfSystem() []claim {
	claims := make([]claim, len(r.system))
	for i, d := range r.system {
		claims[i] = claim{&Entry{Definition: d, State: OK, Problems: d.Problems}, len(r.places)}
	}
	return claims
}

// resolve makes a snapshot of all that was read; r.mu is held, or nobody else
// has r. Entries that did not change are those of the snapshot before.
// It costs n log n of all entries.
func (r *Registry) resolve(last *Snapshot) *Snapshot {
	order := r.orders()
	claims := make([]claim, 0, len(r.disk)+len(r.system))
	for _, f := range r.disk {
		claims = append(claims, claimOf(f, order))
	}
	claims = append(claims, r.claimsOfSystem()...)
	s := r.snapshot()
	s.entries = r.settle(claims)
	s.reuse(last.entries)
	s.finish()
	return s
}

// amend makes a snapshot of the one before and of what became of files since;
// r.mu is held. Only the names concerned are decided anew.
func (r *Registry) amend(last *Snapshot, changes []change) *Snapshot {
	touched := make(map[string]bool, 2*len(changes))
	paths := make(map[string]bool, len(changes))
	for _, c := range changes {
		for _, f := range []*file{c.before, c.after} {
			if f != nil {
				touched[f.good.Name], paths[f.path] = true, true
			}
		}
	}
	dropped := make(map[*Entry]bool, len(touched))
	var before []*Entry
	// Files of the same names that did not change are decided anew, too: they may win now, or
	// lose.
	for name := range touched {
		for e := range last.entriesOf(name) {
			dropped[e] = true
			before = append(before, e)
			if e.file != nil {
				paths[e.file.path] = true
			}
		}
	}
	order := r.orders()
	var claims []claim
	for path := range paths {
		if f := r.disk[path]; f != nil {
			claims = append(claims, claimOf(f, order))
		}
	}
	// A system agent comes out again where the file that hid it is gone.
	for _, c := range r.claimsOfSystem() {
		if touched[c.entry.Definition.Name] {
			claims = append(claims, c)
		}
	}
	s := r.snapshot()
	s.entries = r.settle(claims)
	s.reuse(before)
	s.entries = merge(last.entries, dropped, s.entries)
	s.finish()
	return s
}

// merge returns the entries of a snapshot without those that were dropped and
// with the fresh ones, whose names no other entry has, each in its place.
func merge(entries []*Entry, dropped map[*Entry]bool, fresh []*Entry) []*Entry {
	merged := make([]*Entry, 0, len(entries)-len(dropped)+len(fresh))
	for _, e := range entries {
		if len(dropped) > 0 && dropped[e] {
			continue
		}
		for len(fresh) > 0 && precedes(fresh[0], e) < 0 {
			merged, fresh = append(merged, fresh[0]), fresh[1:]
		}
		merged = append(merged, e)
	}
	return append(merged, fresh...)
}

// snapshot returns one without entries.
func (r *Registry) snapshot() *Snapshot {
	s := &Snapshot{places: slices.Clone(r.places), uri: r.uri, graph: new(graph)}
	told := make(map[*Place]bool)
	for _, p := range r.places {
		p.Dir = filepath.Clean(p.Dir)
		at := r.known[p]
		if f := r.faults[at]; f != nil && !told[at] {
			told[at] = true
			s.problems = append(s.problems, f.now.Problems...)
		}
	}
	return s
}

// finish notes what the entries say together.
func (s *Snapshot) finish() {
	for _, e := range s.entries {
		if e.Stale {
			s.stale = append(s.stale, e.Definition.Path)
		}
	}
	slices.Sort(s.stale)
}

// settle decides between claims, which must hold all of each name, and returns
// the entries in order.
func (r *Registry) settle(claims []claim) []*Entry {
	slices.SortFunc(claims, byPrecedence)
	entries := make([]*Entry, len(claims))
	for i, c := range claims {
		entries[i] = c.entry
	}
	// Those of one name lie apart, one run for each scope.
	count := make(map[string]int, len(claims))
	for _, c := range claims {
		count[c.entry.Definition.Name]++
	}
	groups := make(map[string][]claim)
	for _, c := range claims {
		if name := c.entry.Definition.Name; count[name] > 1 || name == mainName {
			groups[name] = append(groups[name], c)
		} else {
			c.entry.found = true
		}
	}
	for name, all := range groups {
		r.duplicates(all)
		shadow(name, all)
	}
	return entries
}

// duplicates marks agents of one name in one scope. A name that was only guessed
// from the file's stem makes no duplicate.
// Each of them is told of another one, so that a person finds all of them by
// following.
func (r *Registry) duplicates(all []claim) {
	byOwner := make(map[owner][]claim)
	for _, c := range all {
		if !c.entry.Definition.Guessed && c.entry.file != nil {
			byOwner[c.owner()] = append(byOwner[c.owner()], c)
		}
	}
	for _, same := range byOwner {
		if len(same) < 2 {
			continue
		}
		for i, c := range same {
			other := same[(i+1)%len(same)].entry.Definition
			c.entry.State = Duplicate
			c.entry.Problems = insert(c.entry.Problems, duplicate(r.uri(c.entry.Definition.Path),
				c.entry.file.now.NameRange, r.uri(other.Path), other))
		}
	}
}

// duplicate is the problem of a name, in a range of a file, that another has too.
func duplicate(uri string, at definition.Range, otherURI string, other *definition.Definition) definition.Problem {
	return definition.Problem{
		URI: uri, Range: at, Code: "agent/duplicate-name", Severity: definition.Error,
		Message: fmt.Sprintf("The name %s is also that of %s in this folder, so neither is used; rename one.",
			other.Name, filepath.Base(other.Path)),
		Related: []definition.Related{{URI: otherURI, Range: other.NameRange, Message: "It has the name as well."}},
	}
}

// insert returns problems with more, in the order of the file. The slice given
// is not changed: it is a definition's.
func insert(problems []definition.Problem, more ...definition.Problem) []definition.Problem {
	if len(more) == 0 {
		return problems
	}
	all := slices.Concat(more, problems)
	slices.SortStableFunc(all, func(a, b definition.Problem) int {
		return cmp.Or(cmp.Compare(a.Range.Start.Line, b.Range.Start.Line),
			cmp.Compare(a.Range.Start.Character, b.Range.Start.Character))
	})
	return all
}

// shadow marks who is hidden among the agents of one name, and who is what the
// name may mean: agents of the best scope, one for each workspace folder there.
func shadow(name string, all []claim) {
	if name == mainName {
		// A file of this name is an error of its own and hides nothing.
		for _, c := range all {
			c.entry.found = c.entry.file == nil
		}
		return
	}
	winners := make(map[owner]*Entry)
	best := all[0].owner()
	for _, c := range all {
		mine := c.owner()
		switch winner := winners[mine]; {
		case mine.scope != best.scope || (mine != best && mine.scope != definition.Project):
			hide(c.entry, all[0].entry)
		case winner == nil:
			winners[mine], c.entry.found = c.entry, true
		case winner.Definition.Guessed && !c.entry.Definition.Guessed:
			// Only a name that a file gives is sure to be its name.
			winner.found = false
			winners[mine], c.entry.found = c.entry, true
		}
	}
}

// hide marks an entry as shadowed, unless it is broken by itself.
func hide(e, by *Entry) {
	if e.State == OK {
		e.State, e.ShadowedBy = Shadowed, by.Definition.Path
	}
}

// reuse takes entries of the snapshot before where nothing changed, so that who
// keeps several snapshots keeps each entry once.
// Only entries that are equal in every respect are taken over, so a reader
// cannot tell the difference.
func (s *Snapshot) reuse(last []*Entry) {
	before := make(map[string]*Entry, len(last))
	for _, e := range last {
		before[e.key()] = e
	}
	for i, e := range s.entries {
		if old := before[e.key()]; old != nil && equal(old, e) {
			s.entries[i] = old
		}
	}
}

// key tells entries of one snapshot apart: a file's path, or a system agent's
// name, which is no path.
func (e *Entry) key() string {
	if e.file != nil {
		return e.file.path
	}
	return e.Definition.Name
}
