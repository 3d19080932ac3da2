package registry

import (
	"slices"
	"strings"
	"testing"
)

// TestFindingsOfGraphs: what other agents make wrong with a graph is told where the graph
// says it; an agent that a graph runs is not dead.
func TestFindingsOfGraphs(t *testing.T) {
	w := newWorld(t)
	w.write("one", "analyzer.md", with("analyzer", "routable: false\nuser_invocable: false\noutput: {schema: {type: object, properties: {ok: {type: boolean}, notes: {type: string}}, additionalProperties: false}}\n"))
	w.write("one", "fixer.md", with("fixer", "output: {schema: {type: object, properties: {notes: {type: string}}}}\n"))
	w.write("one", "flow.md", with("flow", `graph:
  entry: start
  nodes:
    - {name: start, agent: analyzer}
    - {name: a, agent: fixr}
    - {name: b, graph: fixer}
    - {name: c, agent: analyzer}
  edges:
    - {from: start, to: a, condition: start.ok}
    - {from: start, to: b}
    - {from: start, to: c}
    - {from: a, to: END}
    - {from: b, to: END, condition: b.any}
    - {from: c, to: END, condition: c.okay}
  state:
    notes: {}
`))
	s := w.load()
	want := []string{"graph error 9:24-28 fixer", "graph error 10:24-29 ", "graph error 18:37-43 ", "graph error 20:5-10 "}
	found := s.Findings(find(t, s, w.path("one", "flow.md")))
	if got := shown(found); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	for i, text := range []string{"did you mean fixer?", "The agent fixer has no graph", "The result of c has no okay: it has notes, ok", "b and c run side by side and both give notes"} {
		if i < len(found) && !strings.Contains(found[i].Message, text) {
			t.Errorf("%s\nwant %s", found[i].Message, text)
		}
	}
	if got := shown(s.Findings(find(t, s, w.path("one", "analyzer.md")))); len(got) > 0 {
		t.Error(got)
	}
}
