package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestGraphs: a graph is shown in each format and run from node to node; what has none
// is no graph, and where nobody can be asked a node that asks says so.
func TestGraphs(t *testing.T) {
	play(t, `# when system contains You are analyzer

> The login fails
<call complete_task {"result": {"can_auto_fix": true}}

# when system contains You are fixer

> Fix it
<call complete_task {"result": "Fixed."}
`)
	dir := handovers(t, map[string]string{
		"analyzer": "output: {schema: {type: object, properties: {can_auto_fix: {type: boolean}}}}\n", "fixer": "handoffs: [{to: analyzer}, {to: user}]\n",
		"bug-flow": `graph:
  entry: analyzer
  nodes: [{name: analyzer, agent: analyzer}, {name: fixer, agent: fixer, input: Fix it}, {name: ask, human: "Fix it?"}]
  edges: [{from: analyzer, to: fixer, condition: analyzer.can_auto_fix}, {from: analyzer, to: ask, else: true}, {from: fixer, to: END}, {from: ask, to: END}]
`,
		"asks": "graph: {entry: ask, nodes: [{name: ask, human: Sure?}], edges: [{from: ask, to: END}]}\n",
	})
	t.Setenv("AGENTLS_TRUST", "1")
	code, out, errs := command(t, dir, "graph", "visualize", "bug-flow")
	if code != 0 || out != "bug-flow\nEntry: analyzer\nNodes:\n  • analyzer (analyzer)\n  • fixer (fixer)\n  • ask (human)\nEdges:\n"+
		"  analyzer → fixer [if: analyzer.can_auto_fix]\n  analyzer → ask [else]\n  fixer → END\n  ask → END\n" {
		t.Errorf("exit %d, printed\n%s%s", code, out, errs)
	}
	for format, want := range map[string]string{"mermaid": "\tanalyzer -.->|\"else\"| ask;\n", "dot": `"analyzer" -> "ask" [label="else", style=dashed];`, "json": `"conditional": true`} {
		if code, out, errs := command(t, dir, "graph", "visualize", "bug-flow", "--format", format); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d, printed\n%s%s", format, code, out, errs)
		}
	}
	if code, out, errs := command(t, dir, "graph", "visualize", "fixer"); code != 0 || !strings.Contains(out, "  fixer → analyzer [manual]\n  fixer → user [manual]\n") || !strings.Contains(out, "  • user (the person)\n") {
		t.Errorf("exit %d, printed\n%s%s", code, out, errs)
	}
	code, out, errs = command(t, dir, "graph", "run", "bug-flow", "-p", "The login fails", "--format", "json")
	var r struct{ Run, Reason, Text string }
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || r.Reason != "GOAL" || r.Text != "Fixed." {
		t.Errorf("%v, exit %d, printed\n%s%s", err, code, out, errs)
	}
	if code, out, errs := command(t, dir, "graph", "visualize", "--run", r.Run); code != 0 || !strings.Contains(out, "  • fixer (fixer) [finished]\n  • ask (human)\n") {
		t.Errorf("exit %d, printed\n%s%s", code, out, errs)
	}
	for want, args := range map[string][]string{
		"fixer has no graph\n  Run it with `agentls run fixer`":                                 {"run", "fixer", "x"},
		"The node ask failed: the person did not answer its question, or nobody could be asked": {"run", "asks", "x"},
		"missing agent\n  Try agentls graph visualize NAME":                                     {"visualize"},
		"invalid --format \"svg\"\n  Use text, mermaid, dot or json":                            {"visualize", "fixer", "--format", "svg"},
		"missing subcommand\n  Try `agentls graph":                                              {},
	} {
		if code, out, errs := command(t, dir, append([]string{"graph"}, args...)...); code == 0 || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d, printed\n%s%s", args, code, out, errs)
		}
	}
}
