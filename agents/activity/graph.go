package activity

import "encoding/json"

// GraphNode says that a step of a graph moved (spec 7.1). What it gave is in the event
// that says that it has finished, so that the graph goes on from there.
type GraphNode struct {
	Node    string          `json:"node"`
	State   string          `json:"state"`             // running, waiting (for a person), finished, failed, cancelled
	Step    string          `json:"step"`              // the node and which of its visits: fixer#2
	Attempt int             `json:"attempt,omitempty"` // from 1
	Output  json.RawMessage `json:"output,omitempty"`  // with finished
	Error   string          `json:"error,omitempty"`   // with failed
	Taint   string          `json:"taint,omitempty"`   // of Output, as of ToolState
}

// The states of a step.
const (
	NodeRunning   = "running"
	NodeWaiting   = "waiting"
	NodeFinished  = "finished"
	NodeFailed    = "failed"
	NodeCancelled = "cancelled"
)

// Type implements [Body].
func (GraphNode) Type() string { return "graph.node" }
