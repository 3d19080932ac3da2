package agenttest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agentls/agentls/agents/definition"
)

// The codes of findings about files of tests.
const (
	CodeYAML         = "agent-test/yaml"
	CodeUnknownKey   = "agent-test/unknown-key"
	CodeValue        = "agent-test/value"
	CodeUnknownAgent = "agent-test/agent-unknown"
	CodeFailed       = "agent-test/failed"
)

// Document is a file of tests as its author sees it. It is immutable. Ranges are in
// UTF-16, as editors have them.
type Document struct {
	Text  string
	Index *definition.Index
	File  *File // nil where it cannot be read

	tree   *definition.Tree    // without a Root where it cannot be read
	unread *definition.Problem // why
	err    *Error              // why File is nil, if the loader says so
	flaws  []flaw
}

// Open reads a file for its author. It never fails: [Document.Problems] says what is wrong.
// A file that is too large, or that the YAML parser would be slow with, is not parsed.
func Open(path, text string) *Document {
	d := &Document{Text: text, Index: definition.NewIndex(text), tree: &definition.Tree{Text: text}}
	if len(text) <= maxFile {
		d.tree, d.unread = definition.ReadYAML(text)
	}
	if d.unread != nil && d.unread.Code != "agent/yaml" {
		return d // it would cost the loader's parser seconds
	}
	f, _, err := decode(path, []byte(text))
	if err != nil {
		d.err = err.(*Error) // as decode says
	} else {
		d.File, d.flaws = f, f.complete()
	}
	return d
}

// Test is a test with its place.
type Test struct {
	Name  string
	Agent string // auto for who is picked
	Range definition.Range
}

// Tests returns the tests of a file, in order; none of one that cannot be read.
func (d *Document) Tests() (tests []Test) {
	if d.File == nil {
		return nil
	}
	for i, c := range d.File.Tests {
		tests = append(tests, Test{c.Name, c.Agent, d.At(i, nil)})
	}
	return tests
}

// test returns the value of a test, nil for none.
func (d *Document) test(i int) *definition.Value {
	if list := d.tree.Root.Get("tests"); list != nil && list.Kind == definition.List && i >= 0 && i < len(list.Items) {
		return &list.Items[i]
	}
	return nil
}

// At returns the place of what a path below a test leads to, as far as it does: a text, or
// the key of more; the test's name where it leads nowhere.
func (d *Document) At(test int, path []string) definition.Range {
	v := d.test(test)
	if v == nil {
		return d.Index.Range(definition.Span{})
	}
	span, found := v.Span, false
	for _, step := range path {
		next, at := child(v, step)
		if next == nil {
			break
		}
		v, span, found = next, at, true
	}
	if name := d.test(test).Get("name"); !found && name != nil {
		span = name.Span
	} else if !found && v.Kind == definition.Mapping && len(v.Keys) > 0 {
		span = v.Keys[0].Span
	}
	return d.Index.Range(span)
}

// child returns the value that a step leads to, and where a person looks for it.
// That is the value of a scalar, the key of anything else, and of an entry that is a mapping its first key.
// The value is nil where the step leads nowhere.
func child(v *definition.Value, step string) (*definition.Value, definition.Span) {
	var next *definition.Value
	var span definition.Span
	switch v.Kind {
	case definition.Mapping:
		i := slices.IndexFunc(v.Keys, func(k definition.Key) bool { return k.Name == step })
		if i < 0 {
			return nil, span
		}
		next, span = &v.Items[i], v.Keys[i].Span
	case definition.List:
		i, err := strconv.Atoi(step)
		if err != nil || i < 0 || i >= len(v.Items) {
			return nil, span
		}
		next = &v.Items[i]
		if span = next.Span; next.Kind == definition.Mapping && len(next.Keys) > 0 {
			span = next.Keys[0].Span
		}
	default:
		return nil, span
	}
	if scalar := next.Kind != definition.Mapping && next.Kind != definition.List; scalar && next.Start < next.End {
		span = next.Span
	}
	return next, span
}

// Problems returns what is wrong with a file, in the order of its text: what [Parse] finds
// first, and all else. known says whether there is an agent; nil does not know. It is
// empty exactly where [Parse] takes the file, but for warnings about agents
// (TestProblemsAreThoseOfTheLoader).
func (d *Document) Problems(known func(name string) bool) (problems []definition.Problem) {
	add := func(r definition.Range, severity definition.Severity, code, message string) {
		problems = append(problems, definition.Problem{Range: r, Severity: severity, Code: code, Message: message})
	}
	if d.tree.Root != nil {
		d.walk(d.tree.Root, root(), func(s definition.Span, code, message string) {
			add(d.Index.Range(s), definition.Error, code, message)
		})
	}
	for _, f := range d.flaws {
		at := d.At(f.test, f.path)
		if f.test < 0 {
			at = d.line(0)
		}
		add(at, definition.Error, CodeValue, sentence(f.message))
	}
	if d.unread != nil && d.File == nil && d.err == nil {
		add(d.unread.Range, definition.Error, CodeYAML, d.unread.Message)
	}
	if d.err != nil && len(problems) == 0 {
		add(d.line(d.err.Line-1), definition.Error, CodeYAML, sentence(d.err.Message))
	}
	if known != nil {
		for _, n := range d.Agents() {
			if !known(n.Name) {
				add(n.Range, definition.Warning, CodeUnknownAgent,
					fmt.Sprintf("There is no agent %s here; correct the name, or create it.", n.Name))
			}
		}
	}
	slices.SortStableFunc(problems, func(a, b definition.Problem) int {
		return d.Index.Offset(a.Range.Start) - d.Index.Offset(b.Range.Start)
	})
	return slices.CompactFunc(problems, func(a, b definition.Problem) bool {
		return a.Range == b.Range &&
			a.Code == b.Code
	})
}

