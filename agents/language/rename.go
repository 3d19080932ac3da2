package language

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/internal/fault"
)

// PrepareRename returns the range of the name of an agent, or of a node of the file's
// graph, at a position of an agent file, and the name. The error is fault.Invalid where
// none is named, and fault.Denied for an agent that cannot be renamed.
// Whether another name is free is only seen when it is known.
func PrepareRename(w *World, s Sources, f *File, at definition.Position) (definition.Range, string, error) {
	if n, _, ok := nodeAt(f, at); ok {
		return f.Index.Range(n.Span), n.node, nil
	}
	name, span, own, ok := nameAt(w, f, at)
	if !ok {
		return definition.Range{}, "", fault.New(fault.Invalid, "language.rename",
			"there is no agent's name here; put the cursor on one")
	}
	t := targetOf(w, f, name, own)
	if err := t.renamable(s); err != nil {
		return definition.Range{}, "", err
	}
	return f.Index.Range(span), t.name, nil
}

// renamable says why an agent cannot be renamed, nil where it can.
// The kinds are fault.Denied, and fault.NotFound where there is no such agent.
func (t target) renamable(s Sources) error {
	const op = "language.rename"
	switch {
	case t.entry == nil && t.name == "user":
		return fault.New(fault.Denied, op, "user stands for the person and cannot be renamed")
	case t.entry != nil && t.entry.Definition.Scope == definition.System:
		return fault.New(fault.Denied, op, "%s is a system agent and cannot be renamed", t.name)
	case t.path == "":
		return fault.New(fault.NotFound, op, "there is no agent %s; create it first, or correct the name", t.name)
	case t.entry != nil && t.entry.Definition.Scope == definition.Extension, t.scope == definition.Extension:
		return fault.New(fault.Denied, op,
			"%s belongs to an extension and cannot be renamed; copy its file into your own agents folder", t.name)
	case s.ReadOnly != nil && s.ReadOnly(t.path):
		return fault.New(fault.Denied, op, "%s is read-only, so %s cannot be renamed; make the file writable first",
			filepath.Base(t.path), t.name)
	}
	return nil
}

// lowerFirst is a sentence as the end of another.
// The sentence must not be empty.
func lowerFirst(sentence string) string {
	return strings.ToLower(sentence[:1]) + sentence[1:]
}

// CheckName says why a name cannot be an agent's (spec 1.2), nil where it can.
// The error is of kind fault.Invalid, and says what is wrong with the name.
func CheckName(name string) error {
	const op = "language.rename"
	d := definition.Parse(definition.Source{Data: []byte("---\nkind: agent\nname: " +
		strconv.Quote(strings.ToValidUTF8(name, "?")) + "\n---\nx\n")})
	for _, p := range d.Problems {
		if p.Code == "agent/name" || p.Severity == definition.Error {
			return fault.New(fault.Invalid, op, "%q cannot be an agent's name: %s", name,
				lowerFirst(strings.TrimSuffix(p.Message, ".")))
		}
	}
	if d.Name != name {
		return fault.New(fault.Invalid, op, "%q cannot be an agent's name: it has spaces around it", name)
	}
	return nil
}

// RenameAt returns the change that gives what is named at a position another name: a node
// of the file's graph in all places of the file, or an agent, see [RenameAgent]. A node's
// name in conditions and placeholders is renamed with it; what agents' prompts say of
// temp:NAME is not.
func RenameAt(w *World, s Sources, f *File, at definition.Position, newName string) (WorkspaceEdit, error) {
	if n, all, ok := nodeAt(f, at); ok {
		return all.rename(s, f, n.node, newName)
	}
	return RenameAgent(w, s, f, at, newName)
}

// RenameAgent returns the change that gives the agent whose name is at a position
// another name: in its file, in every place that means it (see [References]), and
// of its file, if that was called after it. References that mean an agent of the
// same name in another scope stay. Where two files of one scope have the name,
// only the one file changes, and the references mean the other then. What settings
// say of all agents of the name stays for the others, and is said of the new name,
// too.
//
// Errors: fault.Invalid for a name that cannot be one, or is taken; fault.Denied
// for an agent or a reference that cannot be changed; fault.NotFound for one that
// there is not; fault.Stale for a file that cannot be read. Nothing is renamed in
// part.
func RenameAgent(w *World, s Sources, f *File, at definition.Position, newName string) (WorkspaceEdit, error) {
	name, _, own, ok := nameAt(w, f, at)
	if !ok {
		return WorkspaceEdit{}, fault.New(fault.Invalid, "language.rename",
			"there is no agent's name here; put the cursor on one")
	}
	return targetOf(w, f, name, own).rename(w, s, f, newName)
}

// OwnName reports whether a file says itself what its agent is called. One that does
// not is called after its file.
func (f *File) OwnName() bool {
	if f.Tree.Root == nil || f.Definition.Guessed {
		return false
	}
	v := f.Tree.Root.Get("name")
	return v != nil && v.Text != ""
}

