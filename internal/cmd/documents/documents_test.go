package documents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSummary(t *testing.T) {
	if got, want := summary("a\nb\n", "a\nc\n"), "- b\n+ c\n"; got != want {
		t.Errorf("summary = %q, want %q", got, want)
	}
	if got, want := summary("a\nb\n", "b\na\n"), "its lines are in another order\n"; got != want {
		t.Errorf("summary = %q, want %q", got, want)
	}
	if got := summary("", strings.Repeat("x\n", 50)); !strings.HasSuffix(got, "+ … and 30 lines more\n") {
		t.Errorf("summary of 50 lines = %q", got)
	}
}

// TestWrite: with check nothing is changed and the command that helps is named;
// without, what is stale is written.
func TestWrite(t *testing.T) {
	root := t.TempDir()
	all := []Document{{Name: "docs/a.md", Text: []byte("one\n")}}
	var out strings.Builder
	err := Write(root, all, true, "make it", &out)
	if err == nil || !strings.Contains(err.Error(), "make it") || !strings.Contains(out.String(), "docs/a.md is stale:\n+ one\n") {
		t.Fatalf("%v, %q", err, &out)
	}
	if err := Write(root, all, false, "make it", &out); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(root, "docs", "a.md")); err != nil || string(got) != "one\n" {
		t.Fatalf("%q, %v", got, err)
	}
	if err := Write(root, all, true, "make it", &out); err != nil {
		t.Errorf("what was just written is stale: %v", err)
	}
}
