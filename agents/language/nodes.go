package language

// The nodes of a graph by their names: all places of a file that name one (spec 7.1).

import (
	"path/filepath"
	"regexp"
	"slices"

	"github.com/agentls/agentls/agents/condition"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/graph"
	"github.com/agentls/agentls/internal/fault"
)

// nodeName is one place of a file that names a node of its graph.
type nodeName struct {
	definition.Span        // of the name alone
	node            string // as nodes has it
	own             bool   // it is the name in nodes
	identifier      bool   // it is written without dashes, as conditions need it
}

// The ways to name a node.
const (
	asName = iota // in nodes
	asText
	asCondition
)

// nodeNames are the places of a file that name nodes of its graph, in the order of the text.
type nodeNames struct {
	found   []nodeName
	unclear []*definition.Value // conditions whose text is not as it stands in the file
}

// namedNode is the name in ${name.member}, or in $${name} for the text itself.
var namedNode = regexp.MustCompile(`(\$?)\$\{([\w-]+)(?:\.[\w-]+)*\}`)

// nodesIn returns the places of a file that name nodes of its graph: the nodes themselves,
// the entry, edges, placeholders, conditions and keys of the state. A condition that is
// written with escapes or over lines cannot be edited in place: it is among the unclear
// ones, which a rename refuses.
func nodesIn(f *File) (n nodeNames) {
	g := f.Tree.Root.Get("graph")
	if f.Definition.Graph == nil || g == nil {
		return n
	}
	known := make(map[string]string) // nodes, by how conditions write them
	for _, node := range f.Definition.Graph.Nodes {
		known[graph.Identifier(node.Name)] = node.Name
	}
	add := func(span definition.Span, as int) {
		written := f.Text[span.Start:span.End]
		if node, is := known[graph.Identifier(written)]; is {
			// A text other than the node's name is its identifier.
			n.found = append(n.found, nodeName{span, node, as == asName, as == asCondition || written != node})
		}
	}
	scalar := func(v *definition.Value, as int) {
		if v != nil && v.Kind == definition.String {
			add(scalarSpan(f, v), as)
		}
	}
	scalar(g.Get("entry"), asText)
	if nodes := g.Get("nodes"); nodes != nil {
		for i := range nodes.Items {
			scalar(nodes.Items[i].Get("name"), asName)
			placeholdersIn(f, nodes.Items[i].Get("input"), add)
			placeholdersIn(f, nodes.Items[i].Get("human"), add)
		}
	}
	if edges := g.Get("edges"); edges != nil {
		for i := range edges.Items {
			scalar(edges.Items[i].Get("from"), asText)
			scalar(edges.Items[i].Get("to"), asText)
			if v := edges.Items[i].Get("condition"); v != nil && v.Kind == definition.String &&
				!conditionIn(f, v, add) {
				n.unclear = append(n.unclear, v)
			}
		}
	}
	if state := g.Get("state"); state != nil {
		for _, k := range state.Keys {
			add(scalarSpan(f, &definition.Value{Span: k.Span}), asText)
		}
	}
	slices.SortFunc(n.found, func(a, b nodeName) int { return a.Start - b.Start })
	return n
}

// placeholdersIn adds the names in the placeholders of a value's texts.
// $${name} names none.
func placeholdersIn(f *File, v *definition.Value, add func(definition.Span, int)) {
	if v == nil {
		return
	}
	for i := range v.Items {
		placeholdersIn(f, &v.Items[i], add)
	}
	if v.Kind != definition.String {
		return
	}
	for _, at := range namedNode.FindAllStringSubmatchIndex(f.Text[v.Start:v.End], -1) {
		if at[2] == at[3] { // one $
			add(definition.Span{Start: v.Start + at[4], End: v.Start + at[5]}, asText)
		}
	}
}

// conditionIn adds the names in a condition; false for one that is written with escapes or
// over several lines, so that its places in the file are not known.
func conditionIn(f *File, v *definition.Value, add func(definition.Span, int)) bool {
	span := scalarSpan(f, v)
	if f.Text[span.Start:span.End] != v.Text {
		return false
	}
	for _, at := range condition.Places(v.Text) {
		add(definition.Span{Start: span.Start + at.Start, End: span.Start + at.End}, asCondition)
	}
	return true
}

// nodeAt returns the place at a position that names a node of the file's graph, and all
// places that name one.
// false for a file without a graph, and for any other place.
func nodeAt(f *File, at definition.Position) (nodeName, nodeNames, bool) {
	if f.Tree.Root == nil || f.Definition.Graph == nil {
		return nodeName{}, nodeNames{}, false
	}
	offset, all := f.Index.Offset(at), nodesIn(f)
	i := slices.IndexFunc(all.found, func(n nodeName) bool { return n.Holds(offset) })
	if i < 0 {
		return nodeName{}, nodeNames{}, false
	}
	return all.found[i], all, true
}

// places returns where a node is named, its own name where own is set.
// They are in the order of the text.
func (n nodeNames) places(f *File, node string, own bool) (list []Location) {
	at := locator{f: f}
	for _, one := range n.found {
		if one.node == node && (own || !one.own) {
			list = append(list, Location{f.URI, at.span(one.Span)})
		}
	}
	return list
}

// rename returns the change that gives a node another name.
// The errors are fault.Invalid (no name, taken, or in an unclear condition) and fault.Denied
// (the file cannot be written).
func (n nodeNames) rename(s Sources, f *File, node, newName string) (WorkspaceEdit, error) {
	const op = "language.rename"
	if newName == node {
		return WorkspaceEdit{}, nil
	}
	if why := graph.NameFault(newName); why != "" {
		return WorkspaceEdit{}, fault.New(fault.Invalid, op, "%s", lowerFirst(why[:len(why)-1]))
	}
	taken := slices.ContainsFunc(f.Definition.Graph.Nodes, func(other graph.Node) bool {
		return other.Name != node && graph.Identifier(other.Name) == graph.Identifier(newName)
	}) || slices.ContainsFunc(f.Definition.Graph.State, func(k graph.Key) bool {
		return k.Name != node && graph.Identifier(k.Name) == graph.Identifier(newName)
	})
	if taken {
		return WorkspaceEdit{}, fault.New(fault.Invalid, op,
			"%s is a node or a key of the state of this graph already; choose another name", newName)
	}
	for _, v := range n.unclear {
		if slices.ContainsFunc(condition.Places(v.Text),
			func(at condition.Place) bool { return v.Text[at.Start:at.End] == graph.Identifier(node) }) {
			return WorkspaceEdit{}, fault.New(fault.Invalid, op,
				"the condition %s names the node and is written with escapes or over several lines; write it on one line first", v.Text)
		}
	}
	switch {
	case definition.YAMLText(newName) != newName:
		return WorkspaceEdit{}, fault.New(fault.Invalid, op,
			"YAML takes %s for something else than a name; choose another one", newName)
	case f.Scope == definition.Extension || (s.ReadOnly != nil && s.ReadOnly(f.Path)):
		return WorkspaceEdit{}, fault.New(fault.Denied, op,
			"%s is read-only; make it writable first, or copy it into your own agents folder", filepath.Base(f.Path))
	}
	var edit WorkspaceEdit
	at := locator{f: f}
	for _, one := range n.found {
		if one.node != node {
			continue
		}
		written := newName
		if one.identifier {
			written = graph.Identifier(newName)
		}
		edit.Edits = append(edit.Edits, Edit{f.URI, at.span(one.Span), written})
	}
	return edit, nil
}
