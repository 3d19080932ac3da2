// Package graph has the graphs of agents (spec 7.1): what a graph says ([Plan]), what
// is wrong with it ([Plan.Check]), which of its nodes run next ([Machine.Next]), and how
// it is drawn.
//
// # The one idea
//
// The scheduler is a function of what has finished. Each visit of a node is a [Step]
// with a name of its own, as fixer#2; given the results of the steps that are over,
// [Machine.Next] works out the whole history anew and says which steps run now, or how
// the graph ends. So a graph that was cut off goes on from the results in the log, and
// nothing else has to be kept.
//
// # Order
//
// In which order branches finish makes no difference. A step sees the results of the
// steps that led to it and of no others, in an order that comes from the graph and not
// from the clock. Several branches that lead to one node join there: it starts when
// nothing that goes on can still come to it. Where a loop leads back, so that something
// always could, the branches go in rounds: all of one are over before the next begins.
//
// The package knows neither runs nor logs.
package graph

import (
	"slices"
	"strings"
	"time"
)

// End is where a graph ends.
const End = "END"

// DefaultSteps is how many steps a graph takes at most that does not say.
const DefaultSteps = 25

// Parallel is how many steps of one graph run at once.
const Parallel = 4

// Kind says what a node does.
type Kind string

// The kinds of nodes.
const (
	Agent Kind = "agent" // runs an agent
	Graph Kind = "graph" // runs an agent that has a graph itself
	Human Kind = "human" // asks the person
	Tool  Kind = "tool"  // calls one tool
)

// Plan is a graph as an agent's file says it. It is immutable.
type Plan struct {
	Entry    string
	Nodes    []Node
	Edges    []Edge
	MaxSteps int // 0 = DefaultSteps
	State    []Key
}

// Node is one node.
type Node struct {
	Name    string
	Kind    Kind
	Of      string // the agent, the tool, or what the person is asked
	Input   any    // texts with placeholders, in objects and lists as JSON has them; nil = what the node is given without
	Retries int    // how often it is tried again when it fails
	Timeout time.Duration
}

// Edge leads from one node to the next.
type Edge struct {
	From, To  string
	Condition string // "" = it always holds
	Else      bool   // it is taken where no other edge of From is
	Priority  int    // the higher is looked at, and starts, first
}

// Key is a name of the state that says how its values come together.
type Key struct {
	Name    string
	Reducer string // last, append, sum or merge; "" = last, and branches side by side must not both give it
}

// Reducers are the ways in which values of one key come together.
var Reducers = []string{"last", "append", "sum", "merge"}

// Steps returns how many steps the graph takes at most.
func (p *Plan) Steps() int {
	if p.MaxSteps > 0 {
		return p.MaxSteps
	}
	return DefaultSteps
}

// Node returns the node of a name.
func (p *Plan) Node(name string) (Node, bool) {
	i := slices.IndexFunc(p.Nodes, func(n Node) bool { return n.Name == name })
	if i < 0 {
		return Node{}, false
	}
	return p.Nodes[i], true
}

// from returns the edges of a node as they are looked at: by priority, then in the
// order of the file, those with else last.
func (p *Plan) from(name string) []Edge {
	var edges []Edge
	for _, e := range p.Edges {
		if e.From == name {
			edges = append(edges, e)
		}
	}
	slices.SortStableFunc(edges, func(a, b Edge) int {
		if a.Else != b.Else {
			if a.Else {
				return 1
			}
			return -1
		}
		return b.Priority - a.Priority
	})
	return edges
}

// Identifier is a name as conditions and placeholders write it, which have no dashes.
func Identifier(name string) string { return strings.ReplaceAll(name, "-", "_") }
