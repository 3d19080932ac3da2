package graph

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Picture is a graph as it is shown, with the state of its nodes where it runs, or the
// handoffs of agents as one.
// It is a value that only reads from what it was made of.
type Picture struct {
	Name     string // of the agent
	Entry    string // the node to which the arrow from the start leads
	Nodes    []Shown
	Links    []Link
	Handoffs bool // it is who hands over to whom: the agent has no graph
}

// Link is an edge of a picture.
type Link struct {
	// Names of nodes; To may be [End].
	From, To string
	Label    string // when it is taken; "" = always
}

// Shown is a node of a picture.
type Shown struct {
	Name string
	Does string // debug-analyzer, human, tool bash, graph review
	// Of its newest visit in a run: running, waiting, finished, failed or cancelled;
	// "" = none.
	State string
}

// Picture returns the plan as it is shown; state says what is known of a node, and may
// be nil.
// Nodes and edges have the order of the file.
func (p *Plan) Picture(name string, state func(node string) string) Picture {
	picture := Picture{Name: name, Entry: p.Entry}
	for _, e := range p.Edges {
		picture.Links = append(picture.Links, Link{e.From, e.To, e.label()})
	}
	for _, n := range p.Nodes {
		shown := Shown{Name: n.Name, Does: n.Of}
		switch n.Kind {
		case Human:
			shown.Does = "human"
		case Tool, Graph:
			shown.Does = string(n.Kind) + " " + n.Of
		}
		if state != nil {
			shown.State = state(n.Name)
		}
		picture.Nodes = append(picture.Nodes, shown)
	}
	return picture
}

// Formats are the ways in which a picture is written.
// Do not change it.
var Formats = []string{"text", "mermaid", "dot", "json"}

// Draw writes a picture in one of [Formats]; false for another.
// "" is text. Texts of the agent's file are in the result, escaped where they would mean
// something in its language, each in one line and without control characters.
func (p Picture) Draw(format string) (string, bool) {
	p.Nodes, p.Links = slices.Clone(p.Nodes), slices.Clone(p.Links)
	for i := range p.Nodes {
		p.Nodes[i].Does = oneLine(p.Nodes[i].Does)
	}
	for i := range p.Links {
		p.Links[i].Label = oneLine(p.Links[i].Label)
	}
	switch format {
	case "", "text":
		return p.Text(), true
	case "mermaid":
		return p.Mermaid(), true
	case "dot":
		return p.DOT(), true
	case "json":
		return p.JSON(), true
	}
	return "", false
}

// Text is a picture for a terminal, a line for each node and edge (the form of spec 7.1). It has no
// colors.
func (p Picture) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nEntry: %s\nNodes:\n", p.Name, p.Entry)
	for _, n := range p.Nodes {
		fmt.Fprintf(&b, "  • %s (%s)", n.Name, n.Does)
		if n.State != "" {
			fmt.Fprintf(&b, " [%s]", n.State)
		}
		b.WriteByte('\n')
	}
	b.WriteString("Edges:\n")
	for _, e := range p.Links {
		fmt.Fprintf(&b, "  %s → %s", e.From, e.To)
		if e.Label != "" {
			fmt.Fprintf(&b, " [%s]", e.Label)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// oneLine returns what a file says as a picture has it: in one line, and without what a terminal
// would take for a command.
func oneLine(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return unicode.ReplacementChar
		}
		return c
	}, strings.Join(strings.Fields(text), " "))
}

// label is what a picture says of an edge: when it is taken. White space of a condition
// that spans lines is one blank.
func (e Edge) label() string {
	switch {
	case e.Condition != "":
		return "if: " + strings.Join(strings.Fields(e.Condition), " ")
	case e.Else:
		return "else"
	}
	return ""
}

// The ends of a graph as LangGraph calls them.
const (
	start = "__start__"
	end   = "__end__"
)

// links are the edges as LangGraph draws them: one from its start to the entry comes first, and
// those to [End] lead to its end.
func (p Picture) links() []Link {
	links := []Link{{From: start, To: p.Entry}}
	for _, e := range p.Links {
		if e.To == End {
			e.To = end
		}
		links = append(links, e)
	}
	return links
}

// ends reports whether an edge leads to the end. Where none does, no node for the end is drawn.
func (p Picture) ends() bool {
	return slices.ContainsFunc(p.Links, func(e Link) bool { return e.To == End })
}

// colors are those of nodes by state, in pictures that have any.
var colors = []struct{ state, color string }{
	{"running", "#ffe8a3"}, {"waiting", "#ffd0a3"}, {"finished", "#b7e4c7"}, {"failed", "#f5b5b5"},
	{"cancelled", "#d9d9d9"},
}

