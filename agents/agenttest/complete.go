package agenttest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
)

// Kind is what an [Item] stands for.
type Kind uint8

// The kinds.
const (
	// a key of the schema
	KeyItem Kind = iota
	// a value of a key
	ValueItem
	// the name of an agent
	AgentItem
	// the name of a tool
	ToolItem
)

// Item is what may stand at a place of a file of tests.
type Item struct {
	// What the person is shown.
	Label string
	// The text that takes the place of Range.
	Insert string
	Kind   Kind
	// The kind of the value that a key has, in a few words.
	Detail string
	// What a key means, in Markdown.
	Doc   string
	Range definition.Range // what it replaces
}

// Known is what a file of tests may name.
type Known struct {
	Agents, Tools []string
}

// suggestions are values of keys that have others too, by their paths in the schema.
var suggestions = map[string][]string{
	"tests[].answers[]": {"once", "run", "session", "always", "reject"},
	"tests[].expect.reason": {
		string(activity.Goal), string(activity.HandedOff), string(activity.MaxTurns), string(activity.Timeout),
		string(activity.Errored),
		string(activity.Guardrail), string(activity.Budget), string(activity.Loop), string(activity.NoCompleteTask),
	},
}

// Complete returns what may stand at a position, best first. The text need not be right
// elsewhere. The result has no more than the schema and known say.
func (d *Document) Complete(at definition.Position, known Known) []Item {
	path := d.tree.At(d.Index.Offset(at))
	if len(path) == 0 {
		return nil
	}
	s, v := d.follow(path[:len(path)-1])
	last := path[len(path)-1]
	r := d.Index.Range(last.Span)
	if r.Start.Line != r.End.Line {
		return nil // a text of several lines
	}
	if last.OnKey {
		return d.keys(s, v, last.Key, r, known)
	}
	if s, v = step(s, v, last); s == nil {
		return nil
	}
	if s.is("object") && !s.is("string") { // an entry of a list that is begun
		return d.keys(s, v, "", r, known)
	}
	return values(s, r, known)
}

// follow returns the schema that a path leads to, and what is written there; each nil for
// nothing.
func (d *Document) follow(path []definition.Step) (s *schema, v *definition.Value) {
	s, v = root(), d.tree.Root
	for _, one := range path {
		s, v = step(s, v, one)
	}
	return s, v
}

// step goes one step down in both; it is nil where there is nothing.
//
// An entry that is not written yet still has its schema, so that it can be completed.
func step(s *schema, v *definition.Value, to definition.Step) (*schema, *definition.Value) {
	if s == nil {
		return nil, nil
	}
	if to.Index >= 0 {
		if v != nil && v.Kind == definition.List && to.Index < len(v.Items) {
			return s.Items, &v.Items[to.Index]
		}
		return s.Items, nil
	}
	return s.below(to.Key), v.Get(to.Key)
}

// keys returns the keys that a mapping does not have yet; typed is the one at hand.
// Keys that must be there come first. For a call of the model the keys are names of
// tools.
// The key that is being typed is offered although the mapping has it.
func (d *Document) keys(s *schema, v *definition.Value, typed string, r definition.Range, known Known) (items []Item) {
	if s == nil {
		return nil
	}
	if s.path == "tests[].model[].call" || s.path == "tests[].model[].calls[]" {
		for _, name := range known.Tools {
			items = append(items, Item{Label: name, Insert: name + ": ", Kind: ToolItem, Range: r})
		}
		return items
	}
	rank := func(name string) string {
		if slices.Contains(s.Required, name) {
			return " " + name // before the others
		}
		return name
	}
	names := slices.SortedFunc(maps.Keys(s.Properties), func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	for _, name := range names {
		if name != typed && v.Get(name) != nil {
			continue
		}
		of := s.Properties[name]
		insert := name + ": "
		if of.Items != nil || len(of.Properties) > 0 {
			insert = name + ":"
		}
		items = append(items, Item{Label: name, Insert: insert, Detail: of.kind(), Doc: of.Description, Range: r})
	}
	return items
}

// values returns what a text may be.
//
// Those of the schema come first, then suggestions, then names of agents or tools.
func values(s *schema, r definition.Range, known Known) (items []Item) {
	add := func(kind Kind, names ...string) {
		for _, name := range names {
			items = append(items, Item{Label: name, Insert: name, Kind: kind, Range: r})
		}
	}
	add(ValueItem, s.Enum...)
	add(ValueItem, suggestions[s.path]...)
	switch {
	case namesAgent(s.path):
		add(AgentItem, known.Agents...)
		if s.path == "agent" || s.path == "tests[].agent" {
			add(ValueItem, "auto")
		}
	case namesTool(s.path):
		add(ToolItem, known.Tools...)
	}
	return items
}

// Hover says in Markdown what the key at a position means, and which value of a key is
// there; false where there is nothing to tell.
func (d *Document) Hover(at definition.Position) (markdown string, r definition.Range, ok bool) {
	path := d.tree.At(d.Index.Offset(at))
	if len(path) == 0 {
		return "", r, false
	}
	last := path[len(path)-1]
	s, _ := d.follow(path)
	if s == nil || last.Span.Start == last.Span.End || s.Description == "" {
		return "", r, false
	}
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** · %s\n\n%s", last.Key, s.kind(), s.Description)
	if len(s.Enum) > 0 {
		fmt.Fprintf(&b, "\n\nOne of %s.", strings.Join(s.Enum, ", "))
	}
	return b.String(), d.Index.Range(last.Span), true
}
