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
	// Its name, or the file's where it has none.
	Agent         string
	URI           string
	Passed, Total int
	Checks        []Check
	Warnings      []definition.Problem // that no check says
}

// Valid reports whether every check passed.
func (r Report) Valid() bool { return r.Passed == r.Total }

// Text returns the report as it is printed: a line a check, then a line a warning, and
// the sum.
// It ends with a line end.
func (r Report) Text() string {
	var b strings.Builder
	for _, c := range r.Checks {
		if c.OK {
			b.WriteString("✓ " + c.Title + "\n")
			continue
		}
		fmt.Fprintf(&b, "✗ %s: line %d: %s\n", c.Title, c.Range.Start.Line+1, c.Message)
	}
	for _, p := range r.Warnings {
		fmt.Fprintf(&b, "! line %d: %s\n", p.Range.Start.Line+1, p.Message)
	}
	fmt.Fprintf(&b, "Validation: %d/%d passed\n", r.Passed, r.Total)
	return b.String()
}

// Line returns the report in one line, as validate --all prints it (spec 10). An
// agent that runs in spite of what failed says so.
// It has no line end.
func (r Report) Line() string {
	first, runs := -1, true
	for i, c := range r.Checks {
		if c.OK {
			continue
		}
		if first < 0 {
			first = i
		}
		runs = runs && !c.stops()
	}
	if first < 0 {
		return r.Agent + ": ✓ Valid"
	}
	line := fmt.Sprintf("%s: ✗ Invalid (%s)", r.Agent, strings.TrimSuffix(r.Checks[first].Message, "."))
	if runs {
		line += ", but it runs"
	}
	return line
}

// Titles gives reports of one name the places of their files behind it.
// It changes the reports. place returns the place of the i-th, for people.
func Titles(reports []*Report, place func(i int) string) {
	count := make(map[string]int)
	for _, r := range reports {
		count[r.Agent]++
	}
	for i, r := range reports {
		if count[r.Agent] > 1 {
			r.Agent += " (" + place(i) + ")"
		}
	}
}

// stops reports whether an agent does not run since a check failed. With other errors it
// runs without what is wrong.
func (c Check) stops() bool {
	return c.Code == authorityCode || definition.Problem{Code: c.Code, Severity: definition.Error}.Fatal()
}

// authorityCode is that of a restriction that cannot be kept here.
const authorityCode = "agent/authority"

// checks are the lines of a validation: what each looks for, and by which field of the
// file it is there; "" = always. The first has every error that no other looks for.
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
	{"subagents exist", "subagents", []string{"agent/subagent-unknown"}},
	{"graph valid", "graph", []string{"agent/graph"}},
	{"inputs fit the placeholders", "inputs", []string{"agent/placeholder"}},
	{"output schema valid", "output", []string{"agent/schema"}},
	{"guardrails exist", "guardrails", []string{"agent/validator", "agent/schema", "agent/expression"}},
}

// Validate checks a file: six things of every file, and one more for each further kind of
// field that it has; restrictions that keep a file from running fail one more. A finding
// fails a check if it is an error, or says that the model does not exist; a file that
// cannot be read fails all that could not be looked at. Other warnings are listed where no
// check that failed has their code.
func Validate(w *World, f *File) Report {
	d := f.Definition
	r := Report{Agent: d.Name, URI: f.URI}
	if r.Agent == "" {
		r.Agent = strings.TrimSuffix(filepath.Base(f.Path), ".md")
	}
	var failed, kept []definition.Problem
	problems := Diagnose(w, f)
	for _, p := range problems {
		switch {
		case p.Code == authorityCode:
			kept = append(kept, p)
		case p.Severity == definition.Error || p.Code == "agent/model-unknown":
			failed = append(failed, p)
		}
	}
	unread := len(failed) > 0 && f.Tree.Root == nil
	of := make(map[string][]definition.Problem) // by the check's title
	for _, p := range failed {
		title := f.checkOf(p)
		of[title] = append(of[title], p)
	}
	for _, c := range checks {
		if c.field != "" && f.Tree.Find(c.field) == nil {
			continue
		}
		check := newCheck(c.title, c.codes[0], of[c.title])
		if check.OK && unread && len(r.Checks) > 0 {
			check.OK, check.Message, check.Range = false, "Not known until the front-matter can be read.",
				failed[0].Range
		}
		r.Checks = append(r.Checks, check)
	}
	if len(kept) > 0 {
		r.Checks = append(r.Checks, newCheck("restrictions can be kept", authorityCode, kept))
	}
	r.Total = len(r.Checks)
	said := make(map[string]bool) // by the code
	for _, c := range r.Checks {
		if c.OK {
			r.Passed++
		} else {
			said[c.Code] = true
		}
	}
	for _, p := range problems {
		if p.Severity == definition.Warning && !said[p.Code] {
			r.Warnings = append(r.Warnings, p)
		}
	}
	return r
}

// newCheck is a check that found some problems: it says the first of those that keep
// the agent from running, else the first, and how many others there are.
// code is that of a check which found nothing; else the code of the finding stands there.
func newCheck(title, code string, found []definition.Problem) Check {
	if len(found) == 0 {
		return Check{Code: code, OK: true, Title: title}
	}
	// None may be fatal (-1), and then the first one is said.
	p := found[max(0, slices.IndexFunc(found, definition.Problem.Fatal))]
	c := Check{Code: p.Code, Title: title, Message: p.Message, Range: p.Range}
	if more := len(found) - 1; more > 0 {
		c.Message += fmt.Sprintf(" (and %d more)", more)
	}
	return c
}

// checkOf returns the title of the check that a problem fails: that of the field in
// which it lies, if this looks for it, else one that looks for it anywhere. What no
// check looks for is an error of the front-matter.
func (f *File) checkOf(p definition.Problem) string {
	title := checks[0].title
	// Backwards, since checks of single fields come last.
	for _, c := range slices.Backward(checks) {
		if !slices.Contains(c.codes, p.Code) || (c.field != "" && f.Tree.Find(c.field) == nil) {
			continue
		}
		title = c.title
		if v := f.Tree.Find(c.field); c.field != "" && v != nil && overlaps(p.Range, f.Index.Range(v.Span)) {
			break
		}
	}
	return title
}
