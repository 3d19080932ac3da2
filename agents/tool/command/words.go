package command

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// word is what is known of one word of a command before it runs.
type word struct {
	text     string // with quotes removed and what is known expanded
	source   string // as it stands
	computed bool   // a part is known only when it runs; Unknown stands for it in text
	expanded bool   // not literal, though text is what it becomes ($HOME, ~, braces)
	glob     bool   // holds *, ? or [ that a shell expands
	quoted   bool   // not one bare literal
}

// Unknown stands in a word's text for what is known only when it runs.
const Unknown = "\ufffc"

// literal reports whether the word is exactly its text to any shell.
func (w word) literal() bool { return !w.computed && !w.expanded && !w.glob }

// maxBraces is how many words a brace expansion may make.
const maxBraces = 64

// eval returns the words that w becomes.
// Without braces that is one word. More than maxBraces words, or braces that cannot be
// expanded, end with one word that is known only when it runs.
func (r *reader) eval(w *syntax.Word) []word {
	source := r.source(w)
	if lit := w.Lit(); lit != "" && plainWord(lit) {
		return []word{{text: lit, source: lit}}
	}
	if strings.Count(source, "{") > maxBraces/4 {
		return []word{{text: Unknown, source: source, computed: true, expanded: true, quoted: true}}
	}
	split := &syntax.Word{Parts: append([]syntax.WordPart(nil), w.Parts...)}
	if !syntax.SplitBraces(split) {
		return []word{r.parts(w.Parts, source)}
	}
	var out []word
	for one, err := range expand.BracesSeq(nil, split) {
		if err != nil || len(out) == maxBraces {
			return append(out, word{text: Unknown, source: source, computed: true, expanded: true})
		}
		e := r.parts(one.Parts, source)
		e.expanded, e.quoted = true, true
		out = append(out, e)
	}
	return out
}

// source returns a word as it stands in the text.
//
// Positions count from the text that is being read, which may be a script within the
// command.
func (r *reader) source(w *syntax.Word) string {
	from, to := w.Pos().Offset(), w.End().Offset()
	if from <= to && to <= uint(len(r.text)) {
		return r.text[from:to]
	}
	return printNode(w)
}

// plainWord reports whether s is the same to any shell, and needs no quotes.
func plainWord(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-_./:=@%+,", c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}

// parts returns the one word that parts of the tree make together. What is known only when it runs,
// as an expansion, is [Unknown] in its text.
func (r *reader) parts(parts []syntax.WordPart, source string) word {
	w := word{source: source, quoted: len(parts) != 1}
	var b strings.Builder
	for i, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			r.lit(&w, &b, part.Value, i == 0)
		case *syntax.SglQuoted:
			w.quoted = true
			if part.Dollar {
				w.computed = true // what bash makes of its escapes is not relied on, only suspected
				known, err := expand.Literal(nil, &syntax.Word{Parts: []syntax.WordPart{part}})
				if err != nil {
					known = Unknown
				}
				b.WriteString(known)
				continue
			}
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			w.quoted = true
			w.expanded = w.expanded || part.Dollar
			r.dblQuoted(&w, &b, part.Parts)
		case *syntax.ParamExp:
			r.param(&w, &b, part)
		case *syntax.ExtGlob:
			w.glob, w.computed, w.quoted = true, true, true
			b.WriteString(Unknown)
		default:
			w.computed, w.quoted = true, true
			b.WriteString(Unknown)
		}
	}
	w.text = b.String()
	return w
}

