package tool

// What a person is shown of text that a model, a file name or a program wrote
// (spec 11.2: SEC-61, SEC-73, SEC-74).

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// span is the runes from lo to hi, both included.
type span struct{ lo, hi rune }

// hidden are the runes that are not seen, or change what is seen around them.
// unicode.IsPrint passes seven of them, so the table is explicit. Sorted.
var hidden = []span{
	{0x00ad, 0x00ad},   // soft hyphen
	{0x0334, 0x0338},   // combining overlays: what they stand on cannot be told
	{0x034f, 0x034f},   // combining grapheme joiner
	{0x061c, 0x061c},   // arabic letter mark
	{0x115f, 0x1160},   // hangul fillers
	{0x17b4, 0x17b5},   // khmer inherent vowels
	{0x180b, 0x180f},   // mongolian variation selectors and vowel separator
	{0x200b, 0x200f},   // zero width, direction marks
	{0x2028, 0x202e},   // line and paragraph separators, bidirectional embeddings and overrides
	{0x2060, 0x206f},   // word joiner, invisible operators, bidirectional isolates, deprecated formats
	{0x20d0, 0x20f0},   // combining marks for symbols: overlays and what encloses
	{0x2800, 0x2800},   // braille blank
	{0x3164, 0x3164},   // hangul filler
	{0xfe00, 0xfe0f},   // variation selectors
	{0xfeff, 0xfeff},   // zero width no-break space
	{0xffa0, 0xffa0},   // halfwidth hangul filler
	{0xfff0, 0xfffc},   // unassigned, interlinear annotations and the object replacement
	{0x110bd, 0x110bd}, // kaithi number sign
	{0x110cd, 0x110cd}, // and the one above
	{0x13430, 0x13455}, // egyptian hieroglyph format controls
	{0x16fe4, 0x16fe4}, // khitan filler
	{0x1bca0, 0x1bca3}, // shorthand format controls
	{0x1d159, 0x1d159}, // musical null notehead
	{0x1d173, 0x1d17a}, // musical format controls
	{0xe0000, 0xe0fff}, // tags and variation selectors supplement
}

// isHidden reports whether r is in the table.
func isHidden(r rune) bool {
	if r < hidden[0].lo {
		return false
	}
	for _, s := range hidden {
		if r <= s.hi {
			return r >= s.lo
		}
	}
	return false
}

// isControl reports whether r is a C0 or C1 control character or DEL.
func isControl(r rune) bool { return r < 0x20 || (r >= 0x7f && r <= 0x9f) }

// Escape returns s as a person may be shown it: on one line, with control
// characters as \n, \t, \r or \x1b, bytes that are no UTF-8 as \xff, and what
// is invisible or reorders text as U+202E. Backslashes that were there stay
// single. The result is the same for a result of Escape.
//
// It is for one line of a dialog or a terminal. What a model gets is not escaped: it
// reads bytes, and files have to come back as they were.
func Escape(s string) string {
	if !unclean(s, false) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case isControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case isHidden(r):
			fmt.Fprintf(&b, "U+%04X", r)
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// EscapeLines escapes each line of a text and keeps the line ends, but for the last.
// The result has no carriage returns either: those are shown as \r.
func EscapeLines(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = Escape(line)
	}
	return strings.Join(lines, "\n")
}

// Clip returns a text of at most n characters, the last of which says where it was cut.
// n is at least 1. It cuts between characters, not between what a person sees as one
// (grapheme clusters), and does not escape.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	count, end := 0, 0
	for i := range s {
		if count == n-1 {
			end = i
		}
		if count++; count > n {
			return s[:end] + "…"
		}
	}
	return s
}

// Tokens is a number of tokens in a few characters: 900, 1.2k, 12k, 1M.
// It rounds, so it is for people only.
func Tokens(n int) string {
	short := func(of float64, unit string) string {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/of), ".0") + unit
	}
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 9950:
		return short(1e3, "k")
	case n < 999_500:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	}
	return short(1e6, "M")
}

// Suspicious reports whether s holds what [Escape] has to show as something
// else, but for newlines and tabs. A call with such a path, name or command is
// raised by one tier (SEC-74).
func Suspicious(s string) bool { return unclean(s, true) }

// unclean reports whether s has something to escape; text allows what ordinary
// text has.
func unclean(s string, text bool) bool {
	for i := 0; i < len(s); {
		if c := s[i]; c >= 0x20 && c < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			return true
		}
		if (isControl(r) && !(text && (r == '\n' || r == '\t'))) || isHidden(r) {
			return true
		}
		i += size
	}
	return false
}

// Name returns a file's name or path as lists show it: as it is, or, where it
// could be taken for something else (controls, invisible characters, quotes,
// blanks at its ends), escaped and in double quotes.
func Name(s string) string {
	e := Escape(s)
	if e != s || s == "" || s != strings.TrimSpace(s) || strings.ContainsAny(s, `"`) {
		return `"` + strings.ReplaceAll(e, `"`, `\"`) + `"`
	}
	return s
}
