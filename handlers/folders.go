package handlers

import (
	"context"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/workspace"
)

// foldersOf returns the workspace folders of a client, or the root that older
// ones send.
// An error is returned only where none can be used.
func (h *Handlers) foldersOf(p *protocol.InitializeParams) ([]workspace.Folder, error) {
	var list []protocol.WorkspaceFolder
	if given, ok := p.WorkspaceFolders.Get(); ok {
		list = append(list, given...)
	}
	//lint:ignore SA1019 older clients send nothing newer
	if len(list) == 0 && p.RootURI != nil && *p.RootURI != "" {
		//lint:ignore SA1019 as above
		list = append(list, protocol.WorkspaceFolder{URI: *p.RootURI})
	}
	//lint:ignore SA1019 as above
	if path, ok := p.RootPath.Get(); ok && len(list) == 0 && path != "" {
		list = append(list, protocol.WorkspaceFolder{URI: uri.File(path)})
	}
	folders, err := h.addFolders(nil, list)
	if len(folders) > 0 {
		err = nil // one that cannot be used does not keep the others from it
	}
	return folders, err
}

// addFolders returns folders with those of a list that are not among them yet. One
// that cannot be used is left out, which the person is told; the error is the
// first one's.
//
// Two spellings of one folder are one: they are compared in their canonical form. folders
// may be modified.
func (h *Handlers) addFolders(folders []workspace.Folder, list []protocol.WorkspaceFolder) (all []workspace.Folder,
	first error) {
	for _, f := range list {
		folder, err := workspace.NewFolder(f.URI, f.Name)
		if err != nil {
			h.notice(folderLeftOut(err))
			if first == nil {
				first = err
			}
			continue
		}
		same := func(other workspace.Folder) bool { return other.Canonical == folder.Canonical }
		if !slices.ContainsFunc(folders, same) {
			folders = append(folders, folder)
		}
	}
	return folders, first
}

// folderLeftOut says that a workspace folder cannot be used.
func folderLeftOut(err error) string { return "A workspace folder is left out: " + fault.Message(err) }

// advertiseFolders is the capability of who takes changes of the folders.
func advertiseFolders(c *protocol.ServerCapabilities) {
	yes := true
	if c.Workspace == nil {
		c.Workspace = &protocol.WorkspaceOptions{}
	}
	c.Workspace.WorkspaceFolders = &protocol.WorkspaceFoldersServerCapabilities{Supported: &yes,
		ChangeNotifications: protocol.Boolean(true)}
}

// didChangeFolders serves workspace/didChangeWorkspaceFolders. Who asks for
// agents from now on gets those of the new folders.
// It does not wait for their agents to be read.
func (h *Handlers) didChangeFolders(_ context.Context, p *protocol.DidChangeWorkspaceFoldersParams) error {
	folders := slices.DeleteFunc(h.Workspace.Snapshot().Folders(), func(f workspace.Folder) bool {
		return slices.ContainsFunc(p.Event.Removed, func(gone protocol.WorkspaceFolder) bool {
			return names(f,
				gone.URI)
		})
	})
	// Take back the notice about a folder that could not be used: NewFolder fails with
	// the same words.
	for _, gone := range p.Event.Removed {
		if _, err := workspace.NewFolder(gone.URI, gone.Name); err != nil {
			h.clearNotice(folderLeftOut(err))
		}
	}
	folders, _ = h.addFolders(folders, p.Event.Added) // what cannot be used was told
	if _, err := h.Workspace.Apply(workspace.FoldersSet{Folders: folders}); err != nil {
		return err
	}
	return h.daemon.SetFolders(h.ctx, folders)
}

// names reports whether a URI of the client's is that of a folder, however it is
// spelled.
func names(f workspace.Folder, u uri.URI) bool {
	if f.URI == u {
		return true
	}
	other, err := workspace.NewFolder(u, "")
	return err == nil && other.Canonical == f.Canonical
}

// notice tells the person something once, however often it is said, and keeps it
// in the status until it is fixed.
func (h *Handlers) notice(text string) {
	// It outlives the request, whose whole message it may hold in memory.
	text = strings.Clone(text)
	h.mu.Lock()
	told := slices.Contains(h.notices, text)
	if !told {
		h.notices = append(h.notices, text)
	}
	h.mu.Unlock()
	if !told {
		h.tell(protocol.MessageTypeWarning, text)
		h.observe()
	}
}

// clearNotice takes a notice out of the status. The same may be told again.
func (h *Handlers) clearNotice(text string) {
	h.mu.Lock()
	h.notices = slices.DeleteFunc(h.notices, func(other string) bool { return other == text })
	h.mu.Unlock()
	h.observe()
}

// setProblems takes over what is wrong with settings and trust now: the person
// is told what was not wrong before, and the status has what holds.
//
// Texts are compared word for word: one that is worded anew is told anew.
func (h *Handlers) setProblems(all []string) {
	h.mu.Lock()
	before := h.problems
	h.problems = slices.Clone(all)
	h.mu.Unlock()
	for _, text := range all {
		if !slices.Contains(before, text) {
			h.Log.Warn(text)
			h.tell(protocol.MessageTypeWarning, text)
		}
	}
	h.observe()
	h.language.Refresh() // settings or trust were read again
	h.prepareRouting()
}
