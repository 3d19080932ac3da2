// Package condition compiles the conditions of handoffs, graphs and guards (spec
// 5, 6.1, 7): expressions over what a run has come to.
//
// The language is that of github.com/expr-lang/expr. Names that nothing is known
// of are allowed, since a graph's nodes are names too: they are nil when the
// condition is judged. Nothing in the language calls out, and how large an
// expression may become is limited.
package condition

import (
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"

	"github.com/agentls/agentls/internal/fault"
)

// maxNodes is how many nodes the tree of a condition may have.
const maxNodes = 1000

// maxText is how many bytes a condition may have.
const maxText = 8 << 10

// Check says why a condition does not compile, in one line; nil for one that
// does. The error is [fault.Invalid].
func Check(text string) error {
	if len(text) > maxText {
		return fault.New(fault.Invalid, "condition.check", "it has %d bytes; %d are allowed", len(text), maxText)
	}
	if strings.TrimSpace(text) == "" {
		return fault.New(fault.Invalid, "condition.check", "it is empty")
	}
	_, err := expr.Compile(text, expr.AllowUndefinedVariables(), expr.AsBool(), expr.MaxNodes(maxNodes))
	if err == nil {
		return nil
	}
	message := err.Error()
	if e, ok := err.(*file.Error); ok { // without its picture of the place
		message = e.Message
	}
	message, _, _ = strings.Cut(message, "\n")
	return fault.New(fault.Invalid, "condition.check", "%s", message)
}
