package handlers

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// Edits implements [agents.Frontend].
func (p person) Edits(run string) tool.Edits { return edits{p.h, run} }

// edits changes files for one run.
// It is safe for concurrent use; two changes of one file at once are kept apart by
// the digests that each was based on.
type edits struct {
	h   *Handlers
	run string
}

// Write implements [tool.Edits]: through the editor where the file is open
// there, so that the person can undo it, else on disk.
// base is the digest of what the run read, "" where there was nothing. The errors
// are fault.Stale with the reason OutOfDate (it is another now: read it again),
// fault.Denied (unsaved changes in an editor that takes no edits, other names, out
// of reach), and fault.Unavailable (neither the editor nor the disk took it).
func (e edits) Write(ctx context.Context, path, base, text, label string) error {
	d, open := e.h.Workspace.Snapshot().DocumentAt(path)
	if open {
		switch {
		case d.Lost:
			return workspace.LostText(path)
		case string(d.Digest()) != base:
			return fault.New(fault.Stale, "handlers.write",
				"%s has changed in the editor since it was read; read it again", path).Because(fault.OutOfDate)
		// The disk gives the file a copy of its own when it replaces it. An editor would
		// write through all names (SEC-56).
		case e.h.edits.applies && tool.HasOtherNames(path):
			return fault.New(fault.Denied, "handlers.write",
				"%s has other names (hard links), and to save it in the editor would change the file under all of them; ask the person to close it, then it gets a copy of its own", path)
		case e.h.edits.applies:
			return e.h.applyEdit(ctx, d, text, label)
		case d.Dirty():
			return fault.New(fault.Denied, "handlers.write",
				"%s has unsaved changes in an editor that takes no edits; ask the person to save it", path)
		}
	}
	disk, err := e.h.disk(path)
	if err != nil {
		return err
	}
	defer disk.Close()
	// The editor takes no edits and shows saved texts. It reads the file again, whose
	// digest may be another than that of its text.
	if open {
		now, err := beneath(ctx, disk, path, d)
		if err != nil {
			return err
		}
		base = string(now)
	}
	if _, err := disk.Write(ctx, workspace.Write{Name: path, Text: text, Seen: workspace.Digest(base)}); err != nil {
		return err
	}
	e.h.wrote(e.run, path)
	return nil
}

// Delete implements [tool.Edits]: through the editor where the file is open there,
// else from disk. What the file held is kept before (package run), so that a file
// that no editor shows does not need an editor's trash: on disk it is looked at
// and removed through one handle, which no editor can promise.
// Its errors are those of Write.
func (e edits) Delete(ctx context.Context, path, base, label string) error {
	if d, open := e.h.Workspace.Snapshot().DocumentAt(path); open {
		if err := e.h.deleteOpen(ctx, d, path, base, label); err != nil {
			return err
		}
	} else {
		disk, err := e.h.disk(path)
		if err != nil {
			return err
		}
		defer disk.Close()
		if err := disk.Delete(ctx, path, workspace.Digest(base)); err != nil {
			return err
		}
	}
	e.h.wrote(e.run, path)
	return nil
}

// deleteOpen has the editor delete a file that is open there.
// It waits until the editor has closed the document, up to syncIn: else a run that
// goes on would find the text of a file that is gone.
// Refused are a text that got lost, one that has changed (fault.Stale), and an editor that
// takes no deletions (fault.Denied). The disk is looked at afterwards, whatever the editor
// says.
func (h *Handlers) deleteOpen(ctx context.Context, d *workspace.Document, path, base, label string) error {
	const op = "handlers.deleteFile"
	switch {
	case d.Lost:
		return workspace.LostText(path)
	case string(d.Digest()) != base:
		return fault.New(fault.Stale, op, "%s has changed in the editor since it was read; read it again",
			path).Because(fault.OutOfDate)
	case !h.edits.applies || !h.language.EditsFiles(protocol.ResourceOperationKindDelete):
		return fault.New(fault.Denied, op, "%s is open in the editor, so it cannot be deleted; close it first", path)
	}
	closed := make(chan struct{})
	done := false // watchers are called one at a time
	stop := h.Workspace.Watch(func(s *workspace.Snapshot, _ workspace.Change) {
		if _, open := s.Document(d.URI); !open && !done {
			done = true
			close(closed)
		}
	})
	defer stop()
	asking, cancel := context.WithTimeout(ctx, cmp.Or(h.edits.within, applyIn))
	defer cancel()
	result, err := h.Peer.ApplyEdit(asking, &protocol.ApplyWorkspaceEditParams{Label: &label,
		Edit: protocol.WorkspaceEdit{
			DocumentChanges: []protocol.DocumentChange{&protocol.DeleteFile{Kind: "delete", URI: d.URI}},
		}})
	if err := refusal(op, path, result, err); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return fault.New(fault.Stale, op, "the editor says that it deleted %s, and it is still there",
			path).Because(fault.OutOfDate)
	}
	select {
	case <-closed:
	case <-ctx.Done():
	case <-time.After(cmp.Or(h.edits.synced, syncIn)): // an editor may keep what it shows
	}
	return nil
}

