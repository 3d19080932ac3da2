package language

import (
	"strings"

	"github.com/agentls/agentls/agents/registry"
)

// Find returns the agent of a name, also one that cannot run: a person who asks
// for it wants to know why.
// folder:name is an agent of one workspace folder, by the folder's name or path. The error is
// fault.NotFound with the reason UnknownAgent, and suggestions in its data.
func (h *Handlers) Find(catalog *registry.Snapshot, name string) (*registry.Entry, error) {
	e, err := catalog.Lookup("", name)
	if err == nil {
		return e, nil
	}
	// Lookup refuses agents that cannot run. The search below does not look at their state.
	folder := ""
	// The path of a folder may have colons, an agent's name has none.
	if i := strings.LastIndexByte(name, ':'); i > 0 {
		for _, f := range h.Workspace.Snapshot().Folders() {
			if f.Name == name[:i] || f.Canonical == name[:i] {
				folder, name = f.Canonical, name[i+1:]
				break
			}
		}
	}
	for _, e := range catalog.Entries() {
		if e.Definition.Name == name && (folder == "" || e.Definition.Folder == folder) {
			return e, nil
		}
	}
	return nil, err
}
