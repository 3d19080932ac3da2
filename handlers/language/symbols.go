package language

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/workspace"
)

// advertiseSymbols says that there is an outline.
func advertiseSymbols(c *protocol.ServerCapabilities) {
	c.DocumentSymbolProvider = protocol.Boolean(true)
}

// folds says that there are ranges to fold.
func folds(c *protocol.ServerCapabilities) { c.FoldingRangeProvider = protocol.Boolean(true) }

// advertiseLinks says that there are links, each whole at once.
func advertiseLinks(c *protocol.ServerCapabilities) {
	later := false
	c.DocumentLinkProvider = &protocol.DocumentLinkOptions{ResolveProvider: &later}
}

// advertiseColors says that there are colours.
func advertiseColors(c *protocol.ServerCapabilities) { c.ColorProvider = protocol.Boolean(true) }

// partKinds are what the parts of a file are shown as.
var partKinds = map[language.PartKind]protocol.SymbolKind{
	language.AgentPart: protocol.SymbolKindClass, language.FieldPart: protocol.SymbolKindProperty,
	language.HeadingPart: protocol.SymbolKindString,
}

// documentSymbol serves textDocument/documentSymbol: the agent, its fields and the
// headings of its prompt; as a list where the client takes no tree.
func (h *Handlers) documentSymbol(_ context.Context, s *workspace.Snapshot,
	p *protocol.DocumentSymbolParams) (protocol.DocumentSymbolResult, error) {
	a := h.QueryFiles(s)
	f, ok := a.file(p.TextDocument.URI)
	if !ok {
		return nil, nil
	}
	c, parts := a.Columns(f.Text), language.Outline(f)
	if d := h.textCaps().DocumentSymbol; d != nil && on(d.HierarchicalDocumentSymbolSupport) {
		return protocol.DocumentSymbolSlice(tree(c, parts)), nil
	}
	return protocol.SymbolInformationSlice(flat(c, p.TextDocument.URI, "", parts)), nil
}

// tree returns parts with those in them.
func tree(c Columns, parts []language.Part) []protocol.DocumentSymbol {
	list := make([]protocol.DocumentSymbol, 0, len(parts))
	for _, p := range parts {
		s := protocol.DocumentSymbol{Name: legible(p.Name), Kind: partKinds[p.Kind], Range: c.Out(p.Range),
			SelectionRange: c.Out(p.Selection)}
		if p.Detail != "" {
			detail := legible(p.Detail)
			s.Detail = &detail
		}
		if len(p.Children) > 0 {
			s.Children = tree(c, p.Children)
		}
		list = append(list, s)
	}
	return list
}

// flat returns parts and those in them, each with the name of what it is in.
func flat(c Columns, name uri.URI, in string, parts []language.Part) []protocol.SymbolInformation {
	list := make([]protocol.SymbolInformation, 0, len(parts))
	for _, p := range parts {
		s := protocol.SymbolInformation{Location: protocol.Location{URI: name, Range: c.Out(p.Range)}}
		s.Name, s.Kind = legible(p.Name), partKinds[p.Kind]
		if in != "" {
			s.ContainerName = &in
		}
		list = append(append(list, s), flat(c, name, s.Name, p.Children)...)
	}
	return list
}

// ordinaryParts are what [tool.Escape] shows as something else and any text may have:
// what joins letters, picks how an emoji looks, or makes a keycap or a flag.
const ordinaryParts = `[\x{200c}\x{200d}\x{fe0e}\x{fe0f}]|[0-9#*]\x{fe0f}?\x{20e3}|\x{1f3f4}[\x{e0030}-\x{e0039}\x{e0061}-\x{e007a}]{3,6}\x{e007f}`

var (
	ordinary = regexp.MustCompile(ordinaryParts)
	sided    = regexp.MustCompile(ordinaryParts + `|[\x{200e}\x{200f}\x{61c}]`)
)

// legible is a text of a file as lists and pickers may show it, some of which write
// it to a terminal: as [tool.Escape] has it, but for what is ordinary.
func legible(text string) string {
	if tool.Escape(text) == text {
		return text
	}
	stays := ordinary
	if strings.ContainsFunc(text, fromRight) {
		stays = sided
	}
	var b strings.Builder
	at := 0
	for _, found := range stays.FindAllStringIndex(text, -1) {
		b.WriteString(tool.Escape(text[at:found[0]]) + text[found[0]:found[1]])
		at = found[1]
	}
	return b.String() + tool.Escape(text[at:])
}

