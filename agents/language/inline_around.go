package language

// What a line of a document is about, without knowing its language.

import "strings"

// How much is around a line.
const (
	aroundWhole = 200 // lines of a block that is taken whole
	aroundPart  = 40  // lines above and below, where none is
)

// Around returns the first and the last line, from 0, of what surrounds a line of
// a document: the largest block of it that has at most 200 lines, else the 40
// lines above and below.
//
// In text, blocks are the sections that headings begin, and the whole. Elsewhere
// they are what indentation says: a line, all that is indented more below it, and
// the line that closes it. A line in the first column is about the block that
// begins below it.
// A line outside of the document is its nearest one.
func Around(languageID, text string, line int) (first, last int) {
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n") // as LSP counts them
	if n := len(lines); n > 1 && lines[n-1] == "" {
		lines = lines[:n-1]
	}
	line = min(max(line, 0), len(lines)-1)
	b := blocks{lines}
	first, last = line, line
	// grow takes in the lines of a block, and reports false for one that is too large.
	grow := func(from, to int) bool {
		if to-from >= aroundWhole {
			return false
		}
		first, last = min(first, from), max(last, to)
		return true
	}
	found := false
	switch {
	case styleOf(languageID).prose:
		found = b.section(line, grow)
	default:
		found = b.indentation(line, grow)
	}
	if !found {
		return max(0, line-aroundPart), min(len(lines)-1, line+aroundPart)
	}
	return first, last
}

// blocks are the lines of a document.
type blocks struct{ lines []string }

// section grows by the sections of a text, from the innermost out; it reports whether one
// was small enough. A line # in a block of code is taken for a heading, which makes the
// section smaller.
func (b blocks) section(line int, grow func(from, to int) bool) bool {
	level := func(i int) int {
		s := strings.TrimLeft(b.lines[i], "#")
		if n := len(b.lines[i]) - len(s); n >= 1 && n <= 6 && (s == "" || s[0] == ' ') {
			return n
		}
		return 0
	}
	within, found := 7, false
	for i := line; i >= 0; i-- {
		n := level(i)
		if n == 0 || n >= within {
			continue
		}
		within = n
		to := i + 1
		for to < len(b.lines) && (level(to) == 0 || level(to) > n) {
			to++
		}
		if !grow(i, to-1) {
			return found
		}
		found = true
	}
	return grow(0, len(b.lines)-1) || found
}

// indentation grows by blocks, from the innermost out; it reports whether one was
// small enough.
// grow reports whether a block still fits, and the first that does not ends it.
// Remarks right above a block belong to it.
func (b blocks) indentation(line int, grow func(from, to int) bool) bool {
	depth := b.depth(line)
	found := false
	if depth == 0 {
		from := line
		for from > 0 && !b.blank(from-1) && b.depth(from-1) == 0 && b.remark(from-1) {
			from--
		}
		at := line + 1
		for at < len(b.lines) && (b.blank(at) || (b.depth(at) == 0 && b.remark(at))) {
			at++
		}
		if at == len(b.lines) {
			return grow(from, len(b.lines)-1)
		}
		return grow(from, b.end(at))
	}
	for i := line - 1; i >= 0 && depth > 0; i-- {
		if b.blank(i) || b.depth(i) >= depth {
			continue
		}
		if b.closes(i) { // what is opened above it is the same block
			depth = b.depth(i) + 1
			continue
		}
		depth = b.depth(i)
		from := i
		for from > 0 && !b.blank(from-1) && b.depth(from-1) == depth && b.remark(from-1) {
			from--
		}
		if !grow(from, b.end(i)) {
			return found
		}
		found = true
	}
	return found
}

// end returns the last line of the block that a line begins: what is indented
// more below it, and what closes it; where nothing is, the lines up to an empty
// one.
func (b blocks) end(at int) int {
	depth, last := b.depth(at), at
	head := true // the lines before any that is indented
	for i := at + 1; i < len(b.lines); i++ {
		switch {
		case b.blank(i):
			if head && last > at {
				return last
			}
			continue
		case b.depth(i) > depth:
			head = false
		case b.depth(i) < depth, !head && !b.closes(i):
			return last
		}
		last = i
	}
	return last
}

// blank reports whether a line has nothing but blanks.
func (b blocks) blank(i int) bool { return strings.TrimSpace(b.lines[i]) == "" }

// depth is how far a line is indented; a tab counts as far as eight spaces.
func (b blocks) depth(i int) int {
	n := 0
	for _, c := range b.lines[i] {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 8 - n%8
		default:
			return n
		}
	}
	return n
}

// closes reports whether a line ends a block that began above it, or goes on with
// it.
// It judges by the first word and knows no language. A wrong guess makes the block larger
// or smaller, and nothing else.
func (b blocks) closes(i int) bool {
	s := strings.TrimSpace(b.lines[i])
	if s == "" {
		return false
	}
	if strings.ContainsRune("})]{", rune(s[0])) || strings.HasPrefix(s, "</") {
		return true
	}
	word, _, _ := strings.Cut(s, " ")
	switch strings.TrimRight(word, ":;({") {
	case "end", "else", "elif", "elsif", "elseif", "except", "catch", "finally", "rescue", "ensure", "fi", "done",
		"esac", "begin", "then", "do":
		return true
	}
	return false
}

// remark reports whether a line looks like a comment, or what is written before
// the thing that it says something of.
// @ stands for decorators and annotations.
func (b blocks) remark(i int) bool {
	s := strings.TrimSpace(b.lines[i])
	for _, mark := range []string{"//", "#", "--", ";", "/*", "*", "<!--", "@", "%", "\""} {
		if strings.HasPrefix(s, mark) {
			return true
		}
	}
	return false
}
