package definition

// Where what the YAML parser found stands in the file.

import (
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"
)

// file returns the offset in the file of an offset in the text.
// s.at has a place for each byte of a repaired text. In any other text the lines are
// those of the file, with shorter line endings.
func (s *source) file(off int) int {
	if s.at != nil {
		return s.at[off]
	}
	line := searchLine(s.lines, off)
	return s.starts[line] + off - s.lines[line]
}

// toFile gives a tree of the text its places in the file.
// It changes the tree, and must be called once.
func (s *source) toFile(n *node) {
	n.start, n.end = s.file(n.start), s.file(n.end)
	for i := range n.keys {
		n.keys[i].start, n.keys[i].end = s.file(n.keys[i].start), s.file(n.keys[i].end)
	}
	for i := range n.items {
		s.toFile(&n.items[i])
	}
}

// searchLine returns the index of the line that holds off.
//
// lines is ascending and not empty.
func searchLine(lines []int, off int) int {
	low, high := 0, len(lines)
	for high-low > 1 {
		mid := (low + high) / 2
		if lines[mid] <= off {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// offset returns where a line and a column of the parser are in the text: the
// first character there that is no space, since its columns of what follows a
// tab are off by one.
func (s *source) offset(at *token.Position) int {
	off := s.columnAt(at)
	for off < len(s.text) && (s.text[off] == ' ' || s.text[off] == '\t' || s.text[off] == '\n') {
		off++
	}
	return min(off, len(s.text))
}

// columnAt returns where a line and a column of the parser are in the text: at
// most the start of the next line.
// It goes on from the last place that was asked for, since the parser's places
// mostly come in order.
// Without that a line as long as the file would be counted from its start for each token.
func (s *source) columnAt(at *token.Position) int {
	line, column := s.lineOf(at), max(at.Column-1, 0)
	end := len(s.text)
	if line+1 < len(s.lines) {
		end = s.lines[line+1]
	}
	// From the start of the line where that is nearer than the place before.
	if s.line != line || column < s.column/2 {
		s.line, s.column, s.place = line, 0, s.lines[line]
	}
	for s.column > column {
		_, size := utf8.DecodeLastRuneInString(s.text[:s.place])
		s.place -= size
		s.column--
	}
	for s.column < column && s.place < end {
		_, size := utf8.DecodeRuneInString(s.text[s.place:end])
		s.place += size
		s.column++
	}
	if s.column < column {
		return end
	}
	return s.place
}

// lineOf returns the line of a place of the parser, from 0.
// A line that the text does not have is its nearest one.
func (s *source) lineOf(at *token.Position) int { return min(max(at.Line-1, 0), len(s.lines)-1) }

// find is offset for a scalar's token: where the parser's column is wrong, as it
// is for some values before spaces at a line's end, the nearest place of that
// line where the scalar stands.
func (s *source) find(tk *token.Token) int {
	off := s.offset(tk.Position)
	var head string
	switch tk.Type {
	case token.SingleQuoteType:
		head = "'"
	case token.DoubleQuoteType:
		head = `"`
	default:
		head, _, _ = strings.Cut(tk.Value, " ")
		head, _, _ = strings.Cut(head, "\n")
	}
	n := s.lineOf(tk.Position)
	line, end := s.lines[n], len(s.text)
	if n+1 < len(s.lines) {
		end = s.lines[n+1] - 1
	}
	// First the whole of a plain text, at the parser's column or off by the blanks at the
	// line's end.
	if head != "'" && head != `"` {
		if at, ok := plainAt(s.text[line:end], tk.Value, min(s.columnAt(tk.Position), end)-line); ok {
			return line + at
		}
	}
	// Then all words of a text that does not stand at that place.
	if head != tk.Value && head != "'" && head != `"` && !strings.HasPrefix(s.text[off:], tk.Value) {
		if i := strings.LastIndex(s.text[line:end], tk.Value); i >= 0 {
			return line + i
		}
	}
	if strings.HasPrefix(s.text[off:], head) {
		return off
	}
	if near := s.text[off:min(max(off, end), off+2*len(tk.Value))]; tk.Value != "" &&
		strings.HasPrefix(strings.ReplaceAll(near, "\t", ""), tk.Value) {
		return off // the parser leaves the tabs of a key out
	}
	// Last, its first word: the nearest before the parser's column, else the first in the line.
	if i := strings.LastIndex(s.text[line:min(end, max(line, off+len(head)))], head); i >= 0 {
		return line + i
	}
	if i := strings.Index(s.text[line:end], head); i >= 0 {
		return line + i
	}
	return off
}

// plainAt returns where a plain scalar begins in its line. The parser's column,
// at, is right, or moved right by as many characters as there are spaces at the
// line's end: then the scalar ends where these begin.
func plainAt(line, value string, at int) (int, bool) {
	if value == "" || strings.ContainsAny(value, "\n") {
		return 0, false
	}
	if at < len(line) && strings.HasPrefix(line[at:], value) {
		return at, true
	}
	text := strings.TrimRight(line, " \t\r")
	if begin := len(text) - len(value); begin >= 0 && begin < at && at-begin == len(line)-len(text) &&
		text[begin:] == value {
		return begin, true
	}
	return 0, false
}