// keywords are the words of Mermaid that no node's id may be, or have before a dash.
var keywords = []string{"end", "style", "class", "classDef", "graph", "subgraph", "flowchart", "linkStyle",
	"interpolate", "href", "call"}

// mermaidID is a node's name as Mermaid takes it. No name of a node begins with an underscore.
func mermaidID(name string) string {
	if word, _, _ := strings.Cut(name, "-"); slices.Contains(keywords, word) {
		return "_" + name
	}
	return name
}

// Mermaid is a picture as a Mermaid flowchart, as LangGraph draws it.
func (p Picture) Mermaid() string {
	var b strings.Builder
	b.WriteString("%%{init: {'flowchart': {'curve': 'linear'}}}%%\ngraph TD;\n")
	fmt.Fprintf(&b, "\t%s([<p>%s</p>]):::first\n", start, start)
	lively := false
	for _, n := range p.Nodes {
		fmt.Fprintf(&b, "\t%s(%s)", mermaidID(n.Name), n.Name)
		if n.State != "" {
			fmt.Fprintf(&b, ":::%s", n.State)
			lively = true
		}
		b.WriteByte('\n')
	}
	if p.ends() {
		fmt.Fprintf(&b, "\t%s([<p>%s</p>]):::last\n", end, end)
	}
	for _, e := range p.links() {
		if e.Label == "" {
			fmt.Fprintf(&b, "\t%s --> %s;\n", mermaidID(e.From), mermaidID(e.To))
		} else {
			fmt.Fprintf(&b, "\t%s -.->|\"%s\"| %s;\n", mermaidID(e.From), entities.Replace(e.Label), mermaidID(e.To))
		}
	}
	b.WriteString("\tclassDef default fill:#f2f0ff,line-height:1.2;\n\tclassDef first fill-opacity:0;\n\tclassDef last fill:#bfb6fc;\n")
	if lively {
		for _, c := range colors {
			fmt.Fprintf(&b, "\tclassDef %s fill:%s;\n", c.state, c.color)
		}
	}
	return b.String()
}

// entities keeps what a condition says from meaning something in Mermaid.
var entities = strings.NewReplacer("#", "#35;", `"`, "#quot;", ";", "#59;", "<", "#lt;", ">", "#gt;",
	"`", "#96;", "&", "#amp;")

// DOT is a picture for Graphviz. Everything that comes from a file is quoted. Edges
// with a condition are dashed.
func (p Picture) DOT() string {
	var b strings.Builder
	quote := func(text string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
	}
	fmt.Fprintf(&b, "digraph %s {\n  node [shape=box, style=\"rounded,filled\", fillcolor=\"#f2f0ff\"];\n  %s [label=\"start\", shape=oval];\n", quote(p.Name), quote(start))
	for _, n := range p.Nodes {
		fmt.Fprintf(&b, "  %s [label=%s", quote(n.Name), quote(n.Name+"\n"+n.Does))
		for _, c := range colors {
			if c.state == n.State {
				fmt.Fprintf(&b, ", fillcolor=%s", quote(c.color))
			}
		}
		b.WriteString("];\n")
	}
	if p.ends() {
		fmt.Fprintf(&b, "  %s [label=\"END\", shape=oval];\n", quote(end))
	}
	for _, e := range p.links() {
		fmt.Fprintf(&b, "  %s -> %s", quote(e.From), quote(e.To))
		if e.Label != "" {
			fmt.Fprintf(&b, " [label=%s, style=dashed]", quote(e.Label))
		}
		b.WriteString(";\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// JSON is a picture as LangGraph writes graphs.
// The node's state is what is added to it.
func (p Picture) JSON() string {
	type data struct {
		ID    []string `json:"id,omitempty"`
		Name  string   `json:"name,omitempty"`
		Title string   `json:"title,omitempty"`
		State string   `json:"state,omitempty"`
	}
	type node struct {
		ID   string `json:"id"`
		Type string `json:"type"`
		Data data   `json:"data"`
	}
	type link struct {
		Source      string `json:"source"`
		Target      string `json:"target"`
		Data        string `json:"data,omitempty"`
		Conditional bool   `json:"conditional,omitempty"`
	}
	all := struct {
		Nodes []node `json:"nodes"`
		Edges []link `json:"edges"`
	}{Nodes: []node{{start, "schema", data{Title: start}}}, Edges: []link{}}
	for _, n := range p.Nodes {
		all.Nodes = append(all.Nodes, node{n.Name, "runnable", data{[]string{"agentls", "node"}, n.Does, "", n.State}})
	}
	if p.ends() {
		all.Nodes = append(all.Nodes, node{end, "schema", data{Title: end}})
	}
	for _, e := range p.links() {
		all.Edges = append(all.Edges, link{e.From, e.To, e.Label, e.Label != ""})
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if encoder.Encode(all) != nil {
		return "{}" // texts always have a JSON
	}
	return b.String()
}
