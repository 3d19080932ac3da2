package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"go.lsp.dev/uri"

	"github.com/agentls/agentls/internal/fault"
)

func TestSEC53WithinComparesElements(t *testing.T) {
	folders := []Folder{{Path: "/w/proj", Canonical: "/real/proj"}, {Path: "/w/proj/inner", Canonical: "/w/proj/inner"}}
	for _, c := range []struct {
		path   string
		folder int // -1: outside
		rel    string
	}{
		{"/w/proj/x", 0, "x"}, {"/w/proj", 0, "."}, {"/w/proj/./a/../b", 0, "b"}, {"/real/proj/x", 0, "x"},
		{"/w/proj/inner/x", 1, "x"}, {"/w/proj/innermost/x", 0, "innermost/x"}, {"/w/proj/..x", 0, "..x"},
		{"/w/proj-evil/x", -1, ""}, {"/w/proj/../proj-evil/x", -1, ""}, {"/w", -1, ""}, {"/", -1, ""},
		{"proj/x", -1, ""}, {"", -1, ""}, {"/W/PROJ/x", -1, ""},
	} {
		f, rel, ok := Within(folders, c.path)
		if ok != (c.folder >= 0) || (ok && (f.Path != folders[c.folder].Path || rel != c.rel)) {
			t.Errorf("Within(%q) = %q in %q, %v", c.path, rel, f.Path, ok)
		}
	}
}

func FuzzSEC53Below(f *testing.F) {
	f.Add("/w/proj", "/w/proj-evil/x")
	f.Add("/w/proj", "/w/proj/../proj-evil/x")
	f.Add("/", "/x")
	f.Fuzz(func(t *testing.T, root, path string) {
		rel, ok := Below(root, path)
		// Element by element, without filepath.Rel.
		want := filepath.IsAbs(root) && filepath.IsAbs(path)
		r, p := elements(filepath.Clean(root)), elements(filepath.Clean(path))
		for i := range r {
			want = want && i < len(p) && p[i] == r[i]
		}
		if ok != want || (ok && filepath.Join(root, rel) != filepath.Clean(path)) {
			t.Fatalf("Below(%q, %q) = %q, %v, want %v", root, path, rel, ok, want)
		}
	})
}

func TestFolders(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "real")
	must(t, os.Mkdir(real, 0o755))
	must(t, os.Symlink(real, filepath.Join(dir, "link")))
	canonical, err := Canonical(real)
	must(t, err)
	f, err := NewFolder(uri.File(filepath.Join(dir, "link")), "")
	if err != nil || f.Canonical != canonical || f.Path != filepath.Join(dir, "link") || f.Name != "link" {
		t.Errorf("%+v, %v", f, err)
	}
	if got, err := Canonical(filepath.Join(dir, "link", "not", "there")); err != nil || got != filepath.Join(canonical, "not", "there") {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []uri.URI{"untitled:x", "https://example.com/x"} {
		if _, err := NewFolder(bad, ""); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := Canonical("relative"); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
