package handlers

import (
	"context"
	"fmt"
	"runtime/debug"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/workspace"
)

// didOpenParams are those of the protocol package, whose own decoder takes seven
// times the memory of a large text.
type didOpenParams struct {
	TextDocument textDocumentItem `json:"textDocument"`
}

// textDocumentItem is a document as the editor opens it: its whole text.
type textDocumentItem struct {
	URI        uri.URI `json:"uri"`
	LanguageID string  `json:"languageId"`
	Version    int32   `json:"version"`
	Text       string  `json:"text"`
}

// largeText is the size of a document, in bytes, whose memory is given back to
// the system when it is closed. What is smaller waits for the next collection.
const largeText = 8 << 20

// didOpen takes a document over. The notifications of one connection are served one
// after the other, so a document's changes come in order; nothing here may wait.
func (h *Handlers) didOpen(_ context.Context, p *didOpenParams) error {
	d, before := p.TextDocument, h.Workspace.Snapshot()
	_, err := h.Workspace.Apply(workspace.Opened{URI: d.URI, LanguageID: d.LanguageID,
		Version: d.Version, Text: d.Text})
	h.reportLost(before, d.URI)
	h.language.Release(before, d.URI)
	h.onOpenAgent(d.URI)
	h.language.ScheduleCheck(d.URI)
	if opened, ok := h.Workspace.Snapshot().Document(d.URI); ok {
		h.work.Go(func() { opened.Dirty() }) // compared with the file as it is now, without holding up what follows
	}
	return err
}

// didChange applies all changes of one notification, in order, or none.
//
// A change that does not fit the version that is known makes the text lost until the
// document is opened again (reportLost).
func (h *Handlers) didChange(_ context.Context, p *protocol.DidChangeTextDocumentParams) error {
	edit := workspace.Edited{URI: p.TextDocument.URI, Version: p.TextDocument.Version}
	for _, c := range p.ContentChanges {
		switch c := c.(type) {
		case *protocol.TextDocumentContentChangeWholeDocument:
			edit.Edits = append(edit.Edits, workspace.Edit{Text: c.Text})
		case *protocol.TextDocumentContentChangePartial:
			r := rangeIn(c.Range)
			edit.Edits = append(edit.Edits, workspace.Edit{Range: &r, Text: c.Text})
		}
	}
	before := h.Workspace.Snapshot()
	_, err := h.Workspace.Apply(edit)
	h.reportLost(before, edit.URI)
	h.onEditAgent(edit.URI)
	h.language.ScheduleCheck(edit.URI)
	return err
}

// didSave notes that the disk has the document's text, and approves an agent file
// that the person saved.
// The text that comes with the notification, if any, is what was saved.
func (h *Handlers) didSave(_ context.Context, p *protocol.DidSaveTextDocumentParams) error {
	_, err := h.Workspace.Apply(workspace.Saved{URI: p.TextDocument.URI, Text: p.Text})
	h.onSaveAgent(p.TextDocument.URI)
	if fault.KindOf(err) == fault.NotFound {
		return nil // VS Code tells also of files that it closed before
	}
	return err
}

// didClose forgets a document: from now on its file counts.
func (h *Handlers) didClose(_ context.Context, p *protocol.DidCloseTextDocumentParams) error {
	before := h.Workspace.Snapshot()
	if a, ok := h.agentFile(p.TextDocument.URI); ok {
		h.texts.onClose(a.path)
	}
	_, err := h.Workspace.Apply(workspace.Closed{URI: p.TextDocument.URI})
	h.reportLost(before, p.TextDocument.URI)
	h.language.Release(before, p.TextDocument.URI)
	h.language.ScheduleCheck(p.TextDocument.URI)
	// The runtime would keep that much memory for long.
	if d, ok := before.Document(p.TextDocument.URI); ok && len(d.Text) >= largeText {
		h.work.Go(debug.FreeOSMemory)
	}
	return err
}

// reportLost tells the person that the text of a document got lost since a snapshot,
// and takes that back where it is known again, or closed: nothing answers for a
// text that is not known, and nothing else would say why.
func (h *Handlers) reportLost(before *workspace.Snapshot, name uri.URI) {
	old, was := before.Document(name)
	now, is := h.Workspace.Snapshot().Document(name)
	was, is = was && old.Lost, is && now.Lost
	if was == is {
		return
	}
	shown := string(name) // whole: many files have one name
	if path, ok := workspace.FilePath(name); ok {
		shown = path
	}
	text := fmt.Sprintf("A change of %s came out of order, so its text is not known here. Save it, close it and open it again.", tool.Escape(shown))
	if is {
		h.notice(text)
	} else {
		h.clearNotice(text)
	}
}

// syncs asks for every change of a document as the ranges that changed.
func syncs(c *protocol.ServerCapabilities) {
	open, kind := true, protocol.TextDocumentSyncKindIncremental
	c.TextDocumentSync = &protocol.TextDocumentSyncOptions{OpenClose: &open, Change: &kind,
		Save: protocol.Boolean(true)}
}
