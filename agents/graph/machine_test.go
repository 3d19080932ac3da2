package graph

import (
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawn is a graph that may be of any shape, with what its nodes give.
func drawn(t *rapid.T) (*Machine, func(Step) any) {
	n := rapid.IntRange(1, 7).Draw(t, "nodes")
	p := &Plan{Entry: "n0", MaxSteps: rapid.IntRange(1, 30).Draw(t, "steps"), State: []Key{{"list", "append"}, {"sum", "sum"}, {"both", "merge"}, {"last", "last"}, {"n1", "append"}}}
	for i := range n {
		p.Nodes = append(p.Nodes, Node{Name: fmt.Sprintf("n%d", i), Kind: Agent, Of: "a"})
	}
	name := rapid.SampledFrom(append([]string{End}, names(p)...))
	for i := range n {
		for range rapid.IntRange(0, 3).Draw(t, "edges") {
			e := Edge{From: p.Nodes[i].Name, To: name.Draw(t, "to"), Priority: rapid.IntRange(0, 2).Draw(t, "priority")}
			if rapid.Bool().Draw(t, "conditional") {
				e.Condition = fmt.Sprintf("%s.go > %d", strings.Replace(e.From, "n1", "n1[len(n1)-1]", 1), rapid.IntRange(0, 9).Draw(t, "go"))
			}
			p.Edges = append(p.Edges, e)
		}
		p.Edges = append(p.Edges, Edge{From: p.Nodes[i].Name, To: End, Else: true})
		if i+1 < n { // so that each is led to
			p.Edges = append(p.Edges, Edge{From: p.Nodes[i].Name, To: p.Nodes[i+1].Name, Condition: fmt.Sprintf("len(list) %% 3 == %d", rapid.IntRange(0, 2).Draw(t, "some"))})
		}
	}
	m, err := p.Compile()
	if err != nil {
		t.Fatal(err)
	}
	salt := rapid.IntRange(0, 1000).Draw(t, "salt")
	return m, func(s Step) any { // goes by what the step saw, and by nothing else
		seen := len(fmt.Sprint(s.State, s.From, s.ID))*7 + salt
		return map[string]any{
			"go": float64(seen % 10), "list": s.ID, "sum": float64(seen % 5), "last": s.ID, "both": map[string]any{s.ID: float64(seen), "x": map[string]any{s.Node: s.ID}},
		}
	}
}

func names(p *Plan) []string {
	var all []string
	for _, n := range p.Nodes {
		all = append(all, n.Name)
	}
	return all
}

// play runs a graph to its end; pick says which of the steps that go on ends next.
func play(t *rapid.T, m *Machine, gives func(Step) any, done map[string]any, pick func(n int) int) (Next, map[string]any) {
	begun := map[string]Step{}
	for {
		next := m.Next("in", done)
		if next.Over {
			return next, done
		}
		on := map[string]bool{}
		for _, s := range next.Run {
			on[s.ID] = true
			if before, known := begun[s.ID]; known && !reflect.DeepEqual(before.State, s.State) {
				t.Fatalf("%s has begun with %v and goes on with %v", s.ID, before.State, s.State)
			}
			begun[s.ID] = s
		}
		for id := range begun {
			if _, over := done[id]; !over && !on[id] {
				t.Fatalf("%s had begun and does not go on after %v", id, slices.Sorted(maps.Keys(done)))
			}
		}
		s := next.Run[pick(len(next.Run))]
		done[s.ID] = gives(s)
	}
}

// TestOrderOfBranches: whichever branch is quicker, a graph takes the same steps to the
// same state, and from any of its checkpoints it goes on to the same end.
func TestOrderOfBranches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, gives := drawn(t)
		first, all := play(t, m, gives, map[string]any{}, func(int) int { return 0 })
		pick := rapid.IntRange(0, 100)
		some := func(n int) int { return pick.Draw(t, "next") % n }
		other, again := play(t, m, gives, map[string]any{}, some)
		if (first.Err == nil) != (other.Err == nil) {
			t.Fatalf("%v and %v", first.Err, other.Err)
		}
		if first.Err != nil {
			return
		}
		if !reflect.DeepEqual(all, again) || !reflect.DeepEqual(first.State, other.State) || !reflect.DeepEqual(ids(first.Last), ids(other.Last)) {
			t.Fatalf("%v\n%v\nand\n%v\n%v", all, first.State, again, other.State)
		}
		// From a checkpoint: of all that has finished, the steps before some moment.
		prefix := map[string]any{}
		for range rapid.IntRange(0, len(all)).Draw(t, "prefix") {
			next := m.Next("in", prefix)
			if next.Over {
				break
			}
			s := next.Run[some(len(next.Run))]
			prefix[s.ID] = gives(s)
		}
		resumed, _ := play(t, m, gives, prefix, some)
		if !reflect.DeepEqual(resumed.State, first.State) {
			t.Fatalf("%v\nand resumed\n%v", first.State, resumed.State)
		}
	})
}

