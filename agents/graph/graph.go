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
//
// # Files
//
// graph.go has what a graph says, check.go what is wrong with it, order.go what follows
// from its shape, machine.go the scheduler, state.go how results come together and reach
// nodes, and draw.go the pictures. Conditions are compiled by package condition.
//
// # What must hold
//
//   - [Machine.Next] depends on its arguments alone, and on done as a set. A run that is
//     cut off at any point and one that is not come to the same steps with the same
//     states, in whatever order their steps finish (TestOrderOfBranches).
//   - A step that runs is among those of Run again, the same in all that it says, as long
//     as the graph goes on.
//   - A step's State holds what the steps on the ways that led to it gave, and nothing
//     else.
package graph

import (
	"slices"
	"strings"
	"time"
)

// End is where a graph ends. It is an end of edges only, never a node.
const End = "END"

// DefaultSteps is how many steps a graph takes at most that does not say.
const DefaultSteps = 25

// Parallel is how many steps of one graph run at once. The machine does not count:
// whoever runs the steps of [Next.Run] keeps to it.
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
// package definition makes it of a file. A plan with findings may be asked and drawn,
// but not compiled.
type Plan struct {
	// The name of the node that it begins with.
	Entry    string
	Nodes    []Node
	Edges    []Edge
	MaxSteps int // 0 = DefaultSteps
	State    []Key
}

// Node is one node.
type Node struct {
	// As [NamePattern] has it, and no reserved word.
	Name  string
	Kind  Kind
	Of    string // the agent, the tool, or what the person is asked
	Input any    // texts with placeholders, in objects and lists as JSON has them; nil = what the node is given without
	// How often it is tried again when it fails, from 0. Whoever runs the step does
	// that: the machine sees its last result only.
	Retries int
	// For one try; 0 = none but that of the run.
	Timeout time.Duration
}

// Edge leads from one node to the next.
// All edges whose conditions hold are taken, so that one node can lead to several
// branches.
type Edge struct {
	// Names of nodes; To may be [End].
	From, To string
	// In the language of package condition; "" = it always holds.
	Condition string
	Else      bool // it is taken where no other edge of From is
	Priority  int  // the higher is looked at, and starts, first
}

// Key is a name of the state that says how its values come together.
// A key that is the name of a node says how the results of that node's visits come
// together.
type Key struct {
	Name    string
	Reducer string // last, append, sum or merge; "" = last, and branches side by side must not both give it
}

// Reducers are the ways in which values of one key come together. last keeps the
// newest; append makes a list, to which the members of a list are added one by one; sum
// adds numbers; merge joins objects, deep, with the later value winning.
var Reducers = []string{"last", "append", "sum", "merge"}

// Steps returns how many steps the graph takes at most.
func (p *Plan) Steps() int {
	if p.MaxSteps > 0 {
		return p.MaxSteps
	}
	return DefaultSteps
}

// Node returns the node of a name.
// The result is a copy; false = there is none.
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
//
// Two names that differ in this only cannot be told apart; Check finds them.
func Identifier(name string) string { return strings.ReplaceAll(name, "-", "_") }