// lit adds an unquoted literal.
//
// It undoes backslashes, expands ~ at the start, and marks globs and braces. ~name is
// known only when it runs: whose home it is the system says.
func (r *reader) lit(w *word, b *strings.Builder, value string, first bool) {
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch c {
		case '\\':
			w.quoted = true
			if i+1 < len(value) {
				i++
				b.WriteByte(value[i])
			}
			continue
		case '*', '?', '[':
			w.glob = w.glob || value != "[" // which is the name of a command
		case '{', '}':
			if value != "{}" {
				w.expanded = true // no expansion that we know of, but not worth a proof
			}
		case '~':
			prefix := b.String()
			if prefix == "" && first {
				w.expanded = true
				rest := value[i+1:]
				if (rest == "" || rest[0] == '/') && r.Home != "" {
					b.WriteString(r.Home)
				} else {
					w.computed = true
					b.WriteString(Unknown)
				}
				continue
			}
			if strings.HasSuffix(prefix, "=") || strings.HasSuffix(prefix, ":") {
				w.expanded = true
			}
		}
		b.WriteByte(c)
	}
}

// dblQuoted adds what stands between double quotes.
//
// A backslash there escapes only $, `, ", itself and the end of a line.
func (r *reader) dblQuoted(w *word, b *strings.Builder, parts []syntax.WordPart) {
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			v := part.Value
			for i := 0; i < len(v); i++ {
				if v[i] == '\\' && i+1 < len(v) && strings.IndexByte("$`\"\\\n", v[i+1]) >= 0 {
					i++
					if v[i] == '\n' {
						continue
					}
				}
				b.WriteByte(v[i])
			}
		case *syntax.ParamExp:
			r.param(w, b, part)
		default:
			w.computed = true
			b.WriteString(Unknown)
		}
	}
}

// param adds a parameter expansion: the two that are known, or Unknown.
func (r *reader) param(w *word, b *strings.Builder, p *syntax.ParamExp) {
	w.expanded, w.quoted = true, true
	plain := p.Param != nil && !p.Excl && !p.Length && !p.Width && p.Index == nil && p.Slice == nil && p.Repl == nil &&
		p.Names == 0 && p.Exp == nil
	if plain && p.Param.Value == "HOME" && r.Home != "" {
		b.WriteString(r.Home)
		return
	}
	if plain && p.Param.Value == "PWD" {
		b.WriteString(r.Dir)
		return
	}
	w.computed = true
	b.WriteString(Unknown)
}

// token returns a word of a text that was not parsed, with what ~ and $HOME at
// its start become.
func (r *reader) token(text string) word {
	w := word{text: text, source: text, quoted: true, glob: strings.ContainsAny(text, "*?["),
		computed: strings.Contains(text, "$")}
	for _, prefix := range []string{"~", "$HOME"} {
		if rest, ok := strings.CutPrefix(text, prefix); ok && (rest == "" || rest[0] == '/') && r.Home != "" {
			w.text, w.computed, w.expanded = r.Home+rest, false, true
		}
	}
	return w
}

// texts returns the texts of words.
func texts(words []word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.text
	}
	return out
}

// printNode returns a node as the shell would be given it, on one line where that
// is possible.
func printNode(n syntax.Node) string {
	var b strings.Builder
	if err := syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, n); err != nil {
		return ""
	}
	return strings.TrimSpace(b.String())
}

// show returns a simple command as a person is shown it: each known word
// quoted, so that its bounds are seen.
func show(words []word, redirects []*syntax.Redirect) string {
	parts := make([]string, 0, len(words)+len(redirects))
	for _, w := range words {
		if w.literal() && plainWord(w.text) {
			parts = append(parts, w.text)
			continue
		}
		quoted, err := syntax.Quote(w.text, syntax.LangBash)
		if !w.literal() || err != nil {
			quoted = w.source
		}
		parts = append(parts, quoted)
	}
	for _, r := range redirects {
		parts = append(parts, redirection(r))
	}
	return strings.Join(parts, " ")
}

// redirection returns a redirection as it is written.
func redirection(r *syntax.Redirect) string {
	text := r.Op.String()
	if r.N != nil {
		text = r.N.Value + text
	}
	if r.Word != nil {
		text += printNode(r.Word)
	}
	return text
}
