package language

// Agents that are named outside of agent files: in the lines of documents that
// call them (spec 2.10), and in settings.

import (
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
)

// NameRange returns the range of the name of an agent, or of a node of the file's graph, at
// a position of an agent file; false where none is named.
func NameRange(w *World, f *File, at definition.Position) (definition.Range, bool) {
	if n, _, ok := nodeAt(f, at); ok {
		return f.Index.Range(n.Span), true
	}
	_, span, _, ok := nameAt(w, f, at)
	if !ok {
		return definition.Range{}, false
	}
	return f.Index.Range(span), true
}

// NameAt returns what names an agent at a position of a file that is no agent
// file: a line of a Document that calls one there is, or one of s.Named.
// The range of the result is that of the bare name. false = no agent is named there.
func NameAt(w *World, s Sources, uri string, at definition.Position) (Named, bool) {
	for _, n := range s.Named {
		if n.URI == uri && overlaps(n.Range, definition.Range{Start: at, End: at}) {
			n.Location = n.alone()
			return n, true
		}
	}
	i := slices.IndexFunc(s.Documents, func(d Document) bool { return d.URI == uri })
	if i < 0 {
		return Named{}, false
	}
	d := s.Documents[i]
	f := &File{Text: d.Text, Index: definition.NewIndex(d.Text)}
	offset := f.Index.Offset(at)
	agents := callable{w, d.Folder, make(map[string]bool)}
	for c := range styleOf(d.LanguageID).candidates(d.Text) {
		if c.text.End < offset {
			continue
		}
		if c.text.Start > offset {
			break
		}
		p, ok := agents.command(d.Text[c.text.Start:c.text.End])
		if !ok || p.Auto {
			continue
		}
		name := p.Agent[strings.LastIndexByte(p.Agent, ':')+1:]
		end := c.text.Start + len("@") + len(p.Agent)
		if offset <= end {
			span := definition.Span{Start: end - len(name), End: end}
			return Named{Location: Location{uri, f.Index.Range(span)}, Name: p.Agent, Folder: d.Folder}, true
		}
	}
	return Named{}, false
}

// alone returns the place of the name without the folder before it.
// Names are ASCII, so their bytes are UTF-16 units.
func (n Named) alone() Location {
	l := n.Location
	if i := strings.LastIndexByte(n.Name, ':'); i >= 0 {
		l.Range.Start.Character = l.Range.End.Character - min(l.Range.End.Character, uint32(len(n.Name)-i-1))
	}
	return l
}

// target is the agent that a place means.
func (n Named) target(w *World) target {
	return targetOf(w, &File{Folder: n.Folder, Scope: definition.Project}, n.Name, false)
}

// DefinitionOfName is [Definition] for a place of [NameAt].
func DefinitionOfName(w *World, s Sources, n Named) (Location, bool) {
	return declarationOf(s, nil, n.target(w).entry)
}

// ReferencesOfName is [References] for a place of [NameAt].
func ReferencesOfName(w *World, s Sources, n Named, declaration bool) []Location {
	t := n.target(w)
	var list []Location
	for _, r := range references(w, s, nil, t, s.files(w, t.name)) {
		list = append(list, r.Location)
	}
	if l, ok := declarationOf(s, nil, t.entry); ok && declaration {
		list = append(list, l)
		slices.SortFunc(list, compareLocations)
	}
	return list
}

// PrepareRenameNamed is [PrepareRename] for a place of [NameAt].
func PrepareRenameNamed(w *World, s Sources, n Named) (definition.Range, string, error) {
	t := n.target(w)
	if err := t.renamable(s); err != nil {
		return definition.Range{}, "", err
	}
	return n.Range, t.name, nil
}

// RenameNamed is [RenameAgent] for a place of [NameAt].
func RenameNamed(w *World, s Sources, n Named, newName string) (WorkspaceEdit, error) {
	return n.target(w).rename(w, s, nil, newName)
}
