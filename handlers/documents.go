package handlers

import (
	"context"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/workspace"
)

func (h *Handlers) didOpen(_ context.Context, p *protocol.DidOpenTextDocumentParams) error {
	d, before := p.TextDocument, h.Workspace.Snapshot()
	_, err := h.Workspace.Apply(workspace.Opened{URI: d.URI, LanguageID: string(d.LanguageID), Version: d.Version, Text: d.Text})
	h.letGo(before, d.URI)
	h.untyped(d.URI)
	h.checkOf(d.URI)
	return err
}

// didChange applies all changes of one notification, in order, or none.
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
	_, err := h.Workspace.Apply(edit)
	h.edited(edit.URI)
	h.checkOf(edit.URI)
	return err
}

func (h *Handlers) didSave(_ context.Context, p *protocol.DidSaveTextDocumentParams) error {
	_, err := h.Workspace.Apply(workspace.Saved{URI: p.TextDocument.URI, Text: p.Text})
	h.saved(p.TextDocument.URI)
	return err
}

func (h *Handlers) didClose(_ context.Context, p *protocol.DidCloseTextDocumentParams) error {
	before := h.Workspace.Snapshot()
	_, err := h.Workspace.Apply(workspace.Closed{URI: p.TextDocument.URI})
	h.letGo(before, p.TextDocument.URI)
	h.untyped(p.TextDocument.URI)
	h.checkOf(p.TextDocument.URI)
	return err
}

// syncs asks for every change of a document as the ranges that changed.
func syncs(c *protocol.ServerCapabilities) {
	open, kind := true, protocol.TextDocumentSyncKindIncremental
	c.TextDocumentSync = &protocol.TextDocumentSyncOptions{OpenClose: &open, Change: &kind, Save: protocol.Boolean(true)}
}
