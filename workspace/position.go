package workspace

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/agentls/agentls/internal/fault"
)

// Encoding is the unit in which a client counts the characters of a line.
// The zero Encoding is UTF-16, which is what LSP means when nothing was agreed.
type Encoding uint8

// The position encodings of LSP 3.17.
const (
	UTF16 Encoding = iota // "é" is 1, "😀" is 2
	UTF8                  // bytes: "é" is 2, "😀" is 4
	UTF32                 // code points: both are 1
)

// String returns the encoding's name in the protocol: "utf-16".
func (e Encoding) String() string {
	switch e {
	case UTF8:
		return "utf-8"
	case UTF32:
		return "utf-32"
	}
	return "utf-16"
}

// Negotiate returns the first of the client's encodings that is utf-8, utf-16
// or utf-32, and UTF16 when none is (spec 2.1).
func Negotiate(offered []string) Encoding {
	for _, name := range offered {
		for _, e := range []Encoding{UTF8, UTF16, UTF32} {
			if name == e.String() {
				return e
			}
		}
	}
	return UTF16
}

// Position is a place in a text: a line and a character in that line, both
// counted from 0, the character in the units of an [Encoding].
type Position struct {
	Line      uint32
	Character uint32
}

// Range is the text from Start up to but without End.
type Range struct {
	Start, End Position
}

// Offset returns where p is in text, in bytes.
//
// Lines end with \n, \r\n or \r. A character past the end of its line means the
// end of the line, before its line end; one that falls inside a character (a
// surrogate pair, a UTF-8 sequence) means that character's beginning. The line
// after the last is the end of the text, as clients that delete the last line
// send it. The error is [fault.Stale] if there is no such line: the client and
// we do not have the same text.
// It reads the text up to the line; for many positions in one text see [Lines].
func Offset(text string, p Position, e Encoding) (int, error) {
	s := scanLines(text)
	return s.offset(p, e)
}

// PositionAt returns the position of an offset in text, in bytes from 0 to
// len(text). An offset inside a character means the character's beginning, one
// inside a line end the end of the line. The error is [fault.Invalid] for an
// offset that is not in the text.
func PositionAt(text string, offset int, e Encoding) (Position, error) {
	if offset < 0 || offset > len(text) {
		return Position{}, outside(offset, len(text))
	}
	s := scanLines(text)
	start := 0
	for line := uint32(0); ; line++ {
		end, next, ok := s.next()
		if !ok || offset < next {
			return Position{line, columnAt(text[start:end], min(offset, end)-start, e)}, nil
		}
		start = next
	}
}

// Lines is where the lines of one text begin, for many conversions in the same
// text. It is read-only, and keeps the text.
type Lines struct {
	text   string
	starts []int // of each line, ascending; the first is 0
}

// NewLines returns the lines of text. It reads all of it once.
func NewLines(text string) *Lines {
	l := &Lines{text: text, starts: []int{0}}
	for s := scanLines(text); ; {
		_, next, ok := s.next()
		if !ok {
			return l
		}
		l.starts = append(l.starts, next)
	}
}

// Count returns how many lines there are: one more than there are line ends.
func (l *Lines) Count() int { return len(l.starts) }

// Line returns the text of line n, from 0, without its line end; "" when there
// is no such line.
func (l *Lines) Line(n int) string {
	if n < 0 || n >= len(l.starts) {
		return ""
	}
	start, end := l.span(n)
	return l.text[start:end]
}

// Offset is [Offset] in this text.
func (l *Lines) Offset(p Position, e Encoding) (int, error) {
	if uint64(p.Line) >= uint64(len(l.starts)) {
		return afterLast(l.text, p.Line, uint32(len(l.starts)))
	}
	start, end := l.span(int(p.Line))
	return start + columnOffset(l.text[start:end], p.Character, e), nil
}

// Position is [PositionAt] in this text.
func (l *Lines) Position(offset int, e Encoding) (Position, error) {
	if offset < 0 || offset > len(l.text) {
		return Position{}, outside(offset, len(l.text))
	}
	// The last line that begins at the offset or before it.
	line := sort.SearchInts(l.starts, offset+1) - 1
	start, end := l.span(line)
	return Position{uint32(line), columnAt(l.text[start:end], min(offset, end)-start, e)}, nil
}

// span returns where line n begins and where it ends before its line end.
func (l *Lines) span(n int) (start, end int) {
	start, end = l.starts[n], len(l.text)
	if n+1 < len(l.starts) {
		end = l.starts[n+1] - 1
		if end > start && l.text[end] == '\n' && l.text[end-1] == '\r' {
			end--
		}
	}
	return start, end
}

// afterLast is the offset of a line that is not there, in a text of count lines.
func afterLast(text string, line, count uint32) (int, error) {
	if line == count {
		return len(text), nil
	}
	return 0, fault.New(fault.Stale, "workspace.offset",
		"there is no line %d in a text of %d lines; the editor and agentls do not have the same text, open the file again", uint64(line)+1, count)
}

