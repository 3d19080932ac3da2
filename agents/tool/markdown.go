package tool

// Texts of files, models and programs within Markdown that we write.

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MarkdownText returns s as Markdown that says s and nothing more, on one line,
// what is invisible made visible as [Escape] does: no markup, no link, no address
// that a viewer makes a link of, no image, no HTML. Words that could be more than
// text are code spans; there are no backslashes, since many editors show them.
//
// Blanks and line ends become single spaces. It is for sentences of ours that name
// something; a text of several lines belongs in a code block.
func MarkdownText(s string) string {
	words := strings.Fields(Escape(strings.Join(strings.Fields(s), " ")))
	var b strings.Builder
	for i := 0; i < len(words); {
		if i > 0 {
			b.WriteByte(' ')
		}
		end := i
		for end < len(words) && (means(words[end]) || (end == 0 && opens(words[0]))) {
			end++
		}
		if end == i {
			b.WriteString(words[i])
			i++
			continue
		}
		b.WriteString(MarkdownCode(strings.Join(words[i:end], " ")))
		i = end
	}
	return b.String()
}

// MarkdownCode returns s as a code span, on one line, what is invisible made
// visible as [Escape] does.
func MarkdownCode(s string) string {
	s = Escape(s)
	fence := Backticks(s, 1)
	if s == "" || s[0] == '`' || s[len(s)-1] == '`' || (s[0] == ' ' && s[len(s)-1] == ' ') {
		s = " " + s + " " // a viewer takes one of each side away
	}
	return fence + s + fence
}

// Backticks returns so many backticks that s has nowhere as many in a row, and n at least:
// what stands between two of them is s, whatever it has.
func Backticks(s string, n int) string {
	row := 0
	for i := range len(s) {
		if row++; s[i] != '`' {
			row = 0
		}
		n = max(n, row+1)
	}
	return strings.Repeat("`", n)
}

// means reports whether a word could be more than text in Markdown, wherever it
// stands. No markup begins without one of these.
func means(word string) bool {
	list := strings.TrimSuffix(strings.TrimRight(word, ",.;)"), "[]") // string[] is a type
	if strings.ContainsAny(word, "\\`*~") || strings.Contains(list, "[") || strings.Contains(word, "$(") {
		return true
	}
	if i := strings.IndexByte(word, '<'); i >= 0 && len(word) > 1 {
		return true
	}
	for i := 0; i+1 < len(word); i++ {
		if c := word[i+1]; word[i] == '&' && (c == '#' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
			return true
		}
	}
	return underlined(word) || addressed(word)
}

// underlined reports whether a word has an underscore at an edge of letters: those
// within a name mean nothing.
func underlined(word string) bool {
	for i := strings.IndexByte(word, '_'); i >= 0; {
		end := i
		for end < len(word) && word[end] == '_' {
			end++
		}
		before, _ := utf8.DecodeLastRuneInString(word[:i])
		after, _ := utf8.DecodeRuneInString(word[end:])
		if !letter(before) || !letter(after) {
			return true
		}
		next := strings.IndexByte(word[end:], '_')
		if next < 0 {
			break
		}
		i = end + next
	}
	return false
}

// letter reports whether a rune is part of a word; what is none is RuneError.
func letter(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// addressed reports whether a viewer could take a word, or a part of it, for an
// address.
func addressed(word string) bool {
	if strings.Contains(word, "://") || strings.LastIndexByte(word, '@') > 0 {
		return true
	}
	if !strings.ContainsAny(word, ".:") {
		return false
	}
	lower := strings.ToLower(word)
	return strings.Contains(lower, "www.") || strings.Contains(lower, "mailto:") || strings.Contains(lower, "xmpp:")
}

// opens reports whether a word could begin a block where it is the first of a line:
// a heading, a list, a quotation, a rule, a row of a table.
func opens(word string) bool {
	switch word[0] {
	case '>', '|':
		return true
	case '#', '-', '+', '=':
		return strings.Trim(word, word[:1]) == ""
	}
	number := strings.TrimLeft(word, "0123456789")
	return number != word && (number == "." || number == ")")
}
