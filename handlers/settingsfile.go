package handlers

import (
	"path/filepath"

	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/workspace"
)

// settingsFile returns the settings file that a URI names: the open document, else
// what is on the disk. The person's own is of [workspace.UserScope], and
// .gemini/settings.json anywhere else of [workspace.ProjectScope] (spec 2.9). path
// is canonical. It is false for any other file, and for one that is not there. The
// catalog of agents is not needed for it.
func (a *author) settingsFile(name uri.URI) (text string, scope workspace.Scope, path string, ok bool) {
	u, err := uri.Parse(string(name))
	if err != nil || !u.IsFile() {
		return "", scope, "", false
	}
	path = u.FsPath()
	if filepath.Base(path) != filepath.Base(workspace.ProjectSettings) {
		return "", scope, path, false
	}
	path = canonical(path)
	switch {
	case path == canonical(a.h.house.Knowledge.Settings):
		scope = workspace.UserScope
	case filepath.Base(filepath.Dir(path)) == filepath.Dir(workspace.ProjectSettings):
		scope = workspace.ProjectScope
	default:
		return "", scope, path, false
	}
	if d, open := a.snapshot.Document(name); open {
		return d.Text, scope, path, !d.Lost
	}
	text, ok = settingsText(path)
	return text, scope, path, ok
}

// settingsFolder returns the folder that a settings file of settingsFile holds in,
// "" for the person's, as settingsNames takes it.
func settingsFolder(path string, scope workspace.Scope) string {
	if scope == workspace.UserScope {
		return ""
	}
	return filepath.Dir(filepath.Dir(path))
}

// settingsNames returns what the settings of a folder may name, "" for the
// person's. The agents of a folder that is none of the workspace's are not known.
func (a *author) settingsNames(folder string) workspace.SettingsNames {
	var names workspace.SettingsNames
	if folder == "" || a.isRoot(folder) {
		names.Agents = []string{}
		seen := map[string]bool{}
		for _, e := range a.catalog.Entries() {
			d := e.Definition
			if d.Name != "" && !seen[d.Name] && (folder == "" || d.Folder == "" || d.Folder == folder) {
				seen[d.Name] = true
				names.Agents = append(names.Agents, d.Name)
			}
		}
	}
	if table := a.h.house.Knowledge.Table; table != nil {
		var ids []string
		for _, e := range table.Entries() {
			if _, retired := table.Retired(e.ID); !retired && (e.MaxOutput > 0 || e.Window == 0) { // else it does not write
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
func (a *author) isRoot(folder string) bool {
	for _, f := range a.snapshot.Folders() {
		if f.Canonical == folder {
			return true
		}
	}
	return false
}

// canonical returns a path as the disk has it, or as it is where it has none.
func canonical(path string) string {
	if c, err := workspace.Canonical(path); err == nil {
		return c
	}
	return path
}
