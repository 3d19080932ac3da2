package builtin_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
)

func TestReadFileLimitsSayHowToReadOn(t *testing.T) {
	var long strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&long, "line %d\n", i+1)
	}
	w := tooltest.New(t, map[string]string{
		"long.txt": long.String(), "wide.txt": "short\n" + strings.Repeat("é", 2500) + "\nend", "crlf.txt": "a\r\nb\r\n", "empty": "", "full.txt": strings.Repeat(strings.Repeat("x", 99)+"\n", 1000),
	})
	env := w.Env()
	r := call(t, env, "read_file", "file_path", "long.txt")
	if strings.Count(r.Content, "\n") != 2001 || !strings.Contains(r.Content, "line 2000\n[lines 1 to 2000 of 5000; read on with offset 2000]") {
		t.Errorf("ends with %q", r.Content[len(r.Content)-80:])
	}
	r = call(t, env, "read_file", "file_path", "long.txt", "offset", 4998, "line_numbers", true)
	if r.Content != "  4999\tline 4999\n  5000\tline 5000\n[lines 4999 to 5000 of 5000]\n" {
		t.Errorf("got %q", r.Content)
	}
	r = call(t, env, "read_file", "file_path", "long.txt", "offset", 1, "limit", 1)
	if r.Content != "line 2\n[lines 2 to 2 of 5000; read on with offset 2]\n" {
		t.Errorf("got %q", r.Content)
	}
	r = call(t, env, "read_file", "path", "wide.txt")
	if !strings.Contains(r.Content, strings.Repeat("é", 2000)+"… [500 more characters]\nend\n[1 lines are longer than 2000 characters and cut]") {
		t.Errorf("got %.50q…%q", r.Content, r.Content[len(r.Content)-120:])
	}
	if r := call(t, env, "read_file", "file_path", "crlf.txt"); r.Content != "a\nb\n" {
		t.Errorf("got %q", r.Content)
	}
	if r := call(t, env, "read_file", "file_path", "empty"); r.Content != "The file is empty." {
		t.Errorf("got %q", r.Content)
	}
	// What the run would cut in the middle ends at a line instead.
	r = call(t, env, "read_file", "file_path", "full.txt")
	if _, cut := tool.Cut(r.Content); cut || !strings.Contains(r.Content, "read on with offset 395]") {
		t.Errorf("%d bytes, ends with %q", len(r.Content), r.Content[len(r.Content)-60:])
	}
	refused(t, env, tool.CodeArgs, "read_file", "file_path", "long.txt", "offset", 5000)
	refused(t, env, tool.CodeNotFound, "read_file", "file_path", "gone")
	refused(t, env, tool.CodeFailed, "read_file", "file_path", ".")
}

func TestReadFileSeesTheBuffer(t *testing.T) {
	w := tooltest.New(t, map[string]string{"a.txt": "disk\n"})
	w.Edit("a.txt", "buffer\n")
	env := w.Env()
	if r := call(t, env, "read_file", "file_path", "a.txt"); r.Content != "buffer\n" {
		t.Errorf("got %q", r.Content)
	}
	if env.Seen.Digest(w.Path("a.txt")) == "" {
		t.Error("not noted as seen")
	}
}

func TestReadFileRefusesBinaryWithItsType(t *testing.T) {
	w := tooltest.New(t, map[string]string{"x.zip": "PK\x03\x04\x00\x00", "x.bin": "\x00\x01", "x.png": "\x00\x01 no picture"})
	env := w.Env()
	if err := refused(t, env, tool.CodeBinary, "read_file", "file_path", "x.zip"); !strings.Contains(err.Error(), "application/zip") {
		t.Errorf("%v does not tell the type", err)
	}
	refused(t, env, tool.CodeBinary, "read_file", "file_path", "x.bin")
	refused(t, env, tool.CodeBinary, "read_file", "file_path", "x.png")
}

