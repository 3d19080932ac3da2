package definition

// What fixes a finding: edits of the file's text at lines and columns, never a
// file written anew.

import (
	"slices"
	"strings"
)

// Edit puts Text in the place of Range.
// The positions are those of the text before any of the edits.
type Edit struct {
	Range Range
	Text  string
}

// Fix is one way to fix a [Problem]. Of Edits, Rename, Create and Configure one
// is given.
type Fix struct {
	Title     string // what it does, as a command: Add kind: agent
	Edits     []Edit // of the problem's file; none overlap
	Rename    string // the new stem of the problem's file, without .md
	Create    string // the agent that is to be created
	Configure string // the MCP server that is to be described in the settings
	// Sure: it says what the file says already, so that it may be applied
	// without being asked for, with all others that are sure.
	Sure bool
}

// Apply returns a text with edits made, none of which overlap.
// Edits may be in any order; they are not changed. A position that is not in the
// text is moved to the nearest place that is.
func Apply(text string, edits []Edit) string {
	x := NewIndex(text)
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int {
		switch {
		case before(a.Range.Start, b.Range.Start):
			return -1
		case before(b.Range.Start, a.Range.Start):
			return 1
		}
		return 0
	})
	var b strings.Builder
	from := 0
	for _, e := range edits {
		// Where edits overlap all the same, the one behind begins where the one before it ends.
		start := max(from, x.Offset(e.Range.Start))
		b.WriteString(text[from:start])
		b.WriteString(e.Text)
		from = max(start, x.Offset(e.Range.End))
	}
	b.WriteString(text[from:])
	return b.String()
}

// fixer is one problem with the file that it is in.
// It is used for one problem.
//
// The fixes go by the problem's code and, where one code has several meanings, by the
// words of its message; TestFixes holds the two together.
type fixer struct {
	*Tree
	index   *Index
	problem Problem
	span    Span   // of the problem
	eol     string // how the file ends its lines
	// The file's name without .md.
	stem string
	// Found so far, the likeliest first.
	fixes []Fix
}

// Fixes returns what fixes a problem, the likeliest first. The path and the text
// are of the file that it was found in; the problem's range, code and Meant are
// looked at. nil: only a person knows.
// The caller owns them. A fix that renames, creates or configures is for the
// caller to do.
func Fixes(path, text string, p Problem) []Fix {
	tree, _ := ReadTree(path, text)
	return tree.Fixes(NewIndex(text), path, p)
}

// Fixes is [Fixes] for who has the tree and the index of the text.
func (t *Tree) Fixes(x *Index, path string, p Problem) []Fix {
	f := &fixer{Tree: t, index: x, problem: p, stem: stem(path), eol: "\n"}
	f.span = Span{x.Offset(p.Range.Start), x.Offset(p.Range.End)}
	// The first line's end stands for all.
	if end := lineEnd(t.Text, 0); end < len(t.Text) && t.Text[end] == '\r' {
		f.eol = t.Text[end:nextLine(t.Text, end)]
	}
	f.find()
	return f.fixes
}

