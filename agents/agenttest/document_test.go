package agenttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentls/agentls/agents/definition"
)

// good is a file with nothing wrong in it.
const good = `# about the reviewer
agent: reviewer
files: {src/a.ts: "let x = null\n"}
tests:
  - name: finds it
    input: review
    model:
      - call: {read_file: {file_path: src/a.ts}}
      - text: wrong
    expect:
      tools: [{name: read_file, args: {file_path: src/a.ts}}]
      output: {contains: ["wrong"], expr: turns == 2}
  - name: goes on
    agent: "writer"
    model: [{text: x}]
    expect: {handoffs: [reviewer], route: helper}
`

// shown is a finding as LINE:FROM-TO "TEXT" CODE MESSAGE.
func shown(d *Document, p definition.Problem) string {
	from, to := d.Index.Offset(p.Range.Start), d.Index.Offset(p.Range.End)
	return fmt.Sprintf("%d %q %s: %s", p.Range.Start.Line+1, d.Text[from:to], p.Code, p.Message)
}

// TestProblems: each mistake has its place, and what Parse refuses has a finding.
func TestProblems(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{"input: review", "inputt: review", `6 "inputt" agent-test/unknown-key: Unknown key "inputt"; did you mean input?`},
		{"handoffs:", "zzzzzzz:", `16 "zzzzzzz" agent-test/unknown-key: Unknown key "zzzzzzz"; there are confirmations, files, handoffs, judge, no_tools, output, reason, route, tools.`},
		{"    input: review\n", "    mode: quick\n", `6 "quick" agent-test/value: Mode is "quick"; use chat, task.`},
		{"input: review", "input: [review]", `6 "[review]" agent-test/value: This is a list, but must be text.`},
		{"files: {src/a.ts: \"let x = null\\n\"}", "files: no", `3 "no" agent-test/value: This is a single value, but must be keys with values.`},
		{"turns == 2", "turns ==", `12 "turns ==" agent-test/value: Expr "turns ==": `},
		{"      - text: wrong\n", "      - sees: wrong\n", `9 "sees" agent-test/value: An answer of the model has neither text, call nor error.`},
		{"call: {read_file: {file_path: src/a.ts}}", "call: {ls: {}, glob: {}}", `8 "call" agent-test/value: Call has several tools, in no order; list them under calls.`},
		{"name: goes on", "name: finds it", `13 "finds it" agent-test/value: Another test has that name.`},
		{"agent: reviewer\n", "", `4 "finds it" agent-test/value: The agent is missing; name it here or at the top of the file.`},
		{"agent: \"writer\"", "agent: \"writr\"", `14 "writr" agent-test/agent-unknown: There is no agent writr here; correct the name, or create it.`},
		{"expect: {handoffs", "expect: {{handoffs", `agent-test/yaml: `},
		{good, "agent: reviewer\n", `1 "agent: reviewer" agent-test/value: There are no tests: `},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		d := Open("a.agent-test.yaml", text)
		var got []string
		for _, p := range d.Problems(func(name string) bool { return slices.Contains([]string{"reviewer", "writer", "helper"}, name) }) {
			got = append(got, shown(d, p))
		}
		if (c.want == "" && len(got) > 0) || (c.want != "" && (len(got) == 0 || !strings.Contains(got[0], c.want))) {
			t.Errorf("%s → %s:\n%s\nwant %s", c.old, c.new, strings.Join(got, "\n"), c.want)
		}
	}
}