// Move implements [tool.Edits]: the file is made at its new path, then deleted at
// the old one. The editor is not asked to rename it: to an editor that would be
// the person's own rename, with all that follows from one.
// The target must not be there. A source that cannot be deleted takes the copy with
// it; where that fails too, the error names the copy. The new file keeps the mode
// of the old one.
func (e edits) Move(ctx context.Context, from, to, base, label string) error {
	const op = "handlers.moveFile"
	snapshot := e.h.Workspace.Snapshot()
	if _, open := snapshot.DocumentAt(to); open {
		return fault.New(fault.Denied, op, "%s is open in the editor; close it first", to)
	}
	source, err := e.h.disk(from)
	if err != nil {
		return err
	}
	defer source.Close()
	onDisk := workspace.Digest(base)
	if d, open := snapshot.DocumentAt(from); open {
		switch {
		case d.Lost:
			return workspace.LostText(from)
		case string(d.Digest()) != base:
			return fault.New(fault.Stale, op, "%s has changed in the editor since it was read; read it again",
				from).Because(fault.OutOfDate)
		case d.Dirty():
			return fault.New(fault.Denied, op, "%s has unsaved changes in the editor; ask the person to save it", from)
		}
		if onDisk, err = beneath(ctx, source, from, d); err != nil {
			return err
		}
	}
	f, err := source.Read(ctx, from, workspace.MaxFile)
	if err != nil {
		return err
	}
	if f.Digest != onDisk {
		return fault.New(fault.Stale, op, "%s has changed since it was read; read it again",
			from).Because(fault.OutOfDate)
	}
	target, err := e.h.disk(to)
	if err != nil {
		return err
	}
	defer target.Close()
	// Copy the bytes: the file need not be text.
	made, err := target.Write(ctx, workspace.Write{Name: to, Text: string(f.Bytes), Exact: true, Mode: f.Mode})
	if err != nil {
		return err
	}
	if err := e.Delete(ctx, from, base, label); err != nil {
		// Also when the run was cancelled: a file must not be left at both places.
		if back := target.Delete(context.WithoutCancel(ctx), to, made.Digest); back != nil {
			return fault.New(fault.KindOf(err), op, "%s; its copy %s stays: %s", fault.Message(err),
				to, fault.Message(back))
		}
		return err
	}
	e.h.wrote(e.run, to)
	return nil
}

// beneath returns the digest of the file below a document that is not dirty. An
// editor that takes no edits reads it again from disk, where it must be what the
// editor shows: the same text, in whatever charset and with or without a mark.
//
// The errors are fault.Stale with the reason OutOfDate, and those of reading the disk.
func beneath(ctx context.Context, disk *workspace.Disk, path string, d *workspace.Document) (workspace.Digest, error) {
	now, err := disk.ReadText(ctx, path, maxRead)
	if err != nil {
		return "", err
	}
	if now.Text != strings.TrimPrefix(d.Text, "\uFEFF") {
		return "", fault.New(fault.Stale, "handlers.beneath", "%s is not on disk what the editor shows; read it again",
			path).Because(fault.OutOfDate)
	}
	return now.Digest, nil
}

// wrote tells a client that wants to know it that a file on disk is another; run
// is "" for what no run did.
func (h *Handlers) wrote(run string, paths ...string) {
	if h.caps.FilesWritten {
		uris := make([]string, len(paths))
		for i, path := range paths {
			uris[i] = tool.URI(path)
		}
		h.notify(wire.MethodFilesWritten, &wire.FilesWrittenParams{Run: run, URIs: uris})
	}
}

