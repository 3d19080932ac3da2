package handlers

import (
	"context"
	"slices"

	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// list serves agents/list.
// Problems are those of the agents that are listed, and those of the catalog as a whole
// whatever the scope.
func (h *Handlers) list(ctx context.Context, _ struct{}, p *wire.ListParams) (*wire.ListResult, error) {
	// What is saved after the answer is judged by what lay there before.
	if err := h.texts.disk.wait(ctx); err != nil {
		return nil, err
	}
	catalog, err := h.catalog(ctx)
	if err != nil {
		return nil, err
	}
	result := &wire.ListResult{Revision: int(catalog.Revision), Agents: []wire.AgentInfo{},
		Problems: []definition.Problem{}}
	standing := h.standing()
	for _, e := range catalog.Entries() {
		if p.Scope == "" || string(e.Definition.Scope) == p.Scope {
			info := h.info(catalog, e, standing)
			result.Agents = append(result.Agents, info)
			result.Problems = append(result.Problems, info.Problems...)
		}
	}
	whole := slices.Clone(catalog.Problems()) // the catalog's own stay as they are
	h.language.Encode(whole)
	result.Problems = append(result.Problems, whole...)
	return result, nil
}

// get serves agents/get.
// An agent that there is not is fault.NotFound with suggestions.
func (h *Handlers) get(ctx context.Context, _ struct{}, p *wire.GetParams) (*wire.GetResult, error) {
	catalog, err := h.catalog(ctx)
	if err != nil {
		return nil, err
	}
	e, err := h.language.Find(catalog, p.Name)
	if err != nil {
		return nil, h.language.EncodeError(err)
	}
	d := e.Definition
	result := &wire.GetResult{AgentInfo: h.info(catalog, e, h.standing()), FrontMatter: d.FrontMatter(),
		SystemPrompt: d.Prompt, ResolvedTools: []wire.ResolvedTool{}}
	if result.FrontMatter == nil {
		result.FrontMatter = map[string]any{}
	}
	for _, t := range h.daemon.Agents.ToolsOf(d) {
		s := t.Spec()
		result.ResolvedTools = append(result.ResolvedTools, wire.ResolvedTool{Name: s.Name,
			Risk: authority.Tier(s).String(), Description: s.Description})
	}
	return result, nil
}

// standing returns who says what state trust gives an agent whose file is ok, and
// looks each folder up once.
// What it returns is for one answer and one goroutine.
func (h *Handlers) standing() func(*definition.Definition) string {
	known := map[string]bool{}
	unreviewed := func(*definition.Definition) bool { return false }
	if h.daemon.Reviews != nil {
		unreviewed = h.daemon.Reviews.NeedsReview()
	}
	return func(d *definition.Definition) string {
		// Only agents that come with a folder need trust.
		if d.Folder == "" {
			return string(registry.OK)
		}
		is, ok := known[d.Folder]
		if !ok {
			is = h.daemon.Trusted(d.Folder)
			known[d.Folder] = is
		}
		switch {
		case !is:
			return "untrusted"
		case unreviewed(d):
			return "review"
		}
		return string(registry.OK)
	}
}

// info returns an agent as lists show it.
// It asks nobody and reads no file.
// State is the catalog's, and where that is ok what trust makes of it.
func (h *Handlers) info(catalog *registry.Snapshot, e *registry.Entry,
	standing func(*definition.Definition) string) wire.AgentInfo {
	d := e.Definition
	info := wire.AgentInfo{
		Name: d.Name, Title: d.Title, Description: d.Description, Scope: string(d.Scope), Dialect: string(d.Dialect),
		Model: d.Model, ResolvedModel: h.daemon.Agents.Resolve(d), Color: d.Color,
		Version: d.Version, Mode: string(d.Mode),
		Tools: []string{}, MCPServers: list(d.MCPServers), Subagents: list(d.Subagents),
		Handoffs: []string{}, Inputs: d.Inputs,
		State: string(e.State), Problems: append([]definition.Problem{}, catalog.Findings(e)...),
		CreatedAt: stamp(d.Created), UpdatedAt: stamp(d.Updated),
	}
	if d.Path != "" {
		info.URI = tool.URI(d.Path)
	}
	if e.ShadowedBy != "" {
		info.ShadowedBy = tool.URI(e.ShadowedBy)
	}
	if d.Folder != "" {
		info.Folder = tool.URI(d.Folder)
		if e.State == registry.OK {
			info.State = standing(d)
		}
	}
	for _, t := range h.daemon.Agents.ToolsOf(d) {
		info.Tools = append(info.Tools, t.Spec().Name)
	}
	for _, to := range d.Handoffs {
		info.Handoffs = append(info.Handoffs, to.To)
	}
	h.language.Encode(info.Problems)
	return info
}

// list returns s, and an empty list instead of none.
// The wire has [] where nothing is there, and no null.
func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// catalogChanged tells a client that lists agents which ones are other than
// before.
func (h *Handlers) catalogChanged(before, after *registry.Snapshot) {
	h.language.Reindex(after)
	changed, removed := after.Diff(before)
	h.tellChanged(after, changed, removed)
}

// trustChanged tells a client that lists agents that those of a folder run now,
// or do not any more.
//
// Agents of folders below count too: trust in a folder covers them.
func (h *Handlers) trustChanged(catalog *registry.Snapshot, folder string) {
	var changed []string
	for _, e := range catalog.Entries() {
		if below(folder, e.Definition.Folder) {
			changed = append(changed, e.Definition.Name)
		}
	}
	h.tellChanged(catalog, changed, nil)
}

// tellChanged has what the editor shows of agents made anew, and tells a client
// that lists agents the names of those that changed or are gone. It may be called
// from any goroutine. The revision that it sends never falls.
func (h *Handlers) tellChanged(catalog *registry.Snapshot, changed, removed []string) {
	h.language.Refresh()
	h.prepareRouting()
	if h.plain || len(changed)+len(removed) == 0 {
		return
	}
	h.telling.Lock() // files and trust change at once: what is told later is never older
	defer h.telling.Unlock()
	h.revision = max(h.revision, catalog.Revision)
	h.notify(wire.MethodDidChange, &wire.DidChangeParams{Revision: int(h.revision), Changed: list(changed),
		Removed: list(removed)})
}

// below reports whether a workspace folder is another folder, or lies in it.
func below(folder, workspaceFolder string) bool {
	_, ok := workspace.Below(folder, workspaceFolder)
	return ok
}
