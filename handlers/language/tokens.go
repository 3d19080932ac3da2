package language

import (
	"context"
	"unicode/utf8"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/workspace"
)

// advertiseTokens says which types of tokens there are: their numbers in answers
// are places in these lists.
func advertiseTokens(c *protocol.ServerCapabilities) {
	c.SemanticTokensProvider = &protocol.SemanticTokensOptions{
		Legend: protocol.SemanticTokensLegend{TokenTypes: language.TokenTypes(),
			TokenModifiers: language.TokenModifiers()},
		Full: protocol.Boolean(true), Range: protocol.Boolean(true),
	}
}

// semanticTokens serves textDocument/semanticTokens/full: what the parts of an
// agent file are.
func (h *Handlers) semanticTokens(ctx context.Context, s *workspace.Snapshot,
	p *protocol.SemanticTokensParams) (*protocol.SemanticTokens, error) {
	return h.tokens(ctx, s, p.TextDocument, nil)
}

// semanticTokensRange serves textDocument/semanticTokens/range: those of the lines
// that a range touches.
func (h *Handlers) semanticTokensRange(ctx context.Context, s *workspace.Snapshot,
	p *protocol.SemanticTokensRangeParams) (*protocol.SemanticTokens, error) {
	return h.tokens(ctx, s, p.TextDocument, &p.Range)
}

// tokens returns the tokens of a file, nil for what is no agent file; in narrows them to
// the lines that it touches, nil is all of it.
func (h *Handlers) tokens(ctx context.Context, s *workspace.Snapshot, of protocol.TextDocumentIdentifier,
	in *protocol.Range) (*protocol.SemanticTokens, error) {
	f, ok := h.QueryFiles(s).file(of.URI)
	if !ok {
		return nil, nil
	}
	a, err := h.Query(ctx, s)
	if err != nil {
		return nil, err
	}
	tokens := language.Tokens(a.World(f.Folder), f)
	if in != nil {
		some := tokens[:0]
		for _, t := range tokens {
			if t.Start.Line >= in.Start.Line && t.Start.Line <= in.End.Line {
				some = append(some, t)
			}
		}
		tokens = some
	}
	if a.encoding != workspace.UTF16 {
		recount(tokens, f.Text, a.encoding)
	}
	return &protocol.SemanticTokens{Data: language.EncodeTokens(tokens)}, nil
}

// recount turns the places and lengths of tokens into another encoding. It reads
// each line once, as the tokens are in the order of the text.
func recount(tokens []language.Token, text string, encoding workspace.Encoding) {
	lines := workspace.NewLines(text)
	line, rest := "", ""
	var at definition.Position // of rest, in UTF-16 units
	var column uint32          // of rest, in the other
	current := uint32(0)
	// upTo reads on as far as a column in UTF-16, and returns that column in encoding.
	upTo := func(character uint32) uint32 {
		for at.Character < character && rest != "" {
			r, size := utf8.DecodeRuneInString(rest)
			rest = rest[size:]
			at.Character++
			if r > 0xFFFF {
				at.Character++
			}
			if encoding == workspace.UTF8 {
				column += uint32(size)
			} else {
				column++
			}
		}
		return column
	}
	for i := range tokens {
		t := &tokens[i]
		if i == 0 || t.Start.Line != current {
			current = t.Start.Line
			line = lines.Line(int(current))
			rest, at, column = line, definition.Position{}, 0
		}
		end := t.Start.Character + t.Length
		t.Start.Character = upTo(t.Start.Character)
		t.Length = upTo(end) - t.Start.Character
	}
}
