package language

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
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
func (h *Handlers) prepareRename(ctx context.Context, s *workspace.Snapshot,
	p *protocol.PrepareRenameParams) (protocol.PrepareRenameResult, error) {
	// This comes before naming, to which a lost document names no agent: the person would
	// not learn why there is no rename.
	if err := h.QueryFiles(s).checkKnown(p.TextDocument.URI); err != nil {
		return nil, err
	}
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
		return nil, renameError(err)
	}
	return &protocol.PrepareRenamePlaceholder{Range: a.texts().of(n.uri).Out(r), Placeholder: name}, nil
}

// rename serves textDocument/rename: one edit of all files that name the agent, and
// of its file's name. Files that are not open are in it as well. A name that is
// taken or none is refused (-32803) with the reason, and nothing is renamed in part.
//
// For a client that renames no files the edit has the texts alone: all agents work
// as before, and the person is told that the file keeps its name, which is a
// warning and no more.
// The errors are fault.Denied (no name of an agent here), fault.Invalid with the reason
// Refused (the name cannot be had), and fault.Stale with that reason for a document whose
// text got lost.
func (h *Handlers) rename(ctx context.Context, s *workspace.Snapshot,
	p *protocol.RenameParams) (*protocol.WorkspaceEdit, error) {
	if err := h.QueryFiles(s).checkKnown(p.TextDocument.URI); err != nil {
		return nil, err
	}
	a, n, agent, ok, err := h.naming(ctx, s, p.TextDocumentPositionParams)
	switch {
	case err != nil:
		return nil, err
	case !ok && !agent:
		return nil, nil
	case !ok:
		return nil, fault.New(fault.Denied, "handlers.rename", "there is no agent's name here; put the cursor on one")
	}
	n.sources = a.editable(n.sources)
	var change language.WorkspaceEdit
	var old string
	if n.file != nil {
		_, old, _ = language.PrepareRename(n.world, n.sources, n.file, n.at) // the error is the rename's, too
		change, err = language.RenameAt(n.world, n.sources, n.file, n.at, p.NewName)
	} else {
		_, old, _ = language.PrepareRenameNamed(n.world, n.sources, n.named)
		change, err = language.RenameNamed(n.world, n.sources, n.named, p.NewName)
	}
	if err != nil {
		return nil, renameError(err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := a.allKnown(change, old); err != nil {
		return nil, err
	}
	// Expected before the answer is sent: the client may save as soon as it has that.
	h.expectTexts(a, change.Edits)
	edit, left, _ := a.workspaceEdit(a.texts(), change)
	for _, r := range left {
		h.Tell(protocol.MessageTypeInfo, fmt.Sprintf("This editor does not rename files in an edit: rename %s to %s, as its agent is called now.", baseOf(r.Old), baseOf(r.New)))
	}
	return edit, nil
}

// checkKnown refuses what is asked about a document of which the client has another text
// than we know.
func (a *Query) checkKnown(name uri.URI) error {
	if d, open := a.Snapshot.Document(name); open && d.Lost {
		return changeConflict(d.URI)
	}
	return nil
}

// changeConflict is the error of a change that a document is in the way of.
func changeConflict(name uri.URI) error {
	e := fault.New(fault.Stale, "handlers.rename",
		"a change of %s could not be followed, so its text is not known; save it, close it and open it again",
		baseOf(string(name)))
	return e.Because(fault.Refused)
}

// allKnown refuses a rename of an agent that changes a document of which the client has
// another text than we know, or that such a document may be part of: one that has the old
// name, and may name agents. Otherwise the name would be left there, and nobody would see
// it.
func (a *Query) allKnown(change language.WorkspaceEdit, old string) error {
	if name := a.lostDocumentIn(change); name != "" {
		return changeConflict(name)
	}
	var lost []uri.URI
	for d := range a.Snapshot.Documents() {
		if d.Lost && a.edited(d.URI) && strings.Contains(d.Text, old) &&
			(strings.Contains(d.Text, "@") || a.h.findable(d.URI)) {
			lost = append(lost, d.URI)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return changeConflict(slices.Min(lost))
}

// baseOf returns the last part of a file's URI, for people.
func baseOf(name string) string {
	if path, ok := workspace.FilePath(name); ok {
		return filepath.Base(path)
	}
	return name
}

// renameError is an error of a rename as the protocol has it: the request was fine, and
// what it asks for is not done.
func renameError(err error) error {
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Kind == fault.Invalid {
		return e.Because(fault.Refused)
	}
	return err
}

// renames offers to prepare a rename to the clients that can: others may not be
// told of it.
func (h *Handlers) renames(c *protocol.ServerCapabilities) {
	c.RenameProvider = protocol.Boolean(true)
	if r := h.textCaps().Rename; r != nil && on(r.PrepareSupport) {
		yes := true
		c.RenameProvider = &protocol.RenameOptions{PrepareProvider: &yes}
	}
}

// willRenameFiles serves workspace/willRenameFiles: where a person gives an agent's
// file another name, and the agent was called after it, the agent is renamed along
// with all that names it. Where it cannot have that name it keeps its own, and the
// person is told why.
func (h *Handlers) willRenameFiles(ctx context.Context, s *workspace.Snapshot,
	p *protocol.RenameFilesParams) (*protocol.WorkspaceEdit, error) {
	a, err := h.Query(ctx, s)
	if err != nil {
		return nil, err
	}
	w, sources := &language.World{Agents: a.Catalog}, a.editable(a.sources())
	var all language.WorkspaceEdit
	var given []*language.File // those that get a name, by the same index as names
	var names []string
	for _, r := range p.Files {
		path, ok := workspace.FilePath(r.NewURI)
		if !ok {
			continue
		}
		path, _, ok = a.place(path)
		if !ok {
			continue
		}
		stem := stemOf(path)
		if a.checkKnown(uri.URI(r.OldURI)) != nil {
			h.Tell(protocol.MessageTypeWarning, fmt.Sprintf("The agent %s keeps its name: %s.",
				stemOf(baseOf(r.OldURI)), fault.Message(a.checkKnown(uri.URI(r.OldURI)))))
			continue
		}
		f, ok := a.file(uri.URI(r.OldURI))
		// A file that moves to another folder is another agent there, and an agent that
		// was not called after its file keeps the name that it says.
		if !ok || filepath.Dir(path) != filepath.Dir(f.Path) || f.Definition.Name != stemOf(f.Path) ||
			stem == stemOf(f.Path) {
			continue
		}
		change, err := language.RenameFile(w, sources, f, stem)
		// RenameFile looks into the catalog, which does not have the names of this request.
		for i, other := range given {
			if err == nil && names[i] == stem && (other.Folder == f.Folder || f.Folder == "" || other.Folder == "") {
				err = fault.New(fault.Invalid, "handlers.rename",
					"%s gets the name %s at the same time, and one would hide the other; choose another",
					filepath.Base(other.Path), stem)
			}
		}
		if err == nil {
			err = a.allKnown(change, f.Definition.Name)
		}
		if err != nil {
			what := "The agent " + f.Definition.Name + " keeps its name"
			if !f.OwnName() {
				what = "What names the agent " + f.Definition.Name +
					" is left as it is, though its file is called otherwise"
			}
			h.Tell(protocol.MessageTypeWarning, what+": "+fault.Message(err)+".")
			continue
		}
		given, names = append(given, f), append(names, stem)
		all.Edits = append(all.Edits, change.Edits...)
	}
	if len(all.Edits) == 0 {
		return nil, nil
	}
	h.expectTexts(a, all.Edits)
	// The edit has no renames that could be left: the client moves the files itself.
	edit, _, _ := a.workspaceEdit(a.texts(), all)
	return edit, nil
}

// stemOf returns what an agent is called whose file is called after it.
func stemOf(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".md"), ".agent")
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
		Scheme: &scheme, Pattern: protocol.FileOperationPattern{Glob: agentGlob,
			Matches: protocol.FileOperationPatternKindFile},
	}}}
}

// withEdits returns a text with edits of it, none of which overlap.
// It sorts edits in place.
func withEdits(text string, edits []language.Edit) string {
	index := definition.NewIndex(text)
	// From the last one backwards, so that the offsets of those before stay as they are.
	slices.SortFunc(edits, func(x, y language.Edit) int { return index.Offset(y.Range.Start) - index.Offset(x.Range.Start) })
	for _, e := range edits {
		text = text[:index.Offset(e.Range.Start)] + e.Text + text[index.Offset(e.Range.End):]
	}
	return text
}

// expectTexts has the daemon know the texts that a rename gives to agent files: the person
// asked for it, so that saving them needs no review as a change by somebody else would.
func (h *Handlers) expectTexts(q *Query, edits []language.Edit) {
	byFile := make(map[string][]language.Edit)
	for _, e := range edits {
		byFile[e.URI] = append(byFile[e.URI], e)
	}
	for name, own := range byFile {
		if f, ok := q.file(uri.URI(name)); ok {
			h.ExpectText(withEdits(f.Text, own))
		}
	}
}