// applyEdit has the editor change an open document, and believes it only when
// its own synced text says so. In a document with none but \r\n all lines end so.
// The editor has applyIn to answer and then syncIn to send the text. The errors are
// fault.Stale (it refused, or another text came back), fault.Unavailable (no
// answer), fault.Denied for a change of line ends alone, and ctx's.
func (h *Handlers) applyEdit(ctx context.Context, d *workspace.Document, text, label string) error {
	ended := endsOf(d)(text)
	if ended == d.Text && text != d.Text {
		return endsKept(d)
	}
	return h.applyExactly(ctx, d, ended, label)
}

// applyExactly is applyEdit with the line ends that the text has.
// Nothing is asked of the editor where the text is the same already.
func (h *Handlers) applyExactly(ctx context.Context, d *workspace.Document, text, label string) error {
	if text == d.Text {
		return nil
	}
	return h.askFor(ctx, d, textEdits(d, text, h.Workspace.Snapshot().Encoding()), text, label, false)
}

// endsOf returns what gives a text the line ends of a document in which all are
// \r\n: most editors would do it anyway. Any other may have a line that ends so.
func endsOf(d *workspace.Document) func(text string) string {
	if crlf := strings.Count(d.Text, "\r\n"); crlf == 0 || crlf != strings.Count(d.Text, "\n") {
		return func(text string) string { return text }
	}
	return strings.NewReplacer("\r\n", "\r\n", "\n", "\r\n").Replace
}

// endsKept is why a document is not changed in nothing but its line ends.
func endsKept(d *workspace.Document) error {
	path, _ := workspace.FilePath(d.URI)
	return fault.New(fault.Denied, "handlers.applyEdit",
		"nothing but the line ends of %s would change, and it keeps them in the editor; ask the person to change them there", path)
}

// forReview names the annotation of an edit that the person is to agree to.
const forReview protocol.ChangeAnnotationIdentifier = "agentls.review"

// errNotTaken is in the error of an edit that the editor did not make.
var errNotTaken = errors.New("the editor refused the edit")

// applyChanges is applyEdit with the changes that make the text. Those that are to
// be reviewed are made when the person agrees, however long that takes.
// A refusal is in the error as errNotTaken.
//
// changes and text must say the same: the text is what is waited for. changes are
// modified.
func (h *Handlers) applyChanges(ctx context.Context, d *workspace.Document, changes []protocol.TextEdit, text,
	label string, review bool) error {
	ends := endsOf(d)
	text = ends(text)
	for i := range changes {
		changes[i].NewText = ends(changes[i].NewText)
	}
	return h.askFor(ctx, d, changes, text, label, review)
}

// askFor is applyChanges with the line ends that the changes have.
// The text is noted as a tool's before the editor has it (agentTexts), and awaited
// before it is asked for. An edit for review has no bound in time.
func (h *Handlers) askFor(ctx context.Context, d *workspace.Document, changes []protocol.TextEdit, text,
	label string, review bool) error {
	edit := protocol.WorkspaceEdit{}
	if h.edits.versions {
		version := d.Version
		elements := make([]protocol.TextDocumentEditElement, len(changes))
		for i := range changes {
			elements[i] = &changes[i]
			if review {
				elements[i] = &protocol.AnnotatedTextEdit{TextEdit: changes[i], AnnotationID: forReview}
			}
		}
		if review {
			edit.ChangeAnnotations = map[protocol.ChangeAnnotationIdentifier]protocol.ChangeAnnotation{
				forReview: {Label: label, NeedsConfirmation: &review},
			}
		}
		edit.DocumentChanges = []protocol.DocumentChange{&protocol.TextDocumentEdit{
			TextDocument: protocol.OptionalVersionedTextDocumentIdentifier{
				TextDocumentIdentifier: protocol.TextDocumentIdentifier{URI: d.URI}, Version: &version,
			},
			Edits: elements,
		}}
	} else {
		// The client compares no versions. What the edit made of its text is seen when it arrives.
		edit.Changes = map[uri.URI][]protocol.TextEdit{d.URI: changes}
	}
	h.texts.noteTool(d.URI, text)
	arrived := h.awaitText(d.URI, d, text)
	defer arrived.stop()
	asking, cancel := ctx, context.CancelFunc(func() {})
	if !review {
		asking, cancel = context.WithTimeout(ctx, cmp.Or(h.edits.within, applyIn))
	}
	defer cancel()
	result, err := h.Peer.ApplyEdit(asking, &protocol.ApplyWorkspaceEditParams{Label: &label, Edit: edit})
	if err != nil {
		return fault.New(fault.Unavailable, "handlers.applyEdit", "the editor did not take the edit: %w", err)
	}
	if result == nil || !result.Applied {
		why := "it gives no reason"
		if result != nil && result.FailureReason != nil {
			why = *result.FailureReason
		}
		return fault.New(fault.Stale, "handlers.applyEdit", "%w (%s); read the file again", errNotTaken,
			why).Because(fault.OutOfDate)
	}
	select {
	case <-arrived.seen:
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(cmp.Or(h.edits.synced, syncIn)):
		err = fault.New(fault.Stale, "handlers.applyEdit",
			"the editor's text is not what the edit makes; read the file again").Because(fault.OutOfDate)
	}
	if now, open := h.Workspace.Snapshot().Document(d.URI); open && !now.Lost && now.Text == d.Text && text != d.Text &&
		tool.SameLines(text, d.Text) {
		return endsKept(d) // it made the edit, with line ends of its own
	}
	return err
}

