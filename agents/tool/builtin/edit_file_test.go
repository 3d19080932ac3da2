package builtin_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
)

// TestEditFileTakesAsLongAsTheFile: a search line by line takes as long as
// the file, and what would be larger than any tool reads is not made.
func TestEditFileTakesAsLongAsTheFile(t *testing.T) {
	w := tooltest.New(t, map[string]string{
		"lines": strings.Repeat(" x\n", 100_000), "turns": strings.Repeat(" x\n y\n", 16_000) + " z\n", "found": strings.Repeat(" x\n", 8_000) + " y\n x\n", "many": strings.Repeat("a\n", 10_000),
		"deep": strings.Repeat(" ", 500_000) + "a\n", "blanks": strings.Repeat("\nx\n", 8_000), "both": strings.Repeat("  a\n", 1_000),
	})
	env := w.Env()
	for _, c := range []struct {
		file, old, fresh string
		expected         int
		code, mention    string
	}{
		{"lines", strings.Repeat("x\n", 25_000) + "y\n", "z\n", 1, tool.CodeFailed, "not found"},
		{"turns", strings.Repeat("\tx\n\ty\n", 4_000) + "q\n", "z\n", 1, tool.CodeFailed, "not found"},
		{"turns", strings.Repeat("\tx\n\ty\n", 4_000), "z\n", 1, tool.CodeFailed, "4 places"},
		{"turns", strings.Repeat("\tx\n\ty\n", 15_000) + "z\n", "\tw\n", 1, "", ""},
		{"found", strings.Repeat("\tx\n", 7_000) + "\ty\n", "\tz\n", 1, "", ""},
		{"many", "a", strings.Repeat("b", 100_000), 10_000, tool.CodeTooLarge, "bytes"},
		{"deep", strings.Repeat(" ", 500_001) + "a", strings.Repeat(" ", 500_001) + "b", 1, "", ""},
		{"deep", "\tb", strings.Repeat("\tc\n", 200_000), 1, tool.CodeTooLarge, "bytes"},
		{"blanks", strings.Repeat(" ", 900_000) + "\n\tx", "y", 8_000, "", ""},
		{"both", "\ta", "\tb" + strings.Repeat("c", 5_000), 1_000, "", ""}, // 5 MB
		{"many", " a", strings.Repeat("b\n", 50_000), 10_000, tool.CodeTooLarge, "bytes"},
	} {
		call(t, env, "read_file", "file_path", c.file)
		began := tooltest.Spent()
		_, err := tooltest.Run(t.Context(), named(t, "edit_file"), env, args(t, "file_path", c.file, "old_string", c.old, "new_string", c.fresh, "expected_replacements", c.expected))
		if tooltest.Code(err) != c.code || (err != nil && !strings.Contains(err.Error(), c.mention)) {
			t.Errorf("%s, %.20q: %v", c.file, c.old, err)
		}
		if took := tooltest.Spent() - began; took > 5*time.Second {
			t.Errorf("%s, %.20q takes %v", c.file, c.old, took)
		}
	}
	if got := w.Text("turns"); got != strings.Repeat(" x\n y\n", 1_000)+" w\n" {
		t.Errorf("turns: %d bytes", len(got))
	}
	if got := w.Text("found"); got != strings.Repeat(" x\n", 1_000)+" z\n x\n" {
		t.Errorf("found: %d bytes", len(got))
	}
}

// TestAPatchTakesAsLongAsTheFile: so does a search for a hunk of lines that the file is
// full of.
func TestAPatchTakesAsLongAsTheFile(t *testing.T) {
	w := tooltest.New(t, map[string]string{"a": strings.Repeat("\n", 2<<20) + "x\n"})
	for hunk, code := range map[string]string{
		strings.Repeat(" \n", 10_000) + "-y\n": tool.CodeFailed, strings.Repeat(" \n", 10_000) + "-x\n+y\n": "",
	} {
		began := tooltest.Spent()
		_, err := tooltest.Run(t.Context(), named(t, "apply_patch"), w.Env(), args(t, "patch", "--- a/a\n+++ b/a\n@@ @@\n"+hunk))
		if tooltest.Code(err) != code {
			t.Errorf("%v, want %q", err, code)
		}
		if took := tooltest.Spent() - began; took > 5*time.Second {
			t.Errorf("it takes %v", took)
		}
	}
}

