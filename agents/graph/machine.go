package graph

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/condition"
)

// Machine is a graph that can be run. It is immutable and safe for concurrent use. What
// goes on in a run is not in it: any number of runs may share one.
type Machine struct {
	Plan  *Plan
	order *order
	edges map[string][]edge // by the node that they come from
}

// edge is an edge with its condition compiled.
type edge struct {
	Edge
	holds *condition.Condition // nil = always
}

// Compile returns the machine of a plan in which [Plan.Check] finds nothing.
// The error is the first finding, or that a condition does not compile; it is a sentence
// for the person. The plan must not be changed afterwards.
func (p *Plan) Compile() (*Machine, error) {
	for _, f := range p.Check() {
		return nil, fmt.Errorf("%s", f.Message)
	}
	m := &Machine{Plan: p, order: p.order(), edges: make(map[string][]edge, len(p.Nodes))}
	for _, n := range p.Nodes {
		for _, e := range p.from(n.Name) {
			compiled := edge{Edge: e}
			if e.Condition != "" {
				c, err := condition.Compile(e.Condition)
				if err != nil {
					return nil, fmt.Errorf("the condition %s does not compile: %w", e.Condition, err)
				}
				compiled.holds = c
			}
			m.edges[n.Name] = append(m.edges[n.Name], compiled)
		}
	}
	return m, nil
}

// Step is one visit of a node.
// What [Machine.Next] returns is the caller's but for the values in State, which are
// those of done and must not be changed.
type Step struct {
	ID   string   // fixer#2: the node, and which of its visits
	Node string   // its name
	From []string // the steps that led to it, in order; none for the first
	// What it may use: the results of the steps before it on the ways that led to it, by
	// the names of nodes and keys.
	State map[string]any

	past  []int // the steps before it on all ways that led to it, and itself, in order
	depth int   // the longest of these ways
	at    int   // of the machine's nodes
}

// Next is what a graph does next.
// The state is that of the steps in done; see Step for who owns it.
type Next struct {
	// Run are the steps that go on, in the order in which they begin; none when Over.
	Run []Step
	// Over says that the graph has ended: with Err, or with what the steps in Last gave.
	Over bool
	// In the order of the graph.
	Last []Step
	// A sentence for the person: no edge held, the limit of steps, or values that do not come
	// together. It comes at the first of them, and the other branches do not go on.
	Err error
	// State is that of all steps that have finished.
	State map[string]any
	// Steps is how many have begun, finished ones included; at most [Plan.Steps].
	Steps int
}

// history is a graph's way up to now.
// It lives for one call of [Machine.Next]. Steps are numbered in the order in which they
// begin, which is why past and running hold numbers.
type history struct {
	m     *Machine
	input any
	// By id of a step; the caller's, only read.
	done  map[string]any
	steps []Step
	// By name of a node, how often it has begun; it numbers the ids.
	visits  map[string]int
	running []int         // of steps
	pending map[int][]int // by node: the steps that led there and wait for others
	// The steps from which an edge led to the end.
	last []int
	// The first failure; nothing begins after it.
	err error
}

// Next returns what a graph does next that was begun with an input. done has what the
// steps gave that have finished, by [Step.ID]: JSON values.
// A step of Run that the caller has begun already is one that still runs: callers tell
// by the ID. A failed step is not in done; the caller ends the graph, or tries again.
// Err is a sentence for the person: no edge holds, a result does not fit the state,
// branches gave the same key, or the limit of steps was reached. input and done are only
// read.
//
// It costs about the square of the steps, of which there are 1000 at most.
func (m *Machine) Next(input any, done map[string]any) Next {
	h := &history{m: m, input: input, done: done, visits: make(map[string]int), pending: make(map[int][]int)}
	h.begin(m.order.index[m.Plan.Entry], nil)
	for h.err == nil && (h.finish() || h.startAlone() || h.startRound()) {
	}
	next := Next{Steps: len(h.steps), Err: h.err, Over: h.err != nil || len(h.running) == 0}
	for _, i := range h.running {
		next.Run = append(next.Run, h.steps[i])
	}
	slices.SortStableFunc(next.Run, func(a, b Step) int {
		return cmp.Or(a.depth-b.depth,
			m.order.rank[a.at]-m.order.rank[b.at])
	})
	for _, i := range h.last {
		next.Last = append(next.Last, h.steps[i])
	}
	slices.SortFunc(next.Last, func(a, b Step) int {
		return cmp.Or(a.depth-b.depth, m.order.rank[a.at]-m.order.rank[b.at], strings.Compare(a.ID, b.ID))
	})
	var all []int
	for i := range h.steps {
		if _, over := done[h.steps[i].ID]; over {
			all = append(all, i)
		}
	}
	h.sort(all)
	var err error
	if next.State, err = h.fold(all); err != nil && next.Err == nil {
		next.Err, next.Over, next.Run = err, true, nil
	}
	if next.Err != nil {
		next.Run = nil
	}
	return next
}

// failure is why a graph cannot go on, in sentences for the person.
type failure string

// Error implements error.
func (f failure) Error() string { return string(f) }

// failuref makes a failure.
func failuref(format string, args ...any) error { return failure(fmt.Sprintf(format, args...)) }

