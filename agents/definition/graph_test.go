package definition

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/graph"
)

// TestGraphFindings: what is wrong with a graph is told at the value concerned, and the
// agent does not run.
func TestGraphFindings(t *testing.T) {
	for fields, want := range map[string]string{
		"graph: {entry: a, nodes: [{name: a, agent: b}], edges: [{from: a, to: END}]}":                                          "",
		"graph: {entry: x, nodes: [{name: a, agent: b}], edges: [{from: a, to: END}]}":                                          "graph x",
		"graph: {entry: a, nodes: [{name: a, agent: b}], edges: [{from: a, to: b}]}":                                            "graph b",
		"graph: {entry: a, nodes: [{name: a, agent: b, tool: ls}], edges: [{from: a, to: END}]}":                                "graph {name: a, agent: b, tool: ls}",
		"graph: {entry: a, nodes: [{agent: b}], edges: [{from: a, to: END}]}":                                                   "graph {agent: b}",
		"graph: {entry: a, nodes: [{name: a, agent: code-fixer}], edges: [{from: a, to: END}]}":                                 "graph code-fixer",
		"graph: {entry: a, nodes: [{name: a, agent: }], edges: [{from: a, to: END}]}":                                           "graph {name: a, agent: }",
		"graph: {entry: a, nodes: [{name: a, tool: ls, input: x}], edges: [{from: a, to: END}]}":                                "graph x",
		"graph: {entry: a, nodes: [{name: a, tool: 'l*'}], edges: [{from: a, to: END}]}":                                        "graph 'l*'",
		"graph: {entry: a, nodes: [{name: a, tool: complete_task}], edges: [{from: a, to: END}]}":                               "graph complete_task",
		"graph: {entry: a, nodes: [{name: a, human: true}], edges: [{from: a, to: END, condition: a.b ==}]}":                    "expression a.b ==, graph a.b ==",
		"graph: {entry: a, nodes: [{name: a, human: q}], edges: [{from: a, to: END, condition: b.c}]}":                          "graph b.c",
		"graph: {entry: a, nodes: [{name: a, human: q}], edges: [{from: a, to: END, condition: true}]}":                         "graph true",
		"graph: {entry: a, nodes: [{name: a, human: 'q ${z}'}], edges: [{from: a, to: END}]}":                                   "graph {name: a, human: 'q ${z}'}",
		"graph: {entry: a, nodes: [{name: a, human: q}], edges: [{to: END}]}":                                                   "graph {to: END}",
		"graph: {entry: a, nodes: [{name: a, human: q, retries: 11}], edges: [{from: a, to: END}]}":                             "type 11",
		"graph: {entry: a, max_steps: 0, nodes: [{name: a, human: q}], edges: [{from: a, to: END}]}":                            "type 0",
		"graph: {entry: a, nodes: [{name: a, human: q}], edges: [{from: a, to: END}], state: {k: {reducer: max}}}":              "graph max",
		"graph: {entry: a, nodes: [{name: a, human: q}], edges: [{from: a, to: END}], state: {input: }}":                        "graph input",
		"graph: {entry: a, nodes: [{name: a, human: q}, {name: b, human: q}], edges: [{from: a, to: END}, {from: b, to: END}]}": "graph b",
		"graph: {entry: a, nodes: [a]}": "type a",
		"graph: {entry: a, nodez: []}":  "graph {entry: a, nodez: []}, unknown-field nodez",
		fmt.Sprintf("graph: {entry: n0, nodes: [%s]}", strings.Repeat("{name: a, human: q}, ", 101)): "graph [" + strings.Repeat("{name: a, human: q}, ", 101) + "]",
	} {
		src := own(fields + "\n")
		d := Parse(Source{Path: ownPath, Data: []byte(src), Installed: Installed{Expression: func(text string, _ ...string) (int, error) {
			if strings.HasSuffix(text, "==") {
				return 1, fmt.Errorf("something is missing")
			}
			return 1, nil
		}}})
		var got []string
		for _, p := range d.Problems {
			if p.Code != "agent/no-effect" && p.Code != "agent/dead" {
				lines := strings.Split(src, "\n")
				got = append(got, strings.TrimPrefix(p.Code, "agent/")+" "+lines[p.Range.Start.Line][p.Range.Start.Character:p.Range.End.Character])
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s:\ngot  %s\nwant %s\n%v", fields, strings.Join(got, ", "), want, d.Problems)
		}
		if usable, _ := d.Usable(); usable != (want == "") {
			t.Errorf("%s: usable is %v", fields, usable)
		}
	}
}

// TestGraphOfThePage: what docs/graphs.md shows can be used.
func TestGraphOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/graphs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```markdown\n")
	text, _, found := strings.Cut(text, "```\n")
	d := Parse(Source{Path: "/w/.gemini/agents/bug-flow.md", Data: []byte(text)})
	if !found || len(d.Problems) > 0 || len(d.Graph.Nodes) != 6 {
		t.Errorf("%v", d.Problems)
	}
}

// TestGraphIsRead: every field of a graph comes to its plan; a graph needs no prompt.
func TestGraphIsRead(t *testing.T) {
	d := Parse(Source{Path: ownPath, Data: []byte(`---
kind: agent
name: code-fixer
title: T
graph:
  entry: look
  max_steps: 7
  nodes:
    - {name: look, agent: analyzer, input: {goal: "${input}", n: [1]}, retries: 2, timeout: 90}
    - {name: ask-them, human: "So ${look.x}?"}
    - {name: run, tool: shell, input: {command: ls}, timeout: 2m}
    - {name: more, graph: inner}
  edges:
    - {from: look, to: run, condition: look.ok, priority: 3}
    - {from: look, to: ask-them, else: true}
    - {from: run, to: more}
    - {from: ask-them, to: more}
    - {from: more, to: END}
  state:
    notes: {reducer: append}
    plain:
---
`)})
	if ok, why := d.Usable(); !ok {
		t.Fatal(why)
	}
	want := graph.Plan{
		Entry: "look", MaxSteps: 7,
		Nodes: []graph.Node{
			{Name: "look", Kind: graph.Agent, Of: "analyzer", Input: map[string]any{"goal": "${input}", "n": []any{1.0}}, Retries: 2, Timeout: 90 * time.Second},
			{Name: "ask-them", Kind: graph.Human, Of: "So ${look.x}?"}, {Name: "run", Kind: graph.Tool, Of: "bash", Input: map[string]any{"command": "ls"}, Timeout: 2 * time.Minute},
			{Name: "more", Kind: graph.Graph, Of: "inner"},
		},
		Edges: []graph.Edge{{From: "look", To: "run", Condition: "look.ok", Priority: 3}, {From: "look", To: "ask-them", Else: true}, {From: "run", To: "more"}, {From: "ask-them", To: "more"}, {From: "more", To: "END"}},
		State: []graph.Key{{Name: "notes", Reducer: "append"}, {Name: "plain"}},
	}
	if got := fmt.Sprintf("%+v", *d.Graph.Plan); got != fmt.Sprintf("%+v", want) {
		t.Errorf("%s\nwant %+v", got, want)
	}
	if !slices.Equal([]int{len(d.Graph.Ranges), len(d.Graph.Links), len(d.Graph.Keys)}, []int{4, 5, 2}) {
		t.Errorf("%+v", d.Graph)
	}
}
