package language

// Where the cursor is: a field of the front-matter, or text.

import (
	"strings"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool"
)

// place is a cursor in the front-matter.
type place struct {
	// steps lead from the top of the front-matter to the cursor; there is one at least.
	steps []definition.Step
	// field is the path of the value or the key at hand, as definition.Field.Path has it.
	field string
	// list says that the value is an entry of the list that field is.
	list bool
	// key says that the cursor is on a key, or where one may be.
	key bool
}

// placeAt returns where an offset is in the front-matter; false elsewhere, and in the
// spaces before a text of several lines.
// The path of an entry ends without [], which list stands for.
func (f *File) placeAt(offset int) (place, bool) {
	steps := f.Tree.At(offset)
	if len(steps) == 0 || !steps[len(steps)-1].Holds(offset) {
		return place{}, false // in the spaces before a text, too
	}
	if line, ok := f.alone(offset); ok && steps[len(steps)-1].Index >= 0 {
		// A word in the first column is a key, whatever bracket is open before it.
		steps = []definition.Step{{Key: f.Text[line.Start:line.End], Index: -1, OnKey: true, Span: line}}
	}
	p := place{steps: steps, field: pathOf(steps), key: steps[len(steps)-1].OnKey}
	p.field, p.list = strings.CutSuffix(p.field, "[]")
	return p, true
}

// alone returns the line of an offset where it is one word.
// false is also a line that begins with a dash. The span is that of the line in any case.
func (f *File) alone(offset int) (definition.Span, bool) {
	line := definition.Span{Start: f.lineStart(offset), End: f.lineEnd(offset)}
	return line, line.Start < line.End && f.Text[line.Start] != '-' && wordEnd(f.Text, line.Start) == line.End
}

