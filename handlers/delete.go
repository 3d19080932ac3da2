package handlers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// delete serves agents/delete: the file goes, through the editor where it can
// delete files, else from the disk; then the agent's contexts are cleared, in all
// sessions (spec 3.7). What keeps that from being done is found before anything
// is.
// An error that comes after the file went says so, and names the session whose context
// stayed.
func (h *Handlers) delete(ctx context.Context, s *workspace.Snapshot,
	p *wire.DeleteParams) (*wire.DeleteResult, error) {
	const op = "handlers.delete"
	a, err := h.language.Query(ctx, s)
	if err != nil {
		return nil, err
	}
	e, err := h.agentToDelete(a.Catalog, p.Name, p.Scope)
	if err != nil {
		return nil, h.language.EncodeError(err)
	}
	d := e.Definition
	doc, open := s.DocumentAt(d.Path)
	// A text that is only in the editor would be lost with the file.
	if open && (doc.Dirty() || doc.Lost) && !p.Force {
		return nil, fault.New(fault.Denied, op,
			"%s has changes in the editor that are not saved; save or undo them first, or delete it with force", d.Path)
	}
	result := &wire.DeleteResult{URI: a.URI(d.Path), Cleared: []string{}}
	var sessions []string
	// The contexts of a name are those of the agent that it means.
	if !p.KeepContext && e.State != registry.Shadowed {
		if other := h.sharing(a.Catalog, e); other != nil {
			result.Notes = []string{fmt.Sprintf("The contexts of %s stay: %s has that name, too. To clear one: agents/context/clear.", d.Name, cmp.Or(other.Path, "a built-in agent"))}
		} else if sessions, err = h.remembering(d.Name); err != nil {
			return nil, err
		}
	}
	if err := h.remove(ctx, d, uri.URI(result.URI)); err != nil {
		return nil, err
	}
	h.renew(ctx, d.Path)
	// The file is gone already: clear the other contexts even if one fails.
	var failed error
	for _, session := range sessions {
		if err := h.daemon.Agents.ClearContext(ctx, session, d.Name, false); err != nil {
			if reason, _ := fault.ReasonOf(err); reason == fault.UnknownAgent {
				continue // it was cleared there before, and nobody has the name any more
			}
			if failed == nil {
				failed = fault.New(fault.KindOf(err), op,
					"%s is deleted, and its context in session %s could not be cleared: %s; clear it with agents/context/clear", d.Path, session, fault.Message(err))
			}
			continue
		}
		result.Cleared = append(result.Cleared, session)
	}
	if failed != nil {
		return nil, failed
	}
	return result, nil
}

// sharing returns another agent that contexts of an agent's name may be of; nil for
// none. Contexts are told apart by the name alone.
// Entries that are hidden by another count only where what hides them may not be trusted.
func (h *Handlers) sharing(catalog *registry.Snapshot, e *registry.Entry) *definition.Definition {
	d := e.Definition
	// What is not trusted hides nothing.
	unhidden := d.Scope == definition.Project && !h.daemon.Trusted(d.Folder)
	for _, other := range catalog.Entries() {
		o := other.Definition
		// One of another folder may have run before its file had an error.
		elsewhere := o.Scope == d.Scope && o.Folder != d.Folder
		if other != e && o.Name == d.Name && (other.State == registry.OK || elsewhere || unhidden) {
			return o
		}
	}
	return nil
}

