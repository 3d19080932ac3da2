package authority_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/internal/settings"
)

// cheap is a model of which a million tokens cost a dollar, two as output.
func cheap() model.Entry {
	return model.Entry{ID: "cheap", Window: 1000, MaxOutput: 100, Prices: []model.Price{{Input: 1, Output: 2}}}
}

func TestWorst(t *testing.T) {
	entry := func(change func(*model.Entry)) []model.Entry {
		e := cheap()
		change(&e)
		return []model.Entry{e}
	}
	plain := []model.Entry{cheap()}
	for _, c := range []struct {
		name string
		in   authority.WorstInput
		want string
		runs int
	}{
		{"nothing", authority.WorstInput{}, "≤ 0 model calls", 1},
		// 14 attempts, of which 5 count: 5,000 tokens in and 500 out.
		{"one turn", authority.WorstInput{Agent: authority.Agent{Turns: 1, InLine: 1, Models: plain}}, "≤ 14 model calls, ≤ $0.01", 1},
		{"a thousand turns", authority.WorstInput{Agent: authority.Agent{Turns: 1000, InLine: 1, Models: plain}}, "≤ 14000 model calls, ≤ $6.00", 1},
		{"a task has one more", authority.WorstInput{Agent: authority.Agent{Turns: 1, Task: true, InLine: 1, Models: plain}}, "≤ 28 model calls, ≤ $0.02", 1},
		{"a fallback", authority.WorstInput{Agent: authority.Agent{Turns: 1, InLine: 2, Models: plain}}, "≤ 28 model calls, ≤ $0.02", 1},
		{"summed up", authority.WorstInput{Agent: authority.Agent{Turns: 1, InLine: 1, Sums: true, Models: plain}}, "≤ 28 model calls, ≤ $0.02", 1},
		{"the limit of calls", authority.WorstInput{Agent: authority.Agent{Turns: 1000, InLine: 1, Models: plain}, Limits: settings.Limits{ModelCalls: 200}}, "≤ 200 model calls, ≤ $0.24", 1},
		{"one call", authority.WorstInput{Agent: authority.Agent{Turns: 9, InLine: 1, Models: plain}, Limits: settings.Limits{ModelCalls: 1}}, "≤ 1 model call, ≤ $0.01", 1},
		// 5,000 counted requests, of all together a million tokens in and 500,000 out.
		{"the limit of input", authority.WorstInput{Agent: authority.Agent{Turns: 1000, InLine: 1, Models: plain}, Limits: settings.Limits{InputTokens: 1_000_000}}, "≤ 14000 model calls, ≤ $2.00", 1},
		{"which does not hold headless beside max_tokens", authority.WorstInput{Agent: authority.Agent{Turns: 1000, InLine: 1, Models: plain}, Limits: settings.Limits{InputTokens: 1}, MaxTokens: 1_000_000}, "≤ 14000 model calls, ≤ $1.51", 1},
		{"max_tokens", authority.WorstInput{Agent: authority.Agent{Turns: 1000, InLine: 1, Models: plain}, MaxTokens: 900, CanAsk: true}, "≤ 14000 model calls, ≤ $0.01", 1},
		{"max_cost, and one answer more", authority.WorstInput{Agent: authority.Agent{Turns: 1000, InLine: 1, Models: plain}, MaxCost: 1}, "≤ 14000 model calls, ≤ $1.01", 1},
		{"a price that is not known", authority.WorstInput{Agent: authority.Agent{Turns: 1, InLine: 1, Models: entry(func(e *model.Entry) { e.Prices = nil })}}, "≤ 14 model calls", 1},
		{"of a fallback", authority.WorstInput{Agent: authority.Agent{Turns: 1, InLine: 2, Models: append(entry(func(e *model.Entry) { e.Prices = nil }), plain...)}}, "≤ 28 model calls", 1},
		{"an answer of any length", authority.WorstInput{Agent: authority.Agent{Turns: 1, InLine: 1, Models: entry(func(e *model.Entry) { e.MaxOutput = 0 })}}, "≤ 14 model calls", 1},
		{"a window that is not known", authority.WorstInput{Agent: authority.Agent{Turns: 1, InLine: 1, Models: entry(func(e *model.Entry) { e.Window = 0 })}}, "≤ 14 model calls", 1},
		{"but for a limit", authority.WorstInput{Agent: authority.Agent{Turns: 1, InLine: 1, Models: entry(func(e *model.Entry) { e.Window = 0 })}, Limits: settings.Limits{InputTokens: 5000}}, "≤ 14 model calls, ≤ $0.01", 1},
		{"the dearest tier", authority.WorstInput{Agent: authority.Agent{Turns: 1000, InLine: 1, Models: entry(func(e *model.Entry) {
			e.Prices = []model.Price{{UpTo: 10, Input: 1, Output: 2}, {Input: 10, Output: 20}}
		})}}, "≤ 14000 model calls, ≤ $60.00", 1},
		{"free", authority.WorstInput{Agent: authority.Agent{Turns: 1, InLine: 1, Models: entry(func(e *model.Entry) { e.Prices = []model.Price{{}} })}}, "≤ 14 model calls, ≤ $0.00", 1},
		{"nobody is delegated to", authority.WorstInput{Agent: authority.Agent{Turns: 1, InLine: 1, Models: plain}, Limits: settings.Limits{Depth: 2, Runs: 32}}, "≤ 14 model calls, ≤ $0.01", 1},
		{"no depth", authority.WorstInput{Agent: authority.Agent{Turns: 1, InLine: 1, Models: plain}, Others: []authority.Agent{{Turns: 9, InLine: 1, Models: plain}}, Limits: settings.Limits{Runs: 32}}, "≤ 14 model calls, ≤ $0.01", 1},
		// 14 of its own, and 31 runs of 2 turns.
		{"a tree", authority.WorstInput{Agent: authority.Agent{Turns: 1, InLine: 1, Models: plain}, Others: []authority.Agent{
			{Turns: 1, InLine: 1, Models: plain}, {Turns: 1, Task: true, InLine: 1, Models: plain},
		}, Limits: settings.Limits{Depth: 1, Runs: 32}}, "≤ 882 model calls, ≤ $0.38", 32},
		{"a tree within the limit of calls", authority.WorstInput{Agent: authority.Agent{Turns: 1, InLine: 1, Models: plain}, Others: []authority.Agent{
			{Turns: 15, Task: true, InLine: 1, Models: plain},
		}, Limits: settings.Limits{Depth: 1, Runs: 32, ModelCalls: 240}, MaxCost: 0.01}, "≤ 240 model calls, ≤ $0.29", 32},
		{"an endless run", authority.WorstInput{Agent: authority.Agent{Turns: math.MaxInt, Task: true, InLine: 3, Sums: true, Models: plain}, Limits: settings.Limits{ModelCalls: 200}}, "≤ 200 model calls, ≤ $0.24", 1},
	} {
		got := authority.Worst(c.in)
		if got.Text() != c.want || got.Runs != c.runs {
			t.Errorf("%s: %q in %d runs, want %q", c.name, got.Text(), got.Runs, c.want)
		}
	}
}

