package definition

// Front-matter that strict YAML refuses and whose meaning is plain
// (agent/yaml-repaired): public agent files have unquoted colons, tabs and
// typographic quotes. The repaired text is parsed; each of its bytes knows its
// place in the file.
//
// Repaired are tabs in the indentation, a text that needs quotes and has none, quotes
// inside of quotes, typographic quotes, and a text of several lines without quotes or |.
// Not repaired is what may be a key that somebody is typing, since it would become a part
// of the text above it and be gone (TestUnfinishedIsNotRepaired).

import (
	"strings"
)

// repairer writes the repaired text.
// out is the text so far and at the place of each of its bytes in src; both grow together,
// by put alone.
type repairer struct {
	src string
	to  int // end of the front-matter in src
	out []byte
	at  []int
	// What was repaired, for the findings.
	changes []finding
}

// repair returns src[from:to] with what can be repaired, and what was; nil if
// nothing can. Whether it parses now is the caller's to see.
// A repair is tried only after the strict reader has refused the text, so no file that is
// valid is read in another way. TestRepairedMeaning holds what comes out.
func repair(src string, from, to int) (*source, []finding) {
	m := &repairer{src: src, to: to}
	for at := from; at < to; {
		at = m.line(at)
	}
	if len(m.changes) == 0 {
		return nil, nil
	}
	// One more, for the end of the text.
	m.at = append(m.at, to)
	text := string(m.out)
	return &source{text: text, lines: lineStarts(text), at: m.at}, m.changes
}

// copy writes a part of the file as it is.
func (m *repairer) copy(from, to int) {
	for ; from < to; from++ {
		m.put(from, m.src[from])
	}
}

// put writes a byte that stands for the one at off.
func (m *repairer) put(off int, c byte) {
	m.out, m.at = append(m.out, c), append(m.at, off)
}

// puts writes a text, all of which stands for the byte at off.
func (m *repairer) puts(off int, s string) {
	for i := range len(s) {
		m.put(off, s[i])
	}
}

// newline ends a line and returns where the next starts.
func (m *repairer) newline(end int) int {
	m.put(min(end, m.to), '\n')
	return nextLine(m.src, end)
}

// change notes what was repaired, and how to write it.
func (m *repairer) change(from, to int, message string) {
	m.changes = append(m.changes, finding{"agent/yaml-repaired", from, to, message})
}

// end returns where the line that holds off ends.
func (m *repairer) end(off int) int { return min(lineEnd(m.src, off), m.to) }

// line repairs the line that starts at at, with those that belong to its value,
// and returns where the next starts.
// The text that comes out has a mark for every byte of where it was, so that
// places found in it can be told in the file. It always goes on by a line at
// least.
func (m *repairer) line(at int) int {
	end := m.end(at)
	i := at
	for i < end && (m.src[i] == ' ' || m.src[i] == '\t') {
		if m.src[i] == '\t' {
			m.puts(i, "  ")
			m.change(i, i+1, "YAML does not allow a tab here; write spaces.")
		} else {
			m.put(i, ' ')
		}
		i++
	}
	if i == end || m.src[i] == '#' {
		m.copy(i, end)
		return m.newline(end)
	}
	for strings.HasPrefix(m.src[i:end], "- ") {
		m.copy(i, i+2)
		i += 2
	}
	colon := keyColon(m.src[i:end])
	if colon < 0 {
		m.copy(i, end)
		return m.newline(end)
	}
	m.copy(i, i+colon+1)
	value := i + colon + 1
	for value < end && (m.src[value] == ' ' || m.src[value] == '\t') {
		value++
	}
	if value == end {
		return m.newline(end)
	}
	// One space stands for all blanks behind the colon.
	m.put(value-1, ' ')
	return m.value(value, end, i-at, i == at)
}

// keyColon returns where the colon after a simple key is, or -1.
// A key is letters, digits, _, - and dots, and the colon is followed by a blank or the
// line's end.
func keyColon(s string) int {
	i := 0
	for i < len(s) {
		c := s[i]
		if (c|0x20 >= 'a' && c|0x20 <= 'z') || c == '_' || (i > 0 && (c == '-' || c == '.' || (c >= '0' && c <= '9'))) {
			i++
			continue
		}
		break
	}
	if i == 0 || i == len(s) || s[i] != ':' || (i+1 < len(s) && s[i+1] != ' ' && s[i+1] != '\t') {
		return -1
	}
	return i
}

