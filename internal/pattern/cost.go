package pattern

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// oneGroup is what a \p{…} costs.
const oneGroup = 70

// lastFolded is the last character that has another case.
var lastFolded = rune(unicode.CaseRanges[len(unicode.CaseRanges)-1].Hi)

// Cost is about how many microseconds a pattern takes to parse at most. Of one that
// is too long it is told from its beginning.
//
// The pattern is read as regexp/syntax does. Where that understands no more, it
// stops, and nothing that is counted there matters.
func Cost(text string) int {
	groups, wide := 0, 0
	for t := text[:min(len(text), Longest)]; t != ""; {
		switch {
		case t[0] == '[':
			var g, w int
			g, w, t = class(t[1:])
			groups, wide = groups+g, wide+w
		case isGroup(t):
			groups++
			t = afterGroup(t)
		case strings.HasPrefix(t, `\Q`):
			_, t, _ = strings.Cut(t[2:], `\E`)
		case t[0] == '\\':
			t = t[min(2, len(t)):]
		default:
			t = t[1:]
		}
	}
	if !folds(text) {
		return len(text)/4 + groups*oneGroup
	}
	return len(text)/2 + groups*oneGroup + wide/64
}

// folds reports whether case may not count in some of a pattern: whether there is an
// i among flags such as (?i) or (?s-i:.
func folds(text string) bool {
	for {
		_, after, ok := strings.Cut(text, "(?")
		if !ok {
			return false
		}
		if rest := strings.TrimLeft(after, "msU-"); strings.HasPrefix(rest, "i") {
			return true
		}
		text = after
	}
}

// class reads a class of characters behind its bracket: how many \p{…} it has, and
// how many characters its ranges, which are looked at one by one where case does not
// count.
func class(t string) (groups, wide int, rest string) {
	t = strings.TrimPrefix(t, "^")
	for first := true; t != "" && (first || t[0] != ']'); first = false {
		if strings.HasPrefix(t, "[:") {
			if _, after, ok := strings.Cut(t[2:], ":]"); ok {
				t = after
				continue
			}
		}
		if isGroup(t) {
			groups++
			t = afterGroup(t)
			continue
		}
		if len(t) > 1 && t[0] == '\\' && strings.IndexByte("dDsSwW", t[1]) >= 0 {
			t = t[2:]
			continue
		}
		var lo, hi rune
		if lo, _, t = character(t); len(t) > 1 && t[0] == '-' && t[1] != ']' {
			_, hi, t = character(t[1:])
			wide += int(max(0, min(hi, lastFolded)-lo))
		}
	}
	return groups, wide, t[min(1, len(t)):]
}

// isGroup reports whether a text begins with \p{…} or \pL, or with P.
func isGroup(t string) bool {
	return len(t) > 1 && t[0] == '\\' && (t[1] == 'p' || t[1] == 'P')
}

func afterGroup(t string) string {
	t = t[2:]
	if strings.HasPrefix(t, "{") {
		if _, after, ok := strings.Cut(t, "}"); ok {
			return after
		}
	}
	_, size := utf8.DecodeRuneInString(t)
	return t[size:]
}

// character reads a character of a class. It lies from lo to hi: both are the same,
// or the widest there is for what is not understood.
func character(t string) (lo, hi rune, rest string) {
	c, size := utf8.DecodeRuneInString(t)
	if t = t[size:]; c != '\\' || t == "" {
		return c, c, t
	}
	var digits string
	base := 16
	switch c, size := utf8.DecodeRuneInString(t); {
	case strings.HasPrefix(t, "x{"):
		digits, rest, _ = strings.Cut(t[2:], "}")
	case c == 'x':
		end := min(3, len(t))
		digits, rest = t[1:end], t[end:]
	case '0' <= c && c <= '7':
		end := 1
		for end < min(3, len(t)) && '0' <= t[end] && t[end] <= '7' {
			end++
		}
		digits, rest, base = t[:end], t[end:], 8
	case strings.ContainsRune("afnrtv", c):
		return '\a', '\r', t[size:]
	case c < utf8.RuneSelf && !unicode.IsLetter(c) && !unicode.IsDigit(c):
		return c, c, t[size:]
	default:
		rest = t[size:]
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n > unicode.MaxRune {
		return 0, unicode.MaxRune, rest
	}
	return rune(n), rune(n), rest
}
