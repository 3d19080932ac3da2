package condition

import (
	"errors"
	"maps"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"

	"github.com/agentls/agentls/internal/fault"
)

// maxSteps is how many parts of its loops a condition may judge, which takes about
// 10 ms (spec 5.2). What is no loop takes time linear in the values. The clock is not
// asked: on a busy machine a condition has the same outcome.
const maxSteps = 200_000

// Condition is a condition that compiled. It is safe for concurrent use. It holds no
// values.
type Condition struct {
	text    string
	program *vm.Program
}

// Compile returns a condition that can be judged. names and its error are those of [Check].
//
// The program counts its steps and ends with an error beyond maxSteps, so a condition
// cannot hold a run up.
func Compile(text string, names ...string) (*Condition, error) {
	if _, err := Check(text, names...); err != nil {
		return nil, err
	}
	program, err := expr.Compile(text, expr.AllowUndefinedVariables(), expr.AsAny(), expr.Optimize(false),
		expr.MaxNodes(2*maxNodes), expr.Patch(counted{}),
		expr.Function(count, func(args ...any) (any, error) {
			taken, ok := args[0].(*int)
			weight, is := args[1].(int)
			if !ok || !is {
				return nil, errors.New("it cannot be counted")
			}
			if *taken += weight; *taken > maxSteps {
				return nil, errSlow
			}
			return true, nil
		}))
	if err != nil {
		return nil, fault.New(fault.Invalid, "condition.compile", "%s", reason(err))
	}
	return &Condition{text, program}, nil
}

// String is the condition as it was written.
func (c *Condition) String() string { return c.text }

// Holds judges the condition with the values of its names, which it does not
// change. A field that is not there is nil. What cannot be judged does not hold,
// and the error, a clause, says why. values are what paths begin with, as a run has
// them: JSON's types. It takes some 10 ms at most, and does not look at a context. What
// follows from an error is the caller's to decide.
func (c *Condition) Holds(values map[string]any) (bool, error) {
	values = maps.Clone(values)
	if values == nil {
		values = make(map[string]any)
	}
	values[steps] = new(int)
	value, err := (&vm.VM{MemoryBudget: maxMemory}).Run(c.program, values)
	switch value, ok := value.(bool); {
	case errors.Is(err, errSlow):
		return false, errSlow
	case err != nil:
		return false, errors.New(reasonAtRun(err))
	case ok:
		return value, nil
	}
	if value == nil {
		return false, errors.New("it asks for something that is not there")
	}
	return false, errors.New("its value is not true or false; compare it with something")
}

// errSlow is why a condition does not hold that takes too long.
var errSlow = errors.New("it took more than 10 ms")

// maxMemory is how many elements the lists may have together that a condition
// makes.
const maxMemory = 100_000

// The names under which a condition's loops are counted. No condition can name them:
// an identifier has no blank.
const (
	count = "count "
	steps = "steps "
)

// counted has each round of a loop count what it judges. It wraps the predicate of each
// loop in a condition that first adds the predicate's parts to what was taken, and ends
// the whole where that is too much: the library has no limit on time of its own.
type counted struct{}

// weight counts the parts of a tree.
type weight int

// Visit implements ast.Visitor.
func (w *weight) Visit(*ast.Node) { *w++ }

// Visit implements ast.Visitor.
func (counted) Visit(node *ast.Node) {
	if n, ok := (*node).(*ast.PredicateNode); ok {
		var w weight
		ast.Walk(&n.Node, &w)
		look := &ast.CallNode{Callee: &ast.IdentifierNode{Value: count},
			Arguments: []ast.Node{&ast.IdentifierNode{Value: steps}, &ast.IntegerNode{Value: int(w)}}}
		n.Node = &ast.ConditionalNode{Cond: look, Exp1: n.Node, Exp2: &ast.NilNode{}}
	}
}

// reasonAtRun puts what the library says of a value into our words.
func reasonAtRun(err error) string {
	if text, ok := translate(err); ok {
		return text
	}
	return "its values do not fit together (" + message(err) + ")"
}
