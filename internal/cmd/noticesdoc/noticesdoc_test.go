package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoticesNameEachModule: what is linked into the binary is in the notices of
// the checkout, in its version.
func TestNoticesNameEachModule(t *testing.T) {
	const root = "../../.."
	modules, err := linked(root)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "THIRD-PARTY-NOTICES.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		if !strings.Contains(string(text), "["+m.path+"](https://pkg.go.dev/"+m.path+"@"+m.version+")") {
			t.Errorf("%s@%s is not named; run go run ./internal/cmd/noticesdoc", m.path, m.version)
		}
	}
	if len(modules) < 20 {
		t.Errorf("only %d modules are linked", len(modules))
	}
}

// TestNotices: modules of one licence share its text, and one without is refused.
func TestNotices(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return filepath.Dir(file)
	}
	a := module{"m/a", "v1.0.0", put("a/LICENSE", "Words. \r\n")}
	b := module{"m/b", "v2.0.0", put("b/COPYING", "Words.\n")}
	put("b/notice_test.go", "package b")
	text, err := notices([]module{a, b})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text); strings.Count(got, "Words.") != 1 || !strings.Contains(got, "## m/a, m/b\n\n~~~~text\nWords.\n~~~~\n") || !strings.Contains(got, "m/b@v2.0.0) v2.0.0") {
		t.Errorf("%s", got)
	}
	if _, err := notices([]module{{"m/c", "v1.0.0", put("c/main.go", "package c")}}); err == nil || !strings.Contains(err.Error(), "m/c@v1.0.0") {
		t.Errorf("a module without a licence: %v", err)
	}
}