// begin starts a step.
// from are the steps that led to it. It sets h.err where the limit is reached, or where
// what these steps gave does not come together.
func (h *history) begin(node int, from []int) {
	name := h.m.Plan.Nodes[node].Name
	if len(h.steps) >= h.m.Plan.Steps() {
		h.err = failuref("The graph has taken %d steps, which is its limit (max_steps), and is not at END; the next would be %s. Raise graph.max_steps, or look at the conditions of the loop: %s.",
			len(h.steps), name, strings.Join(h.trail(), " → "))
		return
	}
	h.sort(from)
	h.visits[name]++
	s := Step{ID: fmt.Sprintf("%s#%d", name, h.visits[name]), Node: name, at: node}
	known := make([]bool, len(h.steps)) // by step, whether it is in past
	for _, f := range from {
		before := &h.steps[f]
		s.From = append(s.From, before.ID)
		s.depth = max(s.depth, before.depth+1)
		for _, p := range before.past {
			if !known[p] {
				known[p] = true
				s.past = append(s.past, p)
			}
		}
	}
	h.sort(s.past)
	state, err := h.fold(s.past)
	if err != nil {
		h.err = err
		return
	}
	s.State = state
	s.past = append(s.past, len(h.steps))
	h.running = append(h.running, len(h.steps))
	h.steps = append(h.steps, s)
}

// sort puts steps into the order that comes from the graph: by the longest way from the entry, then
// by the rank of the node, then by the visit. It depends on no clock, which TestOrderOfBranches
// holds; ids are compared by length before text so that a#9 comes before a#10.
func (h *history) sort(steps []int) {
	slices.SortFunc(steps, func(a, b int) int {
		x, y := &h.steps[a], &h.steps[b]
		return cmp.Or(x.depth-y.depth, h.m.order.rank[x.at]-h.m.order.rank[y.at], cmp.Compare(len(x.ID), len(y.ID)),
			strings.Compare(x.ID, y.ID))
	})
}

// trail is the end of the way that led to the last step. It has eight nodes at most,
// for the message about the limit of steps.
func (h *history) trail() []string {
	var names []string
	for _, s := range h.steps[max(0, len(h.steps)-8):] {
		names = append(names, s.Node)
	}
	return names
}

// finish takes the steps that have finished along their edges, and reports whether there
// were any.
func (h *history) finish() bool {
	var still []int
	found := false
	for _, i := range h.running {
		if _, over := h.done[h.steps[i].ID]; !over || h.err != nil {
			still = append(still, i)
			continue
		}
		found = true
		h.leave(i)
	}
	h.running = still
	return found
}

// leave takes the edges of a finished step whose conditions hold.
// It sets h.err where none holds: a graph that stopped there would look as if it had
// ended. The conditions see the state of the step's own ways, with its own result.
func (h *history) leave(i int) {
	s := h.steps[i]
	state, err := h.fold(s.past)
	if err != nil {
		h.err = err
		return
	}
	values := h.m.values(h.input, state)
	taken := 0
	var saw []string
	for _, e := range h.m.edges[s.Node] {
		switch {
		case e.Else && taken > 0:
			continue
		case e.holds != nil:
			holds, why := e.holds.Holds(values)
			if !holds {
				saw = append(saw, see(e.Condition, values, why))
				continue
			}
		}
		taken++
		if e.To == End {
			if !slices.Contains(h.last, i) {
				h.last = append(h.last, i)
			}
			continue
		}
		to := h.m.order.index[e.To]
		if !slices.Contains(h.pending[to], i) {
			h.pending[to] = append(h.pending[to], i)
		}
	}
	if taken == 0 {
		h.err = failuref("No edge of the node %s holds, so the graph cannot go on. Its conditions saw: %s. Add an edge with else: true, or correct a condition.", s.Node, strings.Join(saw, "; "))
	}
}

// see says what a condition saw. A condition that could not be judged, as of a value of
// another type, is false; why is the reason.
func see(text string, values map[string]any, why error) string {
	var seen []string
	for _, name := range condition.Names(text) {
		seen = append(seen, fmt.Sprintf("%s = %s", name, short(lookup(values, name))))
	}
	told := text + " is false"
	if why != nil {
		told = text + " (" + why.Error() + ")"
	}
	if len(seen) > 0 {
		told += " where " + strings.Join(seen, ", ")
	}
	return told
}

// short is a value as JSON, cut.
func short(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	const most = 120
	if text := []rune(string(data)); len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(data)
}

// startAlone starts a node to which nothing else that goes on can come any more, and
// reports whether there was one. That stays so, so nothing depends on when it is seen.
//
// A node that two branches lead to is a join: it waits while a step that runs, or
// another node that waits, has some way to it. In a loop that is always so for nodes of
// the loop, and startRound goes on where nothing runs any more.
func (h *history) startAlone() bool {
	for _, node := range h.waiting() {
		free := true
		for _, i := range h.running {
			at := h.steps[i].at
			free = free && at != node && !h.m.order.reach[at][node]
		}
		for other := range h.pending {
			free = free && (other == node || !h.m.order.reach[other][node])
		}
		if free {
			h.start(node)
			return true
		}
	}
	return false
}

// startRound starts, where nothing runs, the nodes to which no other that waits leads
// but by a way back. It starts all of them together, which makes the branches go
// through a loop in rounds.
func (h *history) startRound() bool {
	if len(h.running) > 0 {
		return false
	}
	var first []int
	for _, node := range h.waiting() {
		led := false
		for other := range h.pending {
			led = led || (other != node && h.m.order.ahead[other][node])
		}
		if !led {
			first = append(first, node)
		}
	}
	for _, node := range first {
		if h.err == nil {
			h.start(node)
		}
	}
	return len(first) > 0
}

// start begins a step of a node to which steps have led, all of them at once.
func (h *history) start(node int) {
	from := h.pending[node]
	delete(h.pending, node)
	h.begin(node, from)
}

// waiting returns the nodes that steps have led to, in order. The order is that of
// ranks: a map has none, and the ids of visits follow it.
func (h *history) waiting() []int {
	var nodes []int
	for node := range h.pending {
		nodes = append(nodes, node)
	}
	slices.SortFunc(nodes, func(a, b int) int { return h.m.order.rank[a] - h.m.order.rank[b] })
	return nodes
}