// value repairs the value src[from:end] of a key in the given column, and what
// follows of it in further lines.
//
// top is whether the key stands in the first column. It returns where the next line
// starts.
func (m *repairer) value(from, end, column int, top bool) int {
	trimmed := from + len(strings.TrimRight(m.src[from:end], " \t"))
	v := m.src[from:trimmed]
	switch v[0] {
	case '|', '>':
		// Nothing but the signs of a header may follow | and >.
		if strings.Trim(strings.SplitN(v[1:], " ", 2)[0], "+-123456789") == "" {
			return m.literal(from, end, column)
		}
		return m.requote(from, trimmed, end, "A text that begins with | or > needs quotes.")
	case '"', '\'':
		return m.repairQuoted(from, trimmed, end)
	case '[', '{':
		// A list or an object with text behind it was meant as a text.
		if close := closing(v); close > 0 && close+1 < len(v) &&
			!strings.HasPrefix(strings.TrimLeft(v[close+1:], " \t"), "#") {
			return m.requote(from, trimmed, end, "A text that begins with a bracket needs quotes.")
		}
	case '@', '`', '%', ',', ']', '}':
		return m.requote(from, trimmed, end, "A text that begins with this character needs quotes.")
	case '*':
		// The name of an alias follows the star directly.
		if strings.HasPrefix(v, "**") || strings.HasPrefix(v, "* ") {
			return m.requote(from, trimmed, end, "A text that begins with * needs quotes.")
		}
	case '&', '!':
	default:
		return m.plain(from, trimmed, end, top)
	}
	m.copy(from, end)
	return m.newline(end)
}

// literal copies a text after | or >.
//
// The text ends before the first line that is not indented deeper than the key.
func (m *repairer) literal(from, end, column int) int {
	m.copy(from, end)
	next := m.newline(end)
	for next < m.to {
		stop := m.end(next)
		line := m.src[next:stop]
		if content := strings.TrimLeft(line, " "); content != "" && len(line)-len(content) <= column {
			break
		}
		m.copy(next, stop)
		next = m.newline(stop)
	}
	return next
}

// closing returns where the bracket that opens v closes, or -1.
//
// Brackets in quotes do not count. An apostrophe inside of a word begins no quote.
func closing(v string) int {
	depth, quote := 0, byte(0)
	for i := range len(v) {
		switch c := v[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && i > 0 && (v[i-1] == ' ' || v[i-1] == '[' || v[i-1] == '{' || v[i-1] == ','):
			quote = c
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// repairQuoted repairs a value that begins with a quote.
//
// Valid quotes are copied, over several lines too. Quotes inside of quotes are escaped
// where the text ends with the quote that it begins with; else all of it is put into
// quotes.
func (m *repairer) repairQuoted(from, trimmed, end int) int {
	v := m.src[from:trimmed]
	close := quoteEnd(v)
	if close > 0 && (close == len(v) || strings.HasPrefix(strings.TrimLeft(v[close:], " \t"), "#")) {
		m.copy(from, end)
		return m.newline(end)
	}
	if len(v) > 1 && v[len(v)-1] == v[0] && close != len(v) {
		if close > 0 {
			// Quotes inside quotes.
			m.change(from, trimmed, "A quote inside a quoted text must be written \\\" or ''.")
			m.puts(from, `"`)
			m.escape(from+1, trimmed-1, v[0] == '"')
			m.puts(trimmed, `"`)
			return m.newline(end)
		}
	}
	if close < 0 {
		if stop := quoteEnd(m.src[from:m.to]); stop > 0 {
			// A quoted text of several lines.
			m.copy(from, from+stop)
			last := m.end(from + stop)
			m.copy(from+stop, last)
			return m.newline(last)
		}
	}
	return m.requote(from, trimmed, end, "A text that begins with a quote needs quotes around all of it.")
}

// quoteEnd returns the length of the quoted text that s begins with, or -1.
// The length counts both quotes.
func quoteEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[0] == '"' && s[i] == '\\':
			i++
		case s[i] == s[0] && s[0] == '\'' && i+1 < len(s) && s[i+1] == '\'':
			i++
		case s[i] == s[0]:
			return i + 1
		}
	}
	return -1
}

