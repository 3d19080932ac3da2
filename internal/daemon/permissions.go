package daemon

import (
	"context"
	"path/filepath"
	"time"

	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/sandbox"
	"github.com/agentls/agentls/workspace"
)

// permissionsFile is where answers for always are kept (SEC-24).
func (c Config) permissionsFile() string { return filepath.Join(c.state(), "permissions.json") }

// permissionStore is the answers for always of one workspace, as the gate asks for them.
// The errors are those of the file; then the person is asked, as nothing was answered
// for always.
type permissionStore struct {
	ctx  context.Context // of the daemon
	all  *workspace.Permissions
	root string // canonical
}

// recordIn is how long an answer waits for another daemon that writes the file.
const recordIn = 2 * time.Second

// Grants implements [guard.Store].
func (k permissionStore) Grants() ([]guard.Grant, error) {
	list, err := k.all.Of(k.root)
	if err != nil {
		return nil, err
	}
	grants := make([]guard.Grant, 0, len(list))
	for _, p := range list {
		grants = append(grants, guard.Grant{
			ID: p.ID, Scope: guard.Always, Agent: p.Agent, Project: p.Project, Tool: p.Tool,
			Folder: p.Folder, Shape: p.Shape,
			Access: sandbox.Access(p.Access), Argv: p.Argv, Prefix: p.Prefix, Covers: p.Covers, Since: p.Since,
		})
	}
	return grants, nil
}

// Keep implements [guard.Store]. What does not hold for always is not stored.
func (k permissionStore) Keep(all ...guard.Grant) error {
	list := make([]workspace.Permission, 0, len(all))
	for _, g := range all {
		if g.Scope != guard.Always {
			return fault.New(fault.Invalid, "daemon.keep", "an answer for a %s is not kept on disk", g.Scope)
		}
		// Since is set by [workspace.Permissions.Keep].
		list = append(list, workspace.Permission{
			ID: g.ID, Agent: g.Agent, Project: g.Project, Tool: g.Tool, Folder: g.Folder, Shape: g.Shape,
			Access: string(g.Access), Argv: g.Argv, Prefix: g.Prefix, Covers: g.Covers,
		})
	}
	ctx, cancel := context.WithTimeout(k.ctx, recordIn)
	defer cancel()
	return k.all.Keep(ctx, k.root, list...)
}

// Forget implements [guard.Store].
func (k permissionStore) Forget(id string) (bool, error) {
	ctx, cancel := context.WithTimeout(k.ctx, recordIn)
	defer cancel()
	return k.all.Forget(ctx, k.root, id)
}

var _ guard.Store = permissionStore{}
