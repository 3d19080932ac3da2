package language

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/registry"
)

// target is an agent as a question means it.
type target struct {
	name   string
	entry  *registry.Entry  // nil where the catalogue does not have it yet
	path   string           // of its file; "" for a system agent
	folder string           // where it was named
	scope  definition.Scope // of the file where it was named
}

// nameAt returns what stands at a position of an agent file: the name of the file's own
// agent, or one that it names. own says which. It looks for places of the word under the
// cursor only, so that most positions cost little.
func nameAt(w *World, f *File, at definition.Position) (name string, span definition.Span, own, ok bool) {
	offset := f.Index.Offset(at)
	if v := f.Tree.Root.Get("name"); v != nil && v.Holds(offset) && v.Text != "" && !f.Definition.Guessed {
		return f.Definition.Name, scalarSpan(f, v), true, true
	}
	word, start := wordAround(f.Text, offset)
	to, isTool := transferTarget(word)
	switch {
	case word == "":
		return "", definition.Span{}, false, false
	case isTool:
		word = to
	case f.inBody(start) && !strings.HasSuffix(f.Text[:start], "@") && !strings.HasSuffix(f.Text[:start], ":"):
		return "", definition.Span{}, false, false // most words of a prompt: without a look at all of it
	}
	for _, n := range namings(f, word) {
		if n.Holds(offset) || transferAround(f.Text, n.Span, offset) {
			return n.name, n.Span, false, true
		}
	}
	// Other tools' files name agents by what is shown of them.
	v := scalarAt(f.Tree.Root, offset)
	if w == nil || w.Agents == nil || f.Tree.Dialect == definition.Agentls || v == nil || len(v.Text) > maxNameText {
		return "", definition.Span{}, false, false
	}
	slug, asked := makeSlug(v.Text), ""
	for _, e := range w.Agents.Entries() {
		if e.Definition.Name == asked || makeSlug(e.Definition.Name) != slug {
			continue
		}
		asked = e.Definition.Name
		for _, n := range namings(f, asked) {
			if n.Holds(offset) {
				return n.name, n.Span, false, true
			}
		}
	}
	return "", definition.Span{}, false, false
}

// scalarAt returns the scalar inside a value that holds an offset, or nil.
// Its ends count, so that a cursor behind a value is in it. An empty value is passed over.
func scalarAt(v *definition.Value, offset int) *definition.Value {
	if v == nil {
		return nil
	}
	for i := range v.Items {
		item := &v.Items[i]
		switch {
		case item.Start == item.End || !item.Holds(offset):
		case item.Kind == definition.Mapping || item.Kind == definition.List:
			if inner := scalarAt(item, offset); inner != nil {
				return inner
			}
		default:
			return item
		}
	}
	return nil
}

// transferAround reports whether an offset is on the tool's name of which a span
// is the end.
func transferAround(text string, span definition.Span, offset int) bool {
	word, start := wordAround(text, offset)
	to, ok := transferTarget(word)
	return ok && start+len(word) == span.End && len(to) == span.End-span.Start
}

// wordAround returns the word at an offset, and where it starts.
func wordAround(text string, offset int) (string, int) {
	start := offset
	for start > 0 && nameByte(text[start-1]) {
		start--
	}
	end := wordEnd(text, offset)
	return text[start:end], start
}

// scalarSpan returns the extent of a scalar's text, without quotes.
// Escapes are left as they are, so its text may be another than the value's.
func scalarSpan(f *File, v *definition.Value) definition.Span {
	if text := f.Text[v.Start:v.End]; len(text) >= 2 && (text[0] == '"' || text[0] == '\'') &&
		text[len(text)-1] == text[0] {
		return definition.Span{Start: v.Start + 1, End: v.End - 1}
	}
	return v.Span
}

// targetOf returns the agent that a name means where it stands; with own it is the agent
// of the file itself, which the catalogue may not have yet.
// Its name is without the folder. The entry is nil where the catalogue has no such agent.
func targetOf(w *World, f *File, name string, own bool) target {
	t := target{name: name, folder: f.Folder, scope: f.Scope}
	if own {
		t.path = f.Path
		if w.Agents != nil {
			for _, e := range w.Agents.Entries() {
				if e.Definition.Path == f.Path && e.Definition.Name == name {
					t.entry = e
				}
			}
		}
		return t
	}
	if t.entry = w.lookup(f.Folder, f.Scope, name); t.entry != nil {
		t.path = t.entry.Definition.Path
		t.folder, t.scope = t.entry.Definition.Folder, t.entry.Definition.Scope
	}
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		t.name = name[i+1:]
	}
	return t
}