// TestWorstLaws: a higher limit never makes the worst case better.
func TestWorstLaws(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 2))
		limit := func() int { return r.IntN(4) * r.IntN(1000) }
		in := authority.WorstInput{
			Agent:  authority.Agent{Turns: 1 + r.IntN(50), Task: r.IntN(2) > 0, InLine: 1 + r.IntN(2), Sums: r.IntN(2) > 0, Models: []model.Entry{cheap()}},
			Limits: settings.Limits{Depth: r.IntN(3), Runs: 1 + r.IntN(40), ModelCalls: limit(), InputTokens: limit()}, MaxTokens: limit(), MaxCost: float64(limit()) / 1e5, CanAsk: r.IntN(2) > 0,
		}
		if r.IntN(2) > 0 {
			in.Others = []authority.Agent{{Turns: 1 + r.IntN(20), Task: true, InLine: 1, Models: []model.Entry{cheap()}}}
		}
		w := authority.Worst(in)
		more := in
		more.Turns++
		more.Depth++
		more.Runs++
		for _, l := range []*int{&more.ModelCalls, &more.InputTokens, &more.MaxTokens} {
			if *l > 0 {
				*l++
			}
		}
		if more.MaxCost > 0 {
			more.MaxCost++
		}
		if m := authority.Worst(more); m.Calls < w.Calls || m.Runs < w.Runs || *m.USD < *w.USD-1e-12 {
			t.Fatalf("seed %d: %s, with more of all %s", seed, w.Text(), m.Text())
		}
		if *w.USD < 0 || w.InputTokens < 0 || w.OutputTokens < 0 || (in.ModelCalls > 0 && w.Calls > in.ModelCalls) {
			t.Fatalf("seed %d: %+v", seed, w)
		}
	}
}