// TestACorrectionChangesWhiteSpaceAndEscapingOnly: what a model makes of snippets
// that do not occur in the file counts only if it says the same.
func TestACorrectionChangesWhiteSpaceAndEscapingOnly(t *testing.T) {
	const text = "func f() {\n\tprint(\"a\")\n}\n\nif x  ==  1 {\n\treturn\n}\n"
	for _, tt := range []struct {
		name     string
		old, new string
		fixed    tool.Snippets
		want     string // "" = refused
	}{
		{"escaped line ends", `f() {\n\tprint(\"a\")`, `f() {\n\tprint(\"b\")`, tool.Snippets{Old: "f() {\n\tprint(\"a\")", New: "f() {\n\tprint(\"b\")"}, strings.Replace(text, `"a"`, `"b"`, 1)},
		{"blanks", "if x == 1 {", "if x == 2 {", tool.Snippets{Old: "if x  ==  1 {", New: "if x  ==  2 {"}, strings.Replace(text, "1", "2", 1)},
		{"other letters", "if y == 1 {", "if y == 2 {", tool.Snippets{Old: "if x  ==  1 {", New: "if x  ==  2 {"}, ""},
		{"another new text", "if x == 1 {", "if x == 2 {", tool.Snippets{Old: "if x  ==  1 {", New: "if x  ==  2 { evil()"}, ""},
		{"less", "if x == 1 {", "if x == 2 {", tool.Snippets{Old: "x  ==  1", New: "x  ==  2"}, ""},
		{"nothing", "if x == 1 {", "if x == 2 {", tool.Snippets{}, ""},
		{"still not there", "if x == 1 {", "if x == 2 {", tool.Snippets{Old: "if x ==  1 {", New: "if x == 2 {"}, ""},
		{"several places", "}\\n", "};", tool.Snippets{Old: "}\n", New: "};"}, ""},
	} {
		w := tooltest.New(t, map[string]string{"a.go": text})
		env := w.Env()
		call(t, env, "read_file", "file_path", "a.go")
		asked := 0
		env.Correct = func(_ context.Context, in string, s tool.Snippets) (tool.Snippets, error) {
			asked++
			if in != text || s != (tool.Snippets{Old: tt.old, New: tt.new}) {
				t.Errorf("%s: it is asked about %q in %q", tt.name, s, in)
			}
			return tt.fixed, nil
		}
		_, err := tooltest.Run(t.Context(), named(t, "edit_file"), env, args(t, "file_path", "a.go", "old_string", tt.old, "new_string", tt.new))
		want := tt.want
		if want == "" {
			want = text
		}
		if (tt.want == "") != (err != nil) || w.Text("a.go") != want || asked != 1 {
			t.Errorf("%s: %v, %q, asked %d times", tt.name, err, w.Text("a.go"), asked)
		}
	}
	w := tooltest.New(t, map[string]string{"a.go": text})
	env := w.Env()
	call(t, env, "read_file", "file_path", "a.go")
	env.Correct = func(context.Context, string, tool.Snippets) (tool.Snippets, error) {
		t.Error("a model is asked although nothing is wrong, or where it cannot help")
		return tool.Snippets{}, nil
	}
	call(t, env, "edit_file", "file_path", "a.go", "old_string", "  print(\"a\")\n", "new_string", "  print(\"b\")\n")
	refused(t, env, tool.CodeFailed, "edit_file", "file_path", "a.go", "old_string", "}", "new_string", "};")
}
