package language

// Semantic tokens: what the parts of a file are, for colours.

import (
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
)

// TokenType is the type of a [Token], an index of [TokenTypes].
type TokenType uint32

// The types.
const (
	PropertyToken  TokenType = iota // a key
	StringToken                     // a text
	NumberToken                     // a number
	KeywordToken                    // true, false, and one of the values that a field has
	VariableToken                   // ${name}
	FunctionToken                   // a tool
	ClassToken                      // an agent
	TypeToken                       // a model
	NamespaceToken                  // an MCP server
	MacroToken                      // what stands for other things: *, a glob, inherit, auto
	RegexpToken                     // a pattern
	CommentToken
	OperatorToken // the lines ---
)

// TokenModifier is a set of bits of a [Token], in the order of [TokenModifiers].
type TokenModifier uint32

// The modifiers.
const (
	DeclarationToken TokenModifier = 1 << iota // the agent's own name
	DeprecatedToken                            // a retired model
)

// TokenTypes and TokenModifiers are the legend, in LSP's names. The caller owns
// what they return.
func TokenTypes() []string {
	return []string{
		PropertyToken: "property", StringToken: "string", NumberToken: "number", KeywordToken: "keyword",
		VariableToken: "variable",
		FunctionToken: "function", ClassToken: "class", TypeToken: "type",
		NamespaceToken: "namespace", MacroToken: "macro",
		RegexpToken: "regexp", CommentToken: "comment", OperatorToken: "operator",
	}
}

// TokenModifiers is the other half of the legend.
func TokenModifiers() []string { return []string{"declaration", "deprecated"} }

// Token is a part of one line. Tokens do not overlap and are in the order of the
// text.
type Token struct {
	Start     definition.Position
	Length    uint32 // UTF-16 code units, 1 or more
	Type      TokenType
	Modifiers TokenModifier
}

// EncodeTokens writes tokens as LSP sends them: five numbers each, the first two
// relative to the token before.
// tokens must be in the order of the text.
func EncodeTokens(tokens []Token) []uint32 {
	data := make([]uint32, 0, 5*len(tokens))
	var last definition.Position
	for _, t := range tokens {
		line, character := t.Start.Line-last.Line, t.Start.Character
		if line == 0 {
			character -= last.Character
		}
		data = append(data, line, character, t.Length, uint32(t.Type), uint32(t.Modifiers))
		last = t.Start
	}
	return data
}

// mark is a token by its bytes.
type mark struct {
	definition.Span
	kind      TokenType
	modifiers TokenModifier
}

// painter collects the tokens of a file.
type painter struct {
	f *File
	w *World
	// marks may overlap, and are in no order until Tokens sorts them.
	marks []mark
}

// Tokens returns what the parts of a file are. Of the prompt these are its placeholders
// and the agents that it mentions; of a file whose front-matter cannot be read nothing
// else. A text of several lines is a token for each of its lines, since many editors take
// no token that goes over one. Of two that overlap the first counts.
func Tokens(w *World, f *File) []Token {
	p := &painter{f: f, w: w}
	t := f.Tree
	p.mark(t.Open, OperatorToken)
	if t.Root != nil {
		p.values(t.Root, "")
		slices.SortFunc(p.marks, func(a, b mark) int { return a.Start - b.Start })
		p.comments()
	}
	p.mark(t.Close, OperatorToken)
	p.prose(t.Body, "", false)
	slices.SortFunc(p.marks, func(a, b mark) int { return a.Start - b.Start })
	at := locator{f: f}
	tokens := make([]Token, 0, len(p.marks))
	end := 0
	for _, m := range p.marks {
		if m.Start < end || m.Start >= m.End {
			continue
		}
		end = m.End
		r := at.span(m.Span)
		tokens = append(tokens, Token{r.Start, r.End.Character - r.Start.Character, m.kind, m.modifiers})
	}
	return tokens
}

// mark adds a token for each line of a span, without the spaces around it.
// A span without a text adds none.
// A token over several lines is one that many clients do not take.
func (p *painter) mark(s definition.Span, kind TokenType, modifiers ...TokenModifier) {
	for line := range p.f.lines(s) {
		for line.Start < line.End && (p.f.Text[line.Start] == ' ' || p.f.Text[line.Start] == '\t') {
			line.Start++
		}
		for line.End > line.Start && (p.f.Text[line.End-1] == ' ' || p.f.Text[line.End-1] == '\t') {
			line.End--
		}
		if line.Start == line.End {
			continue
		}
		m := mark{Span: line, kind: kind}
		for _, bits := range modifiers {
			m.modifiers |= bits
		}
		p.marks = append(p.marks, m)
	}
}

// values marks a collection below a path.
// path is that of the collection, "" at the top.
func (p *painter) values(v *definition.Value, path string) {
	for i := range v.Items {
		item := &v.Items[i]
		below := path
		if v.Kind == definition.Mapping {
			p.mark(v.Keys[i].Span, PropertyToken)
			if below != "" {
				below += "."
			}
			below += v.Keys[i].Name
		} else {
			below += "[]"
		}
		switch item.Kind {
		case definition.Mapping, definition.List:
			p.values(item, below)
		case definition.Number:
			p.mark(item.Span, NumberToken)
		case definition.Boolean, definition.Null:
			p.mark(item.Span, KeywordToken)
		case definition.String:
			p.text(item, strings.TrimSuffix(below, "[]"))
		}
	}
}

