package condition

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"
)

// Names returns what a condition asks for, each once, in its order: paths such as
// analysis.summary, as far as they are written out. A text that is no condition asks
// for nothing. A path ends where it is computed: of a[b].c it is a and b.
func Names(text string) []string {
	var names []string
	look(text, func(path string, _ ast.Node) {
		if !slices.Contains(names, path) {
			names = append(names, path)
		}
	})
	return names
}

// Place is where something stands in a text, in bytes.
type Place struct{ Start, End int }

// Places returns where the first parts of the paths stand that a condition asks for, in the
// order of the text. End is behind the last byte.
func Places(text string) []Place {
	offsets := make([]int, 0, len(text)+1) // of its characters: that is what the parser counts
	for i := range text {
		offsets = append(offsets, i)
	}
	var places []Place
	look(text, func(path string, first ast.Node) {
		name, _, _ := strings.Cut(path, ".")
		from := first.Location().From
		if from < len(offsets) && strings.HasPrefix(text[offsets[from]:], name) {
			places = append(places, Place{offsets[from], offsets[from] + len(name)})
		}
	})
	slices.SortFunc(places, func(a, b Place) int { return a.Start - b.Start })
	return slices.Compact(places)
}

// look visits the paths that a condition asks for, with the node of their first part.
// What does not pass Check is not visited at all.
func look(text string, visit func(path string, first ast.Node)) {
	if _, err := Check(text); err != nil {
		return
	}
	config := conf.CreateNew()
	config.Strict, config.MaxNodes = false, maxNodes
	tree, err := parser.ParseWithConfig(text, config)
	if err != nil {
		return
	}
	seen := make(map[ast.Node]bool) // a < b < c holds b twice
	var walk func(ast.Node)
	walk = func(node ast.Node) {
		if node == nil || seen[node] {
			return
		}
		seen[node] = true
		if path, first, ok := pathOf(node); ok {
			visit(path, first)
			return
		}
		for _, part := range parts(node) {
			walk(part)
		}
	}
	walk(tree.Node)
}

// pathOf returns the path that a part of a condition is, as a.b, and the node of its first
// part.
func pathOf(node ast.Node) (path string, first ast.Node, ok bool) {
	switch n := node.(type) {
	case *ast.IdentifierNode:
		return n.Value, n, true
	case *ast.ChainNode: // around a?.b
		return pathOf(n.Node)
	case *ast.MemberNode:
		member, written := n.Property.(*ast.StringNode)
		if before, first, ok := pathOf(n.Node); ok && written {
			return before + "." + member.Value, first, true
		}
	}
	return "", nil, false
}
