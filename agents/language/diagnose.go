package language

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/template"
)

// Diagnose returns what is wrong with a file (spec 1.5), in the order of its
// text: what the file alone tells, and what the other agents make wrong with it.
// What the settings tell (models, servers and their tools) is told where the file
// was opened with what is installed (definition.Source).
// The caller must not change the slice.
func Diagnose(w *World, f *File) []definition.Problem {
	if w.Agents == nil {
		return f.Definition.Problems
	}
	return w.Agents.FindingsIn(f.Definition)
}

// The kinds of actions, as LSP names them.
const (
	QuickFix = "quickfix"
	FixAll   = "source.fixAll.agentls"
	Write    = "refactor.rewrite.agentls"
)

// Action is something that can be done to a file at a place (textDocument/codeAction).
type Action struct {
	// A command, as a menu shows it.
	Title string
	Kind  string // QuickFix, FixAll or Write
	// It is whole: no command has to follow.
	Edit      WorkspaceEdit
	Problems  []definition.Problem // that it fixes
	Preferred bool                 // the one that is certainly meant
}

// Actions returns what can be done about the findings in a range, or, where it is a cursor
// that is on none, of its line: their fixes, the likeliest first, in the order of the
// findings; then one that makes all fixes of the file that are certain; and for an empty
// file, the templates. only are the kinds that are asked for, each with those below it;
// none is all. Fixes that need other files (an agent's rename, a new agent, the settings)
// are whole edits of these, too.
//
// At most maxMended findings are looked at, and those behind maxReread of reading get only
// fixes that need none: editors ask at each move of the cursor.
func Actions(w *World, s Sources, f *File, r definition.Range, only []string) []Action {
	wanted := func(kind string) bool {
		return len(only) == 0 || slices.ContainsFunc(only, func(k string) bool {
			return kind == k ||
				strings.HasPrefix(kind, k+".")
		})
	}
	var actions []Action
	problems := Diagnose(w, f)
	problems = problems[:min(len(problems), maxMended)]
	if wanted(QuickFix) {
		at := func(r definition.Range) []definition.Problem {
			return slices.DeleteFunc(slices.Clone(problems), func(p definition.Problem) bool {
				return !overlaps(p.Range,
					r)
			})
		}
		touched := at(r)
		if len(touched) == 0 && r.Start == r.End { // a cursor that went to the line stands at its begin
			start := f.Index.Offset(definition.Position{Line: r.Start.Line})
			touched = at(f.Index.Range(definition.Span{Start: start, End: f.lineEnd(start)}))
		}
		// Each finding up to this one may have the file read again.
		for i, p := range touched {
			actions = append(actions, fixesOf(w, s, f, p, (i+1)*(len(f.Text)+rereadCost) <= maxReread)...)
		}
	}
	if wanted(FixAll) {
		if all, ok := fixAll(f, problems); ok {
			actions = append(actions, all)
		}
	}
	if wanted(Write) && f.empty() {
		name, whole := nameOfFile(f.Path), f.Index.Range(definition.Span{End: len(f.Text)})
		for _, t := range w.Templates {
			if t.Problem == "" && len(t.Text) > 0 {
				text := Item{Insert: fileSnippet(string(t.Text), name), Snippet: true}.Plain()
				actions = append(actions, Action{Title: "Write the template " + t.Name, Kind: Write,
					Edit: WorkspaceEdit{Edits: []Edit{{f.URI, whole, text}}}})
			}
		}
	}
	return actions
}

// maxMended is for how many findings of a file there are actions: the first ones.
const maxMended = 200

// overlaps reports whether two ranges have a place in common, their ends
// included: a cursor behind a word is on it.
func overlaps(a, b definition.Range) bool {
	return !before(a.End, b.Start) && !before(b.End, a.Start)
}

// maxReread is how much one question may read again for its fixes, in bytes: the
// file for each finding, and rereadCost, about what another one takes.
const (
	maxReread  = 512 << 10
	rereadCost = 8 << 10
)

