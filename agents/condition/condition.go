// Package condition reads the conditions of handoffs, graphs and guards (spec
// 5, 6.1, 7): expressions over what a run has come to.
//
// The language is a part of that of github.com/expr-lang/expr: comparisons, the
// functions that look at a value, and those that ask for the elements of a list
// (any, all, filter …). What could build ever larger values, or depends on the
// time, is refused. Names that nothing is known of are allowed, since a graph's
// nodes are names too: they are nil when the condition is judged. Nothing in the
// language calls out, and how large an expression and its patterns may become is
// limited.
//
// A file's conditions are looked at by [Check] whenever it is read, in an editor too,
// and compiled by [Compile] only for a run, which keeps the [Condition] and asks
// [Condition.Holds] as often as it needs. [Names] and [Places] are for tools that show
// or check what a condition asks for. Reading is bounded by the text (maxText,
// maxNodes, maxVisits, maxPatterns) and judging by steps and memory, not by a clock, so
// that the same condition with the same values always comes to the same.
package condition

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/pattern"
)

// maxNodes is how many nodes the tree of a condition may have.
const maxNodes = 1000

// maxText is how many bytes a condition may have.
const maxText = 8 << 10

// maxPatterns is how large the patterns of one condition may be together, as
// [pattern.Size] has it.
const maxPatterns = pattern.PerFile / 2

// Check says why a condition does not compile, as a clause: what, and what to do;
// nil for one that does. The error is [fault.Invalid]. It parses the text and looks
// at types; nothing of it is compiled or computed. names are all that it may ask for;
// without any it may ask for everything. Size is how large it is, as [pattern.Size] has it.
// It is safe for concurrent use, and takes at most some milliseconds.
func Check(text string, names ...string) (size int, err error) {
	size, reason := check(text, names)
	if reason != "" {
		return size, fault.New(fault.Invalid, "condition.check", "%s", reason)
	}
	return size, nil
}

// check is [Check] with the reason as text; "" for a condition that compiles. The order matters:
// what bounds the text and its tree comes before the library's checker, whose time may double with
// each level of nesting, and patterns are emptied before it, since it would compile them.
func check(text string, names []string) (size int, bad string) {
	size = 20
	if len(text) > maxText {
		return size, fmt.Sprintf("it has %d bytes and %d are allowed; make it shorter", len(text), maxText)
	}
	if strings.TrimSpace(text) == "" {
		return size, "it is empty; write it, or remove the key"
	}
	size += len(text) / 10
	config := conf.CreateNew()
	config.Strict, config.Expect, config.ExpectAny, config.MaxNodes = false, reflect.Bool, true, maxNodes
	tree, err := parser.ParseWithConfig(text, config)
	if err != nil {
		return size, reason(err)
	}
	visits := weights{config, make(map[ast.Node]int)}.of(tree.Node)
	if visits > maxVisits {
		return size, "it repeats too much of what is nested in it; nest less"
	}
	size += visits / 10
	// The checker would compile what is left of a pattern.
	p := patterns{}
	ast.Walk(&tree.Node, &p)
	size += p.size
	if p.bad != "" {
		return size, p.bad
	}
	if _, err := checker.Check(tree, config); err != nil {
		return size, reason(err)
	}
	u := unsupported{names: names}
	ast.Walk(&tree.Node, &u)
	return size, u.why
}

// patterns looks at the right sides of matches, and empties them. It is a visitor of
// one tree.
type patterns struct {
	size int
	bad  string
}

// Visit implements ast.Visitor.
func (p *patterns) Visit(node *ast.Node) {
	n, ok := (*node).(*ast.BinaryNode)
	if !ok || n.Operator != "matches" || p.bad != "" {
		return
	}
	written, ok := n.Right.(*ast.StringNode)
	if !ok {
		p.bad = "the pattern after matches is computed; write it there in quotes"
		return
	}
	// An escape of the condition may stand for any part of a pattern, so only the text
	// that it comes to tells how large it is.
	size, bad := pattern.Check(written.Value)
	switch p.size += size.Parse; {
	case p.size > maxPatterns:
		p.bad = `its patterns have too many classes of characters; write fewer of \p{…} and of wide ranges`
	case bad != nil:
		p.bad = bad.Error()
	}
	written.Value = ""
}

// reason puts what the library says into our words. What none of our words are for gets
// a sentence of its own, and never the library's text: that is about its source and may
// be long.
func reason(err error) string {
	if text, ok := translate(err); ok {
		return text
	}
	return "it is no expression that is understood; write one such as task.status == \"done\""
}

// message returns the first line of what the library says, without its picture of
// the place.
func message(err error) string {
	text := err.Error()
	if e, ok := err.(*file.Error); ok {
		text = e.Message
	}
	text, _, _ = strings.Cut(text, "\n")
	return text
}

// translate puts what the library says into our words, where there are some for it.
func translate(err error) (string, bool) {
	message := message(err)
	for _, w := range words {
		if rest, ok := strings.CutPrefix(message, w.theirs); ok {
			if strings.Contains(w.ours, "%s") {
				return fmt.Sprintf(w.ours, types.Replace(plain(rest))), true
			}
			return w.ours, true
		}
	}
	return "", false
}

// plain takes a token of the library's out of its kind: Operator("==").
func plain(rest string) string {
	if i := strings.IndexByte(rest, '('); i >= 0 && strings.HasSuffix(rest, ")") {
		rest = rest[i+1 : len(rest)-1]
	}
	rest = strings.Trim(rest, `"`)
	return strings.TrimPrefix(rest, "mismatched types ")
}

// types has our words for the library's types.
var types = strings.NewReplacer(
	"[]interface {}", "a list", "map[string]interface {}", "an object", "float64", "a number", "string", "a text",
	"int", "a whole number", "bool", "true or false",
)

// words are the beginnings of what the library says, the longer before the
// shorter, and what is said in their place.
var words = []struct{ theirs, ours string }{
	{"unexpected token EOF", "something is missing at its end; complete it"},
	{"unexpected end of expression", "something is missing at its end; complete it"},
	{`unexpected token Operator("=")`, "= compares nothing; write =="},
	{"unexpected token ", "“%s” does not belong where it stands; remove it, or complete what is before it"},
	{"compilation failed: expression exceeds",
		fmt.Sprintf("it has more parts than the %d that are allowed; make it shorter", maxNodes)},
	{"literal not terminated", "a text in it is not closed; write the quote at its end"},
	{"unclosed comment", "a comment in it is not closed; write */ at its end"},
	{"unrecognized character: ", "the character %s means nothing in it; remove it, or put the text in quotes"},
	{"bad number syntax: ", "%s is no number; correct it, or put it in quotes"},
	{"invalid char escape", `a backslash in it begins no escape that is known; write \\ for the backslash itself`},
	{"expected bool, but got ", "its value is %s, not true or false; compare it with something"},
	{"invalid operation: ", "it compares or joins what does not go together: %s; write both sides alike"},
	{"unknown name ", "the name %s is not known; correct it"},
	{"Operator (", "?? is mixed with another operator; put one of them in parentheses"},
}
