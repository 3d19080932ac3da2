package condition

import (
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
)

// maxVisits is how often the parts of a condition may be looked at together.
const maxVisits = 10 * maxNodes

// weights are how often the library's checker comes by a part of a tree and by
// what is below it. That may double with each level: a < b < c and a ?: b hold a
// part twice, and what is given to a function that can be called in several ways
// is looked at for each of them (TestWeight, TestCostsLittle).
type weights struct {
	config *conf.Config
	known  map[ast.Node]int
}

// of returns a part's weight; it stops counting a little over [maxVisits].
//
// Each part is looked at once.
func (w weights) of(node ast.Node) int {
	if node == nil {
		return 0
	}
	if n, ok := w.known[node]; ok {
		return n
	}
	below := 0
	for _, part := range parts(node) {
		below = min(below+w.of(part), 2*maxVisits)
	}
	if call, ok := node.(*ast.BuiltinNode); ok {
		if f := w.config.Builtins[call.Name]; f != nil {
			below = min(below*max(1, len(f.Types)), 2*maxVisits)
		}
	}
	w.known[node] = below + 1
	return below + 1
}

// parts returns what is directly below a part of a tree; some may be nil.
func parts(node ast.Node) []ast.Node {
	switch n := node.(type) {
	case *ast.UnaryNode:
		return []ast.Node{n.Node}
	case *ast.BinaryNode:
		return []ast.Node{n.Left, n.Right}
	case *ast.ChainNode:
		return []ast.Node{n.Node}
	case *ast.MemberNode:
		return []ast.Node{n.Node, n.Property}
	case *ast.SliceNode:
		return []ast.Node{n.Node, n.From, n.To}
	case *ast.CallNode:
		return append(slices.Clone(n.Arguments), n.Callee)
	case *ast.BuiltinNode:
		return n.Arguments
	case *ast.PredicateNode:
		return []ast.Node{n.Node}
	case *ast.VariableDeclaratorNode:
		return []ast.Node{n.Value, n.Expr}
	case *ast.SequenceNode:
		return n.Nodes
	case *ast.ConditionalNode:
		return []ast.Node{n.Cond, n.Exp1, n.Exp2}
	case *ast.ArrayNode:
		return n.Nodes
	case *ast.MapNode:
		return n.Pairs
	case *ast.PairNode:
		return []ast.Node{n.Key, n.Value}
	}
	return nil
}
