package daemon

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/workspace"
)

// folderSettings is what the settings say for one folder.
type folderSettings struct {
	runs       agents.Settings
	persistent bool
	problems   []string
}

// settingsCache keeps what was read until a file changes.
type settingsCache struct {
	mu sync.Mutex
	of map[string]*folderSettings
}

func (c *settingsCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of = nil
}

// settingsOf returns the settings that hold in a folder, "" for none: the
// person's, and the folder's own where it is trusted.
func (b *house) settingsOf(folder string) *folderSettings {
	b.settings.mu.Lock()
	defer b.settings.mu.Unlock()
	if s := b.settings.of[folder]; s != nil {
		return s
	}
	all := workspace.LoadSettings(b.ctx, workspace.SettingsFiles{
		User: filepath.Join(b.Home, "settings.json"), Folder: folder, Trusted: b.trusted(folder),
	})
	s := &folderSettings{
		persistent: all.Agents.ContextPersistence.Value,
		runs: agents.Settings{
			Model: all.Model.Name.Value, FallbackModels: all.Agents.FallbackModels.Value,
			ConfirmationTimeout: time.Duration(all.Agents.ConfirmationTimeout.Value) * time.Second,
			Critical:            all.Security.Critical.Value == "ask",
			Exclude:             all.Tools.Exclude.Value,
		},
	}
	for _, path := range all.Security.AdditionalFolders.Value {
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			path = filepath.Join(b.env("HOME"), rest)
		}
		if canonical, err := workspace.Canonical(path); err == nil {
			s.runs.AdditionalFolders = append(s.runs.AdditionalFolders, canonical)
		} else {
			s.problems = append(s.problems, fmt.Sprintf("security.additionalFolders: %v", err))
		}
	}
	for _, p := range all.Problems {
		s.problems = append(s.problems, fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message))
	}
	if b.settings.of == nil {
		b.settings.of = make(map[string]*folderSettings)
	}
	b.settings.of[folder] = s
	return s
}
