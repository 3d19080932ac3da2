package authority

import (
	"math"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/graph"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/internal/settings"
)

// How often a run asks one model for one answer (spec 3.3): the fifth failure before the first byte
// and the third cut answer end it. A request that the model finds too long is made shorter once,
// and then all of it begins anew. maxBusy and maxCut of agents/run are the same numbers.
const (
	busyAttempts = 5
	cutAttempts  = 2 // beyond the first
	attempts     = busyAttempts - 1 + cutAttempts + 1
	paidAttempts = cutAttempts + 1 // an empty or malformed answer is counted; a failure before the first byte is not
	summaries    = 2               // requests for one compression of a context
)

// Agent is a run of one agent, as the worst case counts it.
type Agent struct {
	Turns  int           // at most
	Task   bool          // one more turn at a limit (spec 3.3)
	InLine int           // how many models are asked in turn: the first, and those that are tried when it fails
	Sums   bool          // its context is summed up when it grows
	Models []model.Entry // all that may be asked
}

// WorstInput is what the worst case of a run is made of.
type WorstInput struct {
	Agent
	// Others are the agents that the run may delegate to, directly or through
	// others; none = it delegates to nobody. Their runs are tasks.
	Others []Agent

	MaxTokens int     // run.max_tokens; 0 = none
	MaxCost   float64 // run.max_cost in USD; 0 = none

	// Graph is how many runs the nodes of the agent's graph are at most, where none of
	// them runs others; 0 = it has no graph, or nobody can tell.
	Graph int

	settings.Limits // a number of 0 is none, but for Depth

	CanAsk bool // there is a person, so that InputTokens holds beside MaxTokens
}

// Worst returns the worst case of a run (spec 1.8). With M models in line, T turns
// (a task has one more) and, in a tree, the agents that a run may delegate to:
//
//	attempts of a turn  2·7·M, and 2·7 where contexts are summed up
//	runs                1, or limits.runs where the agent delegates and limits.depth is over 0
//	calls               attempts · T of the run and, for each other run, of the dearest
//	                    agent that it may be; at most limits.modelCalls
//
// A graph asks no model itself: its nodes do, and each step is a run for each time that
// it may be tried. How many agents one turn calls is bounded by limits.runs alone, and how deep by
// limits.depth: a deeper tree has no more runs. Handing over ends a run, and the
// successor's is its own.
//
// An attempt without a counted answer costs nothing here, so 5·M of a turn, and 6
// of a summary, are paid. Each has at most the window as input and the longest
// answer as output, all of them together limits.inputTokens of input. A run alone
// has besides: run.max_tokens in all, at the dearest rate, and run.max_cost; either
// may be passed by the output of one answer, since a request is refused by what
// goes in. Prices are the highest of the models and of the sizes of requests. What is not known is
// not guessed: InputTokens is 0 where a model's window is not known and no limit bounds it,
// OutputTokens where a longest answer is not, and USD is nil where a price is missing.
func Worst(in WorstInput) WorstCase {
	w := WorstCase{Runs: 1}
	calls, paid := in.Agent.calls()
	all := slices.Clone(in.Models)
	if len(in.Others) > 0 && in.Depth > 0 {
		w.Runs = max(in.Runs, 1)
		if in.Graph > 0 {
			w.Runs = 1 + min(w.Runs-1, in.Graph)
		}
		most, mostPaid := 0, 0
		for _, o := range in.Others {
			c, p := o.calls()
			most, mostPaid = max(most, c), max(mostPaid, p)
			all = append(all, o.Models...)
		}
		// Each other run counts as the dearest one: which agents are called is the model's choice.
		calls, paid = plus(calls, times(w.Runs-1, most)), plus(paid, times(w.Runs-1, mostPaid))
	}
	if in.ModelCalls > 0 {
		calls, paid = min(calls, in.ModelCalls), min(paid, in.ModelCalls)
	}
	w.Calls = calls

	window, answer := longest(all)
	// Headless, an agent's own limit takes the place of the tree's (spec 3.3).
	bounded := in.InputTokens > 0 && (in.CanAsk || in.MaxTokens == 0)
	if window > 0 {
		w.InputTokens = times(paid, window)
	}
	if bounded && (window == 0 || w.InputTokens > in.InputTokens) {
		w.InputTokens = in.InputTokens
	}
	w.OutputTokens = times(paid, answer)
	alone := w.Runs == 1
	total := 0
	// run.max_tokens is of the run itself; in a tree others use tokens beside it.
	if alone && in.MaxTokens > 0 && answer > 0 {
		total = plus(in.MaxTokens, answer)
		w.OutputTokens = min(w.OutputTokens, total)
		if w.InputTokens == 0 || w.InputTokens > in.MaxTokens {
			w.InputTokens = in.MaxTokens
		}
	}
	price, known := dearest(all)
	if !known || w.InputTokens == 0 || answer == 0 {
		return w
	}
	usd := costOf(w, price, total)
	if alone && in.MaxCost > 0 {
		usd = min(usd, in.MaxCost+float64(answer)*price.Output/1e6)
	}
	w.USD = &usd
	return w
}

