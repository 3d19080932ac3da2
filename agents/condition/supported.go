package condition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// functions are those of the library that a condition may call. Each takes time
// and memory linear in its arguments. replace, repeat, join, reduce and let are
// missing because a few nested ones fill the memory.
var functions = []string{
	"all", "none", "any", "one", "filter", "map", "find", "findIndex", "findLast", "findLastIndex", "count", "sum",
	"len", "type", "abs", "ceil", "floor", "round", "int", "float", "string", "trim", "trimPrefix",
	"trimSuffix", "upper", "lower",
	"indexOf", "lastIndexOf", "hasPrefix", "hasSuffix", "max", "min", "mean", "median", "first", "last",
	"get", "keys", "values",
}

// unsupported finds why a condition uses a part of the library's language that is
// refused here, or asks for what nothing gives.
type unsupported struct {
	names []string // all that may be asked for; empty for everything
	why   string   // "" for one that does neither
}

// Visit implements ast.Visitor.
func (u *unsupported) Visit(node *ast.Node) {
	refuse := func(format string, args ...any) {
		if u.why == "" {
			u.why = fmt.Sprintf(format, args...)
		}
	}
	switch n := (*node).(type) {
	case *ast.BuiltinNode:
		if !slices.Contains(functions, n.Name) {
			refuse("the function %s cannot be called in a condition; compare values instead", n.Name)
		}
	case *ast.IdentifierNode:
		if len(u.names) > 0 && !slices.Contains(u.names, n.Value) {
			refuse("it asks for %s, which nothing gives; use %s", n.Value, strings.Join(u.names, ", "))
		}
	case *ast.CallNode:
		refuse("the function %s is not known; compare values instead", n.Callee)
	case *ast.VariableDeclaratorNode:
		refuse("let cannot be used in a condition; write the value where it is needed")
	case *ast.SequenceNode:
		refuse("; joins nothing in a condition; write && or ||")
	case *ast.BinaryNode:
		switch n.Operator {
		case "..":
			refuse(".. cannot be used in a condition; write >= and <=")
		case "**", "^":
			refuse("%s cannot be used in a condition; write the number", n.Operator)
		}
	}
}