// fixesOf returns the fixes of one finding; reread allows those that read the
// file again, or others.
// The preferred one is certain, or what the finding itself says was meant. A fix that
// would break what is right elsewhere in the file is offered and not preferred.
func fixesOf(w *World, s Sources, f *File, p definition.Problem, reread bool) []Action {
	var actions []Action
	add := func(title string, edit WorkspaceEdit, preferred bool) {
		if len(edit.Edits)+len(edit.Renames)+len(edit.Creates) > 0 {
			actions = append(actions, Action{Title: title, Kind: QuickFix, Edit: edit,
				Problems: []definition.Problem{p}, Preferred: preferred})
		}
	}
	fixes := f.Tree.Fixes(f.Index, f.Path, p)
	for i, fix := range fixes {
		preferred := fix.Sure || (i == 0 && p.Meant != "" && reread)
		if preferred && reread && f.hurt(fix.Edits) {
			preferred = false
		}
		switch {
		case fix.Rename != "":
			next := filepath.Join(filepath.Dir(f.Path), fix.Rename+".md")
			if s.Exists == nil || !s.Exists(next) {
				add(fix.Title, WorkspaceEdit{Renames: []Rename{{f.URI, s.uri(next)}}}, preferred)
			}
		case fix.Create != "" && reread:
			if created, ok := newTarget(w, s, f, fix.Create); ok {
				add(fix.Title, created, false)
			}
		case fix.Configure != "":
			if w.Configure != nil {
				if edit, ok := w.Configure(f.Folder, fix.Configure); ok {
					add(fix.Title, edit, false)
				}
			}
		case p.Code == "agent/file-name" && len(fix.Edits) == 1:
			// What names the agent goes with it.
			if s.All != nil {
				s = s.All()
			}
			// An agent that cannot be renamed has no such fix.
			if edit, err := RenameAgent(w, s, f, f.Definition.NameRange.Start,
				strings.Trim(fix.Edits[0].Text, `"`)); err == nil {
				add(fix.Title, edit, false)
			}
		default:
			add(fix.Title, WorkspaceEdit{Edits: editsOf(f, fix)}, preferred)
		}
	}
	if reread && (p.Code == "agent/handoff-target" || p.Code == "agent/handoff-cycle") {
		if edit, name, ok := withoutHandoff(f, p.Range); ok {
			add("Remove the handoff to "+name, WorkspaceEdit{Edits: []Edit{edit}}, false)
		}
	}
	return actions
}

// hurt reports whether edits give a file an error that it does not have. It reads the
// edited text as a whole, which is what maxReread limits.
func (f *File) hurt(edits []definition.Edit) bool {
	src := f.source
	src.Data = []byte(definition.Apply(f.Text, edits))
	return definition.Worse(f.Definition, definition.Parse(src))
}

// editsOf returns the edits of a fix as those of the file.
func editsOf(f *File, fix definition.Fix) []Edit {
	var edits []Edit
	for _, e := range fix.Edits {
		edits = append(edits, Edit{f.URI, e.Range, e.Text})
	}
	return edits
}

// newTarget returns the file of an agent that is missing, beside the file that
// names it: of the template of its name, else of the blank one.
// It is false where the agent would not be valid, or something lies at its path.
func newTarget(w *World, s Sources, f *File, name string) (WorkspaceEdit, bool) {
	answers := Answers{Name: name, Dir: filepath.Dir(f.Path), Folder: f.Folder, Scope: f.Scope}
	// The last one found wins: the template of the agent's own name.
	for _, wanted := range []string{"blank", name} {
		if i := slices.IndexFunc(w.Templates, func(t template.Template) bool {
			return t.Name == wanted &&
				t.Problem == ""
		}); i >= 0 {
			answers.Template = &w.Templates[i]
		}
	}
	made, err := New(w, answers)
	if err != nil || (s.Exists != nil && s.Exists(made.Path)) {
		return WorkspaceEdit{}, false
	}
	return WorkspaceEdit{Creates: []Create{{s.uri(made.Path), made.Text}}}, true
}

