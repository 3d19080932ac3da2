package handlers

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/workspace"
)

// prepareRename serves textDocument/prepareRename: the range of the agent's name at
// a position, and the name. It is null where no agent is named, so that other
// servers can rename what stands there; an agent that cannot be renamed is refused
// with the reason.
func (h *Handlers) prepareRename(ctx context.Context, s *workspace.Snapshot, p *protocol.PrepareRenameParams) (protocol.PrepareRenameResult, error) {
	a, n, _, ok, err := h.naming(ctx, s, p.TextDocumentPositionParams)
	if !ok || err != nil {
		return nil, err
	}
	var r definition.Range
	var name string
	if n.file != nil {
		r, name, err = language.PrepareRename(n.world, n.sources, n.file, n.at)
	} else {
		r, name, err = language.PrepareRenameNamed(n.world, n.sources, n.named)
	}
	if err != nil {
		return nil, refused(err)
	}
	return &protocol.PrepareRenamePlaceholder{Range: a.texts().of(n.uri).out(r), Placeholder: name}, nil
}

// rename serves textDocument/rename: one edit of all files that name the agent, and
// of its file's name. Files that are not open are in it as well. A name that is
// taken or none is refused (-32803) with the reason, and nothing is renamed in part.
//
// For a client that renames no files the edit has the texts alone: all agents work
// as before, and the person is told that the file keeps its name, which is a
// warning and no more.
func (h *Handlers) rename(ctx context.Context, s *workspace.Snapshot, p *protocol.RenameParams) (*protocol.WorkspaceEdit, error) {
	a, n, agent, ok, err := h.naming(ctx, s, p.TextDocumentPositionParams)
	switch {
	case err != nil:
		return nil, err
	case !ok && !agent:
		return nil, nil
	case !ok:
		return nil, fault.New(fault.Denied, "handlers.rename", "there is no agent's name here; put the cursor on one")
	}
	var change language.WorkspaceEdit
	if n.file != nil {
		change, err = language.RenameAgent(n.world, n.sources, n.file, n.at, p.NewName)
	} else {
		change, err = language.RenameNamed(n.world, n.sources, n.named, p.NewName)
	}
	if err != nil {
		return nil, refused(err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	edit, left, _ := a.workspaceEdit(a.texts(), change)
	for _, r := range left {
		h.tell(infoMessage, fmt.Sprintf("This editor does not rename files in an edit: rename %s to %s, as its agent is called now.", baseOf(r.Old), baseOf(r.New)))
	}
	return edit, nil
}

// baseOf returns the last part of a file's URI, for people.
func baseOf(name string) string {
	u, err := uri.Parse(name)
	if err != nil || !u.IsFile() {
		return name
	}
	return filepath.Base(u.FsPath())
}

// refused is an error of a rename as the protocol has it: the request was fine, and
// what it asks for is not done.
func refused(err error) error {
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Kind == fault.Invalid {
		return e.Because(fault.Refused)
	}
	return err
}

// renames offers to prepare a rename to the clients that can: others may not be
// told of it.
func (h *Handlers) renames(c *protocol.ServerCapabilities) {
	c.RenameProvider = protocol.Boolean(true)
	if d := h.client.TextDocument; d != nil && d.Rename != nil && d.Rename.PrepareSupport != nil && *d.Rename.PrepareSupport {
		yes := true
		c.RenameProvider = &protocol.RenameOptions{PrepareProvider: &yes}
	}
}

// willRenameFiles serves workspace/willRenameFiles: where a person gives an agent's
// file another name, and the agent was called after it, the agent is renamed along
// with all that names it. Where it cannot have that name it keeps its own, and the
// person is told why.
func (h *Handlers) willRenameFiles(ctx context.Context, s *workspace.Snapshot, p *protocol.RenameFilesParams) (*protocol.WorkspaceEdit, error) {
	a, err := h.author(ctx, s)
	if err != nil {
		return nil, err
	}
	w, sources := &language.World{Agents: a.catalog}, a.sources()
	var all language.WorkspaceEdit
	for _, r := range p.Files {
		f, ok := a.file(uri.URI(r.OldURI))
		to, err := uri.Parse(r.NewURI)
		if !ok || err != nil || !to.IsFile() {
			continue
		}
		path, _, ok := a.place(to.FsPath())
		stem, was := strings.TrimSuffix(filepath.Base(path), ".md"), strings.TrimSuffix(filepath.Base(f.Path), ".md")
		if !ok || filepath.Dir(path) != filepath.Dir(f.Path) || f.Definition.Name != was || stem == was {
			continue
		}
		// The new name is no longer free once the client has given it to the file.
		sources.Exists = nil
		change, err := language.RenameAgent(w, sources, f, f.Definition.NameRange.Start, stem)
		if err != nil {
			h.tell(protocol.MessageTypeWarning, fmt.Sprintf("The agent %s keeps its name: %s.", was, fault.Message(err)))
			continue
		}
		all.Edits = append(all.Edits, change.Edits...)
	}
	if len(all.Edits) == 0 {
		return nil, nil
	}
	edit, _, _ := a.workspaceEdit(a.texts(), all)
	return edit, nil
}

// willRename asks to be told before agent files get other names.
func willRename(c *protocol.ServerCapabilities) {
	if c.Workspace == nil {
		c.Workspace = &protocol.WorkspaceOptions{}
	}
	if c.Workspace.FileOperations == nil {
		c.Workspace.FileOperations = &protocol.FileOperationOptions{}
	}
	scheme := "file"
	c.Workspace.FileOperations.WillRename = protocol.FileOperationRegistrationOptions{Filters: []protocol.FileOperationFilter{{
		Scheme: &scheme, Pattern: protocol.FileOperationPattern{Glob: agentGlob, Matches: protocol.FileOperationPatternKindFile},
	}}}
}
