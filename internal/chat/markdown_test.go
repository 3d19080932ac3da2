package chat

import (
	"regexp"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// TestMarkdown: what becomes of each kind of block, without styles.
func TestMarkdown(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"paragraph", "one *two* **three** `four` ~~five~~\nsix", "one two three four five six"},
		{"wraps", "aaaa bbbb cccc dddd eeee ffff gggg hhhh", "aaaa bbbb cccc dddd eeee ffff\ngggg hhhh"},
		{"heading", "## Title\ntext", "## Title\n\ntext"},
		{"list", "- one\n- two\n  - three\n\n1. first\n2. second", "• one\n• two\n  • three\n\n1. first\n2. second"},
		{"tasks", "- [x] done\n- [ ] open", "• ✓ done\n• ☐ open"},
		{"quote", "> said\n> so", "│ said so"},
		{"code", "```go\nfunc f() {\n\treturn\n}\n```", "  func f() {\n      return\n  }"},
		{"link", "[docs](https://x.org) <https://y.org>", "docs (https://x.org)\nhttps://y.org"},
		{"table", "| a | n |\n|---|--:|\n| x | 12 |\n| long | 3 |", "a    │  n\n─────┼───\nx    │ 12\nlong │  3"},
		{"wide table", "| a | b | c | d |\n|-|-|-|-|\n| one thing | two things | three things | four things |",
			"a: one thing\nb: two things\nc: three things\nd: four things"},
		{"escapes", `1\. no list, \*no emphasis\*`, "1. no list, *no emphasis*"},
		{"controls", "a\x1b[31mb\u202ec", `a\x1b[31mbU+202Ec`},
		{"html", "<b>bold</b>", "<b>bold</b>"},
		{"html to its end", "<pre>\none\ntwo</pre>\n\n<!-- a comment that is longer\nthan the screen is --> and what stands behind it",
			"<pre>\none\ntwo</pre>\n\n<!-- a comment that is longer\nthan the screen is --> and\nwhat stands behind it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var lines []string
			for _, line := range markdown(newParser(), c.source, 30) {
				lines = append(lines, strings.TrimRight(ansi.Strip(line), " "))
			}
			if got := strings.Join(lines, "\n"); got != c.want {
				t.Errorf("rendered:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

// sgr are the sequences that styles are made of.
var sgr = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// TestWhatIsRenderedIsSafe: whatever a model writes, nothing but styles of ours
// reaches the terminal, and no line is wider than it.
func TestWhatIsRenderedIsSafe(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "word ", "\n", "\n\n", "`", "```", "```go\n", "*", "**", "_", "#", "- ", "1. ", "> ", "|", "|-|-|\n", "[x](y)", "<b>", "<!-- ", " -->", "<pre>", "\x1b[31m", "\x1b]0;t\x07",
		"\u202e", "\t", "\r", "\\", "!", "é", "漢字", "👩‍👩‍👧", "    ", "~~~", "https://example.org/a"})
	p := newParser()
	rapid.Check(t, func(t *rapid.T) {
		source := strings.Join(rapid.SliceOfN(piece, 0, 60).Draw(t, "source"), "")
		columns := rapid.IntRange(20, 80).Draw(t, "columns")
		for _, line := range markdown(p, source, columns) {
			if bare := sgr.ReplaceAllString(line, ""); strings.ContainsAny(bare, "\x1b\x07\r\n\u202e") {
				t.Fatalf("%q has a control", line)
			}
			if width := ansi.StringWidth(line); width > columns+2 {
				t.Fatalf("%d columns where there are %d: %q", width, columns, line)
			}
		}
	})
}

// TestFinished: where an answer that is being written can be parted.
func TestFinished(t *testing.T) {
	for _, c := range []struct{ text, whole string }{
		{"", ""}, {"a\nb", ""}, {"a\n\n", ""}, {"a\n\nb", "a\n\n"}, {"a\n\n  more of it", ""}, {"- a\n\n- b", "- a\n\n"},
		{"```\na\n\nb\n", ""}, {"```\na\n\nb\n```\n\nc", "```\na\n\nb\n```\n\n"}, {"````\n```\n\nb", ""}, {"~~~\na\n\nb\n~~~\n\nc\n\nd", "~~~\na\n\nb\n~~~\n\nc\n\n"},
	} {
		if got := c.text[:stableEnd(c.text)]; got != c.whole {
			t.Errorf("%q: %q is whole, want %q", c.text, got, c.whole)
		}
	}
}

// TestFinishedStaysFinished: what comes changes nothing about what was whole.
func TestFinishedStaysFinished(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a ", "\n", "\n\n", "```\n", "- b\n", "  c\n", "~~~\n", "# d\n"})
	rapid.Check(t, func(t *rapid.T) {
		text, was := "", ""
		for _, part := range rapid.SliceOfN(piece, 1, 40).Draw(t, "pieces") {
			text += part
			whole := text[:stableEnd(text)]
			if !strings.HasPrefix(whole, was) {
				t.Fatalf("%q was whole, and then only %q", was, whole)
			}
			was = whole
		}
	})
}

// TestHighlighting changes nothing but colours.
func TestHighlighting(t *testing.T) {
	code := "// say\nfunc main() {\n\tfmt.Println(\"a // b\", 42, `raw\nlines`)\n}"
	lines := highlight(code, "go")
	if got := ansi.Strip(strings.Join(lines, "\n")); got != code {
		t.Errorf("the code became %q", got)
	}
	all := strings.Join(lines, "\n")
	for _, want := range []string{paint(comment, "// say"), paint(keyword, "func"), paint(literal, `"a // b"`), paint(number, "42")} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not there: %q", want, all)
		}
	}
	patch := "--- a/a.lua\n+++ b/a.lua\n@@ -1,2 +1,1 @@\n-- -- said\n-x\n+++i;\n--- a/b.lua\n+++ b/b.lua\n@@ -1 +1 @@\n-a\n+b"
	if added, removed := Counts(patch); added != 2 || removed != 3 {
		t.Errorf("it adds %d lines and takes %d away:\n%s", added, removed, patch)
	}
	if got := highlight("+a\n-b\n c", "diff"); got[0] != paint(good, "+a") || got[1] != paint(bad, "-b") || got[2] != " c" {
		t.Errorf("a difference: %q", got)
	}
}

// TestTextWithoutStyles: it is wrapped as text with styles is, and what a terminal would not
// show is escaped wherever it stands.
func TestTextWithoutStyles(t *testing.T) {
	long := strings.Repeat("some words, a hyphen-ated one, 漢字 and 👩‍👩‍👧 ", 40)
	for _, text := range []string{"", "a", " a  b ", "a\n\nb\n", long, strings.Repeat("x", 300), "e\u0301" + long} {
		for _, columns := range []int{1, 7, 80} {
			if got, want := strings.Join(wrap(text, columns), "\n"), lipgloss.Wrap(text, columns, " "); got != want {
				t.Errorf("%d columns: got\n%q\nwant\n%q", columns, got, want)
			}
		}
	}
	for text, want := range map[string]string{
		"a\tb\n": "a\tb\n", "ü漢": "ü漢", "a\x1b[m": `a\x1b[m`, "\u202e": "U+202E", "a\x7f": `a\x7f`, "a\u0085": `a\x85`,
		"a\xff": "a\ufffd",
	} {
		if got := PlainText(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