func ids(steps []Step) (all []string) {
	for _, s := range steps {
		all = append(all, s.ID)
	}
	return all
}

// plan is a graph of agents, from lines such as "a -> b if x.y", "a -> END else".
func plan(t testing.TB, entry string, lines ...string) *Plan {
	t.Helper()
	p := &Plan{Entry: entry}
	add := func(name string) {
		if _, known := p.Node(name); !known && name != End {
			p.Nodes = append(p.Nodes, Node{Name: name, Kind: Agent, Of: name})
		}
	}
	for _, line := range lines {
		way, cond, conditional := strings.Cut(line, " if ")
		from, to, _ := strings.Cut(way, " -> ")
		to, otherwise := strings.CutSuffix(to, " else")
		add(from)
		add(to)
		e := Edge{From: from, To: to, Else: otherwise}
		if conditional {
			e.Condition = cond
		}
		p.Edges = append(p.Edges, e)
	}
	return p
}

// TestJoin: branches join at their common successor when all have arrived, whatever way
// they take, and one that loops by itself holds only the join up.
func TestJoin(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		done  map[string]any // what has finished, in any order
		want  string
	}{
		{"both begin", []string{"a -> b", "a -> c", "b -> d", "c -> d", "d -> END"}, map[string]any{"a#1": 1.0}, "b#1 c#1"},
		{"waits", []string{"a -> b", "a -> c", "b -> d", "c -> d", "d -> END"}, map[string]any{"a#1": 1.0, "b#1": 1.0}, "c#1"},
		{"joins", []string{"a -> b", "a -> c", "b -> d", "c -> d", "d -> END"}, map[string]any{"a#1": 1.0, "b#1": 1.0, "c#1": 1.0}, "d#1<b#1,c#1"},
		{"a long branch", []string{"a -> b", "a -> c", "b -> d", "c -> e", "e -> d", "d -> END"}, map[string]any{"a#1": 1.0, "b#1": 1.0, "c#1": 1.0}, "e#1"},
		{"each by itself", []string{"a -> b", "a -> c", "b -> e", "e -> d", "c -> d", "d -> END"}, map[string]any{"a#1": 1.0, "b#1": 1.0}, "c#1 e#1"},
		{"directly too", []string{"a -> b", "a -> d", "b -> d", "d -> END"}, map[string]any{"a#1": 1.0}, "b#1"},
		{"directly too, joined", []string{"a -> b", "a -> d", "b -> d", "d -> END"}, map[string]any{"a#1": 1.0, "b#1": 1.0}, "d#1<a#1,b#1"},
		{"one ends", []string{"a -> b", "a -> c", "b -> END", "c -> d", "d -> END"}, map[string]any{"a#1": 1.0, "b#1": 1.0, "c#1": 1.0}, "d#1"},
		{"loop in a branch", []string{"a -> b", "a -> c", "b -> b if b < 2", "b -> d else", "c -> d", "d -> END"}, map[string]any{"a#1": 1.0, "b#1": 1.0, "c#1": 1.0}, "b#2"},
		{"loop is over", []string{"a -> b", "a -> c", "b -> b if b < 2", "b -> d else", "c -> d", "d -> END"}, map[string]any{"a#1": 1.0, "b#1": 1.0, "c#1": 1.0, "b#2": 2.0}, "d#1<c#1,b#2"},
		{"loop around the fork", []string{"a -> b", "a -> c", "b -> e", "e -> d", "c -> d", "d -> a if d < 2", "d -> END else"}, map[string]any{"a#1": 1.0, "b#1": 1.0}, "c#1"},
		{"its second round", []string{"a -> b", "a -> c", "b -> e", "e -> d", "c -> d", "d -> a if d < 2", "d -> END else"}, map[string]any{"a#1": 1.0, "b#1": 1.0, "c#1": 1.0}, "e#1"},
		{"its join", []string{"a -> b", "a -> c", "b -> e", "e -> d", "c -> d", "d -> a if d < 2", "d -> END else"}, map[string]any{"a#1": 1.0, "b#1": 1.0, "c#1": 1.0, "e#1": 1.0}, "d#1<c#1,e#1"},
		{"goes back", []string{"a -> b", "a -> c", "b -> d", "c -> d", "d -> a if d < 2", "d -> END else"}, map[string]any{"a#1": 1.0, "b#1": 1.0, "c#1": 1.0, "d#1": 1.0}, "a#2"},
	} {
		m, err := plan(t, "a", c.lines...).Compile()
		if err != nil {
			t.Fatal(c.name, err)
		}
		var got []string
		for _, s := range m.Next("in", c.done).Run {
			id := s.ID
			if len(s.From) > 1 {
				id += "<" + strings.Join(s.From, ",")
			}
			got = append(got, id)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, want %s", c.name, strings.Join(got, " "), c.want)
		}
	}
}

