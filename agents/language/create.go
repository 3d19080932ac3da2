package language

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/template"
	"github.com/agentls/agentls/internal/fault"
)

// Answers are what a new agent file is made from (spec 1.6), by whichever way
// they were given: asked for, as flags, or as parameters of agents/create.
type Answers struct {
	// The agent's name, and its file's.
	Name     string
	Template *template.Template // nil = a file with no more than the answers
	// Fields are the front-matter's fields that are other than the template's, by
	// the keys of spec 1.2, as encoding/json decodes them. Objects are merged key by
	// key; nil takes a field away. A name among them does not count.
	Fields map[string]any
	Prompt string // the body; "" = the template's

	Dir    string // the folder of agent files that it is written to, absolute
	Folder string // the workspace folder of a project agent, absolute; else ""
	// Where the file is to lie, which counts for what its names mean.
	Scope definition.Scope
	Force bool // a file that is there is replaced

	// Model and Installed are those of definition.Source.
	Model     func(name string) (string, bool)
	Installed definition.Installed
}

// Made is an agent file that can be written.
// It is nowhere yet: who asked writes it.
type Made struct {
	Path     string // in the folder, called after the agent
	Text     string
	Problems []definition.Problem // warnings and hints
}

// createOp names the operation in errors.
const createOp = "language.create"

// New returns the file of a new agent: the template's text with the answers in the place
// of its fields, and the rest of it as it is, comments too. Keys are in the order of the
// field table. A handoff of the template to an agent that there is not is left out.
// Nothing is written.
//
// Errors, before anything could be written: fault.Invalid with the reason InvalidAgent and
// the data problems for an agent that would have an error, and fault.Invalid for a name
// that another file of the folder has, or, without Force, this one. The text was read
// again, so it says what the answers say.
func New(w *World, a Answers) (Made, error) {
	if err := CheckName(a.Name); err != nil {
		return Made{}, err
	}
	made := Made{Path: filepath.Join(a.Dir, a.Name+".md")}
	if err := w.checkFree(a, made.Path); err != nil {
		return Made{}, err
	}
	text := "---\nkind: agent\nname: " + a.Name + "\n---\n"
	var own map[string]any // what the template says
	if a.Template != nil {
		text = string(a.Template.Text)
		own = definition.Parse(definition.Source{Scope: definition.Global, Data: a.Template.Text}).FrontMatter()
	}
	fields := map[string]any{"kind": "agent", "name": a.Name}
	maps.Copy(fields, a.Fields)
	fields["name"] = a.Name
	// A template that has a kind keeps it.
	if _, given := a.Fields["kind"]; !given && own["kind"] != nil {
		delete(fields, "kind")
	}
	if _, given := a.Fields["title"]; !given {
		fields["title"] = titleOf(a.Name)
	}
	for _, key := range keysInOrder(fields, "") {
		var err error
		if text, err = setField(text, key, mergeAnswers(own[key], fields[key])); err != nil {
			return Made{}, fault.New(fault.Invalid, createOp, "the template of %s cannot be changed: %w", a.Name, err)
		}
	}
	if a.Prompt != "" {
		if t, ok := definition.ReadTree("", text); ok {
			text = text[:t.Body.Start] + strings.TrimRight(a.Prompt, " \t\r\n") + "\n"
		}
	}
	open := func() *File {
		return Open(definition.Source{Path: made.Path, Folder: a.Folder, Scope: a.Scope, Data: []byte(text),
			Model: a.Model, Installed: a.Installed})
	}
	f := open()
	// A template may hand over to agents that are not here. The last is taken away first, so
	// that the places of those before it stay true.
	for _, h := range slices.Backward(f.Definition.Handoffs) {
		if _, given := a.Fields["handoffs"]; given || w.Agents == nil || h.To == "user" ||
			w.lookup(a.Folder, a.Scope, h.To) != nil {
			continue
		}
		if edit, _, ok := withoutHandoff(f, h.Range); ok {
			text = text[:f.Index.Offset(edit.Range.Start)] + text[f.Index.Offset(edit.Range.End):]
			f = open()
		}
	}
	text = formatText(f)
	f = open()
	made.Text = text
	err := made.judge(a.Name, f.Definition.Problems)
	return made, err
}

// checkFree returns why no agent of that name can lie at path.
// It asks the catalogue alone: who writes the file asks the disk and the editor.
// nil also where the catalogue is not known.
func (w *World) checkFree(a Answers, path string) error {
	if w.Agents == nil {
		return nil
	}
	for _, e := range w.Agents.Entries() {
		switch d := e.Definition; {
		case d.Path == path && !a.Force:
			return fault.New(fault.Invalid, createOp,
				"%s is there already; choose another name, or replace it with force", path)
		case d.Path != path && d.Name == a.Name && d.Path != "" && filepath.Dir(d.Path) == a.Dir:
			return fault.New(fault.Invalid, createOp, "the name %s is taken by %s; choose another", a.Name,
				filepath.Base(d.Path))
		}
	}
	return nil
}

