package language

import (
	"context"
	"errors"
	"path/filepath"

	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/settings"
	"github.com/agentls/agentls/workspace"
)

// settingsFile returns the settings file that a URI names: the open document, else
// what is on the disk. The person's own is of [settings.UserScope], and
// .gemini/settings.json anywhere else of [settings.ProjectScope] (spec 2.9). path
// is canonical. It is false for any other file, and for one that is not there. The
// catalog of agents is not needed for it.
func (a *Query) settingsFile(name uri.URI) (text string, scope settings.Scope, path string, ok bool) {
	if path, ok = workspace.FilePath(name); !ok {
		return "", scope, "", false
	}
	if filepath.Base(path) != filepath.Base(workspace.ProjectSettings) {
		return "", scope, path, false
	}
	path = workspace.CanonicalPath(path)
	switch {
	case path == workspace.CanonicalPath(a.h.daemon.Knowledge.Settings):
		scope = settings.UserScope
	case filepath.Base(filepath.Dir(path)) == filepath.Dir(workspace.ProjectSettings):
		scope = settings.ProjectScope
	default:
		return "", scope, path, false
	}
	if d, open := a.Snapshot.Document(name); open {
		return d.Text, scope, path, !d.Lost
	}
	text, ok = settingsText(path)
	return text, scope, path, ok
}

// settingsCheck is what was found in a settings file that is open, in one version of it:
// one check, whoever waits for it. findings and err are set before done is closed, and
// only read after it.
type settingsCheck struct {
	of         *workspace.Document
	catalog    *registry.Snapshot
	generation uint64

	// cancel ends the check; it may be called again.
	cancel context.CancelFunc
	// before is a check of the same text whose place this one took, and which others still
	// wait for; nil where that has ended.
	before *settingsCheck
	// done is closed when the check has ended.
	done     chan struct{}
	findings []workspace.SettingsFinding
	err      error
}

// errSuperseded is of a question about a text that is not the newest any more.
var errSuperseded = fault.New(fault.Stale, "handlers.settings", "the file has changed since; ask again")

// settingsFindings returns what is wrong with a settings file of settingsFile. Of one that
// is open it is found out once for each version and what is known beside it, and no more
// when there is a newer version: the error is errSuperseded then, or ctx's.
//
// The first request that wants to know does the check itself, and others wait for it.
// Where that first one is cancelled, its check fails, and one of those that wait does
// another.
func (a *Query) settingsFindings(ctx context.Context, name uri.URI, text string, scope settings.Scope,
	path string) ([]workspace.SettingsFinding, error) {
	d, open := a.Snapshot.Document(name)
	if !open {
		return a.diagnoseSettings(ctx, text, scope, path)
	}
	k, generation := &a.h.checks.settings, a.generation()
	for {
		run, cancel := context.WithCancel(ctx)
		mine := &settingsCheck{of: d, catalog: a.Catalog, generation: generation, cancel: cancel,
			done: make(chan struct{})}
		check, newest := k.turn(a.h.Workspace, d, func(last *settingsCheck) *settingsCheck {
			if last != nil && last.of == d && last.catalog == a.Catalog &&
				last.generation == generation && !last.failed() {
				return last
			}
			if last != nil && last.of == d {
				// Either may be the one that knows more, so both are answered.
				mine.before = last.running()
			} else {
				// Nobody can use findings about an older text.
				last.stop()
			}
			return mine
		})
		if !newest {
			cancel()
			return nil, errSuperseded
		}
		if check == mine {
			mine.look(ctx, func() ([]workspace.SettingsFinding,
				error) {
				return a.diagnoseSettings(run, text, scope, path)
			})
			return mine.findings, mine.err
		}
		cancel()
		select {
		case <-check.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !check.failed() || errors.Is(check.err, errSuperseded) {
			return check.findings, check.err
		}
		// Whoever looked does not want to know any more.
	}
}

// look finds out what is wrong. ctx is of who asked: an error while that goes on means
// that a newer version has stopped the check.
func (c *settingsCheck) look(ctx context.Context, find func() ([]workspace.SettingsFinding, error)) {
	defer close(c.done)
	defer c.cancel()
	c.err = errSuperseded // also where it panics
	c.findings, c.err = find()
	if c.err != nil && ctx.Err() == nil {
		c.findings, c.err = nil, errSuperseded
	}
}

// stop ends the looks at a text, where they have not ended; nil has none.
func (c *settingsCheck) stop() {
	for ; c != nil; c = c.before {
		c.cancel()
	}
}

// running returns the newest of the looks at a text that has not ended, nil for none.
func (c *settingsCheck) running() *settingsCheck {
	for ; c != nil; c = c.before {
		select {
		case <-c.done:
		default:
			return c
		}
	}
	return nil
}

// failed reports whether the look has ended, and found nothing out.
func (c *settingsCheck) failed() bool {
	select {
	case <-c.done:
		return c.err != nil
	default:
		return false
	}
}

// diagnoseSettings returns what is wrong with a settings file of settingsFile: a
// project's stands over the person's own, as that is on the disk. The error is ctx's.
func (a *Query) diagnoseSettings(ctx context.Context, text string, scope settings.Scope,
	path string) ([]workspace.SettingsFinding, error) {
	source := workspace.SettingsSource{Scope: scope, File: path, Content: []byte(text)}
	var under []workspace.SettingsSource
	if own := workspace.CanonicalPath(a.h.daemon.Knowledge.Settings); scope != settings.UserScope {
		if text, ok := settingsText(own); ok {
			under = append(under, workspace.SettingsSource{Scope: settings.UserScope, File: own,
				Content: []byte(text)})
		}
	}
	return workspace.DiagnoseSettings(ctx, source, a.settingsNames(settingsFolder(path, scope)), under...)
}

// settingsFolder returns the folder that a settings file of settingsFile holds in,
// "" for the person's, as settingsNames takes it.
func settingsFolder(path string, scope settings.Scope) string {
	if scope == settings.UserScope {
		return ""
	}
	return filepath.Dir(filepath.Dir(path))
}

// settingsNames returns what the settings of a folder may name, "" for the
// person's. The agents of a folder that is none of the workspace's are not known.
// The result is the caller's.
func (a *Query) settingsNames(folder string) workspace.SettingsNames {
	var names workspace.SettingsNames
	if folder == "" || a.isRoot(folder) {
		// Empty, not nil, which would mean that the agents are not known.
		names.Agents = []string{}
		seen := map[string]bool{}
		for _, e := range a.Catalog.Entries() {
			d := e.Definition
			if d.Name != "" && !seen[d.Name] && (folder == "" || d.Folder == "" || d.Folder == folder) {
				seen[d.Name] = true
				names.Agents = append(names.Agents, d.Name)
			}
		}
	}
	if table := a.h.daemon.Knowledge.Table; table != nil {
		var ids []string
		for _, e := range table.Entries() {
			if _, retired := table.Successor(e.ID); !retired &&
				(e.MaxOutput > 0 || e.Window == 0) { // else it does not write
				names.Models, ids = append(names.Models, e.Aliases...), append(ids, e.ID)
			}
		}
		names.Models = append(names.Models, ids...)
	}
	for _, t := range definition.ToolNames() {
		names.Tools = append(names.Tools, t.Name)
	}
	return names
}

// isRoot reports whether a canonical folder is one of the workspace's.
func (a *Query) isRoot(folder string) bool {
	for _, f := range a.Snapshot.Folders() {
		if f.Canonical == folder {
			return true
		}
	}
	return false
}