// find notes the fixes of the problem.
// The fix that is likeliest comes first. One that removes something a person may
// be typing is never among those that are made all at once.
func (f *fixer) find() {
	switch f.problem.Code {
	case "agent/yaml":
		f.close()
	case "agent/yaml-repaired":
		f.repair()
	case "agent/missing-field":
		f.missing()
	case "agent/file-name":
		f.rename()
	case "agent/name":
		f.rewriteName()
	case "agent/type":
		f.quote()
		f.reshape()
	case "agent/unknown-field":
		f.fixField()
	case "agent/model-retired":
		if f.problem.Meant != "" {
			f.replace(f.problem.Meant, true)
		}
	case "agent/model-unknown":
		f.replaceMeant()
		f.replace("inherit", false)
	case "agent/tool-unknown":
		f.replaceMeant()
		if denied := strings.Contains(f.problem.Message, "is denied by that name"); !denied && !f.removeWord() {
			// Not at once with all others: it may be half typed, or come with a server.
			f.remove(false)
		}
	case "agent/no-effect", "agent/authority":
		f.removeField()
	case "agent/tool-conflict":
		f.remove(true)
	case "agent/mcp-unknown":
		f.replaceMeant()
		f.add(Fix{Title: "Describe the MCP server " + f.text() + " in the settings", Configure: f.text()})
		f.remove(false)
	case "agent/graph", "agent/validator":
		f.replaceMeant()
	case "agent/handoff-target", "agent/subagent-unknown":
		f.replaceMeant()
		if name := f.text(); validName(name) && !reservedName(name) &&
			!strings.HasPrefix(f.problem.Message, "An agent cannot") {
			f.add(Fix{Title: "Create the agent " + name, Create: name})
		}
	case "agent/dialect":
		if f.problem.Meant != "" {
			f.replace(f.problem.Meant, true)
		} else if strings.HasPrefix(f.problem.Message, "A plain list of tools") {
			f.allow()
		}
	case "agent/yaml-feature":
		f.anchor()
	case "agent/prompt-twice":
		f.removePrompt()
	case "agent/placeholder":
		f.placeholder()
	case "agent/hidden-text":
		f.add(Fix{Title: "Remove the hidden characters", Edits: []Edit{f.edit(f.span, "")}})
	}
}

// rewriteName offers names that are allowed.
func (f *fixer) rewriteName() {
	if s := slug(f.text()); s != "" && !reservedName(s) && s != f.text() {
		f.replace(s, false)
	}
	// In a file without a name the finding is at the opening line, where there is nothing
	// to replace.
	if s := slug(f.stem); s != "" && !reservedName(s) && validName(f.stem) && f.span != f.Open {
		f.replace(s, false)
	}
}

// fixField offers the key that was meant, or to remove one that says nothing.
// Nothing is removed where a key may be meant: only what is there twice goes.
func (f *fixer) fixField() {
	// Findings have no mark of their cause but their words: those of again and unknown
	// are looked for here, so both places change together.
	if in, _ := f.holder(f.Root, f.span); f.problem.Meant != "" {
		if in.Get(f.problem.Meant) == nil { // else it would be there twice
			f.replace(f.problem.Meant, false)
		}
	} else if strings.Contains(f.problem.Message, " is there already") {
		if edit, ok := f.withoutKey(f.span); ok {
			f.add(Fix{Title: "Remove " + f.text(), Edits: []Edit{edit}})
		}
	} else if strings.Contains(f.problem.Message, " says the same as ") {
		if edit, ok := f.withoutKey(f.span); ok {
			f.add(Fix{Title: "Remove " + f.text(), Edits: []Edit{edit}, Sure: true})
		}
	}
}

// removeField removes a key, or a word of its value.
func (f *fixer) removeField() {
	key := f.span
	if in, _ := f.holder(f.Root, key); in != nil && len(in.Keys) == 1 {
		key = f.keyOf(in) // else nothing would be left under it
	}
	if edit, ok := f.withoutKey(key); ok {
		f.add(Fix{Title: "Remove " + f.text(), Edits: []Edit{edit}})
	} else if !f.removeWord() {
		f.remove(false)
	}
}

// removePrompt removes a prompt that has no effect.
func (f *fixer) removePrompt() {
	for _, name := range []string{"systemPrompt", "system_prompt", "prompt"} {
		if v := f.Root.Get(name); v != nil && v.Span == f.span {
			if edit, ok := f.withoutKey(f.keyOf(v)); ok {
				f.add(Fix{Title: "Remove " + name + ", which has no effect", Edits: []Edit{edit}, Sure: true})
			}
		}
	}
}

// replaceMeant offers the word that was meant, if one is known.
func (f *fixer) replaceMeant() {
	if f.problem.Meant != "" {
		f.replace(f.problem.Meant, false)
	}
}

// text is what the problem's range holds, without quotes.
func (f *fixer) text() string { return trimQuotes(f.Text[f.span.Start:f.span.End]) }

// add notes a fix; the likelier come first.
func (f *fixer) add(fix Fix) { f.fixes = append(f.fixes, fix) }

// edit puts a text in the place of a span.
func (f *fixer) edit(s Span, text string) Edit { return Edit{f.index.Range(s), text} }