func TestSEC20CredentialFilesAreNotRead(t *testing.T) {
	w := tooltest.New(t, map[string]string{".env": "KEY=1\n", "sub/id_rsa": "key", ".env.example": "KEY=\n"})
	if err := os.Symlink(".env", w.Path("innocent")); err != nil {
		t.Fatal(err)
	}
	env := w.Env()
	for _, name := range []string{".env", "sub/id_rsa", "innocent"} {
		refused(t, env, tool.CodeDenied, "read_file", "file_path", name)
		refused(t, env, tool.CodeDenied, "read_many_files", "include", []string{"*.txt", name})
		refused(t, env, tool.CodeDenied, "grep", "pattern", "KEY", "dir_path", name)
		refused(t, env, tool.CodeDenied, "write_file", "file_path", name, "content", "x")
	}
	if r := call(t, env, "grep", "pattern", "KEY|key"); strings.Contains(r.Content, "KEY=1") || strings.Contains(r.Content, "id_rsa") {
		t.Errorf("grep reads credentials: %s", r.Content)
	}
	for _, include := range []string{"**", "*", ".env*", "{.env,x}", "sub", "sub/*", "**/id_rsa"} {
		if r := call(t, env, "read_many_files", "include", []string{include}); strings.Contains(r.Content, "KEY=1") || strings.Contains(r.Content, "--- sub/id_rsa") || strings.Contains(r.Content, "\nkey\n") {
			t.Errorf("read_many_files %s reads credentials: %s", include, r.Content)
		}
	}
	call(t, env, "read_file", "file_path", ".env.example")
	env.Reveal = []string{w.Path(".env")}
	if r := call(t, env, "read_file", "file_path", ".env"); r.Content != "KEY=1\n" {
		t.Errorf("the user's own rule: %q", r.Content)
	}
	if r := call(t, env, "read_many_files", "include", []string{".env"}); r.Content != "--- .env ---\nKEY=1\n\n" {
		t.Errorf("the user's own rule: %q", r.Content)
	}
	refused(t, env, tool.CodeDenied, "write_file", "file_path", ".env", "content", "x")
}