// TestProblemsAreThoseOfTheLoader: for any text, Parse fails where and only where there is
// an error.
func TestProblemsAreThoseOfTheLoader(t *testing.T) {
	lines := strings.SplitAfter(good, "\n")
	rapid.Check(t, func(t *rapid.T) {
		text := slices.Clone(lines)
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			i := rapid.IntRange(0, len(text)-1).Draw(t, "line")
			switch rapid.IntRange(0, 3).Draw(t, "change") {
			case 0:
				text = slices.Delete(text, i, i+1)
			case 1:
				text[i] = strings.Replace(text[i], rapid.SampledFrom([]string{":", " ", "e", "-", "[", "name"}).Draw(t, "old"), rapid.SampledFrom([]string{"", "x", "{", "* ", "[1]"}).Draw(t, "new"), 1)
			case 2:
				text = slices.Insert(text, i, text[rapid.IntRange(0, len(text)-1).Draw(t, "from")])
			case 3:
				text[i] = text[i][:rapid.IntRange(0, len(text[i])).Draw(t, "cut")]
			}
			if len(text) == 0 {
				return
			}
		}
		all := strings.Join(text, "")
		_, err := Parse("x", []byte(all))
		d := Open("x", all)
		if found := d.Problems(nil); (err != nil) != (len(found) > 0) {
			t.Fatalf("Parse: %v; findings: %v\n%s", err, found, all)
		}
		for offset := range len(all) + 1 {
			at := d.Index.Position(offset)
			d.Hover(at)
			for _, i := range d.Complete(at, Known{Agents: []string{"a"}}) {
				if i.Range.Start.Line != i.Range.End.Line {
					t.Fatalf("%v at %v", i, at)
				}
			}
		}
	})
}

// TestAt: a failure is shown where the test says what did not come.
func TestAt(t *testing.T) {
	d := Open("a", good)
	for path, want := range map[string]string{
		"expect.tools.0.args.file_path": "src/a.ts", "expect.tools.0.state": "name", "expect.output.expr": "turns == 2", "expect.output.contains": "contains",
		"model.1": "text", "expect.handoffs": "expect", "answers": "finds it", "expect.reason": "expect",
	} {
		r := d.At(0, strings.Split(path, "."))
		if got := d.Text[d.Index.Offset(r.Start):d.Index.Offset(r.End)]; got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if tests := d.Tests(); len(tests) != 2 || tests[1].Name != "goes on" || tests[1].Agent != "writer" || tests[1].Range.Start.Line != 12 {
		t.Errorf("%+v", tests)
	}
}

// TestComplete: keys, values, agents and tools, where each may stand.
func TestComplete(t *testing.T) {
	known := Known{Agents: []string{"reviewer", "writer"}, Tools: []string{"read_file", "ls"}}
	for mark, want := range map[string]string{
		"tests:\n  - name: a\n    ^":   "expect model agent answers approval files input inputs mode results strategy",
		"tests:\n  - name: a\n    ex^": "expect model name agent answers approval files input inputs mode results strategy",
		"tests:\n  - ^":                "expect model name agent answers approval files input inputs mode results strategy",
		"agent: ^":                     "reviewer writer auto",
		"tests:\n  - mode: ^":          "chat task",
		"tests:\n  - expect:\n      tools:\n        - name: ^":                                    "read_file ls",
		"tests:\n  - expect: {route: ^}":                                                          "reviewer writer",
		"tests:\n  - expect: {handoffs: [^]}":                                                     "reviewer writer",
		"tests:\n  - model:\n      - call: {^}":                                                   "read_file ls",
		"tests:\n  - model:\n      - call:\n          r^":                                         "read_file ls",
		"tests:\n  - answers: [^]":                                                                "once run session always reject",
		"tests:\n  - expect:\n      output: {^}":                                                  "contains equals expr matches schema",
		"tests:\n  - model:\n      - call: {ls: {^}}":                                             "",
		"tests:\n  - name: a\n    input: x\n    expect:\n      ou^\n  - name: b\n    model: []\n": "confirmations files handoffs judge no_tools output reason route tools",
	} {
		before, after, _ := strings.Cut(mark, "^")
		d := Open("a", before+after)
		var got []string
		for _, i := range d.Complete(d.Index.Position(len(before)), known) {
			got = append(got, i.Label)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v\nwant %s", mark, got, want)
		}
	}
}

// TestHover: a key says what the schema says.
func TestHover(t *testing.T) {
	d := Open("a", good)
	for mark, want := range map[string]string{
		"exp|r: turns":    "**expr** · text\n\nExpr is a condition over output, text, reason, turns, tools and agents.",
		"na|me: finds it": "**name** · text\n\nName says what the test holds; names differ within a file.",
		"src/a|.ts: \"":   "",
	} {
		before, after, _ := strings.Cut(mark, "|")
		got, _, _ := d.Hover(d.Index.Position(strings.Index(good, before+after) + len(before)))
		if got != want {
			t.Errorf("%s: %q, want %q", mark, got, want)
		}
	}
}