// judge keeps the problems of what was made that are no errors, and returns the errors as
// one. With an error nothing was made: *m is zero then.
func (m *Made) judge(name string, problems []definition.Problem) error {
	var bad []definition.Problem
	var why []string
	for _, p := range problems {
		if p.Severity != definition.Error {
			m.Problems = append(m.Problems, p)
			continue
		}
		bad = append(bad, p)
		message, _, _ := strings.Cut(p.Message, " It is left out") // here nothing is
		why = append(why, strings.TrimSuffix(message, "."))
	}
	if len(bad) == 0 {
		return nil
	}
	*m = Made{}
	return fault.New(fault.Invalid, createOp, "the agent %s would not be valid: %s", name,
		strings.Join(why, "; ")).Because(fault.InvalidAgent, "problems", bad)
}

// mergeAnswers puts an answer over what the template has: objects key by key, in which nil
// takes a key away, and everything else as a whole.
// Neither of the two is changed.
func mergeAnswers(own, answer any) any {
	before, isObject := own.(map[string]any)
	after, too := answer.(map[string]any)
	if !isObject || !too {
		return answer
	}
	all := maps.Clone(before)
	for key, value := range after {
		if value == nil {
			delete(all, key)
			continue
		}
		all[key] = mergeAnswers(before[key], value)
	}
	return all
}

// keysInOrder returns the keys of an object in the table's order; those that it
// does not have come last, by name.
func keysInOrder(object map[string]any, path string) []string {
	keys := slices.Sorted(maps.Keys(object))
	slices.SortStableFunc(keys, func(a, b string) int {
		return rankOf(childPath(path,
			a)) - rankOf(childPath(path, b))
	})
	return keys
}

// setField writes a field of the top into the text of a file; nil takes it away. A value
// of one line takes the place of the old value alone, so that a comment beside it stays;
// any other replaces the lines of the field. A new field is added before the closing line.
func setField(text, key string, value any) (string, error) {
	t, ok := definition.ReadTree("", text)
	if !ok || t.Root.Kind != definition.Mapping || (t.Root.Start < t.Root.End && text[t.Root.Start] == '{') {
		return "", fmt.Errorf("its front-matter cannot be read, or is not written in lines")
	}
	eol := eolOf(text)
	var lines string
	if value != nil {
		lines = key + ":" + strings.ReplaceAll(yamlValue(value, key, 0), "\n", eol) + eol
	}
	for i := range t.Root.Keys {
		if t.Root.Keys[i].Name != key {
			continue
		}
		v := &t.Root.Items[i]
		if rest, one := strings.CutPrefix(strings.TrimRight(lines, "\r\n"), key+": "); one &&
			v.Kind != definition.List && v.Kind != definition.Mapping && v.Start < v.End &&
			!strings.ContainsAny(text[v.Start:v.End], "\r\n|>") {
			return text[:v.Start] + rest + text[v.End:], nil // a comment beside it stays
		}
		// A value of several lines, or of another shape, is replaced with all lines of the field.
		span, ok := wholeLineSpan(text, t.Root.Keys[i].Start, max(t.Root.Keys[i].End, t.Root.Items[i].End))
		if !ok {
			return "", fmt.Errorf("its field %s is not written in lines", key)
		}
		return text[:span.Start] + lines + text[span.End:], nil
	}
	return text[:t.Close.Start] + lines + text[t.Close.Start:], nil
}

// maxFlow is how long a list on one line is, in bytes.
const maxFlow = 100

// yamlValue returns a value as it follows a key and its colon.
// A list of scalars that is short stands in brackets on the line, everything else on
// lines of its own, indent further in by two. Keys come in the order of the field
// table, so the same answers give the same file.
func yamlValue(value any, path string, indent int) string {
	switch v := value.(type) {
	case string:
		return " " + definition.YAMLText(v)
	case []string:
		list := make([]any, len(v))
		for i := range v {
			list[i] = v[i]
		}
		return yamlValue(list, path, indent)
	case map[string]any:
		if len(v) == 0 {
			return " {}"
		}
		var b strings.Builder
		for _, key := range keysInOrder(v, path) {
			b.WriteString("\n" + strings.Repeat(" ", indent+2) + definition.YAMLText(key) + ":" +
				yamlValue(v[key], childPath(path, key), indent+2))
		}
		return b.String()
	case []any:
		simple := !slices.ContainsFunc(v, func(item any) bool {
			switch item.(type) {
			case map[string]any, []any:
				return true
			}
			return false
		})
		var b strings.Builder
		if simple {
			for i, item := range v {
				if i > 0 {
					b.WriteString(",")
				}
				b.WriteString(yamlValue(item, path, indent))
			}
			if b.Len() <= maxFlow {
				return " [" + strings.TrimPrefix(b.String(), " ") + "]"
			}
			b.Reset()
		}
		for _, item := range v {
			object, isObject := item.(map[string]any)
			if !isObject || len(object) == 0 {
				b.WriteString("\n" + strings.Repeat(" ", indent+2) + "-" + yamlValue(item, path+"[]", indent+2))
				continue
			}
			for i, key := range keysInOrder(object, path+"[]") {
				mark := "- "
				if i > 0 {
					mark = "  "
				}
				b.WriteString("\n" + strings.Repeat(" ", indent+2) + mark + definition.YAMLText(key) + ":" +
					yamlValue(object[key], path+"[]."+key, indent+4))
			}
		}
		return b.String()
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return " null"
	}
	return " " + string(encoded)
}
