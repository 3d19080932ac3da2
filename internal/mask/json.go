package mask

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// spellings returns the ways in which a value is written: as it is, as the usual
// encoders of JSON escape it, and as a string of JSON within a string. The order is
// that of depth, and each is there once. A value of plain letters has one.
func spellings(value string) []string {
	ways := []string{value}
	for depth := range 3 {
		for _, text := range slices.Clone(ways) {
			for _, way := range escapes {
				if depth > 0 && way.rare {
					continue // the outer strings are ours
				}
				if escaped := way.of(text); !slices.Contains(ways, escaped) {
					ways = append(ways, escaped)
				}
			}
		}
	}
	return ways
}

// escape is how an encoder of JSON writes strings.
type escape struct {
	also  string // what it escapes with \u, beyond what it must
	ascii bool   // it escapes what is not ASCII
	slash bool   // it writes \/
	upper bool   // its hexadecimal digits are in upper case
	rare  bool   // foreign programs have it, not this one
}

// escapes are those of the encoders in use: this program's, Go's and JavaScript's
// for HTML, Python's, PHP's, .NET's.
var escapes = []escape{
	{also: "\u2028\u2029"},
	{also: "\u2028\u2029<>&"},
	{rare: true},
	{rare: true, ascii: true},
	{rare: true, ascii: true, slash: true},
	{rare: true, ascii: true, upper: true, also: "<>&'+`\""},
}

// of returns a text as the encoder writes it, without the quotes.
func (e escape) of(text string) string {
	var b strings.Builder
	hex := "%04x"
	if e.upper {
		hex = "%04X"
	}
	for _, r := range text { // what is no UTF-8 is U+FFFD, as in the encoders
		short := strings.IndexRune("\"\\\b\f\n\r\t", r)
		switch {
		case strings.ContainsRune(e.also, r), e.ascii && r >= utf8.RuneSelf:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u`+hex, unit)
			}
		case short >= 0:
			b.WriteByte('\\')
			b.WriteByte(`"\bfnrt`[short])
		case r == '/' && e.slash:
			b.WriteString(`\/`)
		case r < ' ':
			fmt.Fprintf(&b, `\u`+hex, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// literals are the strings of a JSON document, in order; nil is a text that is
// none, all of which may be masked.
type literals []literal

// literal is what lies between the quotes of a string.
type literal struct{ from, to int }

// literalsOf returns the strings of data, which may not be JSON. A number alone
// is a text. It never changes data, and reads it twice where it is JSON.
func literalsOf(data []byte) literals {
	trimmed := bytes.TrimLeft(data, " \t\r\n")
	if len(trimmed) == 0 || !strings.ContainsRune(`{["`, rune(trimmed[0])) || !json.Valid(data) {
		return nil
	}
	all := literals{}
	for i := 0; i < len(data); i++ {
		if data[i] != '"' {
			continue
		}
		from := i + 1
		for i = from; data[i] != '"'; i++ { // valid: it ends
			if data[i] == '\\' {
				i++
			}
		}
		all = append(all, literal{from, i})
	}
	return all
}

// allows reports whether a place of a document may be masked, in which p was
// found. It must lie within one string; a word must not be all of it.
func (l literals) allows(found place, p *pattern) bool {
	if l == nil {
		return true
	}
	i, _ := slices.BinarySearchFunc(l, found.from, func(s literal, from int) int {
		if s.to <= from {
			return -1
		}
		return 1
	})
	if i == len(l) || found.from < l[i].from || found.to > l[i].to {
		return false
	}
	return !p.word || found.from > l[i].from || found.to < l[i].to
}

// wholeEscapes returns a place made larger by the escapes of JSON that it cuts:
// half of one would make the text another, or no JSON. The place may so take in a
// character that is no part of the secret.
func wholeEscapes(data []byte, from, to int) (int, int) {
	if start, _, ok := escapeAcross(data, from); ok {
		from = start
	}
	if _, end, ok := escapeAcross(data, to); ok {
		to = end
	}
	return from, to
}

// escapeAcross returns the escape that has bytes on both sides of a place.
func escapeAcross(data []byte, at int) (start, end int, ok bool) {
	for start = max(0, at-5); start < at; start++ {
		if end, is := escapeAt(data, start); is && end > at {
			return start, end, true
		}
	}
	return 0, 0, false
}

// escapeAt reports whether an escape begins at a place, and where it ends. A backslash
// that is escaped itself begins none.
func escapeAt(data []byte, at int) (end int, ok bool) {
	if data[at] != '\\' {
		return 0, false
	}
	before := 0 // backslashes: every second one is escaped
	for at-before > 0 && data[at-before-1] == '\\' {
		before++
	}
	if before%2 == 1 || at+1 == len(data) {
		return 0, false
	}
	if data[at+1] != 'u' {
		return at + 2, true
	}
	end = at + 2
	for end < len(data) && end < at+6 && isHex(data[end]) {
		end++
	}
	return end, true
}

// escapeBefore reports whether an escape ends at a place.
func escapeBefore(data []byte, at int) bool {
	for start := max(0, at-6); start < at; start++ {
		if end, ok := escapeAt(data, start); ok && end == at {
			return true
		}
	}
	return false
}

// isHex reports a hexadecimal digit.
func isHex(c byte) bool { return isDigit(c) || ('a' <= c|0x20 && c|0x20 <= 'f') }