// is reports whether a name means the target where it stands: another agent of the same
// name may be nearer there.
func (t target) is(w *World, folder string, scope definition.Scope, name string) bool {
	e := w.lookup(folder, scope, name)
	if t.entry == nil || e == nil {
		// The catalogue knows no such agent: the name alone counts, in its folder.
		return e == nil && t.entry == nil && (t.folder == "" || t.folder == folder)
	}
	return e.Definition.Path == t.path
}

// reference is a place that names a target.
type reference struct {
	Location
	file     *File     // nil for a document or settings
	override *Override // of a key of settings that other agents of the name have as well
}

// references returns the places that name a target, its own field name aside, in files,
// which f is put among, and in what else s has. They are sorted by file and place, each
// once.
func references(w *World, s Sources, f *File, t target, files iter.Seq[*File]) []reference {
	var found []reference
	in := func(g *File) {
		at := locator{f: g}
		for _, n := range namings(g, t.name) {
			if t.is(w, g.Folder, g.Scope, n.name) {
				found = append(found, reference{Location: Location{g.URI, at.span(n.Span)}, file: g})
			}
		}
	}
	// The file of the question takes the place of the version of it in files, which may be older.
	seen := f == nil
	for g := range files {
		if f != nil && g.Path == f.Path {
			if seen {
				continue
			}
			g, seen = f, true
		}
		in(g)
	}
	if !seen {
		in(f)
	}
	for _, d := range s.Documents {
		if t.entry != nil && !t.entry.Definition.UserInvocable {
			break // no line can call it
		}
		at := locator{f: &File{Text: d.Text}}
		for _, n := range commands(d, t.name) {
			if at.f.Index == nil {
				at.f.Index = definition.NewIndex(d.Text)
			}
			if t.is(w, d.Folder, definition.Project, n.name) {
				found = append(found, reference{Location: Location{d.URI, at.span(n.Span)}})
			}
		}
	}
	found = append(found, t.overrides(w, s)...)
	for _, n := range s.Named {
		if n.Override == nil && (n.Name == t.name || strings.HasSuffix(n.Name, ":"+t.name)) &&
			t.is(w, n.Folder, definition.Project, n.Name) {
			found = append(found, reference{Location: n.alone()})
		}
	}
	slices.SortFunc(found, func(a, b reference) int { return compareLocations(a.Location, b.Location) })
	return slices.CompactFunc(found, func(a, b reference) bool { return a.Location == b.Location })
}

// overrides returns the keys of settings that say something of the target. They
// hold for every agent of the name that they reach, wherever it is and whether it is
// in use.
func (t target) overrides(w *World, s Sources) []reference {
	var found []reference
	for _, n := range s.Named {
		if n.Override == nil || n.Name != t.name || !n.reaches(t.folder, t.scope) {
			continue
		}
		r := reference{Location: n.Location}
		if t.shares(w, s, n) {
			r.override = n.Override
		}
		found = append(found, r)
	}
	return found
}

// reaches reports whether a key of settings holds for the agents of a place.
// The person's settings hold for all agents; those of a folder for its own agents and for
// those that belong to no folder.
func (n Named) reaches(folder string, scope definition.Scope) bool {
	return n.Folder == "" || folder == n.Folder || scope != definition.Project
}

// shares reports whether a key of settings that the target has holds for another
// agent of its name, too.
func (t target) shares(w *World, s Sources, n Named) bool {
	if w.Agents != nil {
		for _, e := range w.Agents.Entries() {
			if d := e.Definition; d.Name == t.name && d.Path != t.path && n.reaches(d.Folder, d.Scope) {
				return true
			}
		}
	}
	return slices.ContainsFunc(s.Open, func(f *File) bool {
		return f.Definition.Name == t.name && f.Path != t.path && n.reaches(f.Folder, f.Scope)
	})
}

// compareLocations orders by file and then by place.
func compareLocations(a, b Location) int {
	return cmp.Or(strings.Compare(a.URI, b.URI), cmp.Compare(a.Range.Start.Line, b.Range.Start.Line),
		cmp.Compare(a.Range.Start.Character, b.Range.Start.Character))
}

