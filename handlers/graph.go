package handlers

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/graph"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// getGraph serves agents/graph/get.
// Without a name or a URI it is the graph of the agent that a run is of; with a run, each step has
// its state in it.
func (h *Handlers) getGraph(ctx context.Context, s *workspace.Snapshot,
	p *wire.GraphParams) (*wire.GraphResult, error) {
	if p.Format != "" && !slices.Contains(graph.Formats, p.Format) {
		return nil, server.BadParams(wire.MethodGraphGet, "format", "must be %s", strings.Join(graph.Formats, ", "))
	}
	a, err := h.language.Query(ctx, s)
	if err != nil {
		return nil, err
	}
	name := strings.Clone(p.Name)
	if name == "" && p.URI == "" {
		if p.Run == "" {
			return nil, server.BadParams(wire.MethodGraphGet, "name", "is required: an agent, or uri or run instead")
		}
		if name, err = h.daemon.Agents.AgentOfRun(p.Run); err != nil {
			return nil, h.language.EncodeError(err)
		}
	}
	var def *definition.Definition
	if p.URI != "" {
		f, err := a.AnyFile(wire.MethodGraphGet, p.URI)
		if err != nil {
			return nil, err
		}
		def = f.Definition
	} else {
		e, err := h.language.Find(a.Catalog, name)
		if err != nil {
			return nil, h.language.EncodeError(err)
		}
		def = e.Definition
	}
	picture, err := h.daemon.Agents.Graph(def, def.Folder, strings.Clone(p.Run))
	if err != nil {
		return nil, h.language.EncodeError(err)
	}
	result := &wire.GraphResult{Agent: picture.Name, Entry: picture.Entry, Handoffs: picture.Handoffs,
		Nodes: []wire.GraphStep{}, Edges: []wire.GraphEdge{}}
	for _, n := range picture.Nodes {
		result.Nodes = append(result.Nodes, wire.GraphStep{Name: n.Name, Does: n.Does, State: n.State})
	}
	for _, l := range picture.Links {
		result.Edges = append(result.Edges, wire.GraphEdge{From: l.From, To: l.To, Label: l.Label})
	}
	result.Drawing, _ = picture.Draw(p.Format)
	return result, nil
}

// runGraph serves agents/graph/run: agents/run, but for an agent that has no graph.
// One that is refused gives its place in the order back, as a run that failed to start does.
func (h *Handlers) runGraph(ctx context.Context, r request, p *wire.RunParams) (any, error) {
	if err := h.hasGraph(ctx, cmp.Or(p.Agent, "main")); err != nil {
		r.release()
		h.work.Go(func() { // the requests behind it keep their order
			if r.before != nil {
				<-r.before
			}
			r.started()
		})
		return nil, err
	}
	return h.run(ctx, r, p)
}

// resumeGraph serves agents/graph/resume: agents/resume, but for a run without a graph.
func (h *Handlers) resumeGraph(ctx context.Context, s *workspace.Snapshot, p *wire.ResumeParams) (any, error) {
	agent, err := h.daemon.Agents.AgentOfRun(p.Run)
	if err == nil {
		err = h.hasGraph(ctx, agent)
	}
	if err != nil {
		return nil, h.language.EncodeError(err)
	}
	return h.resume(ctx, s, p)
}

// hasGraph returns why an agent has no graph to run.
func (h *Handlers) hasGraph(ctx context.Context, name string) error {
	catalog, err := h.catalog(ctx)
	if err != nil {
		return err
	}
	e, err := h.language.Find(catalog, strings.Clone(name))
	if err == nil && e.Definition.Graph == nil {
		err = fault.New(fault.Invalid, "handlers.graph",
			"%s has no graph; run it with agents/run or `agentls run %s`, or describe a graph in its file",
			e.Definition.Name, e.Definition.Name)
	}
	return h.language.EncodeError(err)
}