// text marks a text by what its field means.
func (p *painter) text(v *definition.Value, path string) {
	field, known := definition.FieldAt(path)
	if !known {
		p.mark(v.Span, StringToken)
		return
	}
	switch field.Path {
	case "name":
		p.mark(v.Span, ClassToken, DeclarationToken)
	case "model", "fallback_models":
		p.model(v)
	case "tools", "tools.allow", "tools.deny", "tools.confirmation.require_confirmation", "disallowedTools":
		p.split(v, FunctionToken)
	case "mcp.servers", "mcpServers":
		p.split(v, NamespaceToken)
	case "subagents", "agents", "handoffs[].to":
		p.split(v, ClassToken)
	case "triggers.patterns", "triggers[].regex":
		p.mark(v.Span, RegexpToken)
	case "query", "initial_messages[].text", "systemPrompt", "output.text":
		p.prose(v.Span, field.Path, true)
	default:
		if slices.Contains(field.Values, v.Text) {
			p.mark(v.Span, KeywordToken)
			return
		}
		p.mark(v.Span, StringToken)
	}
}

// model marks a model's name.
func (p *painter) model(v *definition.Value) {
	if v.Text == "inherit" || v.Text == "auto" {
		p.mark(v.Span, MacroToken)
		return
	}
	if p.w.Models != nil {
		if _, gone := p.w.Models.Successor(v.Text); gone {
			p.mark(v.Span, TypeToken, DeprecatedToken)
			return
		}
	}
	p.mark(v.Span, TypeToken)
}

// split marks a name, or each of the names of a text with commas, as other tools write
// lists. A name with * or ? stands for others, and is marked so.
func (p *painter) split(v *definition.Value, kind TokenType) {
	for at := v.Start; at < v.End; {
		end := v.End
		if i := strings.IndexByte(p.f.Text[at:v.End], ','); i >= 0 {
			end = at + i
		}
		if strings.ContainsAny(p.f.Text[at:end], "*?") {
			p.mark(definition.Span{Start: at, End: end}, MacroToken)
		} else {
			p.mark(definition.Span{Start: at, End: end}, kind)
		}
		at = end + 1
	}
}

// prose marks the placeholders and the agents that a text names, and what is
// between them as a string if it is whole.
// Where the file has no inputs a placeholder is a text like any other and gets
// no colour.
func (p *painter) prose(s definition.Span, field string, whole bool) {
	text := p.f.Text
	from := s.Start
	found := func(start, end int, kind TokenType) {
		if whole {
			p.mark(definition.Span{Start: from, End: start}, StringToken)
		}
		p.marks = append(p.marks, mark{Span: definition.Span{Start: start, End: end}, kind: kind})
		from = end
	}
	live := field == "output.text" || p.f.Tree.Dialect == definition.GeminiCLI || p.f.Tree.Find("inputs") != nil
	for at := s.Start; at < s.End; {
		i := strings.IndexAny(text[at:s.End], "$@")
		if i < 0 {
			break
		}
		at += i
		end := wordEnd(text[:s.End], at+1)
		switch {
		case strings.HasPrefix(text[at:s.End], "$${"):
			at += len("$${")
			continue
		case strings.HasPrefix(text[at:s.End], "${"):
			if end = wordEnd(text[:s.End], at+2); live && end > at+2 && end < s.End && text[end] == '}' {
				found(at, end+1, VariableToken)
			}
		case text[at] == '@' && (at == s.Start || !nameByte(text[at-1])):
			name := strings.TrimRight(text[at+1:end], "-_")
			if end = at + 1 + len(name); field != "output.text" && p.w.agent(p.f.Folder, name) != nil {
				found(at, end, ClassToken)
			}
		}
		at = max(at+1, end)
	}
	if whole {
		p.mark(definition.Span{Start: from, End: s.End}, StringToken)
	}
}

// comments marks the comments of the front-matter: what begins with # outside of every key
// and text. The tree has no comments, so it looks between the marks that there are, which
// must be sorted.
func (p *painter) comments() {
	// comment adds to p.marks while these are walked.
	taken := slices.Clone(p.marks)
	for line := range p.f.lines(p.f.Tree.Front) {
		at := line.Start
		for len(taken) > 0 && taken[0].Start < line.End {
			if taken[0].End <= line.Start {
				taken = taken[1:]
				continue
			}
			if p.comment(at, min(taken[0].Start, line.End), line.End) {
				at = -1
				break
			}
			at = taken[0].End
			taken = taken[1:]
		}
		if at >= 0 {
			p.comment(at, line.End, line.End)
		}
		for len(taken) > 0 && taken[0].Start < line.End {
			taken = taken[1:]
		}
	}
}

// comment marks a comment that begins between two offsets of a line, and reports whether
// there is one. As in YAML, # begins one at the start of the front-matter or behind a
// blank only.
func (p *painter) comment(from, to, end int) bool {
	if from >= to {
		return false
	}
	i := strings.IndexByte(p.f.Text[from:to], '#')
	if i < 0 {
		return false
	}
	if at := from + i; at == p.f.Tree.Front.Start || strings.IndexByte(" \t\r\n", p.f.Text[at-1]) >= 0 {
		p.mark(definition.Span{Start: at, End: end}, CommentToken)
		return true
	}
	return false
}