// fromRight reports whether a character is a letter of a script that is written from the
// right, beside which a mark of direction changes nothing that the script does not.
func fromRight(c rune) bool {
	return unicode.IsLetter(c) && unicode.In(c, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana)
}

// foldingRange serves textDocument/foldingRange. All of it are whole lines.
// There are no more than the client can take, the first ones.
func (h *Handlers) foldingRange(_ context.Context, s *workspace.Snapshot,
	p *protocol.FoldingRangeParams) ([]protocol.FoldingRange, error) {
	f, ok := h.QueryFiles(s).file(p.TextDocument.URI)
	if !ok {
		return nil, nil
	}
	caps := h.textCaps().FoldingRange
	found := language.Folds(f)
	list := make([]protocol.FoldingRange, 0, len(found))
	for _, fold := range found {
		r := protocol.FoldingRange{StartLine: fold.Start, EndLine: fold.End}
		if fold.Comment {
			r.Kind = protocol.FoldingRangeKindComment
		}
		list = append(list, r)
		if caps != nil && caps.RangeLimit != nil && len(list) == int(*caps.RangeLimit) {
			break
		}
	}
	return list, nil
}

// documentLink serves textDocument/documentLink.
func (h *Handlers) documentLink(_ context.Context, s *workspace.Snapshot,
	p *protocol.DocumentLinkParams) ([]protocol.DocumentLink, error) {
	a := h.QueryFiles(s)
	f, ok := a.file(p.TextDocument.URI)
	if !ok {
		return nil, nil
	}
	caps := h.textCaps().DocumentLink
	c, list := a.Columns(f.Text), []protocol.DocumentLink{}
	// The person's own agents have no folder: they may link to what lies beside them.
	exists, done := existing(cmp.Or(f.Folder, filepath.Dir(f.Path)))
	defer done()
	for _, l := range language.Links(&language.World{Exists: exists}, f, a.URI) {
		if _, err := uri.Parse(l.Target); err != nil {
			continue // a text that looks like an address and is none
		}
		target := uri.URI(l.Target)
		link := protocol.DocumentLink{Range: c.Out(l.Range), Target: &target}
		if l.Tooltip != "" && caps != nil && on(caps.TooltipSupport) {
			tooltip := legible(l.Tooltip)
			link.Tooltip = &tooltip
		}
		list = append(list, link)
	}
	return list, nil
}

// existing returns what reports whether something lies at a path in a folder, until
// done is called. It looks at nothing outside, wherever a link leads: the text that
// names the path may be anybody's.
func existing(folder string) (exists func(path string) bool, done func()) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return func(string) bool { return false }, func() {}
	}
	exists = func(path string) bool {
		rel, below := workspace.Below(folder, filepath.FromSlash(path))
		if !below {
			return false
		}
		_, err := root.Stat(rel)
		return err == nil
	}
	return exists, func() { _ = root.Close() }
}

// documentColor serves textDocument/documentColor: the agent's colour.
func (h *Handlers) documentColor(_ context.Context, s *workspace.Snapshot,
	p *protocol.DocumentColorParams) ([]protocol.ColorInformation, error) {
	a, list := h.QueryFiles(s), []protocol.ColorInformation{}
	f, ok := a.file(p.TextDocument.URI)
	if !ok {
		return list, nil // LSP has no null here
	}
	c := a.Columns(f.Text)
	for _, color := range language.Colors(f) {
		list = append(list, protocol.ColorInformation{
			Range: c.Out(color.Range), Color: protocol.Color{Red: color.Red, Green: color.Green,
				Blue: color.Blue, Alpha: 1},
		})
	}
	return list, nil
}

// colorPresentation serves textDocument/colorPresentation: how the colour of a
// file would be written, at a range of documentColor.
func (h *Handlers) colorPresentation(_ context.Context, s *workspace.Snapshot,
	p *protocol.ColorPresentationParams) ([]protocol.ColorPresentation, error) {
	a, list := h.QueryFiles(s), []protocol.ColorPresentation{}
	f, ok := a.file(p.TextDocument.URI)
	if !ok {
		return list, nil
	}
	c := a.Columns(f.Text)
	at := c.in(p.Range)
	if !slices.ContainsFunc(language.Colors(f), func(known language.Color) bool { return known.Range == at }) {
		return list, nil // it is elsewhere by now
	}
	label, edit := language.ColorEdit(f, language.Color{Range: at, Red: p.Color.Red,
		Green: p.Color.Green, Blue: p.Color.Blue})
	return append(list, protocol.ColorPresentation{Label: label,
		TextEdit: protocol.TextEdit{Range: c.Out(edit.Range), NewText: edit.Text}}), nil
}
