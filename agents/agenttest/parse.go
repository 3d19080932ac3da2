package agenttest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/agentls/agentls/agents/condition"
	"github.com/agentls/agentls/internal/fault"
)

// Error is what is wrong with a file, and where.
type Error struct {
	Path string
	// Both from 1.
	Line, Column int
	Message      string
}

// Error returns the place and the message.
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.Path, e.Line, e.Column, e.Message)
}

// Parse reads a file of tests. path is for messages. The error is an *Error. It finds
// the first thing that is wrong; [Open] finds all. Nothing is read but text.
func Parse(path string, text []byte) (*File, error) {
	f, lines, err := decode(path, text, yaml.DisallowUnknownField())
	if err != nil {
		return nil, err
	}
	for i := range f.Tests {
		if f.Tests[i].Line = 1; i < len(lines) {
			f.Tests[i].Line = lines[i]
		}
	}
	if flaws := f.complete(); len(flaws) > 0 {
		first := flaws[0]
		e := &Error{Path: path, Line: 1, Column: 1, Message: first.message}
		if first.test >= 0 {
			e.Line = f.Tests[first.test].Line
			e.Message = fmt.Sprintf("test %q: %s", f.Tests[first.test].Name, first.message)
		}
		return nil, e
	}
	return f, nil
}

// decode reads a file, and where its tests begin. The error is an *Error. Only the
// first document of a file counts.
func decode(path string, text []byte, options ...yaml.DecodeOption) (f *File, lines []int, err error) {
	wrong := func(err error) error {
		at := &Error{Path: path, Line: 1, Column: 1, Message: err.Error()}
		if known, ok := errors.AsType[yaml.Error](err); ok {
			at.Message = strings.ReplaceAll(known.GetMessage(), "unknown field", "unknown key")
			if token := known.GetToken(); token != nil {
				at.Line, at.Column = token.Position.Line, token.Position.Column
			}
		}
		return at
	}
	if len(text) > maxFile {
		return nil, nil, wrong(fmt.Errorf("the file is larger than %d bytes", maxFile))
	}
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, nil, wrong(err)
	}
	f = new(File)
	for _, doc := range tree.Docs[:min(len(tree.Docs), 1)] {
		if doc.Body == nil {
			break // it is empty
		}
		if err := yaml.NodeToValue(doc.Body, f, options...); err != nil {
			return nil, nil, wrong(err)
		}
	}
	return f, linesOf(tree), nil
}

// linesOf returns where the tests of a file begin.
//
// A test begins at its first key. Files that are not of the usual form have none, and
// tests are then told to be on line 1.
func linesOf(tree *ast.File) (lines []int) {
	if len(tree.Docs) == 0 {
		return nil
	}
	root, _ := tree.Docs[0].Body.(*ast.MappingNode)
	if root == nil {
		return nil
	}
	for _, entry := range root.Values {
		if list, ok := entry.Value.(*ast.SequenceNode); ok && entry.Key.String() == "tests" {
			for _, item := range list.Values {
				lines = append(lines, item.GetToken().Position.Line)
				if m, ok := item.(*ast.MappingNode); ok && len(m.Values) > 0 {
					lines[len(lines)-1] = m.Values[0].Key.GetToken().Position.Line
				}
			}
		}
	}
	return lines
}

// flaw is what is wrong with a test, or with the whole file. Both Parse and
// Document.Problems tell it.
type flaw struct {
	test    int      // its index; -1 for the file
	path    []string // below the test: keys, and indices in decimal
	message string
}

// choices are the values of keys that have only these, by their paths in the schema.
var choices = map[string][]string{
	"tests[].mode":                           {"chat", "task"},
	"tests[].strategy":                       {"rule", "llm", "hybrid"},
	"tests[].approval":                       {"plan", "ask", "edits", "auto"},
	"tests[].model[].for":                    {"route", "summary", "correction", "search", "aside"},
	"tests[].expect.tools[].state":           {"success", "error", "cancelled"},
	"tests[].expect.confirmations[].outcome": {"once", "run", "session", "always", "modify", "reject", "cancel"},
}