// replace offers another text in the place of the problem's, in quotes where YAML
// needs them.
// The quotes of the old text are kept where it had some.
func (f *fixer) replace(text string, sure bool) {
	written := YAMLText(text)
	if old := f.Text[f.span.Start:f.span.End]; old != "" && written == text &&
		(old[0] == '"' || old[0] == '\'') && old != f.text() {
		written = old[:1] + text + old[:1]
	}
	f.add(Fix{Title: "Replace with " + text, Edits: []Edit{f.edit(f.span, written)}, Sure: sure})
}

// missing offers a field that is not there, with the value that counts without
// it.
// A name is not sure, as it changes what the agent is called; kind and title only say what
// counts already.
func (f *fixer) missing() {
	if f.Root == nil {
		return
	}
	switch m := f.problem.Message; {
	case strings.HasPrefix(m, "The field kind"):
		f.insert("kind", "agent", true)
	case strings.HasPrefix(m, "The field title"):
		name := f.Root.Get("name")
		if name == nil || f.Find("title") != nil {
			return
		}
		for _, key := range f.Root.Keys {
			if nearest(key.Name, []string{"title"}) != "" {
				return // it is there, and written wrong
			}
		}
		text := name.Text
		if inner, smart := typographic(text); smart {
			text = text[inner : len(text)-inner]
		}
		f.insert("title", titleOf(strings.TrimSpace(text)), true)
	case strings.HasPrefix(m, "The field name"):
		if s := slug(f.stem); s != "" && !reservedName(s) {
			f.insert("name", s, false)
		}
	}
}

// insert offers a field of the top: kind first, others after name or kind. A key
// that is there without a value gets it.
// Nothing is offered for a field that has a value, and in a front-matter in braces.
func (f *fixer) insert(name, value string, sure bool) {
	fix := Fix{Title: "Add " + name + ": " + value, Sure: sure}
	if v := f.Root.Get(name); v != nil {
		if v.Kind == Null {
			// From behind the colon, so that a null which is written out is replaced.
			fix.Edits = []Edit{f.edit(Span{f.keyOf(v).End + 1, max(v.End, f.keyOf(v).End+1)}, " "+YAMLText(value))}
			f.add(fix)
		}
		return
	}
	at, indent := f.Front.Start, ""
	if len(f.Root.Keys) > 0 {
		start := f.Root.Keys[0].Start
		line := f.lineStart(start)
		if indent = f.Text[line:start]; strings.Trim(indent, " ") != "" {
			return // in braces
		}
		for _, before := range []string{"name", "kind"} {
			if v := f.Root.Get(before); v != nil && name != "kind" {
				at = nextLine(f.Text, lineEnd(f.Text, v.End))
				break
			}
		}
	}
	fix.Edits = []Edit{f.edit(Span{at, at}, indent+name+": "+YAMLText(value)+f.eol)}
	f.add(fix)
}

// rename offers to give the file the agent's name, and the agent the file's.
func (f *fixer) rename() {
	name := strings.TrimSpace(f.text())
	if validName(name) && !reservedName(name) {
		f.add(Fix{Title: "Rename the file to " + name + ".md", Rename: name})
	}
	if validName(f.stem) && !reservedName(f.stem) {
		f.add(Fix{Title: "Rename the agent to " + f.stem, Edits: []Edit{f.edit(f.span, YAMLText(f.stem))}})
	}
}

// quote offers to write a number or a boolean as the text that is wanted.
func (f *fixer) quote() {
	// These are words of reportType.
	if strings.Contains(f.problem.Message, "write it in quotes") {
		f.add(Fix{Title: "Put it in quotes", Edits: []Edit{f.edit(f.span, `"`+f.Text[f.span.Start:f.span.End]+`"`)}})
	}
	if f.problem.Meant != "" {
		f.replace(f.problem.Meant, false)
	}
}

// remove offers to take an entry out of its list.
func (f *fixer) remove(sure bool) {
	if list, i := f.entry(); list != nil {
		if edit, ok := f.withoutEntry(list, i); ok {
			f.add(Fix{Title: "Remove " + f.text(), Edits: []Edit{edit}, Sure: sure})
		}
	}
}

