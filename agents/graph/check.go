package graph

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/condition"
)

// Finding is one thing that is wrong with a graph.
// The caller knows where in the file the place is.
type Finding struct {
	At      Place
	Message string // a sentence: what, and what to do
}

// Place is where in a graph something is: the graph itself where all is zero. The
// caller, who knows the file, turns it into a range of lines.
type Place struct {
	Part  string // nodes, edges or state; "" = the graph
	Index int    // of the part's list
	Field string // of its entry; "" = the entry
}

// NamePattern is what a node may be called.
// A name has at most 64 characters besides.
var NamePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*$`)

// reserved are names that mean something else in conditions, or in pictures. Conditions
// have input, state and the literals; __start__ and __end__ are LangGraph's own nodes
// in pictures.
var reserved = []string{End, "START", "input", "state", "true", "false", "nil", "__start__", "__end__"}

// checking is a graph while it is checked.
// It is used by one goroutine, once.
type checking struct {
	*Plan
	o *order
	// What conditions may name besides input, as [Identifier] writes it; names has it for people.
	known map[string]bool
	names string
	found []Finding
}

// at adds a finding.
func (c *checking) at(part string, i int, field, format string, args ...any) {
	c.found = append(c.found, Finding{At: Place{part, i, field}, Message: fmt.Sprintf(format, args...)})
}

// Check returns what is wrong with a graph by itself, in its order: what can be said
// without knowing other agents.
// It never fails, whatever the plan; nil = nothing is wrong. Conditions are not compiled
// here, as [Plan.Compile] does: package definition reports those that cannot be.
func (p *Plan) Check() []Finding {
	c := &checking{Plan: p}
	if len(p.Nodes) == 0 { // what follows would only say the same
		c.at("", 0, "", "The graph has no nodes; write nodes: with a name and an agent each.")
		return c.found
	}
	c.o = p.order()
	c.listNames()
	c.checkNames()
	switch _, there := c.o.index[p.Entry]; {
	case p.Entry == "":
		c.at("", 0, "", "The graph has no entry; write entry: with the name of its first node.")
	case !there:
		c.at("", 0, "entry", "The graph has no node %s; add it to nodes, or correct the name.", p.Entry)
	}
	fine := c.edges()
	c.texts()
	if _, there := c.o.index[p.Entry]; fine && there { // else it would only say the same again
		c.ways()
	}
	return c.found
}

// checkNames checks that names are allowed, and that conditions can tell them apart.
// Both are compared as [Identifier] writes them, since only that is unique in a
// condition.
func (c *checking) checkNames() {
	known := map[string]string{} // names, by how conditions write them
	for i, n := range c.Nodes {
		other, twice := known[Identifier(n.Name)]
		switch {
		case NameFault(n.Name) != "":
			c.at("nodes", i, "name", "%s", NameFault(n.Name))
		case twice && other == n.Name:
			c.at("nodes", i, "name", "There are two nodes %s; rename one.", n.Name)
		case twice:
			c.at("nodes", i, "name",
				"Conditions cannot tell the nodes %s and %s apart, which they both write %s; rename one.", other,
				n.Name, Identifier(n.Name))
		}
		known[Identifier(n.Name)] = n.Name
	}
	for i, k := range c.State {
		other, twice := known[Identifier(k.Name)]
		if twice && other != k.Name { // the same name is how the results of a node come together
			c.at("state", i, "", "Conditions cannot tell %s and %s apart, which they both write %s; rename one.", other,
				k.Name, Identifier(k.Name))
		}
		known[Identifier(k.Name)] = k.Name
	}
}

// edges checks the edges, and reports whether all lead from a node to a node.
//
// Only the entry and the two ends decide about fine; conditions and else are findings of their own.
func (c *checking) edges() (fine bool) {
	otherwise := map[string]bool{}
	fine = c.Entry != ""
	for i, e := range c.Edges {
		for _, end := range []struct{ field, name string }{{"from", e.From}, {"to", e.To}} {
			if _, there := c.o.index[end.name]; !there && (end.name != End || end.field == "from") {
				fine = false
				if end.name == End {
					c.at("edges", i, "from", "END is where the graph ends, so no edge leads from it; correct the name.")
				} else {
					c.at("edges", i, end.field, "The graph has no node %s; add it to nodes, or correct the name.",
						end.name)
				}
			}
		}
		switch {
		case e.Else && e.Condition != "":
			c.at("edges", i, "else", "An edge with else: true has no condition; remove one of them.")
		case e.Else && otherwise[e.From]:
			c.at("edges", i, "else", "%s has another edge with else: true already; remove one.", e.From)
		}
		otherwise[e.From] = otherwise[e.From] || e.Else
		for _, name := range c.unknown(condition.Names(e.Condition)) {
			c.at("edges", i, "condition",
				"The condition names %s, which no node gives: nodes and keys of state are %s. Correct the name, or add it to state.", name, c.names)
		}
	}
	return fine
}

// texts checks what nodes are told, and the keys of the state.
func (c *checking) texts() {
	for i, n := range c.Nodes {
		paths := placeholders(n.Input)
		if n.Kind == Human {
			paths = append(paths, placeholders(n.Of)...)
		}
		for _, name := range c.unknown(paths) {
			c.at("nodes", i, "input",
				"${%s} stands for nothing: nodes and keys of state are %s. Correct the name, or write $${%s} for the text itself.", name, c.names, name)
		}
	}
	for i, k := range c.State {
		if k.Reducer != "" && !slices.Contains(Reducers, k.Reducer) {
			c.at("state", i, "reducer", "reducer must be %s.", strings.Join(Reducers, ", "))
		}
	}
}

// ways checks that a way leads to each node, and from it to the end. A node that cannot
// end would only stop at the limit of steps.
func (c *checking) ways() {
	for i, n := range c.Nodes {
		switch {
		case c.o.index[n.Name] != i:
		case !c.o.known[i]:
			c.at("nodes", i, "name", "Nothing leads to the node %s from the entry %s; add an edge to it, or remove it.",
				n.Name, c.Entry)
		case !c.o.ends[i]:
			c.at("nodes", i, "name",
				"No way leads from the node %s to END; add an edge {from: %s, to: END}, or one to a node that leads there.", n.Name, n.Name)
		}
	}
}

// NameFault says why a node cannot have a name, in a sentence; "" where it can.
func NameFault(name string) string {
	switch {
	case !NamePattern.MatchString(name) || len(name) > 64:
		return fmt.Sprintf("%q cannot be a node's name: use letters, digits and single - or _ between them.", name)
	case slices.Contains(reserved, name):
		return fmt.Sprintf("A node cannot be called %s, which means something else in a graph; use another name.", name)
	}
	return ""
}

// listNames notes what conditions may name besides input: nodes and keys, in the order of the file.
func (c *checking) listNames() {
	c.known = make(map[string]bool)
	var names []string
	add := func(name string) {
		if name = Identifier(name); !c.known[name] {
			c.known[name] = true
			names = append(names, name)
		}
	}
	for _, n := range c.Nodes {
		add(n.Name)
	}
	for _, k := range c.State {
		add(k.Name)
	}
	c.names = few(names)
}

// few names some of many, for a message.
func few(names []string) string {
	const most = 20
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// unknown returns the first parts of paths that nothing gives, each once. The state is not
// known before a run, so of analysis.summary only analysis is checked; [Plan.Lacks]
// checks the rest where the agents are known.
func (c *checking) unknown(paths []string) (unknown []string) {
	told := make(map[string]bool)
	for _, path := range paths {
		name, _, _ := strings.Cut(path, ".")
		if name != "input" && !c.known[Identifier(name)] && !told[name] {
			told[name] = true
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// Conflicts returns the keys without a reducer that two nodes give which always run side
// by side, each with the first two. gives returns the names of the members that a node's result has.
// A key that is a node's name is not looked at. It finds those that are sure: nodes on
// branches that begin without a condition. Others are found when they happen.
func (p *Plan) Conflicts(gives func(Node) []string) []Finding {
	var found []Finding
	givers := make(map[string][]int) // by key
	for i, n := range p.Nodes {
		for _, name := range gives(n) {
			givers[name] = append(givers[name], i)
		}
	}
	o := p.order()
	beside := o.beside(p)
	for i, k := range p.State {
		if _, is := o.index[k.Name]; is || k.Reducer != "" {
			continue
		}
		if a, b, both := firstPair(givers[k.Name], beside); both {
			found = append(found, Finding{At: Place{"state", i, ""}, Message: fmt.Sprintf(
				"%s and %s run side by side and both give %s; write reducer: append, sum, merge or last.",
				p.Nodes[a].Name, p.Nodes[b].Name, k.Name)})
		}
	}
	return found
}

// firstPair returns the first two of some nodes that run side by side.
func firstPair(nodes []int, beside [][]bool) (a, b int, found bool) {
	for i, a := range nodes {
		for _, b := range nodes[i+1:] {
			if beside[a][b] {
				return a, b, true
			}
		}
	}
	return 0, 0, false
}

// beside returns, by two nodes, whether they lie on branches that unconditional edges of one node
// begin, and neither comes before the other. Edges that lead back do not count as
// before: in a loop each node would come before each other.
func (o *order) beside(p *Plan) [][]bool {
	n := len(p.Nodes)
	begun, both := make([][]bool, n), make([][]bool, n) // begun: by node, where its unconditional edges lead in the end
	for i := range n {
		begun[i], both[i] = make([]bool, n), make([]bool, n)
	}
	for _, e := range p.Edges {
		from, ok := o.index[e.From]
		next, there := o.index[e.To]
		if !ok || !there || e.Condition != "" || e.Else {
			continue
		}
		begun[from][next] = true
		for i, leads := range o.ahead[next] {
			begun[from][i] = begun[from][i] || leads
		}
	}
	for a := range n {
		for b := range n {
			both[a][b] = a != b && !o.ahead[a][b] && !o.ahead[b][a] &&
				slices.ContainsFunc(begun, func(to []bool) bool { return to[a] && to[b] })
		}
	}
	return both
}

// Lacks returns the edges whose condition asks a node for a member that its result never
// has. members returns the names of the members of a node's result, and whether it has
// no others.
// members may return nothing for a node of which nothing is known; closed must then be
// false.
func (p *Plan) Lacks(members func(Node) (names []string, closed bool)) []Finding {
	var found []Finding
	for i, e := range p.Edges {
		for _, path := range condition.Names(e.Condition) {
			name, rest, deeper := strings.Cut(path, ".")
			j := slices.IndexFunc(p.Nodes, func(n Node) bool { return Identifier(n.Name) == Identifier(name) })
			kept := slices.ContainsFunc(p.State, func(k Key) bool { return Identifier(k.Name) == Identifier(name) })
			if j < 0 || !deeper || kept {
				continue
			}
			member, _, _ := strings.Cut(rest, ".")
			if names, closed := members(p.Nodes[j]); closed && !slices.Contains(names, member) {
				found = append(found, Finding{At: Place{"edges", i, "condition"}, Message: fmt.Sprintf(
					"The result of %s has no %s: it has %s. Correct the condition, or the output of %s.",
					p.Nodes[j].Name, member, few(names), p.Nodes[j].Of)})
			}
		}
	}
	return found
}
