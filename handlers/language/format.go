package language

import (
	"context"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/workspace"
)

// format serves textDocument/formatting for agent files: the order of spec 1.2 for
// the keys of the front-matter, and blanks. Comments stay where they belong, and the
// prompt stays as it is. The editor's options, as the width of a tab, are not looked
// at: YAML has its own. A file that cannot be read is left alone, which the log of the
// client says, and so is any other document.
func (h *Handlers) format(_ context.Context, s *workspace.Snapshot,
	p *protocol.DocumentFormattingParams) ([]protocol.TextEdit, error) {
	a := h.QueryFiles(s)
	f, ok := a.file(p.TextDocument.URI)
	if !ok {
		return nil, nil
	}
	if why := language.WhyUnformatted(f); why != "" {
		// Not a message: editors that format what they save would show it each time.
		_ = h.Peer.LogMessage(h.ctx, &protocol.LogMessageParams{Type: protocol.MessageTypeInfo,
			Message: tool.Escape(why)}) // nobody reads it then
	}
	columns := a.Columns(f.Text)
	edits := []protocol.TextEdit{}
	for _, e := range language.Format(f) {
		edits = append(edits, protocol.TextEdit{Range: columns.Out(e.Range), NewText: e.Text})
	}
	return edits, nil
}

// formats offers the formatter, unless the client can be told for which files it is.
func (h *Handlers) formats(c *protocol.ServerCapabilities) {
	if !h.registersFormatter() {
		c.DocumentFormattingProvider = protocol.Boolean(true)
	}
}

// registersFormatter reports whether the client can be told later, and for which
// files, that there is a formatter.
func (h *Handlers) registersFormatter() bool {
	f := h.textCaps().Formatting
	return f != nil && on(f.DynamicRegistration)
}

// registerFormatter offers the formatter for agent files alone, so that an editor
// that shows us all documents does not ask which formatter a person wants for each.
// It waits for the client's answer, so it runs in a goroutine of its own.
func (h *Handlers) registerFormatter() {
	if !h.registersFormatter() {
		return
	}
	scheme := "file"
	options, err := protocol.Marshal(&protocol.DocumentFormattingRegistrationOptions{TextDocumentRegistrationOptions: protocol.TextDocumentRegistrationOptions{
		DocumentSelector: &protocol.DocumentSelector{&protocol.TextDocumentFilterPattern{Scheme: &scheme,
			Pattern: protocol.Pattern(agentGlob)}},
	}})
	if err == nil {
		method := protocol.MethodTextDocumentFormatting
		err = h.Peer.RegisterCapability(h.ctx,
			&protocol.RegistrationParams{Registrations: []protocol.Registration{{ID: method, Method: method,
				RegisterOptions: options}}})
	}
	if err != nil && h.ctx.Err() == nil {
		h.Log.Warn("the editor did not take the formatter", "err", err)
	}
}

// agentGlob is what editors know agent files by.
const agentGlob = "**/.gemini/agents/*.md"
