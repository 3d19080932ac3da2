package handlers

import (
	"context"
	"encoding/json"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/workspace"
)

func lensed(c *protocol.ServerCapabilities) {
	later := false
	c.CodeLensProvider = &protocol.CodeLensOptions{ResolveProvider: &later}
}

// codeLens serves textDocument/codeLens: what can be done with an agent file, and
// Run above the lines of any other document that call an agent.
func (h *Handlers) codeLens(ctx context.Context, s *workspace.Snapshot, p *protocol.CodeLensParams) ([]protocol.CodeLens, error) {
	f, isAgent := h.bare(s).file(p.TextDocument.URI)
	d, open := s.Document(p.TextDocument.URI)
	if !isAgent && (!open || d.Lost || !strings.Contains(d.Text, "@")) {
		return nil, nil
	}
	a, err := h.author(ctx, s)
	if err != nil {
		return nil, err
	}
	var lenses []language.Lens
	var c columns
	if isAgent {
		lenses, c = language.Lenses(a.world(f.Folder), f), a.columnsOf(f.Text)
	} else {
		lenses, c = a.inlineLenses(d), a.columnsOf(d.Text)
	}
	list := make([]protocol.CodeLens, 0, len(lenses))
	for _, l := range lenses {
		command := protocol.Command{Title: l.Title, Command: l.Command}
		for _, arg := range l.Args {
			raw, err := json.Marshal(arg)
			if err != nil {
				return nil, err // they are texts: cannot be
			}
			command.Arguments = append(command.Arguments, raw)
		}
		list = append(list, protocol.CodeLens{Range: c.out(l.Range), Command: command})
	}
	return list, nil
}
