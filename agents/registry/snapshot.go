package registry

// Snapshot: what there is, and the questions about it.

import (
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/spelling"
)

// State says what a file's agent is (spec 2.2, AgentInfo).
type State string

// The states that files decide. Trust adds its own.
const (
	OK        State = "ok"
	Invalid   State = "invalid"   // an error of the list that ends spec 1.5
	Shadowed  State = "shadowed"  // an agent of that name has precedence
	Duplicate State = "duplicate" // the name is there twice in one scope
)

// Entry is one agent file, or a system agent. It is immutable.
// Entries of different snapshots may be the same pointer, but need not be where
// nothing changed: compare [Snapshot.Diff].
type Entry struct {
	Definition *definition.Definition
	State      State
	ShadowedBy string // the winner's path; "" for a system agent and where State is not Shadowed
	// Problems are the definition's and those that other files cause, in the
	// order of the file. Of a stale entry they are about the text on the disk.
	Problems []definition.Problem
	// Stale says that Definition is the last good version of a file that was
	// found half-written (REL-114); reading it once more decides.
	Stale bool

	file  *file // nil for a system agent
	found bool  // what its name may mean, where several have it
}

// Snapshot is a state of the catalogue. It is immutable and may be kept.
// The zero Snapshot has no agents and may be asked. It is safe for concurrent
// use: what it works out late, it works out once.
type Snapshot struct {
	// Revision grows with each snapshot of a registry that differs from the one
	// before, and with each [Registry.Renumber].
	Revision uint64

	entries  []*Entry // by scope, name, place, path
	places   []Place
	problems []definition.Problem
	stale    []string
	uri      func(path string) string
	graph    *graph
}

// Entries returns every agent, sorted by scope, then name, then the order of the
// places. The caller must not change the slice.
func (s *Snapshot) Entries() []*Entry { return s.entries }

// Problems returns what is wrong with the catalogue itself: folders that cannot
// be read. Each file's own are in its entry. The caller must not change the
// slice.
func (s *Snapshot) Problems() []definition.Problem { return s.problems }

// Stale returns the paths of files that were found half-written, sorted. Who
// watches gives them to [Registry.Apply] once more after its debounce; found
// with the same bytes again they are what their writer meant (REL-114).
func (s *Snapshot) Stale() []string { return s.stale }

// suggestions is how many names an error offers.
const suggestions = 5

// Lookup returns the agent that a name means in a workspace folder (spec 1.1):
// the folder's own, then the other folders' in their order, then global,
// extension and system ones. "folder:name" is the agent of that workspace
// folder alone, given by its name or path. folder "" is the first.
//
// An unknown name is a fault of kind NotFound with the reason UnknownAgent and
// the data suggestions ([]string, at most 5). One that is invalid, or there
// twice in its scope, is of kind Invalid with the reason InvalidAgent and the
// data problems ([]definition.Problem); the agent of that name in another scope
// does not take its place, since it may have other powers.
func (s *Snapshot) Lookup(folder, name string) (*Entry, error) {
	only := false
	wanted := name
	if i := strings.LastIndexByte(name, ':'); i > 0 {
		place, ok := s.folder(name[:i])
		if !ok {
			return nil, s.unknown(folder, name, name[i+1:])
		}
		folder, wanted, only = place, name[i+1:], true
	}
	var best *Entry
	for e := range s.entriesOf(wanted) {
		if !e.found {
			continue
		}
		own := e.Definition.Scope == definition.Project && e.Definition.Folder == folder
		if only && !own {
			continue
		}
		if best == nil || (own && !(best.Definition.Scope == definition.Project && best.Definition.Folder == folder)) {
			best = e
		}
	}
	if best == nil {
		return nil, s.unknown(folder, name, wanted)
	}
	if best.State == OK {
		return best, nil
	}
	return nil, s.invalid(name, best)
}

// Find is [Snapshot.Lookup] without reasons: the entry that a name means in a
// folder, in any state, or nil.
// It does not know suggestions, and costs a search in each scope.
func (s *Snapshot) Find(folder, name string) *Entry { return s.find(folder, name) }

// entriesOf yields every entry of a name, in their order.
func (s *Snapshot) entriesOf(name string) iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for scope := range ranks {
			at, _ := slices.BinarySearchFunc(s.entries, name, func(e *Entry,
				name string) int {
				return precedesName(e, scope, name)
			})
			for ; at < len(s.entries) && precedesName(s.entries[at], scope, name) == 0; at++ {
				if !yield(s.entries[at]) {
					return
				}
			}
		}
	}
}

// folder returns the path of a workspace folder by its name or path.
// Of several with one name it is the first.
func (s *Snapshot) folder(name string) (string, bool) {
	for _, p := range s.places {
		if p.Scope == definition.Project && (p.Folder == name || p.label() == name) {
			return p.Folder, true
		}
	}
	return "", false
}

// label is what folder:name calls a place's workspace folder.
func (p Place) label() string {
	if p.Name != "" {
		return p.Name
	}
	return filepath.Base(p.Folder)
}

