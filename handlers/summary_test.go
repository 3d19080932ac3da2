package handlers

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/tool"
)

// TestSEC71SummaryIsNotCutByVSCode: VS Code shows the first 1000 UTF-16 code
// units of a message, so what is longer may be allowed only after Show.
func TestSEC71SummaryIsNotCutByVSCode(t *testing.T) {
	line := func(s string) string { return strings.Repeat(s, summaryWidth/len([]rune(s))) }
	for name, c := range map[string]struct {
		title, line string
		lines       int
		cut         bool
	}{
		"five lines":                  {"t", line("x"), 5, false},
		"five below a long first one": {strings.Repeat("t", 270), line("x"), 5, false},
		"five of surrogate pairs":     {"t", line("𝒙"), 5, true},
		"five of links":               {"t", line("[](a:b) "), 5, true},
	} {
		_, first := utf8.DecodeRuneInString(c.line)
		patch := "--- a/f\n+++ b/f\n@@ -1 +1 @@\n" + strings.Repeat("+"+c.line[first:]+"\n", c.lines-1) + "+P\n"
		q := asking(tool.Preview{Kind: "diff", Patch: patch})
		q.Plan.Title = c.title
		text, cut := summary(q)
		if cut != c.cut || (!cut && (messageLength(text) > 1000 || !strings.HasSuffix(text, "\n+P⏎"))) {
			t.Errorf("%s: cut %v, %d code units:\n%s", name, cut, messageLength(text), text)
		}
	}
}
