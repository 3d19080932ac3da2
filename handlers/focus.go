package handlers

import (
	"context"

	"go.lsp.dev/uri"

	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// focus remembers where the person is: a command that names no document is about that.
func (h *Handlers) focus(_ context.Context, p *wire.FocusParams) error {
	h.focused.Store(p)
	return nil
}

// fillFromFocus gives a command without a document the one that the person looks at, and
// without a range what they have selected there. A document that is not open, or a
// selection that is not in it any more, does not count.
func (h *Handlers) fillFromFocus(run *selected, s *workspace.Snapshot) {
	p := h.focused.Load()
	if run.URI != "" || p == nil {
		return
	}
	d, open := s.Document(uri.URI(p.TextDocument.URI))
	if !open {
		return
	}
	run.URI = string(d.URI)
	if run.Range == nil && p.Selection != nil && p.Selection.Start != p.Selection.End {
		if _, err := about(d, p.Selection, s.Encoding()); err == nil {
			run.Range = p.Selection
		}
	}
}