// unknown is the error for a name that means nothing.
func (s *Snapshot) unknown(folder, name, wanted string) error {
	near := s.suggest(folder, wanted)
	hint := "see the list of agents"
	if len(near) > 0 {
		hint = "did you mean " + strings.Join(near, ", ") + "?"
	}
	return fault.New(fault.NotFound, "registry.lookup", "there is no agent %s; %s", name,
		hint).Because(fault.UnknownAgent, "suggestions", near)
}

// invalid is the error for an agent that may not run.
func (s *Snapshot) invalid(name string, e *Entry) error {
	problems := make([]definition.Problem, 0, 1)
	for _, p := range e.Problems {
		if p.Fatal() {
			problems = append(problems, p)
		}
	}
	why := "it is not usable"
	if len(problems) > 0 {
		p := problems[0]
		why = fmt.Sprintf("%s:%d:%d: %s", filepath.Base(e.Definition.Path), p.Range.Start.Line+1,
			p.Range.Start.Character+1, p.Message)
	}
	return fault.New(fault.Invalid, "registry.lookup", "the agent %s cannot be used: %s", name,
		strings.TrimSuffix(why, ".")).Because(fault.InvalidAgent, "problems", problems)
}

// suggest returns usable names that somebody who wrote name may have meant: the
// nearest first, at most 5.
// Slips of a letter or two come first, then names that begin with it, contain
// it, or that it begins with.
func (s *Snapshot) suggest(folder, name string) []string {
	type candidate struct {
		name string
		rank int
	}
	lower := strings.ToLower(name)
	var found []candidate
	last := ""
	for _, e := range s.entries {
		known := e.Definition.Name
		// Agents of one name in several workspace folders stand side by side.
		if !e.found || e.State != OK || known == last {
			continue
		}
		last = known
		rank := -1
		switch d := spelling.Distance(lower, known); {
		case (d <= 2 && 2*d <= min(len(lower), len(known))) ||
			d <= len(lower)/3: // of a short name less than half is another
			rank = d
		case len(lower) > 1 && strings.HasPrefix(known, lower):
			rank = 10
		case len(lower) > 2 && strings.Contains(known, lower):
			rank = 20
		case len(known) > 3 && strings.HasPrefix(lower, known):
			rank = 30
		}
		if rank < 0 {
			continue
		}
		// A name that would be refused from this folder helps nobody.
		if _, err := s.Lookup(folder, known); err == nil {
			found = append(found, candidate{known, rank})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		if a.rank != b.rank {
			return a.rank - b.rank
		}
		return strings.Compare(a.name, b.name)
	})
	names := make([]string, 0, suggestions)
	for _, c := range found[:min(len(found), suggestions)] {
		names = append(names, c.name)
	}
	return names
}

// Diff compares s with an older snapshot, which may be nil: the names of
// which something is new or different, and those that are gone, each sorted,
// for agents/didChange (spec 2.2).
// The names are those of agents, so one that is hidden by another counts too.
// Both are nil where nothing differs. It takes time in proportion to the
// entries, and hardly any where few differ.
func (s *Snapshot) Diff(old *Snapshot) (changed, removed []string) {
	if old == nil {
		old = &Snapshot{}
	}
	differs := func(name string) {
		after := slices.Collect(s.entriesOf(name))
		switch {
		case len(after) == 0:
			removed = append(removed, name)
		case !slices.EqualFunc(slices.Collect(old.entriesOf(name)), after, equal):
			changed = append(changed, name)
		}
	}
	// What did not change is mostly the same entry, so few names are looked at.
	seen := make(map[string]bool)
	note := func(e *Entry) {
		if name := e.Definition.Name; !seen[name] {
			seen[name] = true
			differs(name)
		}
	}
	for a, b := old.entries, s.entries; len(a) > 0 || len(b) > 0; {
		switch {
		case len(a) == 0:
			note(b[0])
			b = b[1:]
		case len(b) == 0:
			note(a[0])
			a = a[1:]
		case a[0] == b[0]:
			a, b = a[1:], b[1:]
		default:
			order := precedes(a[0], b[0])
			if order <= 0 {
				note(a[0])
				a = a[1:]
			}
			if order >= 0 {
				note(b[0])
				b = b[1:]
			}
		}
	}
	slices.Sort(changed)
	slices.Sort(removed)
	return changed, removed
}

// equal reports whether two entries say the same. Definitions of the same bytes
// differ at most in what the installation makes of a model's name.
func equal(a, b *Entry) bool {
	if a == b {
		return true
	}
	x, y := a.Definition, b.Definition
	return a.State == b.State && a.found == b.found && a.ShadowedBy == b.ShadowedBy && a.Stale == b.Stale &&
		(x == y || (x.Path == y.Path && x.Folder == y.Folder && x.Scope == y.Scope && x.Digest == y.Digest &&
			x.Model == y.Model && slices.Equal(x.FallbackModels, y.FallbackModels))) &&
		slices.EqualFunc(a.Problems, b.Problems, definition.Problem.Equal)
}

// same reports whether nothing differs from another snapshot, its revision
// aside.
func (s *Snapshot) same(other *Snapshot) bool {
	return slices.Equal(s.places, other.places) && slices.EqualFunc(s.problems, other.problems,
		definition.Problem.Equal) &&
		slices.Equal(s.stale, other.stale) && slices.EqualFunc(s.entries, other.entries, equal)
}
