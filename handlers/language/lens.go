package language

import (
	"context"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/workspace"
)

// advertiseLenses says that there are lenses, each whole at once.
func advertiseLenses(c *protocol.ServerCapabilities) {
	later := false
	c.CodeLensProvider = &protocol.CodeLensOptions{ResolveProvider: &later}
}

// codeLens serves textDocument/codeLens: what can be done with an agent file, Run test in
// a file of tests, and Run above the lines of any other document that call an agent.
func (h *Handlers) codeLens(ctx context.Context, s *workspace.Snapshot,
	p *protocol.CodeLensParams) ([]protocol.CodeLens, error) {
	if f, ok := h.QueryFiles(s).testFile(p.TextDocument.URI); ok {
		return lensesOut(h.QueryFiles(s).Columns(f.Text), h.QueryFiles(s).testLenses(f))
	}
	f, isAgent := h.QueryFiles(s).file(p.TextDocument.URI)
	d, open := s.Document(p.TextDocument.URI)
	if !isAgent && (!open || d.Lost || !strings.Contains(d.Text, "@")) {
		return nil, nil
	}
	a, err := h.Query(ctx, s)
	if err != nil {
		return nil, err
	}
	var lenses []language.Lens
	var c Columns
	if isAgent {
		lenses, c = append(language.Lenses(a.World(f.Folder), f), a.agentTests(f)...), a.Columns(f.Text)
	} else {
		lenses, c = a.inlineLenses(d), a.Columns(d.Text)
	}
	return lensesOut(c, lenses)
}
