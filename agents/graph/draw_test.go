package graph

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestDraw: the text is what spec 7.1 says; what a condition says means nothing in
// another format.
func TestDraw(t *testing.T) {
	p := plan(t, "analyzer", `analyzer -> fixer if analysis.can_auto_fix`, "analyzer -> ask else", `fixer -> END if fixer == "a;b" && 1 < 2`, "fixer -> ask", "ask -> END")
	p.State = []Key{{Name: "analysis"}}
	p.Nodes[0].Of, p.Nodes[2].Kind, p.Nodes[1].Kind = "debug-analyzer", Human, Graph
	const want = `bug-flow
Entry: analyzer
Nodes:
  • analyzer (debug-analyzer)
  • fixer (graph fixer) [running]
  • ask (human)
Edges:
  analyzer → fixer [if: analysis.can_auto_fix]
  analyzer → ask [else]
  fixer → END [if: fixer == "a;b" && 1 < 2]
  fixer → ask
  ask → END
`
	picture := p.Picture("bug-flow", func(node string) string { return map[string]string{"fixer": "running"}[node] })
	if got := picture.Text(); got != want {
		t.Errorf("%s", got)
	}
	if got := picture.Mermaid(); !strings.Contains(got, "\tfixer(fixer):::running\n") || !strings.Contains(got, "\tclassDef running") ||
		!strings.Contains(got, "\tfixer -.->|\"if: fixer == #quot;a#59;b#quot; #amp;#amp; 1 #lt; 2\"| __end__;\n") || !strings.Contains(got, "\t__start__ --> analyzer;\n") {
		t.Errorf("%s", got)
	}
	// Mermaid takes end and style for words of its own, also before a dash.
	words := &Plan{Entry: "end", Nodes: []Node{{Name: "end"}, {Name: "style-checker"}, {Name: "ending"}},
		Edges: []Edge{{From: "end", To: "style-checker"}, {From: "style-checker", To: "ending", Else: true}, {From: "ending", To: End}}}
	for _, want := range []string{"\t_end(end)\n", "\t_style-checker(style-checker)\n", "\tending(ending)\n", "\t__start__ --> _end;\n",
		"\t_end --> _style-checker;\n", "\t_style-checker -.->|\"else\"| ending;\n", "\tending --> __end__;\n"} {
		if got := words.Picture("words", nil).Mermaid(); !strings.Contains(got, want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
	// What a file says stays in its line, and sends no terminal anything.
	plan := &Plan{Entry: "a", Nodes: []Node{{Name: "a", Kind: Tool, Of: "x\x1b]52;c;eA==\a\nEdges:\n"}}, Edges: []Edge{{From: "a", To: End, Condition: "input == '\x1b[2J'"}}}
	handoffs := Picture{Name: "a", Entry: "a", Handoffs: true, Nodes: []Shown{{Name: "a", Does: "T\x1b[2J"}}, Links: []Link{{From: "a", To: End, Label: "if: x ==\n'\x1b'"}}}
	for _, odd := range []Picture{plan.Picture("odd", nil), handoffs} {
		for _, format := range Formats {
			got, _ := odd.Draw(format)
			if strings.ContainsAny(got, "\a\x1b") || strings.Contains(got, "==\n") || strings.Count(got, "\nEdges:\n") > 1 {
				t.Errorf("%q", got)
			}
		}
	}
	if got := picture.DOT(); !strings.Contains(got, `"fixer" -> "__end__" [label="if: fixer == \"a;b\" && 1 < 2", style=dashed];`) || !strings.Contains(got, `"analyzer" [label="analyzer\ndebug-analyzer"];`) {
		t.Errorf("%s", got)
	}
	var read struct {
		Nodes []struct{ ID string }
		Edges []struct {
			Source, Target string
			Conditional    bool
		}
	}
	if err := json.Unmarshal([]byte(picture.JSON()), &read); err != nil || len(read.Nodes) != 5 || len(read.Edges) != 6 || !read.Edges[1].Conditional || read.Edges[4].Conditional {
		t.Errorf("%v: %s", err, picture.JSON())
	}
	for _, format := range Formats {
		if text, ok := picture.Draw(format); !ok || text == "" {
			t.Error(format)
		}
	}
	if _, ok := picture.Draw("svg"); ok {
		t.Error("svg is drawn")
	}
}
