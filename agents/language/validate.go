package language

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
)

// Check is one line of a validation (spec 1.5).
type Check struct {
	Code    string // the finding's code; of a check that passed, the first that it looks for
	OK      bool
	Title   string // what is checked, as "tools available"
	Message string // why it failed, one sentence; "" where it passed
	Range   definition.Range
}

// Report is a file's validation.
type Report struct {
	Agent         string
	URI           string
	Passed, Total int
	Checks        []Check
}

// Valid reports whether every check passed.
func (r Report) Valid() bool { return r.Passed == r.Total }

// Text returns the report as it is printed: a line a check, and the sum.
func (r Report) Text() string {
	var b strings.Builder
	for _, c := range r.Checks {
		if c.OK {
			b.WriteString("✓ " + c.Title + "\n")
			continue
		}
		fmt.Fprintf(&b, "✗ %s: line %d: %s\n", c.Title, c.Range.Start.Line+1, c.Message)
	}
	fmt.Fprintf(&b, "Validation: %d/%d passed\n", r.Passed, r.Total)
	return b.String()
}

// Line returns the report in one line, as validate --all prints it (spec 10).
func (r Report) Line() string {
	for _, c := range r.Checks {
		if !c.OK {
			return fmt.Sprintf("%s: ✗ Invalid (%s)", r.Agent, strings.TrimSuffix(c.Message, "."))
		}
	}
	return r.Agent + ": ✓ Valid"
}

// checks are the lines of a validation: what each looks for, and by which field
// of the file it is there; "" = always.
var checks = []struct {
	title, field string
	codes        []string
}{
	{"front-matter valid", "", []string{"agent/yaml", "agent/yaml-feature", "agent/too-large", "agent/type"}},
	{"required fields present", "", []string{"agent/missing-field", "agent/name", "agent/duplicate-name"}},
	{"model exists", "", []string{"agent/model-unknown"}},
	{"tools available", "", []string{"agent/tool-unknown"}},
	{"MCP servers configured", "", []string{"agent/mcp-unknown"}},
	{"system prompt not empty", "", []string{"agent/prompt-empty"}},
	{"trigger patterns compile", "triggers", []string{"agent/regex"}},
	{"handoff targets exist", "handoffs", []string{"agent/handoff-target", "agent/expression"}},
	{"inputs fit the placeholders", "inputs", []string{"agent/placeholder"}},
	{"output schema valid", "output", []string{"agent/schema"}},
	{"guardrails exist", "guardrails", []string{"agent/validator", "agent/schema"}},
	{"graph connected", "graph", []string{"agent/graph"}},
}

// Validate checks a file (spec 1.5): six things of every file, and one more for
// each further kind of field that it has. A finding fails a check if it is an
// error, or says that the model does not exist; a file that cannot be read fails
// all that could not be looked at.
func Validate(w *World, f *File) Report {
	d := f.Definition
	r := Report{Agent: d.Name, URI: f.URI}
	if r.Agent == "" {
		r.Agent = strings.TrimSuffix(filepath.Base(f.Path), ".md")
	}
	var failed []definition.Problem
	for _, p := range Diagnose(w, f) {
		if p.Severity == definition.Error || p.Code == "agent/model-unknown" {
			failed = append(failed, p)
		}
	}
	unread := len(failed) > 0 && f.Tree.Root == nil
	used := make([]bool, len(failed))
	for _, c := range checks {
		if c.field != "" && f.Tree.Find(c.field) == nil {
			continue
		}
		check := Check{Code: c.codes[0], OK: true, Title: c.title}
		for i, p := range failed {
			if slices.Contains(c.codes, p.Code) {
				used[i] = true
				if check.OK {
					check = Check{p.Code, false, c.title, p.Message, p.Range}
				}
			}
		}
		if check.OK && unread && len(r.Checks) > 0 {
			check.OK, check.Message, check.Range = false, "Not known until the front-matter can be read.", failed[0].Range
		}
		r.Checks = append(r.Checks, check)
	}
	// What no check looks for is an error of the front-matter.
	for i, p := range failed {
		if !used[i] && r.Checks[0].OK {
			r.Checks[0] = Check{p.Code, false, r.Checks[0].Title, p.Message, p.Range}
		}
	}
	r.Total = len(r.Checks)
	for _, c := range r.Checks {
		if c.OK {
			r.Passed++
		}
	}
	return r
}