// plain repairs a value without quotes. At the top level, lines that follow and
// are no field of their own belong to it.
// trimmed is the end without blanks, end that of the line. It puts in quotes what
// YAML would not read as a text; a value that it reads as it is meant stays as it
// is.
func (m *repairer) plain(from, trimmed, end int, top bool) int {
	// Typographic quotes stand for straight ones, whatever is inside.
	if inner, ok := typographic(m.src[from:trimmed]); ok {
		m.change(from, trimmed, "YAML takes typographic quotes for a part of the text; write straight ones.")
		m.puts(from, `"`)
		m.escape(from+inner, trimmed-inner, false)
		m.puts(trimmed, `"`)
		return m.newline(end)
	}
	last, flush := end, false
	if top {
		last, flush = m.follows(end)
	}
	v := m.src[from:trimmed]
	// On one line only a colon makes trouble, and a comment is no part of the text.
	if last == end {
		if cut := strings.Index(v, " #"); cut >= 0 {
			trimmed = from + len(strings.TrimRight(v[:cut], " \t"))
			v = m.src[from:trimmed]
		}
		if !colons(v) {
			m.copy(from, end)
			return m.newline(end)
		}
		m.puts(from, `"`)
		m.escape(from, trimmed, false)
		m.puts(trimmed, `"`)
		m.copy(trimmed, end) // a comment
		m.change(from, trimmed, "A text with a colon and a space needs quotes.")
		return m.newline(end)
	}
	whole := strings.TrimRight(m.src[from:last], " \t\r\n")
	// Lines further in are valid as they are, unless a colon makes a key of one.
	if !flush && !colons(whole) && !strings.Contains(whole, ":\n") && !strings.Contains(whole, ":\r") {
		m.copy(from, end)
		return m.newline(end)
	}
	m.puts(from, `"`)
	for at, stop := from, end; ; {
		m.escape(at, at+len(strings.TrimRight(m.src[at:stop], " \t")), false)
		next := nextLine(m.src, stop)
		if next >= from+len(whole) {
			break
		}
		// Text at the margin keeps its line ends; text further in is folded, as YAML folds it.
		if flush {
			m.puts(stop, `\n`)
		} else {
			m.puts(stop, " ")
		}
		at, stop = next, m.end(next)
		for !flush && at < stop && (m.src[at] == ' ' || m.src[at] == '\t') {
			at++
		}
	}
	m.puts(from+len(whole), `"`)
	m.change(from, from+len(whole), "A text of several lines needs quotes, or | and deeper lines.")
	return m.newline(m.end(from + len(whole)))
}

// follows returns where the lines end that belong to the top-level value whose
// first line ends at end, and whether one of them begins in the first column. Only
// markup does, as public descriptions hold it: anything else there, and what looks
// like a key further in, is rather a key that is not finished, or moved.
func (m *repairer) follows(end int) (last int, flush bool) {
	last = end
	for next := nextLine(m.src, end); next < m.to; {
		stop := m.end(next)
		line := m.src[next:stop]
		blank := strings.TrimSpace(line) == ""
		if !blank && line[0] != ' ' && line[0] != '\t' {
			if colon := keyColon(line); line[0] == '#' || strings.HasPrefix(line, "- ") ||
				(colon > 0 && !dialogue(line[:colon])) || quotedKey(line) {
				break
			}
			if !flush && line[0] != '<' {
				break
			}
			flush = true
		} else if inner := strings.TrimLeft(line, " \t"); !blank && !flush {
			if colon := keyColon(inner); colon > 0 && !dialogue(inner[:colon]) {
				break
			}
		}
		if !blank {
			last = stop
		}
		next = nextLine(m.src, stop)
	}
	return last, flush
}

// quotedKey reports whether a line begins with a key in quotes.
func quotedKey(line string) bool {
	if line[0] != '"' && line[0] != '\'' {
		return false
	}
	end := quoteEnd(line)
	return end > 2 && strings.HasPrefix(line[end:], ":") && (end+1 == len(line) ||
		line[end+1] == ' ' || line[end+1] == '\t')
}

// dialogue reports whether what looks like a key is a speaker or heading in the
// examples that descriptions of public agents hold.
func dialogue(name string) bool {
	switch strings.ToLower(name) {
	case "user", "assistant", "human", "context", "commentary", "example", "examples", "note":
		return true
	}
	return false
}

// colons reports whether a plain text holds what YAML takes for a key.
func colons(v string) bool {
	return strings.Contains(v, ": ") || strings.Contains(v, ":\t") || strings.HasSuffix(v, ":")
}

// requote puts a whole value into quotes.
func (m *repairer) requote(from, trimmed, end int, message string) int {
	m.change(from, trimmed, message)
	m.puts(from, `"`)
	m.escape(from, trimmed, false)
	m.puts(trimmed, `"`)
	return m.newline(end)
}

// escape writes src[from:to] for double quotes. keep leaves the escapes that are
// there already.
func (m *repairer) escape(from, to int, keep bool) {
	for i := from; i < to; i++ {
		switch c := m.src[i]; {
		case c == '\\' && keep && i+1 < to:
			m.copy(i, i+2)
			i++
		case c == '"' || c == '\\':
			m.put(i, '\\')
			m.put(i, c)
		case c == '\t':
			m.puts(i, `\t`)
		default:
			m.put(i, c)
		}
	}
}

// typographic returns the length of the typographic quotes around v.
func typographic(v string) (int, bool) {
	const size = len("“")
	if len(v) < 2*size {
		return 0, false
	}
	begin, end := v[:size], v[len(v)-size:]
	return size, ((begin == "“" || begin == "”") && end == "”") || ((begin == "‘" || begin == "’") && end == "’")
}
