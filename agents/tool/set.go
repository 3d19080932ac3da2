package tool

import (
	"slices"
	"strings"
)

// SetConfig says which tools an agent has (spec 4.2, up to the workspace's
// trust, which package guard decides about). Names in the lists are canonical,
// aliases, or globs over canonical names (see [Pattern]).
type SetConfig struct {
	Tools   []Tool   // everything registered; of two with one name the first counts
	Exclude []string // the session's exclusions
	Deny    []string // the agent's; beats Allow
	Allow   []string // the agent's; counts only if Restricted
	// Restricted says that the agent's file has an allow-list, which may be
	// empty: then nothing is allowed.
	Restricted bool
	// Subagent says that without an allow-list only [Reading] is allowed.
	Subagent bool
	// Within, if not nil, holds the canonical names of the parent's tools:
	// nothing else is allowed.
	Within []string
	// Canonical returns the canonical form of a name and whether it can be one;
	// nil takes names as they are. definition.CanonicalTool is meant.
	Canonical func(name string) (string, bool)
}

// Set is the tools of one agent. It is immutable.
//
// So a run may hold one as long as it lives. What is offered to a model may be less: hooks and the
// state of a task take tools out of a request, never into one.
type Set struct {
	tools     []Tool // by name
	canonical func(string) (string, bool)
}

// reading are the names of [Reading].
var reading = [...]string{
	"ls", "read_file", "read_many_files", "grep", "glob", "diagnostics", "symbols", "definition", "references",
	"recall_memory", "web_search",
	Delegate, // there is none without subagents in the agent's file
}

// Delegate is the tool that runs another agent (spec 4.1).
const Delegate = "delegate_to_agent"

// Reading returns the tools that a subagent has whose file does not say (spec
// 4.1).
// The caller owns the slice.
func Reading() []string { return slices.Clone(reading[:]) }

// NewSet returns the tools of an agent. A malformed glob takes the strict side:
// among Exclude and Deny it matches everything, in Allow nothing.
func NewSet(c SetConfig) *Set {
	s := &Set{canonical: c.Canonical}
	if s.canonical == nil {
		s.canonical = func(name string) (string, bool) { return name, true }
	}
	exclude, deny, allow := s.patterns(c.Exclude), s.patterns(c.Deny), s.patterns(c.Allow)
	if !c.Restricted && c.Subagent {
		allow = reading[:]
	}
	limited := c.Restricted || c.Subagent
	seen := make(map[string]bool)
	for _, t := range c.Tools {
		name := t.Spec().Name
		if seen[name] {
			continue
		}
		seen[name] = true
		switch {
		case AnyTakes(exclude, name), AnyTakes(deny, name):
		case limited && !AnyGives(allow, name):
		case c.Within != nil && !slices.Contains(c.Within, name):
		default:
			s.tools = append(s.tools, t)
		}
	}
	slices.SortFunc(s.tools, func(a, b Tool) int { return strings.Compare(a.Spec().Name, b.Spec().Name) })
	return s
}

// patterns returns the names and globs of a list in canonical form.
func (s *Set) patterns(list []string) []string {
	out := make([]string, 0, len(list))
	for _, name := range list {
		if canonical, ok := s.canonical(name); ok {
			name = canonical
		}
		out = append(out, name)
	}
	return out
}

// List returns the tools, sorted by name: always the same for the same
// configuration, so that a provider's cache of the prompt holds. The caller
// owns the slice.
func (s *Set) List() []Tool { return slices.Clone(s.tools) }

// Names returns the canonical names, sorted.
func (s *Set) Names() []string {
	names := make([]string, len(s.tools))
	for i, t := range s.tools {
		names[i] = t.Spec().Name
	}
	return names
}

// Find returns the tool that a model calls name: by its canonical name, by the one
// that models are told, by one of the other names that spec 4.1 knows, or with dashes. The error is an
// *Error CodeNotAllowed with the sentence of spec 3.4 and the tools that there
// are.
func (s *Set) Find(name string) (Tool, error) {
	// What is registered under a name has it, whatever the name means elsewhere.
	for _, wanted := range s.spellings(name) {
		i, ok := slices.BinarySearchFunc(s.tools, wanted, func(t Tool, name string) int {
			return strings.Compare(t.Spec().Name, name)
		})
		if ok {
			return s.tools[i], nil
		}
	}
	if i := slices.IndexFunc(s.tools, func(t Tool) bool { return t.Spec().Model == name }); i >= 0 && name != "" {
		return s.tools[i], nil
	}
	shown, _ := CutTo(Escape(name), 200)
	have := strings.Join(s.Names(), ", ")
	if have == "" {
		have = "none"
	}
	return nil, Errorf(CodeNotAllowed, "Tool not allowed for this agent: %s\nTools of this agent: %s", shown, have)
}

// spellings returns the names that a model may mean by name, the likeliest
// first.
func (s *Set) spellings(name string) []string {
	out := []string{name}
	if canonical, ok := s.canonical(name); ok {
		out = append(out, canonical)
	}
	return append(out, strings.ReplaceAll(name, "-", "_"))
}