// TestWorstOfAnAgent: what an agent reaches counts as far as the depth goes.
func TestWorstOfAnAgent(t *testing.T) {
	of := func(name, subagents string) *definition.Definition {
		return parse(t, "---\nkind: agent\nname: "+name+"\ntitle: T\nmodel: flash\nsubagents: "+subagents+"\n---\nDo it.\n")
	}
	in := installation(t, "---\nkind: agent\nname: fixer\ntitle: F\nsubagents: [a]\nrun: {max_turns: 1}\n---\nDo it.\n")
	in.Settings.Compression.Enabled, in.Settings.Limits.ModelCalls = false, 1_000_000
	unpriced := of("b", "[]")
	unpriced.Model = "gemini-9-none"
	in.Agents = []*definition.Definition{of("a", "[b]"), unpriced}
	for _, c := range []struct {
		depth  int
		want   string
		amount bool
	}{{0, "≤ 14 model calls", true}, {1, "≤ 6958 model calls", true}, {2, "≤ 6958 model calls", false}, {9, "≤ 6958 model calls", false}} {
		in.Settings.Limits.Depth = c.depth
		if w := authority.Explain(in).Worst; !strings.HasPrefix(w.Text(), c.want) || (w.USD != nil) != c.amount {
			t.Errorf("depth %d: %s", c.depth, w.Text())
		}
	}
	in.Settings.Limits.Depth = 1
	in.Exclude = []authority.List{{Names: []string{"delegate_to_agent"}}}
	if w := authority.Explain(in).Worst; w.Runs != 1 {
		t.Errorf("without the tool that delegates: %s in %d runs", w.Text(), w.Runs)
	}
}

