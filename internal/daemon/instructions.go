package daemon

import (
	"path/filepath"
	"slices"

	"github.com/agentls/agentls/agents/prompt"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/workspace"
)

// instructions returns what memory files say in a folder, for a file in it (spec 6.2),
// as they are on disk now. They are read for a run, not for what an editor types.
// What is left out is there with the reason, so that the person can be told.
func (b *daemon) instructions(folder, file string) prompt.Memory {
	deny := b.settingsOf(folder).runs.Deny
	// The folder is resolved and not the file itself: the place decides which files are
	// told.
	if file != "" {
		file = filepath.Join(workspace.CanonicalPath(filepath.Dir(file)), filepath.Base(file))
	}
	read := workspace.ReadMemory(b.ctx, workspace.MemoryQuery{
		Home: workspace.CanonicalPath(b.Home), Person: workspace.CanonicalPath(b.env("HOME")),
		Folder: folder, File: file, Trusted: b.instructs,
		Data: prompt.Remembered, Bundles: b.bundleInstructions(folder),
		// What agents may not read is not told to them either.
		Refused: func(path, text string) string {
			switch {
			case tool.IsCredential(path):
				return "it may hold credentials"
			case slices.ContainsFunc(deny, func(r tool.Rule) bool { return r.Covers("read_file", path, folder) }):
				return "the settings (tools.exclude) deny agents to read it"
			}
			if why := tool.SecretIn(path, text); why != "" {
				return "it holds " + why
			}
			return ""
		},
	})
	var m prompt.Memory
	for _, f := range read.Files {
		m.Files = append(m.Files, prompt.MemoryFile(f))
	}
	for _, l := range read.LeftOut {
		m.LeftOut = append(m.LeftOut, prompt.LeftOut(l))
	}
	return m
}

// instructs reports whether the memory files of a folder are taken. Trust for this
// process is for the folders of the workspace, with what plainly lies in them.
func (b *daemon) instructs(folder string) bool {
	if ok, _, err := b.trust.Lookup(folder); ok && err == nil {
		return true
	}
	return b.Trust && workspace.PlainlyIn(b.folders.paths(), folder)
}
