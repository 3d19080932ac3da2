package definition

// Graphs (spec 7.1): how a file writes them, and where in it what stands.

import (
	"math"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/graph"
)

// Graph is the graph of an agent.
// The ranges are as many as the nodes, keys and edges of the plan.
type Graph struct {
	*graph.Plan
	Ranges []Range // by node, of the value that says which agent or tool it is
	Keys   []Range // of the names of the state's keys
	Links  []Range // by edge, of its condition, or of the edge where it has none
}

// How large a graph may be: what is checked of it grows with the product.
const (
	maxGraphNodes = 100
	maxGraphEdges = 400
)

// graphField reads graph.
// The graph is checked as a whole only where each part could be read: else one slip would
// be told many times.
// Findings of package graph are put at the field that they name, else at the node, edge or
// key, else at the whole graph. TestGraphFindings has the cases.
func (r *reader) graphField(v *node) {
	if !r.shape(v, "graph", mapping) || r.Dialect != Agentls {
		return
	}
	g := &Graph{Plan: &graph.Plan{}}
	// The zero place is the graph as a whole.
	places := map[graph.Place]*node{{}: v}
	fine := true
	for i := range v.keys {
		k, n := &v.keys[i], &v.items[i]
		r.trimSmartQuotes(n)
		switch k.name {
		case "entry":
			places[graph.Place{Field: "entry"}] = n
			r.stringField(n, "graph.entry", &g.Entry)
		case "nodes":
			fine = r.graphNodes(g, n, places) && fine
		case "edges":
			fine = r.graphEdges(g, n, places) && fine
		case "max_steps":
			g.MaxSteps, _ = r.intField(n, "graph.max_steps", 1, 1000)
		case "state":
			fine = r.graphState(g, n, places) && fine
		default:
			r.unknown(k, "graph.", "graph")
		}
	}
	if r.Graph = g; !fine {
		return
	}
	for _, f := range g.Check() {
		at := places[f.At]
		// A finding about a field that the file does not have stands at its node, edge or key.
		for field := f.At.Field; at == nil && field != ""; field = "" {
			at = places[graph.Place{Part: f.At.Part, Index: f.At.Index}]
		}
		if at == nil {
			at = v
		}
		meant := ""
		if at.kind == str && (f.At.Field == "from" || f.At.Field == "to" || f.At.Field == "entry") {
			meant = r.nearest(at.text, g.nodeNames())
		}
		r.suggest("agent/graph", Error, at.start, at.end, meant, f.Message)
	}
}

// nodeNames are the names that an edge may lead to.
// END comes first, since an edge of any graph may lead there.
func (g *Graph) nodeNames() []string {
	names := []string{graph.End}
	for _, n := range g.Nodes {
		names = append(names, n.Name)
	}
	return names
}

// entries reads a list of objects, and reports whether it is one that is not too long.
//
// entry is not called any more behind the first entry that is no object, since the graph
// is not checked then.
func (r *reader) entries(v *node, field string, most int, entry func(i int, v *node)) bool {
	if v.kind == null {
		return true
	}
	if !r.shape(v, field, list) {
		return false
	}
	if len(v.items) > most {
		r.at(v, "agent/graph", Error,
			"%s has %d entries and %d are allowed; make several graphs of it, of which one runs the others (graph: NAME).", field, len(v.items), most)
		return false
	}
	fine := true
	for i := range v.items {
		// An empty entry has no finding by shape, so its kind is looked at as well.
		if fine = r.shape(&v.items[i], "An entry of "+field, mapping) && v.items[i].kind == mapping && fine; fine {
			entry(i, &v.items[i])
		}
	}
	return fine
}

// graphNodes reads the nodes, and reports whether all of them say what they do.
// places gets where each part stands, so that findings of package graph, which knows no
// text, can be put there.
func (r *reader) graphNodes(g *Graph, v *node, places map[graph.Place]*node) bool {
	fine := true
	return r.entries(v, "graph.nodes", maxGraphNodes, func(i int, v *node) {
		var n graph.Node
		at := v
		kinds := 0
		place := func(field string, v *node) { places[graph.Place{Part: "nodes", Index: i, Field: field}] = v }
		place("", v)
		// Until a name is read, findings about it stand at the whole entry.
		place("name", v)
		for j := range v.keys {
			k, item := &v.keys[j], &v.items[j]
			r.trimSmartQuotes(item)
			switch k.name {
			case "name":
				if r.stringField(item, "graph.nodes.name", &n.Name) {
					place("name", item)
				}
			case "agent", "graph", "tool", "human":
				kinds++
				n.Kind, at = graph.Kind(k.name), item
				switch {
				case k.name == "human" && item.kind == boolean && item.truth: // asks what the input says
				case !r.stringField(item, "graph.nodes."+k.name, &n.Of):
					// An empty value is told below, as a node that does not say what it runs.
					fine = fine && item.kind == null
				case k.name == "tool":
					r.graphTool(item, &n.Of)
				}
			case "input":
				n.Input = item.value()
				place("input", item)
			case "retries":
				n.Retries, _ = r.intField(item, "graph.nodes.retries", 0, 10)
			case "timeout":
				n.Timeout, _ = r.durationField(item, "graph.nodes.timeout")
			default:
				r.unknown(k, "graph.nodes.", "graph.nodes[]")
			}
		}
		// One finding for a node: the first of what keeps it from being run.
		switch {
		case n.Name == "":
			fine = false
			r.at(v, "agent/graph", Error, "A node needs name: by which edges and conditions know it.")
		case kinds != 1:
			fine = false
			r.at(v, "agent/graph", Error,
				"The node %s needs one of agent, graph, human and tool, which says what it does.", n.Name)
		case n.Of == "" && n.Kind != graph.Human:
			fine = false
			r.at(v, "agent/graph", Error, "The node %s does not say which %s it runs; write %s: with its name.",
				n.Name, n.Kind, n.Kind)
		case n.Kind == graph.Tool && n.Input != nil && v.get("input").kind != mapping:
			r.at(v.get("input"), "agent/graph", Error,
				"The input of a node with tool is the tool's arguments, an object.")
		case r.nameNode != nil && n.Of == r.nameNode.text && (n.Kind == graph.Agent || n.Kind == graph.Graph):
			r.at(at, "agent/graph", Error, "A graph cannot run itself; name another agent.")
		}
		g.Nodes, g.Ranges = append(g.Nodes, n), append(g.Ranges, r.text.span(at.start, at.end))
	}) && fine
}