// costOf is the price of the most tokens, of which in all at most total are used;
// 0 = as many as there are.
// Where a total binds, as much of it as possible is counted at the dearer of the two
// rates.
func costOf(w WorstCase, p model.Price, total int) float64 {
	in, out := w.InputTokens, w.OutputTokens
	if total > 0 && p.Output >= p.Input {
		in = min(in, total-out)
	} else if total > 0 {
		out = min(out, total-in)
	}
	return (float64(in)*p.Input + float64(out)*p.Output) / 1e6
}

// calls returns how often models are asked in a run of the agent, and how often
// of these it may cost something.
//
// An agent without models in line, as one that is a graph, asks none by itself.
func (a Agent) calls() (calls, paid int) {
	turns := max(a.Turns, 0)
	if a.Task {
		turns = plus(turns, 1)
	}
	// Twice, since a request that is too long is made shorter and tried anew.
	each, eachPaid := times(2*attempts, a.InLine), times(2*paidAttempts-1, a.InLine)
	if a.Sums {
		each, eachPaid = plus(each, summaries*attempts), plus(eachPaid, summaries*paidAttempts)
	}
	return times(turns, each), times(turns, eachPaid)
}

// longest returns the largest window and the longest answer; 0 where one model's
// is not known.
// One model of which nothing is known makes the whole unknown: a guess would be too small.
func longest(all []model.Entry) (window, answer int) {
	for i, e := range all {
		// Once 0, always 0: one that is not known is not made good by the next.
		if (i > 0 && window == 0) || e.Window == 0 {
			window = 0
		} else {
			window = max(window, e.Window)
		}
		if (i > 0 && answer == 0) || e.MaxOutput == 0 {
			answer = 0
		} else {
			answer = max(answer, e.MaxOutput)
		}
	}
	return window, answer
}

// dearest returns the highest prices; false where one model has none.
func dearest(all []model.Entry) (p model.Price, known bool) {
	for _, e := range all {
		if len(e.Prices) == 0 {
			return model.Price{}, false
		}
		for _, q := range e.Prices {
			p.Input, p.Output = max(p.Input, q.Input, q.Cached), max(p.Output, q.Output)
		}
	}
	return p, len(all) > 0
}

