package wire

type (
	// GraphParams names a graph: that of an agent, by its name or its file, or that of a
	// run, with the states of its nodes.
	GraphParams struct {
		Name   string `json:"name,omitempty"`   // "name" or "folder:name"; absent with uri or run
		URI    string `json:"uri,omitempty"`    // of an agent's file, as the editor has it
		Run    string `json:"run,omitempty"`    // whose nodes' states are told; absent = none are
		Format string `json:"format,omitempty"` // of drawing: text, mermaid, dot or json; absent = text
	}

	// GraphResult is a graph as it is shown. Of an agent without one it is who hands over
	// to whom.
	GraphResult struct {
		// Whose graph it is.
		Agent string `json:"agent"`
		// The node that is first.
		Entry    string `json:"entry"`
		Handoffs bool   `json:"handoffs,omitempty"` // the agent has no graph
		// In the order of the file.
		Nodes []GraphStep `json:"nodes"`
		// In the order of the file.
		Edges   []GraphEdge `json:"edges"`
		Drawing string      `json:"drawing"` // in the format that was asked for
	}

	// GraphStep is a node of a graph.
	GraphStep struct {
		// Unique in the graph.
		Name  string `json:"name"`
		Does  string `json:"does"`            // debug-analyzer, human, tool bash, graph review
		State string `json:"state,omitempty"` // in the run: running, waiting, finished, failed, cancelled; absent = it has not begun
	}

	// GraphEdge is an edge of a graph.
	GraphEdge struct {
		// A node.
		From  string `json:"from"`
		To    string `json:"to"`              // a node, or END
		Label string `json:"label,omitempty"` // when it is taken: if: …, else, and of handoffs manual or auto; absent = always
	}
)