// TestWorstOfAGraph: the nodes of a graph ask models, each step in a run of its own for
// each time that it may be tried, and the graph itself asks none.
func TestWorstOfAGraph(t *testing.T) {
	in := installation(t, "---\nkind: agent\nname: flow\ntitle: F\ngraph:\n  entry: a\n  max_steps: 3\n  nodes: [{name: a, agent: worker, retries: 1}, {name: b, tool: ls}]\n  edges: [{from: a, to: b}, {from: b, to: END}]\n---\n")
	in.Settings.Compression.Enabled, in.Settings.Limits.ModelCalls, in.Settings.Limits.Depth, in.Settings.Limits.Runs = false, 1_000_000, 2, 32
	worker := parse(t, "---\nkind: agent\nname: worker\ntitle: T\nmodel: flash\nrun: {max_turns: 1}\n---\nDo it.\n")
	in.Agents = []*definition.Definition{worker}
	e := authority.Explain(in)
	if e.Worst.Runs != 7 || !strings.HasPrefix(e.Worst.Text(), "≤ 168 model calls, ≤ $") { // 6 runs of 2 turns of 14 attempts
		t.Errorf("%s in %d runs", e.Worst.Text(), e.Worst.Runs)
	}
	if len(e.Graph) != 1 || e.Graph[0].Name != "worker" || !e.Graph[0].Known || e.Graph[0].Origin.Line != 8 || !strings.HasPrefix(e.Graph[0].Text, "node a, ") {
		t.Errorf("%+v", e.Graph)
	}
	if text := authority.Text(e, 100); !strings.Contains(text, "Graph\n") || !strings.Contains(text, "asks no model itself") || strings.Contains(text, "with each request") {
		t.Error(text)
	}
	in.Settings.Limits.Runs = 4
	if w := authority.Explain(in).Worst; w.Runs != 4 {
		t.Errorf("%s in %d runs", w.Text(), w.Runs)
	}
	worker.Subagents = []string{"flow"} // may run others
	in.Settings.Limits.Runs = 32
	if w := authority.Explain(in).Worst; w.Runs != 32 {
		t.Errorf("%s in %d runs", w.Text(), w.Runs)
	}
	judge := parse(t, "---\nkind: agent\nname: judge\ntitle: T\nmodel: flash\nrun: {max_turns: 1}\n---\nDo it.\n")
	in.Agents, worker.Subagents = append(in.Agents, judge), nil
	judged := parse(t, "---\nkind: agent\nname: worker\ntitle: T\nguardrails: [{validator: 'agent:judge'}]\n---\nDo it.\n")
	worker.Guards = judged.Guards // its judge is a run as well
	if w := authority.Explain(in).Worst; w.Runs != 32 {
		t.Errorf("with a judge of the node: %s in %d runs", w.Text(), w.Runs)
	}
	worker.Guards, in.File.Guards = nil, judged.Guards
	if w := authority.Explain(in).Worst; w.Runs != 32 {
		t.Errorf("with a judge of the graph: %s in %d runs", w.Text(), w.Runs)
	}
	in.File.Guards = nil
	in.File.Graph.Nodes[0].Of = "web:worker"
	if there := authority.Explain(in); there.Worst.Text() != e.Worst.Text() || !there.Graph[0].Known {
		t.Errorf("of another folder: %s, %+v", there.Worst.Text(), there.Graph)
	}
	in.File.Graph.Nodes[0].Of = "worker"
	// A graph is not like an agent of the same model: one that is looked at first stands for no other.
	first := installation(t, "---\nkind: agent\nname: fixer\ntitle: F\nsubagents: [flow, one]\nrun: {max_turns: 1}\n---\nDo it.\n")
	first.Settings.Compression.Enabled, first.Settings.Limits.ModelCalls, first.Settings.Limits.Depth = false, 1_000_000, 1
	flow, one := *in.File, *in.File
	one.Name, one.Graph = "one", nil
	first.Agents = []*definition.Definition{&flow, &one}
	both := authority.Explain(first).Worst
	flow.Graph = nil
	if alone := authority.Explain(first).Worst; both.Text() != alone.Text() {
		t.Errorf("%s, and without the graph %s", both.Text(), alone.Text())
	}
	before := authority.Explain(installation(t, "---\nkind: agent\nname: flow\ntitle: F\n---\nDo it.\n"))
	if d := authority.Compare(before, e); !strings.Contains(d.Text(), "+ agent of the graph worker") || !d.Grows {
		t.Error(d.Text())
	}
}

// TestNumbersAreTheRuns: the numbers that are written down here are those that
// runs go by.
func TestNumbersAreTheRuns(t *testing.T) {
	for _, c := range []struct {
		file string
		want map[string]string
	}{
		{filepath.Join("..", "run", "think.go"), map[string]string{"maxBusy": "5", "maxCut": "2"}},
		{filepath.Join("..", "run", "task.go"), map[string]string{"CompleteTask": `"complete_task"`}},
	} {
		file, err := parser.ParseFile(token.NewFileSet(), c.file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			want, wanted := c.want[spec.Names[0].Name]
			if !wanted {
				return true
			}
			delete(c.want, spec.Names[0].Name)
			if got := expression(spec.Values[0]); got != want {
				t.Errorf("%s: %s is %s, and %s here: change both", c.file, spec.Names[0].Name, got, want)
			}
			return true
		})
		if len(c.want) > 0 {
			t.Errorf("%s has none of %v", c.file, c.want)
		}
	}
	if definition.DefaultChatTurns != 100 || definition.DefaultTaskTurns != 15 || definition.DefaultTaskTime.Seconds() != 300 {
		t.Error("the defaults are others than in spec 1.2")
	}
}

func expression(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Value
	case *ast.BinaryExpr:
		return expression(e.X) + " " + e.Op.String() + " " + expression(e.Y)
	case *ast.SelectorExpr:
		return expression(e.X) + "." + e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return "?"
}
