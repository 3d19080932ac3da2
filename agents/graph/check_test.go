package graph

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestFindings: what is wrong with a graph is found before it runs, each with its place.
func TestFindings(t *testing.T) {
	good := func() *Plan {
		p := plan(t, "analyzer", "analyzer -> fixer if analyzer.ok", "analyzer -> ask-person else", "fixer -> END", "ask-person -> END")
		p.State = []Key{{"notes", "append"}, {"ask-person", "append"}}
		return p
	}
	if found := good().Check(); len(found) > 0 {
		t.Fatal(found)
	}
	for name, c := range map[string]struct {
		change func(*Plan)
		at     Place
		want   string
	}{
		"no nodes":          {func(p *Plan) { p.Nodes = nil }, Place{}, "has no nodes"},
		"no entry":          {func(p *Plan) { p.Entry = "" }, Place{}, "has no entry"},
		"unknown entry":     {func(p *Plan) { p.Entry = "x" }, Place{Field: "entry"}, "no node x"},
		"unknown to":        {func(p *Plan) { p.Edges[2].To = "nd" }, Place{"edges", 2, "to"}, "no node nd"},
		"from END":          {func(p *Plan) { p.Edges[2].From = End }, Place{"edges", 2, "from"}, "no edge leads from it"},
		"unreachable":       {func(p *Plan) { p.Edges[1].To = "fixer" }, Place{"nodes", 2, "name"}, "Nothing leads to the node ask-person"},
		"no way to END":     {func(p *Plan) { p.Edges[2].To = "fixer" }, Place{"nodes", 1, "name"}, "No way leads from the node fixer to END"},
		"a name twice":      {func(p *Plan) { p.Nodes = append(p.Nodes, Node{Name: "ask_person"}) }, Place{"nodes", 3, "name"}, "cannot tell the nodes ask-person and ask_person apart"},
		"the same name":     {func(p *Plan) { p.Nodes = append(p.Nodes, Node{Name: "fixer"}) }, Place{"nodes", 3, "name"}, "two nodes fixer"},
		"like a node":       {func(p *Plan) { p.State = []Key{{"ask_person", ""}} }, Place{"state", 0, ""}, "cannot tell ask-person and ask_person apart, which they both write ask_person; rename one"},
		"like a key":        {func(p *Plan) { p.State = []Key{{"a-b", ""}, {"a_b", ""}} }, Place{"state", 1, ""}, "cannot tell a-b and a_b apart"},
		"reserved":          {func(p *Plan) { p.Nodes[2].Name = "input" }, Place{"nodes", 2, "name"}, "means something else"},
		"bad name":          {func(p *Plan) { p.Nodes[2].Name = "a b" }, Place{"nodes", 2, "name"}, "cannot be a node's name"},
		"unknown condition": {func(p *Plan) { p.Edges[0].Condition = "analysis.ok && input != ''" }, Place{"edges", 0, "condition"}, "names analysis, which no node gives: nodes and keys of state are analyzer, fixer, ask_person, notes"},
		"unknown value":     {func(p *Plan) { p.Nodes[1].Input = []any{"${analyzer.x} ${nalyzer.y}"} }, Place{"nodes", 1, "input"}, "${nalyzer} stands for nothing"},
		"reducer":           {func(p *Plan) { p.State[0].Reducer = "add" }, Place{"state", 0, "reducer"}, "last, append, sum, merge"},
		"else twice":        {func(p *Plan) { p.Edges = append(p.Edges, Edge{From: "analyzer", To: End, Else: true}) }, Place{"edges", 4, "else"}, "already"},
		"else with more":    {func(p *Plan) { p.Edges[1].Condition = "true" }, Place{"edges", 1, "else"}, "has no condition"},
	} {
		p := good()
		c.change(p)
		found := p.Check()
		if len(found) == 0 || found[0].At != c.at || !strings.Contains(found[0].Message, c.want) {
			t.Errorf("%s: %+v", name, found)
		}
		if _, err := p.Compile(); err == nil {
			t.Errorf("%s: it compiles", name)
		}
	}
}

// TestFindingsHaveOneOrder: what an editor shows does not change where nothing has.
func TestFindingsHaveOneOrder(t *testing.T) {
	for range 50 {
		p := &Plan{Entry: "a", Edges: []Edge{{From: "a", To: End}},
			Nodes: []Node{{Name: "a", Kind: Agent, Of: "a", Input: map[string]any{"a": "${x}", "b": "${y}", "c": "${z}"}}}}
		var names string
		for _, f := range p.Check() {
			names += f.Message[:len("${x}")]
		}
		if names != "${x}${y}${z}" {
			t.Fatal(names)
		}
	}
}

// TestConflicts: two branches that always run side by side must not both give a key
// without a reducer; those of which one may run, and those that follow each other, may.
func TestConflicts(t *testing.T) {
	gives := func(n Node) []string {
		if n.Name == "b" || n.Name == "c" {
			return []string{"notes"}
		}
		return nil
	}
	for lines, want := range map[string]int{
		"a -> b,a -> c,b -> END,c -> END": 1, "a -> b if a.x,a -> c else,b -> END,c -> END": 0, "a -> b,b -> c,c -> END": 0,
		"a -> b,a -> d,d -> c,b -> e,c -> e,e -> END": 1,
	} {
		p := plan(t, "a", strings.Split(lines, ",")...)
		p.State = []Key{{Name: "notes"}}
		if found := p.Conflicts(gives); len(found) != want {
			t.Errorf("%s: %v", lines, found)
		}
		p.State[0].Reducer = "append"
		if found := p.Conflicts(gives); len(found) != 0 {
			t.Errorf("%s with a reducer: %v", lines, found)
		}
	}
	p := plan(t, "a", "a -> END if a.x && a.ok")
	if found := p.Lacks(func(Node) ([]string, bool) { return []string{"ok"}, true }); len(found) != 1 || !strings.Contains(found[0].Message, "The result of a has no x: it has ok") {
		t.Error(found)
	}
}

// TestChecksOfLargeGraphs: a graph as large as a file may have is checked at once, though each of
// its nodes gives each of its keys; it took minutes.
func TestChecksOfLargeGraphs(t *testing.T) {
	p := &Plan{Entry: "n0", Edges: []Edge{{From: "n0", To: End, Else: true}}}
	for i := range 100 {
		name := fmt.Sprintf("n%d", i)
		p.Nodes = append(p.Nodes, Node{Name: name, Kind: Agent, Of: "giver", Input: strings.Repeat("${b}", 150)})
		p.Edges = append(p.Edges, Edge{From: "n0", To: name, Condition: "input"}, Edge{From: name, To: End})
	}
	var keys []string
	for i := range 1000 {
		keys = append(keys, fmt.Sprintf("k%d", i))
		p.State = append(p.State, Key{Name: keys[i]})
	}
	gives := func(Node) []string { return keys }
	if found := p.Conflicts(gives); len(found) != 0 {
		t.Errorf("%d conflicts of branches that need not run", len(found))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	found := p.Check()
	runtime.ReadMemStats(&after)
	if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; len(found) != 100 || mib > 256 { // of which the race detector takes most
		t.Errorf("%d findings, %d MiB", len(found), mib)
	}
	if want := "n17, n18, n19, …. Correct"; !strings.Contains(found[0].Message, want) {
		t.Errorf("%q is not in %q", want, found[0].Message)
	}
	for i := range p.Edges {
		p.Edges[i].Condition = ""
	}
	if found := p.Conflicts(gives); len(found) != len(keys) { // one for each, though each pair of nodes gives it
		t.Errorf("%d conflicts", len(found))
	}
}