// sentence is a message as a finding has it.
func sentence(message string) string {
	return strings.ToUpper(message[:1]) + strings.TrimSuffix(message[1:], ".") + "."
}

// line returns the text of a line, without the spaces before it.
func (d *Document) line(n int) definition.Range {
	start := d.Index.Offset(definition.Position{Line: uint32(max(n, 0))})
	text, _, _ := strings.Cut(d.Text[start:], "\n")
	text = strings.TrimRight(text, "\r")
	left := strings.TrimLeft(text, " \t")
	return d.Index.Range(definition.Span{Start: start + len(text) - len(left), End: start + len(text)})
}

// walk holds a value to the schema: keys that there are, of the right kind. Unknown
// keys are found only where the schema says that there are no others.
func (d *Document) walk(v *definition.Value, s *schema, add func(at definition.Span, code, message string)) {
	at := v.Span
	wrong := func(what string) { add(at, CodeValue, fmt.Sprintf("This is %s, but must be %s.", what, s.kind())) }
	switch {
	case s == nil || v.Kind == definition.Null:
	case v.Kind == definition.Mapping && !s.is("object"):
		if len(v.Keys) > 0 {
			at = v.Keys[0].Span
		}
		wrong("a list of keys with values")
	case v.Kind == definition.List && !s.is("array"):
		wrong("a list")
	case v.Kind == definition.Mapping:
		for i, key := range v.Keys {
			below := s.below(key.Name)
			if below == nil && string(s.Further) == "false" && key.Name != "<<" {
				add(key.Span, CodeUnknownKey, unknownKey(key.Name, s))
				continue
			}
			if below != nil {
				d.walk(&v.Items[i], below, add)
			}
		}
	case v.Kind == definition.List:
		for i := range v.Items {
			if s.Items != nil {
				d.walk(&v.Items[i], s.Items, add)
			}
		}
	case !s.is("string"):
		wrong("a single value")
	}
}

// unknownKey says that a key is unknown, and which may be meant.
func unknownKey(name string, s *schema) string {
	keys := slices.Sorted(maps.Keys(s.Properties))
	if meant := definition.Nearest(name, keys); meant != "" {
		return fmt.Sprintf("Unknown key %q; did you mean %s?", name, meant)
	}
	return fmt.Sprintf("Unknown key %q; there are %s.", name, strings.Join(keys, ", "))
}

// Naming is a place that names an agent.
type Naming struct {
	Name  string
	Range definition.Range
}

// Agents returns the places that name agents of the project, in the order of the text.
// auto is no name.
func (d *Document) Agents() (list []Naming) {
	if d.tree.Root == nil {
		return nil
	}
	var visit func(v *definition.Value, s *schema)
	visit = func(v *definition.Value, s *schema) {
		switch {
		case s == nil:
		case v.Kind == definition.Mapping:
			for i, key := range v.Keys {
				visit(&v.Items[i], s.below(key.Name))
			}
		case v.Kind == definition.List:
			for i := range v.Items {
				visit(&v.Items[i], s.Items)
			}
		case v.Kind == definition.String && namesAgent(s.path) && v.Text != "" && v.Text != "auto":
			list = append(list, Naming{v.Text, d.Index.Range(d.trimQuotes(v.Span))})
		}
	}
	visit(d.tree.Root, root())
	return list
}

// namesAgent reports whether the value at a path of the schema is an agent's name.
//
// A new key of the schema that names an agent needs a row here, or it is not checked.
func namesAgent(path string) bool {
	switch path {
	case "agent", "tests[].agent", "tests[].model[].agent", "tests[].expect.route", "tests[].expect.judge.agent",
		"tests[].expect.handoffs[]":
		return true
	}
	return false
}

// namesTool is namesAgent for tools.
func namesTool(path string) bool {
	switch path {
	case "tests[].results[].tool", "tests[].expect.tools[].name", "tests[].expect.no_tools[]",
		"tests[].expect.confirmations[].tool":
		return true
	}
	return false
}

// trimQuotes returns the extent of a scalar without its quotes.
func (d *Document) trimQuotes(s definition.Span) definition.Span {
	text := d.Text[s.Start:s.End]
	if len(text) < 2 || text[len(text)-1] != text[0] || !strings.ContainsAny(text[:1], `"'`) {
		return s
	}
	return definition.Span{Start: s.Start + 1, End: s.End - 1}
}