// pathOf writes steps as the table of fields writes paths.
func pathOf(steps []definition.Step) string {
	var b strings.Builder
	for _, s := range steps {
		if s.Index >= 0 {
			b.WriteString("[]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(s.Key)
	}
	return b.String()
}

// parent returns the path that the key at hand is under; "" at the top.
// It is not canonical: keys stand in it as the file spells them.
func (p place) parent() string { return pathOf(p.steps[:len(p.steps)-1]) }

// last returns the last step.
// A place of placeAt has one at least.
func (p place) last() definition.Step { return p.steps[len(p.steps)-1] }

// canonical returns the path of a field in its canonical spelling, or as it is
// where no field is known.
func canonical(path string) string {
	if f, ok := definition.FieldAt(path); ok {
		return f.Path
	}
	return path
}

// word returns the part of a span that is on the offset's line: what a completion
// may replace. It is without the spaces before a line that goes on, and without the
// quotes around it where the offset is between them; quote is then the one that opens
// the scalar, else 0. It is false in those spaces, and on a line that has nothing
// else: what was put there would change how the lines below are indented.
func (f *File) word(s definition.Span, offset int) (at definition.Span, quote byte, ok bool) {
	start, end := s.Start, s.End
	if start < offset && (f.Text[start] == '"' || f.Text[start] == '\'') {
		inner := end
		if inner > start+1 && f.Text[inner-1] == f.Text[start] {
			inner--
		}
		if offset <= inner {
			quote, start, end = f.Text[start], start+1, inner
		}
	}
	if line := f.lineStart(offset); start < line {
		last := f.lineEnd(offset)
		for start = line; start < last && (f.Text[start] == ' ' || f.Text[start] == '\t'); {
			start++
		}
		if offset < start || start == last {
			return definition.Span{Start: offset, End: offset}, 0, false
		}
	}
	end = min(end, f.lineEnd(offset))
	return definition.Span{Start: min(start, offset), End: max(end, offset)}, quote, true
}

// part narrows a word to the part between commas that holds the offset, without the spaces
// around it. Other tools write lists as one text with commas.
// The offset must lie in the span.
func (f *File) part(s definition.Span, offset int) definition.Span {
	start, end := s.Start, s.End
	if i := strings.LastIndexByte(f.Text[start:offset], ','); i >= 0 {
		start += i + 1
	}
	if i := strings.IndexByte(f.Text[offset:end], ','); i >= 0 {
		end = offset + i
	}
	for start < offset && f.Text[start] == ' ' {
		start++
	}
	for end > offset && f.Text[end-1] == ' ' {
		end--
	}
	return definition.Span{Start: start, End: end}
}

// lineStart returns where the line of an offset starts.
// Between \r and \n it is the offset itself.
func (f *File) lineStart(offset int) int {
	return strings.LastIndexAny(f.Text[:offset], "\r\n") + 1
}

// lineEnd returns where the line of an offset ends, without its line ending.
func (f *File) lineEnd(offset int) int {
	if i := strings.IndexAny(f.Text[offset:], "\r\n"); i >= 0 {
		return offset + i
	}
	return len(f.Text)
}

// siblings returns the other keys of the mapping that the key at hand is in. It goes by
// lines and brackets, since YAML that is being typed has no tree: up from the key to the
// line that is indented less, and down again to the next such line.
func (f *File) siblings(p place, offset int) map[string]bool {
	found := make(map[string]bool)
	at := p.last().Span
	start := min(at.Start, offset)
	line := f.lineStart(start)
	if open := openBracket(f.Text[line:start]); open >= 0 && f.Text[line+open] == '{' {
		f.addBracedKeys(line+open+1, at, found)
		return found
	}
	column := start - line
	from := line
	for from > f.Tree.Front.Start && !f.endsMapping(from, column, from != line) {
		from = f.lineStart(from - 1)
		// lineStart counts \r and \n as two line endings.
		if from > 0 && f.Text[from-1] == '\r' && f.Text[from] == '\n' {
			from--
			from = f.lineStart(from)
		}
	}
	for ; from < f.Tree.Front.End; from = f.nextLine(from) {
		if from > line && f.endsMapping(from, column, true) {
			break
		}
		// A dash above the key begins the same entry of a list, and one below begins the next.
		if name, dash, key := f.keyOf(from, column); key && from != line && (!dash || from < line) {
			found[name] = true
		}
	}
	return found
}

// nextLine returns where the line after the one that holds an offset starts.
// Behind the last line it is one more than the length of the text.
func (f *File) nextLine(offset int) int {
	end := f.lineEnd(offset)
	if end+1 < len(f.Text) && f.Text[end] == '\r' && f.Text[end+1] == '\n' {
		return end + 2
	}
	return end + 1
}

// endsMapping reports whether the line that starts at an offset is outside of the mapping
// whose keys are in a column: its text is left of it, or a dash is. other says that the
// line is not the key's own, where only a dash ends the mapping. Empty lines and comments
// end none.
func (f *File) endsMapping(line, column int, other bool) bool {
	text := f.Text[line:f.lineEnd(line)]
	trimmed := strings.TrimLeft(text, " ")
	if trimmed == "" || trimmed[0] == '#' {
		return false
	}
	indent := len(text) - len(trimmed)
	return indent < column && (other || trimmed[0] == '-')
}

// keyOf returns the key that begins in a column of the line that starts at an
// offset, and whether a dash is before it.
// It reads one line and no YAML: a value with a colon looks like a key.
func (f *File) keyOf(line, column int) (name string, dash, ok bool) {
	text := f.Text[line:f.lineEnd(line)]
	if len(text) <= column {
		return "", false, false
	}
	before := strings.TrimSpace(text[:column])
	if before != "" && strings.Trim(before, "- ") != "" {
		return "", false, false
	}
	name, _, ok = strings.Cut(text[column:], ":")
	name = strings.Trim(strings.TrimSpace(name), `"'`)
	return name, before != "", ok && name != "" && text[column] != ' ' && text[column] != '#' && text[column] != '-'
}

// addBracedKeys adds the keys of the mapping in braces that begins at from, but for the
// one at hand. It ends with the brace, or with the line where that is not typed yet.
func (f *File) addBracedKeys(from int, at definition.Span, found map[string]bool) {
	depth, word := 0, from
	for i := from; i < f.Tree.Front.End; i++ {
		switch f.Text[i] {
		case '\n', '\r':
			return
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth < 0 {
				return
			}
		case ',':
			if depth == 0 {
				word = i + 1
			}
		case ':':
			if depth == 0 && word <= i && !(at.Start >= word && at.Start <= i) {
				found[strings.Trim(strings.TrimSpace(f.Text[word:i]), `"'`)] = true
				// No other colon of this entry ends a key.
				word = len(f.Text)
			}
		}
	}
}

// openBracket returns where the innermost bracket is that a text leaves open, or
// -1.
// Brackets in quotes count as well.
func openBracket(s string) int {
	depth := 0
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case ']', '}':
			depth++
		case '[', '{':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}

// bracketed reports whether an offset is inside brackets that its line opens.
// Brackets of lines above do not count.
func (f *File) bracketed(offset int) bool {
	return openBracket(f.Text[f.lineStart(offset):offset]) >= 0
}

// openMark returns the name that an offset is in or behind, without the mark before it, as
// @; false where no mark stands there, or something that cannot be in a name lies between.
// The span goes on to the end of the word behind the offset.
func (f *File) openMark(offset int, mark string) (definition.Span, bool) {
	start := offset
	for start > 0 && nameByte(f.Text[start-1]) {
		start--
	}
	if !strings.HasSuffix(f.Text[:start], mark) {
		return definition.Span{}, false
	}
	return definition.Span{Start: start, End: wordEnd(f.Text, offset)}, true
}

// inBody reports whether an offset is in the prompt below the front-matter.
// A file without front-matter has no prompt.
func (f *File) inBody(offset int) bool {
	return f.Tree.Body.Start > 0 && offset >= f.Tree.Body.Start
}

// bareColor returns the colour that is written without quotes on the line of an
// offset, which YAML takes for a comment: from its # up to the line's end or to a
// space.
func (f *File) bareColor(offset int) (definition.Span, bool) {
	if offset < f.Tree.Front.Start || offset > f.Tree.Front.End {
		return definition.Span{}, false
	}
	start := f.lineStart(offset)
	rest, ok := strings.CutPrefix(f.Text[start:f.lineEnd(offset)], "color:")
	at := start + len("color:") + len(rest) - len(strings.TrimLeft(rest, " "))
	if !ok || !strings.HasPrefix(f.Text[at:], "#") || offset < at {
		return definition.Span{}, false
	}
	end := at + 1
	for end < len(f.Text) && nameByte(f.Text[end]) {
		end++
	}
	return definition.Span{Start: at, End: end}, offset <= end
}

// before returns the character before an offset, or 0.
func (f *File) before(offset int) rune {
	if offset <= 0 {
		return 0
	}
	c, _ := utf8.DecodeLastRuneInString(f.Text[:offset])
	return c
}

// escape makes a text of a file plain in Markdown: nothing in it is a link, an
// image or markup, or hidden. It is one line.
func escape(s string) string { return tool.MarkdownText(s) }