// agentToDelete returns the agent of a name, and of a scope if one is given, that may be
// deleted.
// The errors are fault.NotFound with the reason UnknownAgent, fault.Denied for agents
// that are built in or an extension's, and fault.Invalid where two files have the name.
func (h *Handlers) agentToDelete(catalog *registry.Snapshot, name, scope string) (*registry.Entry, error) {
	const op = "handlers.delete"
	e, err := h.language.Find(catalog, name)
	if scope != "" && (err != nil || string(e.Definition.Scope) != scope) {
		e, err = nil, fault.New(fault.NotFound, op, "there is no %s agent %s", scope, name).Because(fault.UnknownAgent,
			"suggestions", []string{})
		for _, other := range catalog.Entries() {
			if d := other.Definition; d.Name == name && string(d.Scope) == scope {
				e, err = other, nil
				break
			}
		}
	}
	if err != nil {
		return nil, err
	}
	switch d := e.Definition; {
	case d.Scope == definition.System:
		return nil, fault.New(fault.Denied, op, "%s is built in and cannot be deleted", d.Name)
	case d.Scope == definition.Extension:
		return nil, fault.New(fault.Denied, op, "%s belongs to an extension (%s); remove the extension instead", d.Name,
			d.Path)
	case e.State == registry.Duplicate:
		for _, other := range catalog.Entries() {
			if o := other.Definition; o != d && o.Name == d.Name && o.Scope == d.Scope && o.Folder == d.Folder {
				return nil, fault.New(fault.Invalid, op,
					"two files are called %s: %s and %s; rename one of them, or delete the file itself",
					d.Name, d.Path, o.Path)
			}
		}
	}
	return e, nil
}

// remembering returns the sessions in which an agent has run. The error is busy
// where its context cannot be cleared now.
// It reads all sessions of the workspace, page by page.
func (h *Handlers) remembering(name string) (sessions []string, err error) {
	const op, page = "handlers.delete", 1000
	for _, live := range h.daemon.Agents.Live() {
		if live.Agent == name {
			return nil, fault.New(fault.Unavailable, op,
				"%s has a run in session %s (%s); wait for it or cancel it, or keep its context", name,
				live.Session, live.ID).
				Because(fault.Busy, "run", live.ID)
		}
	}
	for cursor := ""; ; {
		list, next, err := h.daemon.Agents.ListSessions(cursor, page)
		if err != nil {
			return nil, err
		}
		for _, info := range list {
			if !slices.Contains(info.Agents, name) {
				continue
			}
			if info.Locked {
				return nil, fault.New(fault.Unavailable, op,
					"%s has a context in session %s, which another agentls has open; close that one, or keep the context", name, info.Session).
					Because(fault.Busy, "session", info.Session)
			}
			sessions = append(sessions, info.Session)
		}
		if cursor = next; cursor == "" {
			slices.Sort(sessions)
			return sessions, nil
		}
	}
}

// remove deletes an agent's file.
// An editor that can delete files does it, so that it can be undone there; it has
// applyIn to answer.
// Errors are fault.Stale where the editor says that it is gone and it is not, fault.Denied
// for a path outside of its folder, fault.Unavailable where the disk refuses.
func (h *Handlers) remove(ctx context.Context, d *definition.Definition, doc uri.URI) error {
	const op = "handlers.delete"
	if h.edits.applies && h.language.EditsFiles(protocol.ResourceOperationKindDelete) {
		label := "Delete the agent " + d.Name
		asking, cancel := context.WithTimeout(ctx, cmp.Or(h.edits.within, applyIn))
		defer cancel()
		result, err := h.Peer.ApplyEdit(asking, &protocol.ApplyWorkspaceEditParams{Label: &label,
			Edit: protocol.WorkspaceEdit{
				DocumentChanges: []protocol.DocumentChange{&protocol.DeleteFile{Kind: "delete", URI: doc}},
			}})
		if err := refusal(op, d.Path, result, err); err != nil {
			return err
		}
		if _, err := os.Lstat(d.Path); err == nil {
			return fault.New(fault.Stale, op,
				"the editor says that it deleted %s, and it is still there; look at it there",
				d.Path).Because(fault.OutOfDate)
		}
		return nil
	}
	// A root of its own, so that no link on the way leads out of the folder; one
	// that is the file itself goes, and not what it leads to.
	base := cmp.Or(d.Folder, filepath.Dir(d.Path))
	rel, ok := workspace.Below(base, d.Path)
	if !ok {
		return fault.New(fault.Denied, op, "%s does not lie in %s, so it is not deleted; delete the file itself",
			d.Path, base)
	}
	root, err := os.OpenRoot(base)
	if err == nil {
		err = errors.Join(root.Remove(rel), root.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // one that is gone is what was wanted
		return fault.New(fault.Unavailable, op, "%s cannot be deleted: %w", tool.Escape(d.Path), err)
	}
	h.wrote("", d.Path)
	return nil
}