// References returns the places that name the agent whose name is at a position
// of an agent file, sorted by file and place: in agent files (handoffs,
// subagents, graph nodes, transfer_to_name among tools, @name in prompts), in the
// lines of documents that call it, and what s.Named has. declaration adds the
// agent's own name. Of a node of a graph they are the places of the file that name it. It
// is nil where neither is named.
// It reads the files that may name the agent, and may take long where these are many. The
// caller owns the slice.
func References(w *World, s Sources, f *File, at definition.Position, declaration bool) []Location {
	if n, all, ok := nodeAt(f, at); ok {
		return all.places(f, n.node, declaration)
	}
	name, _, own, ok := nameAt(w, f, at)
	if !ok {
		return nil
	}
	t := targetOf(w, f, name, own)
	var list []Location
	for _, r := range references(w, s, f, t, s.files(w, t.name)) {
		list = append(list, r.Location)
	}
	if declaration {
		if own {
			list = append(list, Location{f.URI, f.Definition.NameRange})
		} else if l, ok := declarationOf(s, f, t.entry); ok {
			list = append(list, l)
		}
		slices.SortFunc(list, compareLocations)
	}
	return list
}

// Definition returns the place of the name, in its own file, of the agent that
// is named at a position, or of the node of the file's graph; false where none is, and for
// a system agent.
// It reads no file.
func Definition(w *World, s Sources, f *File, at definition.Position) (Location, bool) {
	if n, all, ok := nodeAt(f, at); ok {
		for _, one := range all.found {
			if one.own && one.node == n.node {
				return Location{f.URI, f.Index.Range(one.Span)}, true
			}
		}
	}
	name, _, own, ok := nameAt(w, f, at)
	switch {
	case !ok:
		return Location{}, false
	case own:
		return Location{f.URI, f.Definition.NameRange}, true
	}
	return declarationOf(s, f, w.lookup(f.Folder, f.Scope, name))
}

// declarationOf returns the place of an entry's name: in f, if it is that file, whose
// text may be newer than the catalogue.
// false for nil and for a system agent, which have no file.
func declarationOf(s Sources, f *File, e *registry.Entry) (Location, bool) {
	if e == nil || e.Definition.Path == "" {
		return Location{}, false
	}
	if f != nil && f.Path == e.Definition.Path {
		return Location{f.URI, f.Definition.NameRange}, true
	}
	for _, f := range s.Open {
		if f.Path == e.Definition.Path {
			return Location{f.URI, f.Definition.NameRange}, true
		}
	}
	return Location{s.uri(e.Definition.Path), e.Definition.NameRange}, true
}

// Symbol is an agent as a search over the workspace shows it (workspace/symbol).
type Symbol struct {
	Name   string
	Detail string // its title, and whose it is where it is not in use
	Location
}

// WorkspaceSymbols returns the agents whose name or title has the characters of a
// query in their order, whatever their case, best first: those that begin with
// it, then those that hold it. An empty query has all. System agents have no
// place and are not among them.
// All that fit are returned: who shows them cuts the list.
func WorkspaceSymbols(w *World, s Sources, query string) []Symbol {
	if w.Agents == nil {
		return nil
	}
	type ranked struct {
		Symbol
		rank int
	}
	var found []ranked
	query = strings.ToLower(query)
	for _, e := range w.Agents.Entries() {
		l, ok := declarationOf(s, nil, e)
		if !ok {
			continue
		}
		d := e.Definition
		// A title counts a little less than a name.
		rank := min(match(d.Name, query), match(strings.ToLower(d.Title), query)+1)
		if rank >= noMatch {
			continue
		}
		detail := d.Title
		if e.State != registry.OK {
			detail += " (" + string(e.State) + ")"
		}
		found = append(found, ranked{Symbol{d.Name, detail, l}, rank})
	}
	slices.SortStableFunc(found, func(a, b ranked) int {
		return cmp.Or(a.rank-b.rank,
			strings.Compare(a.Name, b.Name))
	})
	symbols := make([]Symbol, len(found))
	for i, r := range found {
		symbols[i] = r.Symbol
	}
	return symbols
}

// noMatch is the rank of what a query does not fit.
const noMatch = 100

// match ranks a text, from 0 for the best, by how it has the query: as a whole, at its
// beginning, somewhere, or only its characters in their order.
func match(text, query string) int {
	switch {
	case text == query, query == "":
		return 0
	case strings.HasPrefix(text, query):
		return 2
	case strings.Contains(text, query):
		return 4
	}
	rest := text
	for _, c := range query {
		i := strings.IndexRune(rest, c)
		if i < 0 {
			return noMatch
		}
		rest = rest[i+len(string(c)):]
	}
	return 8
}
