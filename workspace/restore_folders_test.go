package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRemoveFoldersLeavesFiles: what was written after somebody looked stays.
func TestRemoveFoldersLeavesFiles(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"x/a/b", "x/c"} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(folder, "x", "a", "b", "f")
	if err := os.WriteFile(file, []byte("the person's"), 0o644); err != nil {
		t.Fatal(err)
	}
	dir, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := removeFolders(dir, "x"); err == nil {
		t.Error("a folder with a file is taken for one without")
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := removeFolders(dir, "x"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "x")); err == nil {
		t.Error("the folder is there")
	}
}
