package tool

import (
	"regexp"
	"strings"
	"testing"
)

func TestMarkdownText(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"Fixes bugs, and says why (briefly).", "Fixes bugs, and says why (briefly)."},
		{"≤ $99.81, fallback_models, a__b; v1.2-rc.3!", "≤ $99.81, fallback_models, a__b; v1.2-rc.3!"},
		{"5 < 6 & 7 > 3 | 1 # 2 - 3 @user a=b", "5 < 6 & 7 > 3 | 1 # 2 - 3 @user a=b"},
		{" two\n\tlines ", "two lines"},
		{"Sign in: https://evil.example now", "Sign in: `https://evil.example` now"},
		{"- www.evil.example", "`- www.evil.example`"},
		{"(WWW.evil.example)", "`(WWW.evil.example)`"},
		{"write a@evil.example", "write `a@evil.example`"},
		{"MAILTO:evil ftp://evil", "`MAILTO:evil ftp://evil`"},
		{"a *b* [x](http://evil) ![i](p)", "a `*b* [x](http://evil) ![i](p)`"},
		{"read_* _x_ x_ ~/.gemini <b> &amp; C:\\x", "`read_* _x_ x_ ~/.gemini <b> &amp; C:\\x`"},
		{"Runs `go test` well", "Runs `` `go test` `` well"},
		{"a ``b` c", "a ``` ``b` ``` c"},
		{"string[], string[] (or x[])", "string[], string[] (or x[])"},
		{"[] [](http:x) [][a] [a]", "[] `[](http:x) [][a] [a]`"},
		{"# head", "`#` head"},
		{"> quoted", "`>` quoted"},
		{"1. one", "`1.` one"},
		{"---", "`---`"},
		{"| a | b |", "`|` a | b |"},
		{"-1", "-1"},
		{"$(alert)", "`$(alert)`"},
		{"a\u200bb \x1b[31mred", "aU+200Bb `\\x1b[31mred`"},
	} {
		if got := MarkdownText(c.text); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestMarkdownCode(t *testing.T) {
	for text, want := range map[string]string{"": "`  `", "a": "`a`", "`": "`` ` ``", "a`b": "``a`b``", " a ": "`  a  `", "a\nb": "`a\\nb`"} {
		if got := MarkdownCode(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// FuzzMarkdownText: what is outside of code spans begins no markup and no address,
// and with the spans' text it is what was given.
func FuzzMarkdownText(f *testing.F) {
	f.Add("a *b* `c")
	f.Add("Sign in: https://evil www.evil a@b.c")
	f.Add("[] is string[], (any[])")
	list := regexp.MustCompile(`\[\][,.;)]*( |$)`) // of a type; nothing in Markdown
	f.Fuzz(func(t *testing.T, text string) {
		var outside, all strings.Builder
		for s := MarkdownText(text); s != ""; {
			i := strings.IndexByte(s, '`')
			if i < 0 {
				outside.WriteString(s)
				all.WriteString(s)
				break
			}
			outside.WriteString(s[:i] + "\x00")
			all.WriteString(s[:i])
			rest := strings.TrimLeft(s[i:], "`")
			fence := s[i : len(s)-len(rest)]
			end := strings.Index(rest+"\x00", fence)
			for end >= 0 && end+len(fence) < len(rest) && rest[end+len(fence)] == '`' {
				run := len(rest[end:]) - len(strings.TrimLeft(rest[end:], "`"))
				next := strings.Index(rest[end+run:], fence)
				if next < 0 {
					end = -1
					break
				}
				end += run + next
			}
			if end < 0 {
				t.Fatalf("%q: %q has a span that does not end", text, MarkdownText(text))
			}
			code := rest[:end]
			if strings.HasPrefix(code, " ") && strings.HasSuffix(code, " ") {
				code = code[1 : len(code)-1]
			}
			all.WriteString(code)
			s = rest[end+len(fence):]
		}
		left := list.ReplaceAllString(strings.ToLower(outside.String()), " ")
		if strings.ContainsAny(left, "\\*[~\n") || strings.Contains(left, "://") || strings.Contains(left, "www.") || strings.Contains(left, "mailto:") {
			t.Fatalf("%q: %q", text, MarkdownText(text))
		}
		if want := strings.Join(strings.Fields(Escape(strings.Join(strings.Fields(text), " "))), " "); all.String() != want {
			t.Fatalf("%q says %q, not %q", text, all.String(), want)
		}
	})
}
