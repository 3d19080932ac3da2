package language

// What an editor shows between the lines: hints and lenses.

import (
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/registry"
)

// Hint is a text that is shown behind a position (spec 2.9). A space is to be
// before it.
type Hint struct {
	Position definition.Position
	Label    string // plain text
	Tooltip  string // Markdown; "" = none
}

// Lens is a command above a range.
type Lens struct {
	Range   definition.Range
	Title   string
	Command string // of workspace/executeCommand, or one that the wiring adds
	Args    []any  // strings, and uint32
}

// The commands of lenses. CommandRun and CommandShowTranscript are those of spec
// 2.6.
const (
	CommandRun            = "agentls.run"            // [agent, prompt?]; the agent as name or folder:name
	CommandRunInline      = "agentls.runInline"      // [uri, line, typed]
	CommandValidate       = "agentls.validate"       // [uri]
	CommandShowTranscript = "agentls.showTranscript" // []
)

// Hints returns what stands between the lines in a range, in the order of the
// text: behind model, tools and the closing line what the file does not say
// itself, which is the model after aliases and inheritance, the tools after every
// filter with the tokens of their schemas, the tokens of the prompt; behind the
// name what has no line of its own, and the worst case of a run ([World.Worst]).
// A file that cannot run has those of its prompt only.
func Hints(w *World, f *File, in definition.Range) []Hint {
	tree, d := f.Tree, f.Definition
	// A front-matter that is being written has no hints.
	if tree.Close == (definition.Span{}) {
		return nil
	}
	var found []Hint
	add := func(offset int, label, tooltip string) {
		if label == "" {
			return
		}
		if at := f.Index.Position(offset); !before(at, in.Start) && !before(in.End, at) {
			found = append(found, Hint{at, label, tooltip})
		}
	}
	usable, _ := d.Usable()
	if tree.Root != nil && usable {
		var about []string
		behind := func(field, label, tooltip string) {
			v := tree.Root.Get(field)
			switch key, ok := keyNamed(tree.Root, field); {
			case v != nil && ok:
				add(f.hintPlace(key, v), label, tooltip)
			case label != "":
				about = append(about, label)
			}
		}
		label, tooltip := modelHint(f, w)
		behind("model", label, tooltip)
		label, tooltip = toolsHint(d, w)
		behind("tools", label, tooltip)
		if w.Worst != nil {
			if worst := w.Worst(d); worst != "" {
				about = append(about, worst)
			}
		}
		if v := tree.Root.Get("name"); v != nil && len(about) > 0 {
			key, _ := keyNamed(tree.Root, "name")
			add(f.hintPlace(key, v), strings.Join(about, " · "), "")
		}
	}
	if prompt := model.EstimateTokens(d.Prompt); prompt > 0 {
		add(tree.Close.End, "≈ "+tokens(prompt), "What the prompt takes of each request, about.")
	}
	sortHints(found)
	return found
}

// before reports whether a comes before b.
func before(a, b definition.Position) bool {
	return a.Line < b.Line || (a.Line == b.Line && a.Character < b.Character)
}

// sortHints puts the few hints of a file in the order of the text. Hints of one place keep
// their order.
func sortHints(hints []Hint) {
	for i := 1; i < len(hints); i++ {
		for j := i; j > 0 && before(hints[j].Position, hints[j-1].Position); j-- {
			hints[j], hints[j-1] = hints[j-1], hints[j]
		}
	}
}

// keyNamed returns the key of a mapping.
// false = it has no such key.
func keyNamed(v *definition.Value, name string) (definition.Key, bool) {
	for _, k := range v.Keys {
		if k.Name == name {
			return k, true
		}
	}
	return definition.Key{}, false
}

// hintPlace returns the offset of a hint about a field: behind a value that is on its
// key's line, else behind the key's colon.
func (f *File) hintPlace(key definition.Key, v *definition.Value) int {
	if end := f.lineEnd(key.End); v.Start < v.End && v.Start <= end && v.End <= end {
		return v.End
	}
	at := key.End
	for at < len(f.Text) && f.Text[at] == ' ' {
		at++
	}
	if at < len(f.Text) && f.Text[at] == ':' {
		return at + 1
	}
	return key.End
}

// modelHint tells the model that runs, where the file does not name it itself; "" where it
// does, or where it depends on each request.
func modelHint(f *File, w *World) (label, tooltip string) {
	d := f.Definition
	id := resolveModel(w, d)
	if id == "inherit" || id == model.Auto {
		return "", ""
	}
	if v := f.Tree.Root.Get("model"); v != nil && v.Text == id {
		return "", ""
	}
	return id, describeModel(w, id)
}

// toolsHint tells how many tools a model is offered, and what they cost.
// The label is "" where no tools are known. The tooltip has their names.
func toolsHint(d *definition.Definition, w *World) (label, tooltip string) {
	if len(w.Tools) == 0 {
		return "", ""
	}
	names := w.offeredTools(d)
	label = plural(len(names), "tool")
	total := 0
	for _, name := range names {
		if t, ok := w.tool(name); ok {
			total += t.Tokens
		}
	}
	if total > 0 {
		label += ", " + tokens(total)
	}
	return label, escape(strings.Join(names, ", "))
}

// offeredTools returns the tools that a model is offered for an agent: what
// [World.Offered] says, else what the file's own lists leave of all tools.
// The second answer knows neither trust nor settings, and is for a world without an
// explanation.
func (w *World) offeredTools(d *definition.Definition) []string {
	if w.Offered != nil {
		return w.Offered(d)
	}
	matches := func(patterns []string, name string) bool {
		for _, p := range patterns {
			if definition.MatchTool(p, name) {
				return true
			}
		}
		return false
	}
	names := make([]string, 0, len(w.Tools))
	for _, t := range w.Tools {
		if !matches(d.Tools.Deny, t.Name) && (!d.Tools.Given || matches(d.Tools.Allow, t.Name)) {
			names = append(names, t.Name)
		}
	}
	return names
}

// Lenses returns what stands above a file: Run, Validate and how the last run
// went. An agent that cannot run has no Run, nor has one that only agents call.
// All are on the opening line.
func Lenses(w *World, f *File) []Lens {
	d := f.Definition
	here := f.Index.Range(f.Tree.Open)
	var lenses []Lens
	if usable, _ := d.Usable(); usable && d.UserInvocable && d.Name != "" {
		// Run starts the agent that the name means, which may be another file's.
		if e := w.agent(f.Folder, d.Name); e != nil && e.Definition.Path == f.Path {
			lenses = append(lenses, Lens{here, "Run", CommandRun, []any{w.only(e)}})
		}
	}
	lenses = append(lenses, Lens{here, "Validate", CommandValidate, []any{f.URI}})
	if w.Last != nil && d.Name != "" {
		if last := w.Last(d); last != "" {
			lenses = append(lenses, Lens{here, "Last run " + last, CommandShowTranscript, []any{}})
		}
	}
	return lenses
}

// only returns what names an agent and no other, wherever it is said: its name,
// and its folder before it where another agent is called so too.
func (w *World) only(e *registry.Entry) string {
	d := e.Definition
	if d.Scope == definition.Project && slices.ContainsFunc(w.Agents.Entries(),
		func(other *registry.Entry) bool { return other != e && other.Definition.Name == d.Name }) {
		return d.Folder + ":" + d.Name
	}
	return d.Name
}