// TestGraphEnds: each end that is an error says where, why and what to do.
func TestGraphEnds(t *testing.T) {
	loop := plan(t, "a", "a -> b", "b -> a if b != 3", "b -> END else")
	loop.MaxSteps = 3
	for _, c := range []struct {
		plan *Plan
		done map[string]any
		want string
	}{
		{plan(t, "a", "a -> b if a.ok", "a -> END if a.n > 3", "b -> END"), map[string]any{"a#1": map[string]any{"ok": false, "n": 1.0}},
			"No edge of the node a holds, so the graph cannot go on. Its conditions saw: a.ok is false where a.ok = false; a.n > 3 is false where a.n = 1. Add an edge with else: true, or correct a condition."},
		{plan(t, "a", "a -> b if a.ok", "b -> END"), map[string]any{"a#1": map[string]any{}}, "a.ok (it asks for something that is not there) where a.ok = null"},
		{loop, map[string]any{"a#1": 1.0, "b#1": 1.0, "a#2": 1.0}, "has taken 3 steps, which is its limit (max_steps), and is not at END; the next would be b. Raise graph.max_steps, or look at the conditions of the loop: a → b → a."},
	} {
		m, err := c.plan.Compile()
		if err != nil {
			t.Fatal(err)
		}
		next := m.Next("in", c.done)
		if !next.Over || next.Err == nil || !strings.Contains(next.Err.Error(), c.want) || len(next.Run) > 0 {
			t.Errorf("%+v\nwant %s", next, c.want)
		}
	}
}

// TestStateOfGraph: reducers, two writers side by side, and placeholders.
func TestStateOfGraph(t *testing.T) {
	lines := []string{"a -> b", "a -> c", "b -> d-e", "c -> d-e", "d-e -> END"}
	done := map[string]any{"a#1": "x", "b#1": map[string]any{"n": 1.0, "o": map[string]any{"b": 1.0}}, "c#1": map[string]any{"n": 2.0, "o": map[string]any{"c": 1.0}}, "d-e#1": "end"}
	for reducer, want := range map[string]any{"append": []any{1.0, 2.0}, "sum": 3.0, "last": 2.0, "": nil, "merge": nil} {
		p := plan(t, "a", lines...)
		p.State = []Key{{"n", reducer}, {"o", "merge"}}
		m, err := p.Compile()
		if err != nil {
			t.Fatal(err)
		}
		next := m.Next("in", done)
		switch {
		case want == nil && (next.Err == nil || (reducer == "" && !strings.Contains(next.Err.Error(), "The nodes b and c ran side by side and both gave n"))):
			t.Errorf("%q: %v", reducer, next.Err)
		case want != nil && (next.Err != nil || !reflect.DeepEqual(next.State["n"], want) || !reflect.DeepEqual(next.State["o"], map[string]any{"b": 1.0, "c": 1.0})):
			t.Errorf("%q: %v, %v", reducer, next.State, next.Err)
		}
	}
	p := plan(t, "a", lines...)
	p.Nodes[3].Input = map[string]any{"whole": "${b.o}", "text": "${a}: ${b.n} $${a} ${c}", "none": "${input}", "list": []any{"${d_e}", 3.0}}
	m, err := p.Compile()
	if err != nil {
		t.Fatal(err)
	}
	delete(done, "d-e#1")
	want := map[string]any{"whole": map[string]any{"b": 1.0}, "text": `x: 1 ${a} {"n":2,"o":{"c":1}}`, "none": "in", "list": []any{nil, 3.0}}
	if got := m.Input(m.Next("in", done).Run[0], "in"); !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

// TestManySteps: what a state costs grows with the steps and not with their square, so that a
// loop of as many as there may be works at once.
func TestManySteps(t *testing.T) {
	const steps = 999
	for _, reducer := range []string{"", "last", "append", "sum"} {
		p := &Plan{Entry: "a", MaxSteps: 1000, Nodes: []Node{{Name: "a", Kind: Tool, Of: "ls"}}, State: []Key{{"notes", reducer}},
			Edges: []Edge{{From: "a", To: "a", Condition: "a.notes > 0"}, {From: "a", To: End, Else: true}}}
		m, err := p.Compile()
		if err != nil {
			t.Fatal(err)
		}
		done := make(map[string]any, steps)
		for i := range steps {
			done[fmt.Sprintf("a#%d", i+1)] = map[string]any{"notes": 1.0}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		next := m.Next(nil, done)
		runtime.ReadMemStats(&after)
		if next.Err != nil || next.Steps != steps+1 || len(next.Run) != 1 {
			t.Errorf("%q: %v, %d steps", reducer, next.Err, next.Steps)
		}
		if list, _ := next.State["notes"].([]any); reducer == "append" && len(list) != steps {
			t.Errorf("%d notes", len(list))
		}
		if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 128 {
			t.Errorf("%q: %d MiB for one look at %d steps", reducer, mib, steps)
		}
	}
}
