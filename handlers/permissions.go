package handlers

import (
	"context"
	"strings"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// listPermissions serves agents/permissions/list.
// These are the answers for runs and sessions that are open, and those for always.
// Without a session they are those of all.
func (h *Handlers) listPermissions(_ context.Context, _ struct{},
	p *wire.PermissionsListParams) (*wire.PermissionsListResult, error) {
	all, err := h.daemon.Agents.Permissions(p.Session)
	if err != nil {
		return nil, err
	}
	result := &wire.PermissionsListResult{Permissions: []wire.Permission{}}
	for _, g := range all {
		result.Permissions = append(result.Permissions, wire.Permission{
			ID: g.ID, Agent: g.Agent, Tool: g.Tool, Pattern: tool.Escape(g.Covers),
			Scope: string(g.Scope), Decision: "allow",
			Session: g.Session, Run: g.Run, Since: stamp(g.Since),
		})
	}
	return result, nil
}

// forgetPermission serves agents/permissions/forget.
// One that is not there any more is no error: the answer says whether it was.
// Calls that were permitted by it go on. An error says that the answer still holds.
func (h *Handlers) forgetPermission(_ context.Context, _ struct{},
	p *wire.PermissionsForgetParams) (*wire.PermissionsForgetResult, error) {
	gone, err := h.daemon.Agents.ForgetPermission(strings.Clone(p.ID))
	if err != nil {
		return nil, err
	}
	return &wire.PermissionsForgetResult{Forgotten: gone}, nil
}
