package daemon

import (
	"os"
	"path/filepath"

	longterm "github.com/agentls/agentls/agents/memory"
	"github.com/agentls/agentls/agents/memory/local"
	"github.com/agentls/agentls/agents/memory/redis"
	"github.com/agentls/agentls/workspace"
)

// memories are the backends of long-term memory. Nothing is opened before an agent or a
// person asks.
func (b *daemon) memories() longterm.Keeper {
	dir := filepath.Join(workspace.CanonicalPath(b.state()), "memory")
	return longterm.Keeper{
		"local": local.New(local.Config{Dir: dir, Now: b.Now, Prepare: func() error {
			if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
				return err
			}
			return workspace.MakePrivate(dir)
		}}),
		"redis": redis.New(func() string { return b.settingsOf(b.first).runs.Redis }),
	}
}