// textWait waits for a document to have a text.
type textWait struct {
	seen chan struct{} // closed when it has
	// It ends the waiting and must be called.
	stop func()
}

// awaitText waits for a text with whatever line ends the editor gives it. before is
// the document that has another text, nil where none is open: its own version is no
// such text, also where it differs in nothing but line ends.
// It is begun before the edit is asked for: the editor may send the text before its
// answer.
// Only the first such text closes seen.
func (h *Handlers) awaitText(doc uri.URI, before *workspace.Document, text string) textWait {
	a := textWait{seen: make(chan struct{})}
	done := false // watchers are called one at a time
	check := func(s *workspace.Snapshot, _ workspace.Change) {
		d, ok := s.Document(doc)
		if !ok || done || !tool.SameLines(d.Text, text) {
			return
		}
		// Changes of other documents come here too.
		if before == nil || d.Version != before.Version || d.Text == text {
			done = true
			close(a.seen)
		}
	}
	a.stop = h.Workspace.Watch(check)
	return a
}

// textEdits returns the changes that make a document's text new, as small as
// its lines allow, so that the person's cursor and marks stay where they are.
// They count in e and do not overlap, and each is about d's text as it is.
func textEdits(d *workspace.Document, text string, e workspace.Encoding) []protocol.TextEdit {
	edits := udiff.Lines(d.Text, text)
	list := make([]protocol.TextEdit, 0, len(edits))
	lines := d.Lines()
	for _, edit := range edits {
		start, err1 := lines.Position(edit.Start, e)
		end, err2 := lines.Position(edit.End, e)
		if err1 != nil || err2 != nil { // offsets of the text itself: cannot be
			return []protocol.TextEdit{{Range: protocol.Range{End: protocol.Position{Line: uint32(lines.Count())}},
				NewText: text}}
		}
		list = append(list, protocol.TextEdit{Range: protocol.Range{Start: protocol.Position(start),
			End: protocol.Position(end)}, NewText: edit.New})
	}
	return list
}

// Wrote implements [tool.Edits].
func (e edits) Wrote(paths []string) { e.h.wrote(e.run, paths...) }

// Save implements [tool.Edits].
// It returns the paths of the files that are still not saved, all of them where the
// client has no way to be asked.
func (e edits) Save(ctx context.Context, reason string) []string {
	dirty := slices.DeleteFunc(e.h.Workspace.Snapshot().Dirty(), func(d *workspace.Document) bool {
		path, ok := workspace.FilePath(d.URI)
		return ok && e.h.daemon.IsShown(path) // an answer that is being written counts when the person saves it
	})
	if len(dirty) == 0 {
		return nil
	}
	p := &wire.SaveDocumentsParams{Reason: reason}
	for _, d := range dirty {
		p.URIs = append(p.URIs, string(d.URI))
	}
	failed := p.URIs
	if e.h.caps.SaveDocuments {
		var result wire.SaveDocumentsResult
		if err := e.h.Peer.Call(ctx, wire.MethodSaveDocuments, p, &result); err == nil {
			failed = slices.DeleteFunc(slices.Clone(p.URIs), func(u string) bool {
				return slices.Contains(result.Saved,
					u)
			})
		}
	}
	var paths []string
	for _, name := range failed {
		if path, ok := workspace.FilePath(name); ok {
			paths = append(paths, path)
		}
	}
	return paths
}