// fixAll puts all fixes together that are certain; of two that overlap the first is made.
// Should they hurt each other after all, the text is repaired as a whole instead, and its
// difference is the edit. False is nothing to fix.
func fixAll(f *File, problems []definition.Problem) (Action, bool) {
	all := Action{Title: "Fix all that is certain", Kind: FixAll}
	var taken []definition.Span
	var made []definition.Edit
	for _, p := range problems {
		for _, fix := range f.Tree.Fixes(f.Index, f.Path, p) {
			if !fix.Sure || len(fix.Edits) == 0 {
				continue
			}
			var spans []definition.Span
			for _, e := range fix.Edits {
				spans = append(spans, definition.Span{Start: f.Index.Offset(e.Range.Start),
					End: f.Index.Offset(e.Range.End)})
			}
			if slices.ContainsFunc(spans, func(s definition.Span) bool {
				return slices.ContainsFunc(taken, func(other definition.Span) bool { return collide(s, other) })
			}) {
				continue
			}
			taken = append(taken, spans...)
			made = append(made, fix.Edits...)
			all.Problems = append(all.Problems, p)
			break
		}
	}
	if len(made) > 0 && f.hurt(made) {
		src := f.source
		src.Data = []byte(f.Text)
		made, all.Problems = definition.Difference(f.Text, definition.FixAll(src)), nil
	}
	all.Edit.Edits = editsOf(f, definition.Fix{Edits: made})
	slices.SortStableFunc(all.Edit.Edits, func(a, b Edit) int {
		return compareLocations(Location{a.URI, a.Range},
			Location{b.URI, b.Range})
	})
	return all, len(all.Edit.Edits) > 0
}

// collide reports whether two edits of a file cannot be made together. Two that
// insert at one place can, in their order.
func collide(a, b definition.Span) bool {
	if a.Start == a.End && b.Start == b.End {
		return false
	}
	return (a.Start < b.End && b.Start < a.End) || a == b
}

// withoutHandoff returns the edit that takes the handoff away whose target stands at a
// range; with the last one goes the field. It returns the target's name too. The text is
// read again without it: where anything else changes with it, there is no edit.
func withoutHandoff(f *File, at definition.Range) (Edit, string, bool) {
	list := f.Tree.Root.Get("handoffs")
	if list == nil || list.Kind != definition.List {
		return Edit{}, "", false
	}
	target := definition.Span{Start: f.Index.Offset(at.Start), End: f.Index.Offset(at.End)}
	i := slices.IndexFunc(list.Items, func(v definition.Value) bool {
		to := v.Get("to")
		return to != nil && to.Span == target
	})
	if i < 0 {
		return Edit{}, "", false
	}
	span, ok := entrySpan(f, list, i)
	if !ok {
		return Edit{}, "", false
	}
	text := f.Text[:span.Start] + f.Text[span.End:]
	after, fine := definition.ReadTree(f.Path, text)
	rest := after.Root.Get("handoffs")
	switch {
	// The field goes with its only handoff, and no other key may.
	case !fine || after.Repaired != f.Tree.Repaired ||
		len(after.Root.Keys) != len(f.Tree.Root.Keys)-b2i(len(list.Items) == 1):
		return Edit{}, "", false
	case len(list.Items) > 1 && (rest == nil || len(rest.Items) != len(list.Items)-1):
		return Edit{}, "", false
	}
	return Edit{f.URI, f.Index.Range(span), ""}, list.Items[i].Get("to").Text, true
}

// b2i is 1 for true.
func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// entrySpan returns what is to be cut out of a file with the entry of a list of a field of
// the top: its lines, or what is between its commas; the whole field for the only entry.
// False is an entry that cannot be cut out in such a way, as one that shares its line.
func entrySpan(f *File, list *definition.Value, i int) (definition.Span, bool) {
	text := f.Text
	if len(list.Items) == 1 {
		for k := range f.Tree.Root.Keys {
			if &f.Tree.Root.Items[k] == list || f.Tree.Root.Items[k].Span == list.Span {
				start := f.Tree.Root.Keys[k].Start
				return wholeLineSpan(text, start, list.End)
			}
		}
		return definition.Span{}, false
	}
	item := list.Items[i]
	if text[list.Start] == '[' {
		if i+1 < len(list.Items) {
			return definition.Span{Start: item.Start, End: list.Items[i+1].Start}, true
		}
		return definition.Span{Start: list.Items[i-1].End, End: item.End}, true
	}
	return wholeLineSpan(text, item.Start, item.End)
}

// wholeLineSpan returns the lines from one that holds start to one that holds
// end, if nothing else stands before start but blanks and a dash.
// The ending of the last one belongs to them, so that they can be cut out.
func wholeLineSpan(text string, start, end int) (definition.Span, bool) {
	line := lineStart(text, start)
	if strings.Trim(text[line:start], " -") != "" {
		return definition.Span{}, false
	}
	if i := strings.IndexAny(text[end:], "\r\n"); i >= 0 {
		end += i
		end += len(lineEnding(text, end, ""))
	} else {
		end = len(text)
	}
	return definition.Span{Start: line, End: end}, true
}
