package language

import (
	"slices"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/language"
)

// workspaceEdit returns a change of several files as the client takes one. A
// client that knows documentChanges gets these, with the versions that open
// documents have in the question's snapshot, so that it refuses what was made for
// another text; others get changes. Operations on files are in it where the client
// has them, and none ever replaces a file.
//
// left are the renames that the client cannot make: the texts fit together without
// them, and the file keeps its name. whole is false where without an operation
// nothing is done that was meant: a change that only renames, or that creates. Nor
// is there an edit of a document of which the client has another text than we know.
func (a *Query) workspaceEdit(t *texts, e language.WorkspaceEdit) (edit *protocol.WorkspaceEdit,
	left []language.Rename, whole bool) {
	if a.lostDocumentIn(e) != "" {
		return &protocol.WorkspaceEdit{}, nil, false
	}
	byFile := map[string][]protocol.TextEdit{}
	var files []string
	for _, change := range e.Edits {
		if byFile[change.URI] == nil {
			files = append(files, change.URI)
		}
		byFile[change.URI] = append(byFile[change.URI], protocol.TextEdit{Range: t.of(change.URI).Out(change.Range),
			NewText: change.Text})
	}
	edit = &protocol.WorkspaceEdit{}
	if len(e.Creates) > 0 && !a.h.EditsFiles(protocol.ResourceOperationKindCreate) {
		return edit, nil, false
	}
	if !a.h.documentChanges() {
		left = e.Renames
		if len(files) > 0 {
			edit.Changes = make(map[uri.URI][]protocol.TextEdit, len(files))
		}
		for _, file := range files {
			edit.Changes[uri.URI(file)] = byFile[file]
		}
		return edit, left, len(files) > 0 || len(left) == 0
	}
	// Texts come before renames, since they call the files by their old names.
	for _, file := range files {
		edit.DocumentChanges = append(edit.DocumentChanges, a.textEdit(file, byFile[file]))
	}
	no := false
	for _, c := range e.Creates {
		edit.DocumentChanges = append(edit.DocumentChanges,
			&protocol.CreateFile{Kind: "create", URI: uri.URI(c.URI),
				Options: &protocol.CreateFileOptions{Overwrite: &no, IgnoreIfExists: &no}},
			a.textEdit(c.URI, []protocol.TextEdit{{NewText: c.Text}}))
	}
	if !a.h.EditsFiles(protocol.ResourceOperationKindRename) {
		return edit, e.Renames, len(edit.DocumentChanges) > 0 || len(e.Renames) == 0
	}
	for _, r := range e.Renames {
		edit.DocumentChanges = append(edit.DocumentChanges,
			&protocol.RenameFile{Kind: "rename", OldURI: uri.URI(r.Old), NewURI: uri.URI(r.New),
				Options: &protocol.RenameFileOptions{Overwrite: &no, IgnoreIfExists: &no}})
	}
	return edit, nil, true
}

// lostDocumentIn returns a document that a change is of and that the client has another
// text of than we know, "" where there is none.
func (a *Query) lostDocumentIn(e language.WorkspaceEdit) uri.URI {
	for _, change := range e.Edits {
		if d, open := a.Snapshot.Document(uri.URI(change.URI)); open && d.Lost {
			return d.URI
		}
	}
	return ""
}

// textEdit returns the edits of one file, with its version where it is open and the client
// takes versions: the client then refuses an edit of a text that has changed meanwhile.
func (a *Query) textEdit(file string, edits []protocol.TextEdit) *protocol.TextDocumentEdit {
	change := &protocol.TextDocumentEdit{}
	change.TextDocument.URI = uri.URI(file)
	if d, open := a.Snapshot.Document(uri.URI(file)); open && a.h.VersionsEdits() {
		version := d.Version
		change.TextDocument.Version = &version
	}
	for i := range edits {
		change.Edits = append(change.Edits, &edits[i])
	}
	return change
}

// AppliesEdits reports whether the client makes edits that it is asked for.
func (h *Handlers) AppliesEdits() bool {
	return h.client.Workspace != nil && on(h.client.Workspace.ApplyEdit)
}

// VersionsEdits reports whether the client takes edits with the versions of documents.
func (h *Handlers) VersionsEdits() bool {
	w := h.client.Workspace
	return w != nil && w.WorkspaceEdit != nil && on(w.WorkspaceEdit.DocumentChanges)
}

// documentChanges reports whether the client takes edits as documentChanges. One
// that has operations on files does, whether it says so (Neovim does not) or not:
// there is no other place for them.
func (h *Handlers) documentChanges() bool {
	w := h.client.Workspace
	return h.VersionsEdits() || (w != nil && w.WorkspaceEdit != nil && len(w.WorkspaceEdit.ResourceOperations) > 0)
}

// EditsFiles reports whether the client makes an operation on files that is part of
// an edit.
// kind is create, rename or delete.
func (h *Handlers) EditsFiles(kind protocol.ResourceOperationKind) bool {
	w := h.client.Workspace
	return w != nil && w.WorkspaceEdit != nil && slices.Contains(w.WorkspaceEdit.ResourceOperations, kind)
}
