package language

import (
	"context"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/workspace"
)

// advertiseHints says that there are inlay hints.
func advertiseHints(c *protocol.ServerCapabilities) { c.InlayHintProvider = protocol.Boolean(true) }

// inlayHint serves textDocument/inlayHint: what an agent file does not say itself,
// and what a run of it takes.
func (h *Handlers) inlayHint(ctx context.Context, s *workspace.Snapshot,
	p *protocol.InlayHintParams) ([]protocol.InlayHint, error) {
	f, ok := h.QueryFiles(s).file(p.TextDocument.URI)
	if !ok {
		return nil, nil
	}
	a, err := h.Query(ctx, s)
	if err != nil {
		return nil, err
	}
	var formats []protocol.MarkupKind // hints have none of their own
	if c := h.textCaps().Hover; c != nil {
		formats = c.ContentFormat
	}
	c, space := a.Columns(f.Text), true
	list := []protocol.InlayHint{}
	for _, i := range language.Hints(a.World(f.Folder), f, c.in(p.Range)) {
		hint := protocol.InlayHint{Position: c.positionOut(i.Position),
			Label: protocol.String(i.Label), PaddingLeft: &space}
		if i.Tooltip != "" {
			hint.Tooltip = markup(formats, i.Tooltip)
		}
		list = append(list, hint)
	}
	return list, nil
}