// outside is the error of an offset that is not in the text.
func outside(offset, length int) error {
	return fault.New(fault.Invalid, "workspace.position", "offset %d is outside a text of %d bytes", offset, length)
}

// lineScanner finds the ends of lines from the beginning of a text on. It looks
// at each byte a constant number of times, whichever line ends there are.
type lineScanner struct {
	text   string
	at     int // where the current line begins
	line   uint32
	lf, cr int // the first \n and the first \r at or after at, len(text) if there is none
}

// scanLines returns a scanner at the beginning of text.
// -1 lies before any line, so next searches for both line ends.
func scanLines(text string) lineScanner { return lineScanner{text: text, lf: -1, cr: -1} }

// lineStarts are where the lines of a text begin that is edited: of the first lines, as many
// as are known. Editors send many changes from the bottom up or from the top down; either way
// each line is looked for about once, and not for each change from the beginning.
type lineStarts struct {
	at []int // has 0, of the first line, at least
	cr bool  // the text may have a \r
}

// scan returns a scanner of text at a line; at the last line where there are fewer.
func (l *lineStarts) scan(text string, line uint32) lineScanner {
	n := int(min(int64(line), int64(len(l.at)-1)))
	s := lineScanner{text: text, at: l.at[n], line: uint32(n), lf: -1, cr: -1}
	if !l.cr {
		s.cr = len(text)
	}
	for s.line < line {
		if _, _, ok := s.next(); !ok {
			break
		}
		l.at = append(l.at, s.at)
	}
	return s
}

// forget drops what an edit that begins in a line may have changed: the beginning of that
// line too, since a \n may have come behind the \r before it.
func (l *lineStarts) forget(line uint32) {
	n := int(min(int64(line), int64(len(l.at)-1)))
	l.at = l.at[:max(1, n)]
}

// next returns where the current line ends, before its line end, and where the
// next one begins; ok is false and next is the end of the text for the last line.
func (s *lineScanner) next() (end, next int, ok bool) {
	if s.lf < s.at {
		s.lf = s.find('\n')
	}
	if s.cr < s.at {
		s.cr = s.find('\r')
	}
	end = min(s.lf, s.cr)
	if end == len(s.text) {
		return end, end, false
	}
	next = end + 1
	// If lf is the length of the text there is no \n.
	if end == s.cr && next == s.lf && next < len(s.text) {
		next++
	}
	s.at = next
	s.line++
	return end, next, true
}

// find returns the offset of the next c, or the length of the text if there is none.
func (s *lineScanner) find(c byte) int {
	if i := strings.IndexByte(s.text[s.at:], c); i >= 0 {
		return s.at + i
	}
	return len(s.text)
}

// offset returns where p is, which is not in a line before the current one.
// Afterwards the scanner is in the line of p, so a p in the same line may follow. The
// error is that of afterLast.
func (s *lineScanner) offset(p Position, e Encoding) (int, error) {
	for s.line < p.Line {
		if _, _, ok := s.next(); !ok {
			return afterLast(s.text, p.Line, s.line+1)
		}
	}
	start := s.at
	// Advance a copy: the next position may be in the same line.
	ahead := *s
	end, _, _ := ahead.next()
	return start + columnOffset(s.text[start:end], p.Character, e), nil
}

// columnOffset returns the byte in line at which character units is.
// Behind the end of the line it is the end; within a character, where that
// begins.
func columnOffset(line string, units uint32, e Encoding) int {
	want := uint64(units)
	if e == UTF8 {
		if want >= uint64(len(line)) {
			return len(line)
		}
		return runeStart(line, int(want))
	}
	at := 0
	for seen := uint64(0); at < len(line) && seen < want; {
		if line[at] < utf8.RuneSelf {
			at++
			seen++
			continue
		}
		r, size := utf8.DecodeRuneInString(line[at:])
		seen += width(r, e)
		if seen > want {
			break
		}
		at += size
	}
	return at
}

// columnAt returns how many units of e lie before the byte offset in line.
// An offset within a character counts as the character's beginning.
func columnAt(line string, offset int, e Encoding) uint32 {
	offset = runeStart(line, offset)
	if e == UTF8 {
		return uint32(offset)
	}
	units := uint64(0)
	for at := 0; at < offset; {
		if line[at] < utf8.RuneSelf {
			at++
			units++
			continue
		}
		r, size := utf8.DecodeRuneInString(line[at:])
		units += width(r, e)
		at += size
	}
	return uint32(units)
}

// runeStart returns the beginning of the character that the byte at lies in.
// A byte that belongs to no valid character is one of its own.
func runeStart(line string, at int) int {
	for back := 0; back < utf8.UTFMax && back <= at && at < len(line); back++ {
		if utf8.RuneStart(line[at-back]) {
			if _, size := utf8.DecodeRuneInString(line[at-back:]); size > back {
				return at - back
			}
			break
		}
	}
	return at
}

// width returns how many units of e, which is not UTF8, a character takes.
func width(r rune, e Encoding) uint64 {
	if e == UTF16 && r > 0xFFFF {
		return 2
	}
	return 1
}