// RenameFile returns the change that gives the agent of a file another name because
// its file gets one: that of RenameAgent without the file's, and without a field
// name in a file that has none. Errors are those of RenameAgent.
func RenameFile(w *World, s Sources, f *File, newName string) (WorkspaceEdit, error) {
	s.Exists = nil // the new place is no longer free once the file is there
	edit, err := targetOf(w, f, f.Definition.Name, true).rename(w, s, f, newName)
	edit.Renames = nil
	return edit, err
}

// rename returns the change that gives the target another name. own is the file where it
// was named, nil for one that is no agent file.
//
// All that could go wrong is checked before an edit is made: that the agent can be
// renamed, that the name is one and is free in every place that would mean it, and that
// each file can be written and read. So there is the whole change or an error.
func (t target) rename(w *World, s Sources, own *File, newName string) (WorkspaceEdit, error) {
	const op = "language.rename"
	if err := t.renamable(s); err != nil {
		return WorkspaceEdit{}, err
	}
	if err := CheckName(newName); err != nil {
		return WorkspaceEdit{}, err
	}
	file := own
	// The agent may have been named in another file than its own.
	if own == nil || t.path != own.Path {
		if file = s.open(t.entry.Definition); file == nil {
			return WorkspaceEdit{}, fault.New(fault.Stale, op, "the file of %s is gone; try again", t.name)
		}
	}
	if file.Tree.Root == nil {
		return WorkspaceEdit{}, fault.New(fault.Invalid, op, "the front-matter of %s cannot be read; fix it first",
			filepath.Base(file.Path))
	}
	if newName == t.name && file.Definition.Name == newName {
		return WorkspaceEdit{}, nil
	}
	var refs []reference
	files := slices.Collect(s.files(w, t.name))
	// References mean the other agent of the name afterwards, so they stay.
	if t.twice() {
		refs = t.overrides(w, s)
	} else {
		refs = references(w, s, own, t, slices.Values(files))
	}
	if err := t.overridden(s, newName); err != nil {
		return WorkspaceEdit{}, err
	}
	if err := t.free(w, s, refs, newName); err != nil {
		return WorkspaceEdit{}, err
	}
	if err := checkAccepts(s, file, refs, newName); err != nil {
		return WorkspaceEdit{}, err
	}
	if err := t.findUnreadable(w, files); err != nil {
		return WorkspaceEdit{}, err
	}
	var edit WorkspaceEdit
	if file.OwnName() {
		v := file.Tree.Root.Get("name")
		edit.Edits = append(edit.Edits, Edit{file.URI, file.Index.Range(v.Span),
			scalarLike(file.Text[v.Start:v.End], newName)})
	}
	for _, r := range refs {
		if r.override != nil {
			edit.Edits = append(edit.Edits, r.override.copyEdit(r.URI, newName))
			continue
		}
		edit.Edits = append(edit.Edits, Edit{r.URI, r.Range, r.spell(newName)})
	}
	slices.SortFunc(edit.Edits, func(a, b Edit) int {
		return compareLocations(Location{a.URI, a.Range},
			Location{b.URI, b.Range})
	})
	if next := pathAfterRename(file.Path, t.name, newName); next != "" {
		edit.Renames = []Rename{{Old: file.URI, New: s.uri(next)}}
	}
	return edit, nil
}

// pathAfterRename returns the path of a file that is called after its agent when the
// agent has another name; "" for a file that is not.
// A file whose stem gives the name as a slug is called after it as well: Code Fixer.md
// after code-fixer.
func pathAfterRename(path, name, newName string) string {
	dir, base := filepath.Split(path)
	for _, ending := range []string{".agent.md", ".md"} {
		if stem, ok := strings.CutSuffix(base, ending); ok {
			if stem == name || makeSlug(stem) == name {
				return dir + newName + ending
			}
			return ""
		}
	}
	return ""
}

// scalarLike writes a name as the scalar that it replaces was written, with its quotes; a
// name that YAML would take for something else gets some.
func scalarLike(before, name string) string {
	if before != "" && (before[0] == '"' || before[0] == '\'') {
		return before[:1] + name + before[:1]
	}
	return definition.YAMLText(name)
}

// spell returns a name as it stands at the reference: a value of the
// front-matter that is nothing else is a text of YAML.
func (r reference) spell(name string) string {
	if r.file == nil || definition.YAMLText(name) == name {
		return name
	}
	start, end := r.file.Index.Offset(r.Range.Start), r.file.Index.Offset(r.Range.End)
	if v := scalarAt(r.file.Tree.Root, start); v != nil && v.Start == start && v.End == end {
		return definition.YAMLText(name)
	}
	return name
}

// twice reports whether the name is there twice in the target's scope.
func (t target) twice() bool {
	return t.entry != nil && t.entry.State == registry.Duplicate
}