// complete puts into each test what the file says for all, and returns what is wrong.
// It changes f.
// Files of a test count before those of the whole file.
func (f *File) complete() (flaws []flaw) {
	if len(f.Tests) == 0 {
		return []flaw{{test: -1, message: "there are no tests: add a list tests, each with name, input, model and expect"}}
	}
	names := make(map[string]bool)
	for i := range f.Tests {
		c := &f.Tests[i]
		c.Agent = cmp.Or(c.Agent, f.Agent)
		files := maps.Clone(f.Files)
		if files == nil {
			files = make(map[string]string)
		}
		maps.Copy(files, c.Files)
		c.Files = files
		k := &caseCheck{test: i}
		k.whole(c)
		k.expect(&c.Expect)
		if names[c.Name] {
			k.add("another test has that name", "name")
		}
		names[c.Name] = true
		flaws = append(flaws, k.flaws...)
	}
	return flaws
}

// caseCheck collects what is wrong with a test.
type caseCheck struct {
	test  int
	flaws []flaw
}

// add notes what is wrong at a path below the test.
func (k *caseCheck) add(message string, path ...string) {
	k.flaws = append(k.flaws, flaw{k.test, path, message})
}

// choice checks a value that is one of few.
func (k *caseCheck) choice(value, of string, path ...string) {
	if allowed := choices["tests[]."+of]; value != "" && !slices.Contains(allowed, value) {
		k.add(fmt.Sprintf("%s is %q; use %s", path[len(path)-1], value, strings.Join(allowed, ", ")), path...)
	}
}

// whole checks all of a test but what it expects.
//
// A result needs either a text or an error, and not both.
func (k *caseCheck) whole(c *Case) {
	k.choice(c.Mode, "mode", "mode")
	k.choice(c.Strategy, "strategy", "strategy")
	k.choice(c.Approval, "approval", "approval")
	switch {
	case c.Name == "":
		k.add("the name is missing", "name")
	case c.Agent == "":
		k.add("the agent is missing; name it here or at the top of the file", "agent")
	}
	for i, a := range c.Model {
		at := strconv.Itoa(i)
		k.choice(a.For, "model[].for", "model", at, "for")
		several := func(one map[string]map[string]any) bool { return len(one) > 1 }
		if several(a.Call) || slices.ContainsFunc(a.Calls, several) {
			k.add("call has several tools, in no order; list them under calls", "model", at, "call")
		}
		if a.Text == "" && a.Error == "" && len(a.calls()) == 0 {
			k.add("an answer of the model has neither text, call nor error", "model", at)
		}
	}
	for i, r := range c.Results {
		if r.Tool == "" || (r.Result == "") == (r.Error == "") {
			k.add("each of results has a tool, and either a result or an error", "results", strconv.Itoa(i))
		}
	}
}

// expect checks what a test expects.
//
// Patterns, schemas and conditions are compiled here, so that Check can rely on them.
func (k *caseCheck) expect(e *Expect) {
	if e.Tools != nil {
		for i, t := range *e.Tools {
			k.choice(t.State, "expect.tools[].state", "expect", "tools", strconv.Itoa(i), "state")
		}
	}
	if e.Confirmations != nil {
		for i, c := range *e.Confirmations {
			k.choice(c.Outcome, "expect.confirmations[].outcome", "expect", "confirmations", strconv.Itoa(i), "outcome")
		}
	}
	if e.Judge != nil && (e.Judge.Agent == "" || e.Judge.Asks == "") {
		k.add("judge has an agent, and asks what must hold", "expect", "judge")
	}
	o := e.Output
	if o == nil {
		return
	}
	if _, err := regexp.Compile(o.Matches); err != nil {
		k.add(err.Error(), "expect", "output", "matches")
	}
	if _, err := compileSchema(o.Schema); err != nil {
		k.add(fmt.Sprintf("the schema of output: %v", err), "expect", "output", "schema")
	}
	if o.Expr != "" {
		if _, err := condition.Compile(o.Expr); err != nil {
			k.add(fmt.Sprintf("expr %q: %s", o.Expr, fault.Message(err)), "expect", "output", "expr")
		}
	}
}
