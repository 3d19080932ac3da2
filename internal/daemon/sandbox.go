package daemon

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/agentls/agentls/internal/process"
	"github.com/agentls/agentls/internal/sandbox"
	"github.com/agentls/agentls/workspace"
)

// sandboxes keeps the sandbox that the person's settings describe, until they
// describe another one: what it found out about the machine still holds.
// It is safe for concurrent use.
//
// key is the config as text, of which last was made.
type sandboxes struct {
	mu   sync.Mutex
	key  string
	last *sandbox.Sandbox
}

// of returns the sandbox of settings.
// The same settings give the same sandbox, which has found out already what
// works here.
func (s *sandboxes) of(c Config, all *workspace.Settings) *sandbox.Sandbox {
	home := workspace.CanonicalPath((&daemon{Config: c}).env("HOME"))
	confined := all.Tools.Sandbox
	config := sandbox.Config{
		Mode: sandbox.Mode(confined.Mode), Home: home, State: workspace.CanonicalPath(c.state()),
		Environ: process.Environ(c.Environ),
		Read:    expandAll(confined.Read, home), Write: expandAll(confined.Write, home),
	}
	key := fmt.Sprintf("%+v", config)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key != key {
		s.key, s.last = key, sandbox.New(config)
	}
	return s.last
}

// expandAll returns paths with the home in place of ~; nil stays nil.
func expandAll(paths []string, home string) []string {
	if paths == nil {
		return nil
	}
	out := make([]string, len(paths))
	for i, path := range paths {
		out[i] = expandHome(path, home)
	}
	return out
}

// cleanEvery is how often the caches of commands are looked at after the start.
const cleanEvery = 24 * time.Hour

// cleanCaches keeps the caches of commands small, until ctx ends. The first look is at
// once.
func (b *daemon) cleanCaches(ctx context.Context) {
	next := time.NewTicker(cleanEvery)
	defer next.Stop()
	for {
		if err := b.settingsOf("").runs.Sandbox.CleanCache(ctx); err != nil {
			b.Log.Warn("the caches of commands cannot be cleaned", "error", err)
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			return
		}
	}
}

// Wall says what confines commands by the person's settings, and why nothing
// better does; "" where it is the best.
func (c Config) Wall(ctx context.Context) (sandbox.Wall, string) {
	all := workspace.LoadSettings(ctx, workspace.SettingsFiles{User: (&daemon{Config: c}).userSettings()})
	return new(sandboxes).of(c, all).Wall()
}
