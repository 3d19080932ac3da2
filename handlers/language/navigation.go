package language

import (
	"context"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/workspace"
)

// naming is a place that names an agent, in an agent file, in a line of another
// document that calls it, or in settings, with what questions about it are answered
// from.
type naming struct {
	world   *language.World
	sources language.Sources
	uri     string           // as the client spells it
	Range   definition.Range // of the name alone

	file  *language.File // where it is in an agent file
	at    definition.Position
	named language.Named // where it is not
}

// naming returns what names an agent at a position; false where nothing does. agent
// says that the file is an agent's. The agents are waited for only where something
// may name one: editors ask of every place of every file, wherever the cursor rests.
func (h *Handlers) naming(ctx context.Context, s *workspace.Snapshot, p protocol.TextDocumentPositionParams) (a *Query,
	n naming, agent, ok bool, err error) {
	name := p.TextDocument.URI
	a = h.QueryFiles(s)
	f, agent := a.file(name)
	d, open := s.Document(name)
	if !agent {
		if !open || d.Lost {
			return a, n, false, false, nil
		}
		n.at = a.Columns(d.Text).positionIn(p.Position)
	}
	line, settings := "", false
	if !agent {
		// Most places are in a line without @, of a file that is neither settings nor
		// tests: these are answered here, without waiting.
		line = d.Lines().Line(int(n.at.Line))
		_, _, _, settings = a.settingsFile(name)
		_, tests := a.testFile(name)
		if settings = settings || tests; !settings && !strings.Contains(line, "@") {
			return a, n, false, false, nil
		}
	}
	if a, err = h.Query(ctx, s); err != nil {
		return nil, n, agent, false, err
	}
	if !agent && !settings && !a.callsAgent(line) {
		return a, n, false, false, nil // the line calls nobody: no file has to be looked at
	}
	// Names are looked up among the agents, and nothing else of a world is needed.
	n.world = &language.World{Agents: a.Catalog}
	if agent {
		n.file, n.uri, n.at = f, f.URI, a.Columns(f.Text).positionIn(p.Position)
		// The sources read settings and tests, so they are gathered only for a name.
		if n.Range, ok = language.NameRange(n.world, f, n.at); ok {
			n.sources = a.sources()
		}
		return a, n, true, ok, nil
	}
	n.uri, n.sources = string(d.URI), a.sources()
	n.named, ok = language.NameAt(n.world, n.sources, n.uri, n.at)
	n.Range = n.named.Range
	return a, n, false, ok, nil
}

// definition returns the place of the agent's name in its own file.
func (n naming) definition() (language.Location, bool) {
	if n.file != nil {
		return language.Definition(n.world, n.sources, n.file, n.at)
	}
	return language.DefinitionOfName(n.world, n.sources, n.named)
}

// references returns the places that name the agent.
func (n naming) references(declaration bool) []language.Location {
	if n.file != nil {
		return language.References(n.world, n.sources, n.file, n.at, declaration)
	}
	return language.ReferencesOfName(n.world, n.sources, n.named, declaration)
}

// goToDefinition serves textDocument/definition: from any place that names an agent
// to its name in its own file. A client that takes links is told as well how far
// the name reaches that it came from, which no editor's words do.
func (h *Handlers) goToDefinition(ctx context.Context, s *workspace.Snapshot,
	p *protocol.DefinitionParams) (protocol.DefinitionResult, error) {
	a, n, _, ok, err := h.naming(ctx, s, p.TextDocumentPositionParams)
	if !ok || err != nil {
		return nil, err
	}
	to, ok := n.definition()
	if !ok {
		return nil, nil
	}
	t := a.texts()
	location := t.location(to)
	if d := h.textCaps().Definition; d == nil || !on(d.LinkSupport) {
		return &location, nil
	}
	origin := t.of(n.uri).Out(n.Range)
	return protocol.DefinitionLinkSlice{{OriginSelectionRange: &origin, TargetURI: location.URI,
		TargetRange: location.Range, TargetSelectionRange: location.Range}}, nil
}

// findReferences serves textDocument/references over agent files, the lines of open
// documents that call agents, and settings.
func (h *Handlers) findReferences(ctx context.Context, s *workspace.Snapshot,
	p *protocol.ReferenceParams) ([]protocol.Location, error) {
	a, n, _, ok, err := h.naming(ctx, s, p.TextDocumentPositionParams)
	if !ok || err != nil {
		return nil, err
	}
	t := a.texts()
	places := []protocol.Location{}
	for _, l := range n.references(p.Context.IncludeDeclaration) {
		places = append(places, t.location(l))
	}
	return places, nil
}

// highlight serves textDocument/documentHighlight: the places of the file that name the
// agent under the cursor. They are looked for in no other file, since editors ask whenever
// the cursor rests.
func (h *Handlers) highlight(ctx context.Context, s *workspace.Snapshot,
	p *protocol.DocumentHighlightParams) ([]protocol.DocumentHighlight, error) {
	a, n, _, ok, err := h.naming(ctx, s, p.TextDocumentPositionParams)
	if !ok || err != nil {
		return nil, err
	}
	n.sources.Read, n.sources.Open = nil, nil
	n.sources.Documents = slices.DeleteFunc(n.sources.Documents,
		func(d language.Document) bool { return d.URI != n.uri })
	n.sources.Named = slices.DeleteFunc(n.sources.Named, func(at language.Named) bool { return at.URI != n.uri })
	columns := a.texts().of(n.uri)
	var found []protocol.DocumentHighlight
	for _, l := range n.references(true) {
		if l.URI == n.uri {
			found = append(found, protocol.DocumentHighlight{Range: columns.Out(l.Range)})
		}
	}
	return found, nil
}

// maxSymbols is how many agents a search answers with, the best: an editor asks
// anew as the person goes on typing.
const maxSymbols = 1000

// findSymbols serves workspace/symbol: agents by their names and titles.
func (h *Handlers) findSymbols(ctx context.Context, s *workspace.Snapshot,
	p *protocol.WorkspaceSymbolParams) (protocol.SymbolInformationSlice, error) {
	a, err := h.Query(ctx, s)
	if err != nil {
		return nil, err
	}
	t := a.texts()
	found := language.WorkspaceSymbols(&language.World{Agents: a.Catalog},
		language.Sources{URI: a.URI, Open: a.agentFiles()}, p.Query)
	list := protocol.SymbolInformationSlice{}
	for _, symbol := range found[:min(len(found), maxSymbols)] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		info := protocol.SymbolInformation{Location: t.location(symbol.Location)}
		info.Name, info.Kind = legible(symbol.Name), protocol.SymbolKindClass
		if symbol.Detail != "" {
			detail := legible(symbol.Detail)
			info.ContainerName = &detail
		}
		list = append(list, info)
	}
	return list, nil
}

// navigates says what can be looked up.
func navigates(c *protocol.ServerCapabilities) {
	c.DefinitionProvider = protocol.Boolean(true)
	c.ReferencesProvider = protocol.Boolean(true)
	c.DocumentHighlightProvider = protocol.Boolean(true)
	c.WorkspaceSymbolProvider = protocol.Boolean(true)
}