func TestBlobsCanBeReadAndNotWritten(t *testing.T) {
	w := tooltest.New(t, nil)
	env := w.Env()
	env.Blobs = filepath.Join(filepath.Dir(w.Folder), "blobs")
	if err := os.Mkdir(env.Blobs, 0o700); err != nil {
		t.Fatal(err)
	}
	blob := filepath.Join(env.Blobs, "abc")
	if err := os.WriteFile(blob, []byte("whole\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := call(t, env, "read_file", "file_path", blob); r.Content != "whole\n" {
		t.Errorf("got %q", r.Content)
	}
	refused(t, env, tool.CodeOutside, "write_file", "file_path", blob, "content", "x")
	refused(t, env, tool.CodeOutside, "ls", "dir_path", env.Blobs)
	if err := os.Symlink("/etc/passwd", filepath.Join(env.Blobs, "out")); err != nil {
		t.Fatal(err)
	}
	refused(t, env, tool.CodeOutside, "read_file", "file_path", filepath.Join(env.Blobs, "out"))
}

func TestSEC61ListsQuoteOddNames(t *testing.T) {
	w := tooltest.New(t, map[string]string{"b.txt": "", "a/x": "", "-rf": "", "new\nline": "x", "esc\x1b[2J": "", "bidi\u202e": "", "bad\xff": "", ".hidden": "", strings.Repeat("n", 255): ""})
	if err := os.Symlink("a", w.Path("link")); err != nil {
		t.Fatal(err)
	}
	env := w.Env()
	r := call(t, env, "ls")
	lines := strings.Split(strings.TrimSuffix(r.Content, "\n"), "\n")
	if len(lines) != 10 || lines[0] != "a/" || tool.Suspicious(r.Content) {
		t.Errorf("got %q", lines)
	}
	for _, want := range []string{`"new\nline"`, `"esc\x1b[2J"`, `"bidiU+202E"`, `"bad\xff"`, "link -> a", "-rf"} {
		if !strings.Contains(r.Content, want+"\n") {
			t.Errorf("no %s in %q", want, lines)
		}
	}
	if r := call(t, env, "ls", "ignore", []string{"*.txt", "-*"}); strings.Contains(r.Content, "b.txt") || strings.Contains(r.Content, "-rf") {
		t.Errorf("ignored names are listed: %q", r.Content)
	}
	if r := call(t, env, "ls", "dir_path", "a", "ignore", []string{"*"}); r.Content != "Nothing in a but what ignore leaves out." {
		t.Errorf("a folder of ignored names: %q", r.Content)
	}
	for _, tools := range []string{"glob", "grep"} {
		pattern := map[string]string{"glob": "*", "grep": "x"}[tools]
		if r := call(t, env, tools, "pattern", pattern); strings.Contains(r.Content, "new\nline") || !strings.Contains(r.Content, `"new\nline"`) {
			t.Errorf("%s: %q", tools, r.Content)
		}
	}
	refused(t, env, tool.CodeNotFound, "ls", "dir_path", "gone")
	refused(t, env, tool.CodeFailed, "ls", "dir_path", "b.txt")
	refused(t, env, tool.CodeOutside, "ls", "dir_path", "..")
}

func TestWriteFileNeedsToHaveSeenWhatItReplaces(t *testing.T) {
	w := tooltest.New(t, map[string]string{"a.txt": "old\n", "crlf.txt": "a\r\nb\r\n"})
	env := w.Env()
	refused(t, env, tool.CodeStale, "write_file", "file_path", "a.txt", "content", "new\n")
	call(t, env, "read_file", "file_path", "a.txt")
	r := call(t, env, "write_file", "file_path", "a.txt", "content", "new")
	if w.Text("a.txt") != "new\n" {
		t.Errorf("the final newline was not kept: %q", w.Text("a.txt"))
	}
	if len(r.Changes) != 1 || r.Changes[0].Kind != "edit" || r.Changes[0].URI != tool.URI(w.Path("a.txt")) || len(r.Changes[0].Hunks) != 1 || r.Changes[0].Hunks[0].ID == "" {
		t.Errorf("changes %+v", r.Changes)
	}
	if want := "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n"; r.Changes[0].Patch != want {
		t.Errorf("patch %q", r.Changes[0].Patch)
	}
	// What it wrote it has seen.
	call(t, env, "write_file", "file_path", "a.txt", "content", "newer\n")
	w.Put(t, "a.txt", "by hand\n")
	err := refused(t, env, tool.CodeStale, "write_file", "file_path", "a.txt", "content", "x")
	if !strings.Contains(err.Error(), "it is now ") {
		t.Errorf("SEC-66: the new hash is not told: %v", err)
	}
	if w.Text("a.txt") != "by hand\n" {
		t.Error("a person's change was lost")
	}
	call(t, env, "read_file", "file_path", "crlf.txt")
	call(t, env, "write_file", "file_path", "crlf.txt", "content", "x\ny\n")
	if w.Text("crlf.txt") != "x\r\ny\r\n" {
		t.Errorf("line ends were not kept: %q", w.Text("crlf.txt"))
	}
	r = call(t, env, "write_file", "file_path", "deep/new.txt", "content", "n")
	if w.Text("deep/new.txt") != "n" || r.Changes[0].Kind != "create" || !strings.HasPrefix(r.Changes[0].Patch, "--- /dev/null\n") {
		t.Errorf("a new file: %q, %+v", w.Text("deep/new.txt"), r.Changes)
	}
	if r := call(t, env, "write_file", "file_path", "deep/new.txt", "content", "n"); len(r.Changes) != 0 {
		t.Errorf("the same content: %+v", r.Changes)
	}
	refused(t, env, tool.CodeArgs, "write_file", "file_path", "deep/", "content", "n")
	refused(t, env, tool.CodeFailed, "write_file", "file_path", "deep", "content", "n")
}

func TestSEC66AndREL79ChangesBetweenPlanAndWriteAreNotOverwritten(t *testing.T) {
	w := tooltest.New(t, map[string]string{"a.txt": "one\n"})
	env := w.Env()
	call(t, env, "read_file", "file_path", "a.txt")
	w.BeforeWrite = func(string) { w.Put(t, "a.txt", "meanwhile\n") }
	refused(t, env, tool.CodeStale, "edit_file", "file_path", "a.txt", "old_string", "one", "new_string", "two")
	if w.Text("a.txt") != "meanwhile\n" {
		t.Errorf("got %q", w.Text("a.txt"))
	}
	w.BeforeWrite = nil
	// A buffer that was dirty when it was read is edited; one that changed since
	// is not.
	w.Edit("a.txt", "dirty\n")
	call(t, env, "read_file", "file_path", "a.txt")
	call(t, env, "edit_file", "file_path", "a.txt", "old_string", "dirty", "new_string", "edited")
	if r := call(t, env, "read_file", "file_path", "a.txt"); r.Content != "edited\n" || w.Text("a.txt") != "meanwhile\n" {
		t.Errorf("buffer %q, disk %q", r.Content, w.Text("a.txt"))
	}
	w.Edit("a.txt", "typed\n")
	refused(t, env, tool.CodeStale, "edit_file", "file_path", "a.txt", "old_string", "typed", "new_string", "x")
	// A new file that somebody makes meanwhile is theirs.
	w.BeforeWrite = func(string) { w.Put(t, "n.txt", "theirs\n") }
	refused(t, env, tool.CodeStale, "write_file", "file_path", "n.txt", "content", "mine")
}

func TestEditFile(t *testing.T) {
	for what, c := range map[string]struct {
		text, old, fresh string
		expected         int
		want, code       string
		mention          string
	}{
		"exact":                {"a\nb\nc\n", "b", "B", 0, "a\nB\nc\n", "", ""},
		"several, one wanted":  {"b\nb\n", "b", "B", 0, "", tool.CodeFailed, "2 places"},
		"several wanted":       {"b\nb\n", "b", "B", 2, "B\nB\n", "", ""},
		"one, two wanted":      {"b\na\n", "b", "B", 2, "", tool.CodeFailed, "1 place"},
		"none":                 {"a\n", "zzz", "B", 0, "", tool.CodeFailed, "not found"},
		"crlf":                 {"a\r\nb\r\nc\r\n", "a\nb", "x\ny", 0, "x\r\ny\r\nc\r\n", "", ""},
		"crlf in one line":     {"a\r\nb\r\n", "b", "x\ny", 0, "a\r\nx\r\ny\r\n", "", ""},
		"indentation":          {"func f() {\n\t\tif x {\n\t\t\ty()\n\t\t}\n}\n", "if x {\n\ty()\n}", "if z {\n\ty()\n\tw()\n}", 0, "func f() {\n\t\tif z {\n\t\t\ty()\n\t\t\tw()\n\t\t}\n}\n", "", ""},
		"indentation, twice":   {"  a\n  b\n    a\n    b\n", "\ta\n\tb", "\tc", 0, "", tool.CodeFailed, "2 places"},
		"indentation, both":    {"  a\n  b\n    a\n    b\n", "\ta\n\tb", "\tc", 2, "  c\n    c\n", "", ""},
		"trailing blanks":      {"a  \nb\n", "a\nb\n", "c\n", 0, "c\n", "", ""},
		"no final newline":     {"a\n  b", "\tb\n", "\tc\n", 0, "a\n  c", "", ""},
		"deleted":              {"a\nb\nc\n", "b\n", "", 0, "a\nc\n", "", ""},
		"deleted, indented":    {"a\n  b\nc\n", "\tb", "", 0, "a\nc\n", "", ""},
		"blank only":           {"a\n\n\nb\n", " \n ", "x", 0, "", tool.CodeFailed, "not found"},
		"dollars stay dollars": {"a\n", "a", "$1 \\1 ${x}", 0, "$1 \\1 ${x}\n", "", ""},
		"the same":             {"a\n", "a", "a", 0, "", tool.CodeArgs, "same"},
		"empty on a file":      {"a\n", "", "x", 0, "", tool.CodeArgs, "exists"},
		"overlapping":          {"aaa\n", "aa", "b", 0, "ba\n", "", ""},
	} {
		w := tooltest.New(t, map[string]string{"f": c.text})
		env := w.Env()
		call(t, env, "read_file", "file_path", "f")
		pairs := []any{"file_path", "f", "old_string", c.old, "new_string", c.fresh}
		if c.expected > 0 {
			pairs = append(pairs, "expected_replacements", c.expected)
		}
		_, err := tooltest.Run(t.Context(), named(t, "edit_file"), env, args(t, pairs...))
		want := c.want
		if c.code != "" {
			want = c.text
		}
		if tooltest.Code(err) != c.code || w.Text("f") != want || (err != nil && !strings.Contains(err.Error(), c.mention)) {
			t.Errorf("%s: %q, %v; want %q", what, w.Text("f"), err, want)
		}
	}
	w := tooltest.New(t, nil)
	call(t, w.Env(), "edit_file", "file_path", "new", "old_string", "", "new_string", "x\n")
	if w.Text("new") != "x\n" {
		t.Errorf("an empty old_string: %q", w.Text("new"))
	}
	refused(t, w.Env(), tool.CodeNotFound, "edit_file", "file_path", "gone", "old_string", "a", "new_string", "b")
}

// TestSEC125NumbersThatDoNotFitAreTheModels: what fits the schema and no integer
// of a program is the model's to mend.
func TestSEC125NumbersThatDoNotFitAreTheModels(t *testing.T) {
	w := tooltest.New(t, map[string]string{"f": "a\n"})
	for _, n := range []string{"1e30", "9223372036854775808", "1e1000001", "9223372036854775807", "1e18"} {
		_, err := tooltest.Run(t.Context(), named(t, "read_file"), w.Env(), `{"file_path":"f","offset":`+n+`}`)
		if tooltest.Code(err) != tool.CodeArgs || (!strings.Contains(err.Error(), "offset") && !strings.Contains(err.Error(), "number")) {
			t.Errorf("%s: %v", n, err)
		}
	}
}

func FuzzEditFileReplace(f *testing.F) {
	f.Add("a\n  b\nc\n", "b", "x")
	f.Add("a\r\nb\r\n", "a\nb", "x\ny")
	f.Add("é \ufffd", "\xc3", "\xa9z") // neither half is what the model can have said
	f.Fuzz(func(t *testing.T, text, old, fresh string) {
		if strings.ContainsRune(text+old+fresh, 0) || text == "" {
			t.Skip()
		}
		w := tooltest.New(t, map[string]string{"f": text})
		env := w.Env()
		if _, err := tooltest.Run(t.Context(), named(t, "read_file"), env, `{"file_path":"f"}`); err != nil {
			t.Skip()
		}
		_, err := tooltest.Run(t.Context(), named(t, "edit_file"), env, args(t, "file_path", "f", "old_string", old, "new_string", fresh))
		if err != nil && w.Text("f") != text {
			t.Errorf("refused (%v), and %q became %q", err, text, w.Text("f"))
		}
		if strings.Count(text, old) == 1 && old != fresh && old != "" && !strings.Contains(text+fresh, "\r") && utf8.ValidString(old) && utf8.ValidString(fresh) && err == nil {
			if want := strings.Replace(text, old, fresh, 1); w.Text("f") != want {
				t.Errorf("%q became %q, want %q", text, w.Text("f"), want)
			}
		}
	})
}

func TestSEC17ProtectedWritesAskEachTime(t *testing.T) {
	w := tooltest.New(t, map[string]string{"package.json": `{"name":"x","scripts":{"test":"t"}}`, "bad/package.json": "{", "soft.go": "so\u00adft"})
	env := w.Env()
	call(t, env, "read_file", "file_path", "package.json")
	call(t, env, "read_file", "file_path", "soft.go")
	call(t, env, "read_file", "file_path", "bad/package.json")
	for _, c := range []struct {
		path, content string
		risk          tool.Risk
		remembered    bool
	}{
		{".git/config", "x", tool.Protected, false}, {".gemini/agents/a.md", "x", tool.Protected, false}, {".GIT/hooks/pre-commit", "x", tool.Protected, false}, {"GEMINI.md", "x", tool.Protected, false}, {"sub/.envrc", "x", tool.Protected, false},
		{"src/a.go", "x", tool.Low, true}, {"package.json", `{"name":"y","scripts":{"test":"t"}}`, tool.Low, true}, {"package.json", `{"name":"x","scripts":{"test":"evil"}}`, tool.High, false}, {"package.json", `{`, tool.High, false},
		{"new/package.json", `{"scripts":{"postinstall":"x"}}`, tool.High, false}, {"bad/package.json", `{}`, tool.High, false}, {"a\u202eb.go", "x", tool.Medium, false}, {"src/b.go", "a\u202eb", tool.Medium, false}, {"soft.go", "so\u00adft, softer", tool.Low, true}, {"soft.go", "so\u00adft \u202e", tool.Medium, false}, {"src/c.go", "emoji ❤️ stays low", tool.Low, true},
	} {
		p, err := named(t, "write_file").Plan(t.Context(), env, []byte(args(t, "file_path", c.path, "content", c.content)))
		if err != nil || p.Risk != c.risk || (p.Shape != "") != c.remembered {
			t.Errorf("%q: %+v, %v; want %v", c.path, p, err, c.risk)
		}
	}
}

func TestSEC54LinksOutAreRefusedByEveryFileTool(t *testing.T) {
	w := tooltest.New(t, map[string]string{"a": "x"})
	outside := filepath.Join(filepath.Dir(w.Folder), "secret")
	if err := os.WriteFile(outside, []byte("canary"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": outside, "up": "..", "dangling": filepath.Join(filepath.Dir(w.Folder), "made")} {
		if err := os.Symlink(target, w.Path(name)); err != nil {
			t.Fatal(err)
		}
	}
	env := w.Env()
	for _, name := range []string{"link", "up/secret", "dangling", "../secret", outside} {
		refused(t, env, tool.CodeOutside, "read_file", "file_path", name)
		refused(t, env, tool.CodeOutside, "read_many_files", "include", []string{"a", name})
		refused(t, env, tool.CodeOutside, "write_file", "file_path", name, "content", "x")
		refused(t, env, tool.CodeOutside, "edit_file", "file_path", name, "old_string", "", "new_string", "x")
	}
	for _, name := range []string{"up", ".."} {
		refused(t, env, tool.CodeOutside, "ls", "dir_path", name)
		refused(t, env, tool.CodeOutside, "glob", "dir_path", name, "pattern", "*")
		refused(t, env, tool.CodeOutside, "grep", "dir_path", name, "pattern", "canary")
		refused(t, env, tool.CodeOutside, "bash", "directory", name, "command", "ls")
	}
	refused(t, env, tool.CodeOutside, "glob", "pattern", "../*")
	for _, include := range []string{"../*", "up/*", "up/**/secret", "*/../../secret", filepath.Dir(w.Folder) + "/*", "/etc/pass*", "up", "/"} {
		refused(t, env, tool.CodeOutside, "read_many_files", "include", []string{include})
	}
	for _, include := range []string{"*", "**", "{link,up}", "li?k", "**/secret", "[u]p/*"} {
		if r := call(t, env, "read_many_files", "include", []string{include}); strings.Contains(r.Content, "canary") {
			t.Errorf("read_many_files %s: %s", include, r.Content)
		}
	}
	for name, target := range map[string]string{"environ": "/proc/self/environ", "fd": "/dev/fd/0"} {
		if err := os.Symlink(target, w.Path(name)); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{name, target} {
			if err := refused(t, env, tool.CodeOutside, "read_file", "file_path", path); err == nil || !strings.Contains(err.Error(), "leaves the workspace") {
				t.Errorf("%s: %v", path, err)
			}
			refused(t, env, tool.CodeOutside, "grep", "dir_path", path, "pattern", "PATH")
		}
	}
	if err := refused(t, env, tool.CodeOutside, "read_file", "file_path", "link"); err == nil || !strings.Contains(err.Error(), outside) {
		t.Errorf("the target is not named: %v", err)
	}
	if data, err := os.ReadFile(w.Path("link")); err != nil || string(data) != "canary" {
		t.Errorf("the file outside: %q, %v", data, err)
	}
	t.Log("positive control: os.ReadFile of the link reads the canary outside")
	if _, err := os.Stat(filepath.Join(filepath.Dir(w.Folder), "made")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a link that leads to nothing was written through")
	}
}

// TestSEC55RaceOfLinks flips a file and a folder between themselves and links
// that lead out, while every reading tool and the writing ones work on them.
func TestSEC55RaceOfLinks(t *testing.T) {
	w := tooltest.New(t, map[string]string{"sub/file.txt": "inside\n", "dir/file.txt": "inside\n"})
	out := filepath.Join(filepath.Dir(w.Folder), "outside")
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(out, "file.txt")
	if err := os.WriteFile(secret, []byte("canary inside\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var flips atomic.Int64
	var flipper conc.WaitGroup
	flipper.Go(func() {
		file, kept := w.Path("sub/file.txt"), w.Path("kept")
		dir, away := w.Path("dir"), w.Path("away")
		for !stop.Load() {
			_ = os.Rename(file, kept)
			_ = os.Symlink(secret, file)
			_ = os.Rename(dir, away)
			_ = os.Symlink(out, dir)
			_ = os.Remove(file)
			_ = os.Rename(kept, file)
			_ = os.Remove(dir)
			_ = os.Rename(away, dir)
			flips.Add(2)
		}
	})
	var once sync.Once
	escaped := func(what, content string) {
		if strings.Contains(content, "canary") {
			once.Do(func() { t.Errorf("SEC-55: %s reached outside: %s", what, content) })
		}
	}
	for i := range 200 {
		env := w.Env()
		env.Trusted = i%8 == 0 // with ripgrep, which takes long to start, and without
		for name, a := range map[string]string{
			"read_file": `{"file_path":"sub/file.txt"}`, "read_many_files": `{"include":["sub/file.txt","dir/*","**/*.txt"]}`, "ls": `{"dir_path":"dir"}`, "grep": `{"pattern":"[c]anary|inside"}`, "glob": `{"pattern":"**/*"}`,
			"edit_file": `{"file_path":"dir/file.txt","old_string":"inside","new_string":"inside, edited"}`, "write_file": `{"file_path":"dir/new.txt","content":"x"}`,
		} {
			if name == "edit_file" {
				f, err := w.Read(t.Context(), w.Path("dir/file.txt"))
				if err != nil {
					continue
				}
				env.Seen.Note(w.Path("dir/file.txt"), f.Digest)
			}
			r, err := tooltest.Run(t.Context(), named(t, name), env, a)
			if err == nil {
				escaped(name, r.Content)
			}
		}
	}
	stop.Store(true)
	flipper.Wait()
	if data, err := os.ReadFile(secret); err != nil || string(data) != "canary inside\n" || fileExists(filepath.Join(out, "new.txt")) {
		t.Errorf("outside: %q, %v", data, err)
	}
	t.Logf("%d flips", flips.Load())
}

func BenchmarkReadFile(b *testing.B) {
	w := tooltest.New(b, map[string]string{"a.go": strings.Repeat("a line of code that is of ordinary length\n", 300)})
	env := w.Env()
	read := named(b, "read_file")
	for b.Loop() {
		if _, err := tooltest.Run(b.Context(), read, env, `{"file_path":"a.go"}`); err != nil {
			b.Fatal(err)
		}
	}
}
