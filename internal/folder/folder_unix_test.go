//go:build unix

package folder_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/agentls/agentls/internal/folder"
)

// TestReadFile: regular files of a bounded size beneath the folder, and nothing else. A
// pipe without a writer would be waited for without end.
func TestReadFile(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.WriteFile(filepath.Join(dir, "text"), []byte("1234"), 0o600),
		os.WriteFile(filepath.Join(dir, "long"), []byte("12345"), 0o600),
		os.Mkdir(filepath.Join(dir, "dir"), 0o700),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
		os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "link")),
		os.Symlink(outside, filepath.Join(dir, "out")),
		os.Symlink("text", filepath.Join(dir, "near")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := folder.Open("", dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, want := range map[string]string{"text": "1234", "long": "", "dir": "", "pipe": "", "link": "", "missing": ""} {
		if data, err := folder.ReadFile(root, name, 4); string(data) != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	for name, want := range map[string]string{"text": "1234", "long": "", "dir": "", "pipe": "", "near": "link", "missing": ""} {
		path := filepath.Join(dir, name)
		for _, follows := range []bool{true, false} {
			read, want := folder.ReadPlain, want
			if follows {
				read = folder.ReadRegular
			}
			if want == "link" {
				if want = ""; follows {
					want = "1234"
				}
			}
			if data, _, err := read(path, 4); string(data) != want || (err == nil) != (want != "") {
				t.Errorf("%s, links followed %v: %q, %v", name, follows, data, err)
			}
		}
	}
	if out, err := folder.Open(dir, filepath.Join(dir, "out")); err == nil {
		out.Close()
		t.Error("a link out of the folder was followed")
	}
}