// placeholder offers the input that is missing, and the text itself.
//
// Without inputs the finding is a hint, and nothing is offered.
func (f *fixer) placeholder() {
	text := f.Text[f.span.Start:f.span.End]
	name := strings.TrimSuffix(strings.TrimPrefix(text, "${"), "}")
	if f.problem.Severity != Error || len(text) != len(name)+3 {
		return
	}
	if inputs := f.Root.Get("inputs"); inputs != nil && len(inputs.Keys) > 0 {
		first := inputs.Keys[0].Start
		line := f.lineStart(first)
		// In braces another input would need a comma, and is not offered.
		if indent := f.Text[line:first]; indent != "" && strings.Trim(indent, " ") == "" {
			f.add(Fix{Title: "Add the input " + name, Edits: []Edit{f.edit(Span{line, line},
				indent+name+": {type: string, required: true}"+f.eol)}})
		}
	}
	f.add(Fix{Title: "Write $" + text + " for the text itself",
		Edits: []Edit{f.edit(Span{f.span.Start, f.span.Start}, "$")}})
}

// anchor offers to take an anchor away that no alias leads to.
//
// An anchor that stands before a key is left, as what it names cannot be told from the
// line.
func (f *fixer) anchor() {
	name, is := strings.CutPrefix(f.Text[f.span.Start:f.span.End], "&")
	if i := strings.IndexAny(name, " \t,[]{}"); i >= 0 {
		name = name[:i]
	}
	if !is || name == "" || strings.Contains(f.Text[f.Front.Start:f.Front.End], "*"+name) {
		return
	}
	if !strings.HasSuffix(strings.TrimRight(f.Text[f.lineStart(f.span.Start):f.span.Start], " "), ":") {
		return // it may belong to a key
	}
	end := f.span.Start + len("&"+name)
	for end < f.span.End && f.Text[end] == ' ' {
		end++
	}
	f.add(Fix{Title: "Remove the anchor " + name, Edits: []Edit{f.edit(Span{f.span.Start, end}, "")}, Sure: true})
}

// allow offers to write a plain list of tools as tools.allow, where its names
// mean the same there.
//
// A list with a name that is not known here is left alone: as tools.allow that would be an
// error.
func (f *fixer) allow() {
	list := f.Root.Get("tools")
	if list == nil || list.Kind != List || list.Span != f.span || len(list.Strings()) != len(list.Items) {
		return
	}
	for _, name := range list.Strings() {
		if _, known := CanonicalTool(name.Text); !known {
			return
		}
	}
	line := f.lineStart(list.Start)
	indent := f.Text[line:list.Start]
	switch {
	case f.Text[list.Start] == '[':
		f.add(Fix{Title: "Write it as tools.allow", Edits: []Edit{f.edit(Span{list.Start, list.Start}, "{allow: "),
			f.edit(Span{list.End, list.End}, "}")}})
	case indent != "" && strings.Trim(indent, " ") == "":
		f.add(Fix{Title: "Write it as tools.allow", Edits: []Edit{f.edit(Span{line, line}, indent+"allow:"+f.eol)}})
	}
}

// close offers the line that ends the front-matter, after its last line that
// looks like YAML.
func (f *fixer) close() {
	if f.Open == (Span{}) || f.Close != (Span{}) || f.span != f.Open {
		return
	}
	at := f.Front.Start
	for at < len(f.Text) {
		end := lineEnd(f.Text, at)
		line := f.Text[at:end]
		if strings.TrimSpace(line) == "" || (line[0] != ' ' && line[0] != '\t' && line[0] != '#' &&
			!dashed(line) && keyColon(line) < 0) {
			break
		}
		at = nextLine(f.Text, end)
	}
	text := "---" + f.eol
	// The last line of the file may lack its end.
	if at == len(f.Text) && !strings.HasSuffix(f.Text, "\n") && !strings.HasSuffix(f.Text, "\r") {
		text = f.eol + text
	}
	f.add(Fix{Title: "Close the front-matter with ---", Edits: []Edit{f.edit(Span{at, at}, text)}})
}
