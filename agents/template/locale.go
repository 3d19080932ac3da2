package template

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
)

// flowItem is an entry of a list in brackets: in quotes, or without a comma.
var flowItem = regexp.MustCompile(`'(?:[^']|'')*'|"[^"]*"|[^,\[\]]+`)

// In returns the template for a person of a locale, as LANG has it. The built-in
// ones have triggers and examples in English and Chinese; whose locale is not
// Chinese gets the English ones, and can add what they speak. A template of the
// person's own stays as it is. Only lines of the front matter with Chinese characters
// change: of a list in brackets they keep the entries without any, others are dropped.
// The text that came is not changed.
func (t Template) In(locale string) Template {
	if t.Path != "" || strings.HasPrefix(strings.ToLower(locale), "zh") {
		return t
	}
	begins, ends := bytes.IndexByte(t.Text, '\n')+1, bytes.Index(t.Text, []byte("\n---\n"))
	if ends < begins {
		return t
	}
	var b bytes.Buffer
	b.Write(t.Text[:begins])
	for line := range strings.Lines(string(t.Text[begins : ends+1])) {
		open, shut := strings.IndexByte(line, '['), strings.LastIndexByte(line, ']')
		switch {
		case !chinese(line):
			b.WriteString(line)
		case open >= 0 && open < shut:
			var kept []string
			for _, item := range flowItem.FindAllString(line[open+1:shut], -1) {
				if item = strings.TrimSpace(item); item != "" && !chinese(item) {
					kept = append(kept, item)
				}
			}
			b.WriteString(line[:open+1] + strings.Join(kept, ", ") + line[shut:])
		}
	}
	b.Write(t.Text[ends+1:])
	t.Text = b.Bytes()
	return t
}

// chinese reports whether a text has Chinese characters.
func chinese(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}
