package chat

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// newParser returns what reads Markdown as models write it: CommonMark with
// tables, struck-out text and lists of tasks. It is used by one goroutine.
func newParser() parser.Parser {
	return goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList)).Parser()
}

// markdown renders Markdown for a terminal of so many columns, a line each,
// without a blank one at either end. HTML is text. It allocates a tree each time, so
// what goes on is cut before (tailOf).
// Everything in source is cleaned before it is parsed, so what the renderer adds are the
// only styles.
func markdown(p parser.Parser, source string, columns int) []string {
	data := []byte(clean(source))
	w := &writer{source: data}
	lines := w.blocks(p.Parse(text.NewReader(data)), columns)
	// A blank line in front of the next item is the screen's to put (spaced).
	for len(lines) > 0 && strings.TrimSpace(ansi.Strip(lines[len(lines)-1])) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// writer renders the tree of one text.
//
// It is made for one call of markdown.
type writer struct{ source []byte }

// blocks renders the children of a block, with a blank line between them. Within an entry
// of a tight list there is no blank line.
func (w *writer) blocks(parent ast.Node, columns int) (lines []string) {
	tight := false
	if list, ok := parent.Parent().(*ast.List); ok {
		tight = list.IsTight
	}
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if n.PreviousSibling() != nil && !tight {
			lines = append(lines, "")
		}
		lines = append(lines, w.block(n, columns)...)
	}
	return lines
}

// block renders one block. A kind that is not known is shown as its text.
func (w *writer) block(n ast.Node, columns int) []string {
	switch n := n.(type) {
	case *ast.Heading:
		return wrap(paint(heading, strings.Repeat("#", n.Level)+" "+w.inlines(n)), columns)
	case *ast.FencedCodeBlock:
		return w.code(n, string(n.Language(w.source)), columns)
	case *ast.CodeBlock:
		return w.code(n, "", columns)
	case *ast.Blockquote:
		return indent(w.blocks(n, columns-2), paint(dim, "│ "), paint(dim, "│ "))
	case *ast.List:
		return w.list(n, columns)
	case *ast.ThematicBreak:
		return []string{paint(dim, strings.Repeat("─", min(columns, 40)))}
	case *ast.HTMLBlock:
		html := w.literal(n)
		if n.HasClosure() { // its last line stands apart from the others
			html += string(n.ClosureLine.Value(w.source))
		}
		return wrap(strings.TrimRight(html, "\n"), columns)
	case *east.Table:
		return w.table(n, columns)
	}
	return wrap(w.inlines(n), columns)
}

// indent puts something before the first line and something before the others. It changes
// lines, and returns them.
func indent(lines []string, first, others string) []string {
	for i, line := range lines {
		if i == 0 {
			lines[i] = first + line
		} else {
			lines[i] = others + line
		}
	}
	return lines
}

// list renders a list; numbers go on from the first one's.
//
// A tight list has no blank lines between its entries, as in the source.
func (w *writer) list(n *ast.List, columns int) (lines []string) {
	at := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		if n.IsOrdered() {
			mark = fmt.Sprintf("%d. ", at)
			at++
		}
		if item.PreviousSibling() != nil && !n.IsTight {
			lines = append(lines, "")
		}
		width := ansi.StringWidth(mark)
		body := w.blocks(item, columns-width)
		if len(body) == 0 {
			body = []string{""}
		}
		lines = append(lines, indent(body, paint(accent, mark), strings.Repeat(" ", width))...)
	}
	return lines
}

// literal returns the lines of a block as they stand.
func (w *writer) literal(n ast.Node) string {
	var b bytes.Buffer
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		b.Write(segment.Value(w.source))
	}
	return b.String()
}

// code renders a block of code: its lines are not broken at words, so that what is
// copied is what was written.
func (w *writer) code(n ast.Node, language string, columns int) []string {
	code := strings.TrimRight(w.literal(n), "\n")
	var lines []string
	for _, line := range highlight(code, language) {
		for _, part := range strings.Split(ansi.Hardwrap(line, max(columns-2, 1), true), "\n") {
			lines = append(lines, "  "+part)
		}
	}
	return lines
}

// inlines renders what is inside a block of text.
func (w *writer) inlines(parent ast.Node) string {
	var b strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		b.WriteString(w.inline(n))
	}
	return b.String()
}

// inline renders one piece of a text.
//
// Every kind that is not known is its parts. HTML is shown as it is written.
func (w *writer) inline(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Text:
		// The text is wrapped anew, so a line end of the source is a blank.
		end := ""
		switch {
		case n.HardLineBreak():
			end = "\n"
		case n.SoftLineBreak():
			end = " "
		}
		return removeEscapes(string(n.Value(w.source)), n.IsRaw()) + end
	case *ast.String:
		return string(n.Value)
	case *ast.CodeSpan:
		return paint(accent, w.inlines(n))
	case *ast.Emphasis:
		if n.Level > 1 {
			return paint(bold, w.inlines(n))
		}
		return paint(italic, w.inlines(n))
	case *east.Strikethrough:
		return paint(strike, w.inlines(n))
	case *east.TaskCheckBox:
		if n.IsChecked {
			return paint(good, "✓ ")
		}
		return "☐ "
	case *ast.Link:
		return renderLink(w.inlines(n), string(n.Destination))
	case *ast.Image:
		return renderLink("image: "+w.inlines(n), string(n.Destination))
	case *ast.AutoLink:
		return paint(link, string(n.URL(w.source)))
	case *ast.RawHTML:
		var b strings.Builder
		for i := range n.Segments.Len() {
			segment := n.Segments.At(i)
			b.Write(segment.Value(w.source))
		}
		return b.String()
	}
	return w.inlines(n)
}

// renderLink shows where a link leads, also when its text says something else.
// A title may name another address than the one that it leads to.
func renderLink(title, target string) string {
	if ansi.Strip(title) == target {
		return paint(link, target)
	}
	return title + paint(dim, " (") + paint(link, target) + paint(dim, ")")
}

// removeEscapes takes the backslashes away that keep punctuation from being markup.
func removeEscapes(s string, raw bool) string {
	if raw || !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("\\`*_{}[]()#+-.!|<>~\"'$%&,/:;=?@^", s[i+1]) >= 0 {
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
