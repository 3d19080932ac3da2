package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/agentls/agentls/agents/tool"
)

// A style is the parameters of an SGR sequence. Only the sixteen colours that every
// theme chooses are used, so that text is readable on light and on dark terminals.
type style string

const (
	// The styles are named after their use. keyword, literal, number and comment are for
	// code.
	dim     style = "2"
	bold    style = "1"
	italic  style = "3"
	strike  style = "9"
	heading style = "1;36"
	accent  style = "36"
	good    style = "32"
	bad     style = "31"
	warn    style = "33"
	keyword style = "35"
	literal style = "32"
	number  style = "33"
	comment style = "2;3"
	link    style = "4;34"
)

// paint returns a text in a style. Styles nest: what was painted inside goes on in
// both. The text must be clean. Nothing is painted in the style "".
func paint(s style, text string) string {
	if s == "" || text == "" {
		return text
	}
	begin, end := "\x1b["+string(s)+"m", "\x1b[m"
	return begin + strings.ReplaceAll(text, end, end+begin) + end
}

// wrap breaks a painted text into lines of so many columns at most; each line
// begins and ends its styles itself.
func wrap(text string, columns int) []string {
	columns = max(columns, 1)
	if !strings.Contains(text, "\x1b") { // without styles that go on in the next line it takes a third of the time
		return strings.Split(ansi.Wrap(text, columns, " "), "\n")
	}
	return strings.Split(lipgloss.Wrap(text, columns, " "), "\n")
}

// cut shortens a painted line to so many columns. A line that is cut ends with ….
func cut(line string, columns int) string {
	return ansi.Truncate(line, max(columns, 1), "…")
}

// PlainText escapes what a terminal would act on, controls and changes of
// direction, and leaves the rest of a model's text as it is. Line ends and tabs stay.
func PlainText(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, controls) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if controls(r) {
			b.WriteString(tool.Escape(string(r)))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// controls reports whether a terminal would act on r.
func controls(r rune) bool {
	if r < 0x7F {
		return r < ' ' && r != '\n' && r != '\t'
	}
	return unicode.IsControl(r) || (r >= 0x202A && r <= 0x202E) || (r >= 0x2066 && r <= 0x2069)
}

// clean is PlainText with tabs of four columns and line ends of one kind: how wide
// a line is can be told from it.
func clean(s string) string {
	return strings.ReplaceAll(PlainText(strings.ReplaceAll(s, "\r\n", "\n")), "\t", "    ")
}