// plus and times stay at the largest number instead of passing it. Both numbers
// are 0 or more.
func plus(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

// times multiplies; see plus.
func times(a, b int) int {
	if a > 0 && b > math.MaxInt/a {
		return math.MaxInt
	}
	return a * b
}

// worst is the input of an explanation's worst case.
func (x *explainer) worst(mode definition.Mode) WorstInput {
	turns, _ := x.turns(x.def, mode)
	if x.def.Graph != nil {
		return WorstInput{
			Others: x.others(), Graph: x.nodeRuns(), Limits: x.in.Settings.Limits,
			MaxTokens: x.def.MaxTokens, CanAsk: x.in.CanAsk,
		}
	}
	return WorstInput{
		Agent: Agent{Turns: turns, Task: mode == definition.Task, InLine: 1 + len(x.e.Model.Fallbacks),
			Sums: x.in.Settings.Compression.Enabled, Models: slices.Concat(x.entries, x.sums)},
		Others:    x.others(),
		MaxTokens: x.def.MaxTokens, MaxCost: x.def.MaxCost,
		Limits: x.in.Settings.Limits, CanAsk: x.in.CanAsk,
	}
}

// others returns the agents that a run may delegate to, directly or, as far as
// the depth goes, through others: one of those that the worst case counts alike.
// It looks at each once. A level is who is called by the level before; there are as
// many as limits.depth.
// Agents that count alike are one, since only the dearest of them matters; a "*" is
// followed once.
func (x *explainer) others() []Agent {
	delegates := slices.Contains(x.registeredNames(), delegate)
	if !delegates && x.def.Graph == nil && len(judges(x.def)) == 0 {
		return nil
	}
	type kind struct {
		model, fallbacks string
		turns            int
		graph            bool // it counts by what its nodes reach
	}
	kinds := make(map[kind]bool) // there may be thousands of agents
	seen, everybody := map[string]bool{x.def.Name: true}, false
	var all []Agent
	level := []*definition.Definition{x.def}
	for range x.in.Settings.Limits.Depth {
		var next []*definition.Definition
		reach := func(d *definition.Definition) {
			if d != nil && !seen[d.Name] {
				seen[d.Name] = true
				next = append(next, d)
				turns, _ := x.turns(d, definition.Task)
				k := kind{d.Model, strings.Join(d.FallbackModels, "\n"), turns, d.Graph != nil}
				if !kinds[k] {
					kinds[k] = true
					all = append(all, x.asTask(d))
				}
			}
		}
		for _, parent := range level {
			for _, name := range nodesOf(parent) {
				reach(x.meant(name))
			}
			for _, name := range judges(parent) {
				reach(x.in.ByName[name])
			}
			// Without the tool its subagents are out of reach; nodes and judges are not.
			if parent == x.def && !delegates {
				continue
			}
			for _, name := range parent.Subagents {
				if name != "*" {
					reach(x.in.ByName[name])
					continue
				}
				if everybody {
					continue
				}
				everybody = true
				for _, d := range x.in.Agents {
					if d.Delegable {
						reach(d)
					}
				}
			}
		}
		if level = next; len(level) == 0 {
			break
		}
	}
	return all
}

// nodesOf returns the agents that the nodes of an agent's graph run.
func nodesOf(d *definition.Definition) (names []string) {
	if d.Graph == nil {
		return nil
	}
	for _, n := range d.Graph.Nodes {
		if n.Kind == graph.Agent || n.Kind == graph.Graph {
			names = append(names, n.Of)
		}
	}
	return names
}

// nodeRuns returns how many runs the steps of the agent's graph are at most; 0 where one
// of them may run others.
//
// That is the most steps of the graph times the tries of the node that has the most.
func (x *explainer) nodeRuns() int {
	tries := 0
	if len(judges(x.def)) > 0 {
		return 0
	}
	for _, n := range x.def.Graph.Nodes {
		if n.Kind == graph.Agent || n.Kind == graph.Graph {
			d := x.meant(n.Of)
			// The runs of others are not counted here, so the limits of the tree have to do.
			if d != nil && runsOthers(d) {
				return 0
			}
			tries = max(tries, 1+n.Retries)
		}
	}
	return times(x.def.Graph.Steps(), tries)
}

// runsOthers reports whether a run of an agent may begin runs of other agents.
func runsOthers(d *definition.Definition) bool {
	return d.Graph != nil || len(d.Subagents)+len(judges(d)) > 0
}

// asTask is a delegated run of another agent.
func (x *explainer) asTask(d *definition.Definition) Agent {
	m, entries := x.resolve(d)
	turns, _ := x.turns(d, definition.Task)
	if d.Graph != nil { // its nodes ask models
		return Agent{}
	}
	return Agent{Turns: turns, Task: true, InLine: 1 + len(m.Fallbacks), Sums: x.in.Settings.Compression.Enabled,
		Models: slices.Concat(entries, x.summing(entries))}
}
