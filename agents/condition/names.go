package condition

import (
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"
)

// Names returns what a condition asks for, each once, in its order: paths such as
// analysis.summary, as far as they are written out. A text that is no condition asks
// for nothing.
func Names(text string) []string {
	if _, err := Check(text); err != nil {
		return nil
	}
	config := conf.CreateNew()
	config.Strict, config.MaxNodes = false, maxNodes
	tree, err := parser.ParseWithConfig(text, config)
	if err != nil {
		return nil
	}
	var names []string
	seen := make(map[ast.Node]bool) // a < b < c holds b twice
	var look func(ast.Node)
	look = func(node ast.Node) {
		if node == nil || seen[node] {
			return
		}
		seen[node] = true
		if path, ok := pathOf(node); ok {
			if !slices.Contains(names, path) {
				names = append(names, path)
			}
			return
		}
		for _, part := range parts(node) {
			look(part)
		}
	}
	look(tree.Node)
	return names
}

// pathOf returns the path that a part of a condition is, as a.b.
func pathOf(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.IdentifierNode:
		return n.Value, true
	case *ast.ChainNode: // around a?.b
		return pathOf(n.Node)
	case *ast.MemberNode:
		member, written := n.Property.(*ast.StringNode)
		if before, ok := pathOf(n.Node); ok && written {
			return before + "." + member.Value, true
		}
	}
	return "", false
}
