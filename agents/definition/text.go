package definition

// Offsets, lines and positions of a file's text.

import (
	"net/url"
	"sort"
	"strings"
)

// text is a file's text with its line starts, found as far as they were asked
// for.
//
// It is used by one goroutine: position changes lines and the last answer. Index makes a
// copy for each question.
type text struct {
	src   string
	lines []int // offsets of line starts, all up to the last of them

	// The last offset that was asked for, with its line and column: questions
	// mostly go on in the same line, which may be as long as the file.
	off, line int
	units     uint32
}

// lineStarts returns the offsets at which the lines of src start. A line ends
// with \n, \r\n or \r, as in LSP.
func lineStarts(src string) []int {
	starts := make([]int, 1, 1+strings.Count(src, "\n"))
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '\r':
			if i+1 < len(src) && src[i+1] == '\n' {
				i++
			}
			starts = append(starts, i+1)
		case '\n':
			starts = append(starts, i+1)
		}
	}
	return starts
}

// position returns the place of a byte offset; one outside the text is moved to
// its nearest end. A byte that is no UTF-8 counts as one unit.
//
// Characters are counted in UTF-16, as LSP has it unless it is agreed otherwise.
func (t *text) position(off int) Position {
	off = max(0, min(off, len(t.src)))
	if len(t.lines) == 0 {
		t.lines = append(t.lines, 0)
	}
	// Lines are found as far as they are asked for: a file without findings needs none.
	for last := t.lines[len(t.lines)-1]; last <= off; {
		end := lineEnd(t.src, last)
		if end == len(t.src) {
			break
		}
		last = nextLine(t.src, end)
		t.lines = append(t.lines, last)
	}
	line := sort.SearchInts(t.lines, off+1) - 1
	from, units := t.lines[line], uint32(0)
	if line == t.line && t.off >= from && t.off <= off {
		from, units = t.off, t.units
	}
	for _, r := range t.src[from:off] {
		units++
		if r > 0xFFFF {
			units++
		}
	}
	t.off, t.line, t.units = off, line, units
	return Position{Line: uint32(line), Character: units}
}

// span returns the range of the bytes from start up to end.
// An end before the start counts as the start.
func (t *text) span(start, end int) Range {
	return Range{Start: t.position(start), End: t.position(max(start, end))}
}

// lineEnd returns the offset at which the line that holds off ends, without its
// line ending.
func lineEnd(src string, off int) int {
	end := len(src)
	if i := strings.IndexByte(src[off:], '\n'); i >= 0 {
		end = off + i
	}
	if i := strings.IndexByte(src[off:end], '\r'); i >= 0 {
		end = off + i
	}
	return end
}

// nextLine returns the offset at which the line after the one that ends at end
// starts.
// It is len(src) where that was the last line.
func nextLine(src string, end int) int {
	switch {
	case end >= len(src):
		return len(src)
	case src[end] == '\r' && end+1 < len(src) && src[end+1] == '\n':
		return end + 2
	}
	return end + 1
}

// FileURI returns the file URI of an absolute path, for [Problem.URI] where the
// caller has no better one.
func FileURI(path string) string {
	path = strings.ReplaceAll(path, "\\", "/")
	if path == "" {
		return ""
	}
	if path[0] != '/' {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
