package language

import (
	"context"
	"unicode/utf16"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/workspace"
)

// hovers says that there are hovers.
func hovers(c *protocol.ServerCapabilities) { c.HoverProvider = protocol.Boolean(true) }

// hover serves textDocument/hover: of agent files, of settings, and of the agent
// that a line of any document calls. It is null where there is nothing to tell.
func (h *Handlers) hover(ctx context.Context, s *workspace.Snapshot, p *protocol.HoverParams) (*protocol.Hover, error) {
	formats := []protocol.MarkupKind(nil)
	if c := h.textCaps().Hover; c != nil {
		formats = c.ContentFormat
	}
	shown := func(c Columns, markdown string, r definition.Range) *protocol.Hover {
		at := c.Out(r)
		return &protocol.Hover{Contents: markup(formats, markdown), Range: &at}
	}
	bare, name := h.QueryFiles(s), p.TextDocument.URI
	if f, ok := bare.file(name); ok {
		a, err := h.Query(ctx, s)
		if err != nil {
			return nil, err
		}
		c := a.Columns(f.Text)
		if found, ok := language.HoverAt(a.World(f.Folder), f, c.positionIn(p.Position)); ok {
			return shown(c, found.Markdown, found.Range), nil
		}
		return nil, nil
	}
	// Tests and settings are explained without the agents, so nothing is waited for.
	if f, ok := bare.testFile(name); ok {
		c := bare.Columns(f.Text)
		if markdown, r, ok := f.Hover(c.positionIn(p.Position)); ok {
			return shown(c, markdown, r), nil
		}
		return nil, nil
	}
	if text, _, _, ok := bare.settingsFile(name); ok {
		lines := workspace.NewLines(text)
		offset, err := lines.Offset(workspace.Position(p.Position), s.Encoding())
		if err != nil {
			return nil, nil // it is behind the end of what is there
		}
		found, ok := workspace.HoverSettings([]byte(text), offset)
		if !ok {
			return nil, nil
		}
		r := definition.Range{Start: place16(lines, found.Start), End: place16(lines, found.End)}
		found.Key = tool.MarkdownText(found.Key) // it has names of the file
		return shown(bare.Columns(text), found.Markdown(), r), nil
	}
	d, open := s.Document(name)
	if !open || d.Lost || !callsNear(d, p.Position) {
		return nil, nil
	}
	a, err := h.Query(ctx, s)
	if err != nil {
		return nil, err
	}
	c := a.Columns(d.Text)
	if markdown, r, ok := a.inlineHover(d, c.positionIn(p.Position)); ok {
		return shown(c, markdown, r), nil
	}
	return nil, nil
}

// inlineHover tells of the agent whose @name is at a position of a document.
// ok is false where no agent is called there, and for @auto, which is none.
func (a *Query) inlineHover(d *workspace.Document, at definition.Position) (markdown string,
	r definition.Range, ok bool) {
	folder := a.FolderOf(d.URI)
	w := a.World(folder)
	for _, c := range a.calls(d) {
		r = c.Range
		// A command's range is all of it, with its words; the hover is about the name alone.
		r.End = r.Start
		r.End.Character++ // of @
		for _, letter := range c.Agent {
			r.End.Character += uint32(utf16.RuneLen(letter)) // a folder's name may have any
		}
		if at.Line != r.Start.Line || at.Character < r.Start.Character || at.Character > r.End.Character {
			continue
		}
		e, err := a.Catalog.Lookup(folder, c.Agent)
		if err != nil {
			return "", r, false // auto
		}
		markdown = language.Describe(w, e.Definition.Folder, language.Item{Label: e.Definition.Name,
			Kind: language.AgentItem})
		return markdown, r, markdown != ""
	}
	return "", r, false
}