// graphTool makes the name of a node's tool canonical, and reports one that there is not.
// One that is not known stays as it is written: its node fails when it is reached.
func (r *reader) graphTool(v *node, name *string) {
	if strings.ContainsAny(*name, "*?") {
		r.at(v, "agent/graph", Error, "A node calls one tool, and %s stands for several; name one.", *name)
		return
	}
	canonical, _ := r.ourTool(listed{*name, v.start, v.end}, "is not called, so its node fails", false)
	if canonical == "complete_task" || strings.HasPrefix(canonical, "transfer_to_") {
		r.at(v, "agent/graph", Error, "A node cannot call %s: edges say what follows, and END ends the graph.", *name)
	}
	*name = canonical
}

// graphEdges reads the edges, and reports whether all of them lead somewhere.
// A condition that cannot be read makes the graph unusable: to take it for true or false
// would send a run the wrong way.
func (r *reader) graphEdges(g *Graph, v *node, places map[graph.Place]*node) bool {
	fine := true
	return r.entries(v, "graph.edges", maxGraphEdges, func(i int, v *node) {
		var e graph.Edge
		for j := range v.keys {
			k, item := &v.keys[j], &v.items[j]
			r.trimSmartQuotes(item)
			places[graph.Place{Part: "edges", Index: i, Field: k.name}] = item
			switch k.name {
			case "from":
				r.stringField(item, "graph.edges.from", &e.From)
			case "to":
				r.stringField(item, "graph.edges.to", &e.To)
			case "condition":
				if item.kind == boolean {
					r.at(item, "agent/graph", Error,
						"A condition is an expression such as analysis.ok; an edge without one always holds.")
					fine = false
				} else if r.stringField(item, "graph.edges.condition", &e.Condition) &&
					!r.condition(item, e.Condition) {
					r.at(item, "agent/graph", Error, "Without this condition the graph cannot run; correct it.")
					fine = false
				}
			case "else":
				r.boolField(item, "graph.edges.else", &e.Else)
			case "priority":
				if p := r.floatField(item, "graph.edges.priority", -1000, 1000); p != nil {
					e.Priority = int(math.Round(*p))
				}
			default:
				r.unknown(k, "graph.edges.", "graph.edges[]")
			}
		}
		places[graph.Place{Part: "edges", Index: i}] = v
		if e.From == "" || e.To == "" {
			fine = false
			r.at(v, "agent/graph", Error,
				"An edge needs from: and to:, each the name of a node (to: END ends the graph).")
		}
		at := v
		if given := v.get("condition"); given != nil {
			at = given
		}
		g.Edges, g.Links = append(g.Edges, e), append(g.Links, r.text.span(at.start, at.end))
	}) && fine
}

// graphState reads the keys of the state, and reports whether it is an object.
// Whether a reducer exists is checked by package graph.
// It adds to g.State, g.Keys and places, also what it finds fault with, so that package
// graph can tell where its own findings are.
func (r *reader) graphState(g *Graph, v *node, places map[graph.Place]*node) bool {
	if v.kind == null {
		return true
	}
	if !r.shape(v, "graph.state", mapping) {
		return false
	}
	for i := range v.keys {
		k, item := &v.keys[i], &v.items[i]
		key := graph.Key{Name: k.name}
		named := k.node()
		places[graph.Place{Part: "state", Index: i}] = named
		if !graph.NamePattern.MatchString(k.name) || slices.Contains([]string{"input", "state"}, k.name) {
			r.at(named, "agent/graph", Error,
				"%q cannot be a key of the state: use letters, digits and single - or _ between them, and neither input nor state.", k.name)
		}
		if item.kind != null && r.shape(item, "graph.state."+k.name, mapping) {
			for j := range item.keys {
				switch name := &item.keys[j]; name.name {
				case "reducer":
					places[graph.Place{Part: "state", Index: i, Field: "reducer"}] = &item.items[j]
					r.stringField(&item.items[j], "graph.state.reducer", &key.Reducer)
				default:
					r.unknown(name, "graph.state.", "graph.state.*")
				}
			}
		}
		g.State, g.Keys = append(g.State, key), append(g.Keys, r.text.span(named.start, named.end))
	}
	return true
}
