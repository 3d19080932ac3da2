package registry

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/agentls/agentls/agents/definition"
	flow "github.com/agentls/agentls/agents/graph"
)

// graphNodes tells of what other agents make wrong with the graph of d: nodes of agents
// that nobody has, conditions about members that no result of an agent has, and keys
// that two agents give side by side.
func (s *Snapshot) graphNodes(d *definition.Definition, uri string) (found []definition.Problem) {
	if usable, _ := d.Usable(); d.Graph == nil || !usable {
		return nil
	}
	agents := make(map[string]*definition.Definition) // by node
	for i, n := range d.Graph.Nodes {
		if n.Kind != flow.Agent && n.Kind != flow.Graph {
			continue
		}
		e := s.find(d.Folder, n.Of)
		p := definition.Problem{URI: uri, Range: d.Graph.Ranges[i], Code: "agent/graph", Severity: definition.Error}
		switch {
		case e == nil:
			found = append(found, s.unknownTarget(p, d, n.Of, "the graph cannot run", len(found) < suggestions))
			continue
		case n.Kind == flow.Graph && e.Definition.Graph == nil:
			p.Message = fmt.Sprintf("The agent %s has no graph; write agent: %s.", n.Of, n.Of)
			found = append(found, p)
		}
		agents[n.Name] = e.Definition
	}
	// Only a schema that allows nothing else says for sure that a member is never there.
	type result struct {
		names  []string
		closed bool
	}
	known := make(map[*definition.Definition]result) // many nodes may run one agent
	members := func(n flow.Node) ([]string, bool) {
		def := agents[n.Name]
		if of, read := known[def]; read {
			return of.names, of.closed
		}
		var schema struct {
			Type       any                        `json:"type"`
			Properties map[string]json.RawMessage `json:"properties"`
			Additional any                        `json:"additionalProperties"`
		}
		if def == nil || def.Output == nil || json.Unmarshal(def.Output.Schema, &schema) != nil {
			return nil, false
		}
		known[def] = result{slices.Sorted(maps.Keys(schema.Properties)),
			schema.Type == "object" && schema.Additional == false}
		return known[def].names, known[def].closed
	}
	for i, lack := range d.Graph.Lacks(members) {
		if i == suggestions {
			break
		}
		found = append(found, definition.Problem{URI: uri, Range: d.Graph.Links[lack.At.Index], Code: "agent/graph",
			Severity: definition.Error, Message: lack.Message})
	}
	for _, conflict := range d.Graph.Conflicts(func(n flow.Node) []string { names, _ := members(n); return names }) {
		found = append(found, definition.Problem{URI: uri, Range: d.Graph.Keys[conflict.At.Index], Code: "agent/graph",
			Severity: definition.Error, Message: conflict.Message})
	}
	return found
}