// free says why a new name is taken, nil where it is not: by an agent or a file
// in the same folder, or by an agent that a place would mean that means the
// target now.
func (t target) free(w *World, s Sources, refs []reference, newName string) error {
	const op = "language.rename"
	taken := func(path, why string) error {
		return fault.New(fault.Invalid, op, "the name %s is taken by %s%s; choose another", newName, path, why)
	}
	if w.Agents != nil {
		for _, e := range w.Agents.Entries() {
			if d := e.Definition; d.Name == newName && d.Path != t.path && d.Path != "" &&
				filepath.Dir(d.Path) == filepath.Dir(t.path) {
				return taken(filepath.Base(d.Path), "")
			}
		}
	}
	for _, f := range s.Open {
		if f.Path != t.path && f.Definition.Name == newName && filepath.Dir(f.Path) == filepath.Dir(t.path) {
			return taken(filepath.Base(f.Path), "")
		}
	}
	type place struct {
		folder string
		scope  definition.Scope
	}
	places := []place{{t.folder, t.scope}}
	for _, r := range refs {
		if r.file != nil {
			places = append(places, place{r.file.Folder, r.file.Scope})
		}
	}
	for _, p := range places {
		if e := w.lookup(p.folder, p.scope, newName); e != nil && e.Definition.Path != t.path {
			if e.Definition.Scope == definition.Project && e.Definition.Folder != p.folder && p.folder != "" {
				continue // of another workspace folder, which its own come before
			}
			return taken("the "+string(e.Definition.Scope)+" agent of that name", ", and one would hide the other")
		}
	}
	if next := pathAfterRename(t.path, t.name, newName); next != "" && next != t.path {
		// On a disk that ignores case, what lies there is the file itself.
		if s.Exists != nil && s.Exists(next) && !strings.EqualFold(next, t.path) {
			return taken("the file "+filepath.Base(next), "")
		}
		if w.Agents != nil {
			for _, e := range w.Agents.Entries() {
				if e.Definition.Path == next {
					return taken("the file "+filepath.Base(next), "")
				}
			}
		}
	}
	return nil
}

// overridden says why settings cannot say of the new name what they say of the
// target, nil where they can: where they say something of it already, one of both
// would not count.
func (t target) overridden(s Sources, newName string) error {
	for _, n := range s.Named {
		if n.Override == nil || n.Name != t.name || !n.reaches(t.folder, t.scope) {
			continue
		}
		if slices.ContainsFunc(s.Named, func(other Named) bool {
			return other.Override != nil && other.URI == n.URI && other.Name == newName
		}) {
			return fault.New(fault.Invalid, "language.rename",
				"%s has agents.overrides for %s and for %s, and only one would count; make one of them, or choose another name", fileName(n.URI), t.name, newName)
		}
	}
	return nil
}

// fileName returns the last part of a URI, for people.
func fileName(uri string) string { return uri[strings.LastIndexByte(uri, '/')+1:] }

// checkAccepts says why a file cannot take the new name, nil where all can: it is an
// extension's, or read-only, or of a tool whose names are others.
// own is the file of the agent.
func checkAccepts(s Sources, own *File, refs []reference, newName string) error {
	const op = "language.rename"
	told := map[*File]bool{}
	for _, f := range append([]*File{own}, filesOf(refs)...) {
		if told[f] {
			continue
		}
		told[f] = true
		base := filepath.Base(f.Path)
		switch {
		case f.Scope == definition.Extension:
			return fault.New(fault.Denied, op,
				"%s, which belongs to an extension, names the agent and cannot be changed; remove the extension first",
				base)
		case s.ReadOnly != nil && s.ReadOnly(f.Path):
			return fault.New(fault.Denied, op, "%s names the agent and is read-only; make it writable first", base)
		case f.Tree.Dialect == definition.Claude && strings.Contains(newName, "_"):
			return fault.New(fault.Invalid, op, "%s is a file of Claude Code, whose names have no _; write - instead",
				base)
		}
	}
	return nil
}

// filesOf returns the agent files of references, each once.
func filesOf(refs []reference) []*File {
	var files []*File
	for _, r := range refs {
		if r.file != nil && !slices.Contains(files, r.file) {
			files = append(files, r.file)
		}
	}
	return files
}

// findUnreadable says which file may name the target and cannot be read, nil where there
// is none: a rename that left it out would break it.
// The words of the front-matter are compared, since it has no tree; so it may refuse
// where the word means something else.
func (t target) findUnreadable(w *World, files []*File) error {
	if t.twice() {
		return nil
	}
	for _, f := range files {
		if f.Path == t.path || f.Tree.Root != nil {
			continue
		}
		front := f.Text[f.Tree.Front.Start:f.Tree.Front.End]
		for _, word := range words(front) {
			to, _ := transferTarget(word)
			if (word == t.name || to == t.name) && t.is(w, f.Folder, f.Scope, t.name) && !ownNameLine(front, t.name) {
				return fault.New(fault.Invalid, "language.rename",
					"%s names %s, and its front-matter cannot be read; fix it first", filepath.Base(f.Path), t.name)
			}
		}
	}
	return nil
}

// ownNameLine reports whether the only word of a front-matter that is the name is
// the value of its field name.
func ownNameLine(front, name string) bool {
	count := 0
	for _, word := range words(front) {
		if word == name {
			count++
		}
	}
	if count != 1 {
		return false
	}
	for line := range strings.Lines(front) {
		if value, ok := strings.CutPrefix(line, "name:"); ok && strings.Contains(value, name) {
			return true
		}
	}
	return false
}
