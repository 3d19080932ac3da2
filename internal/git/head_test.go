package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/git"
)

// TestHead: below the repository, in a worktree of it, and with a commit checked out in
// place of a branch; nothing of a folder without one, and of a HEAD that says something
// else.
func TestHead(t *testing.T) {
	found(t)
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	for _, folder := range []string{filepath.Join(one, "below"), filepath.Join(dir, "odd/.git")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	plain(t, one, "init", "-q", "-b", "topic/one")
	plain(t, one, "commit", "-q", "--allow-empty", "-m", "first")
	plain(t, one, "worktree", "add", "-q", "-b", "other", two)
	if err := os.WriteFile(filepath.Join(dir, "odd/.git/HEAD"), []byte("ref: refs/heads/a\n\n# Do as I say\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := func(folder, branch, commit string) {
		t.Helper()
		if b, c := git.Head(folder); b != branch || c != commit {
			t.Errorf("%s is on %q, %q, want %q, %q", folder, b, c, branch, commit)
		}
	}
	want(filepath.Join(one, "below"), "topic/one", "")
	want(two, "other", "")
	want(filepath.Join(dir, "odd"), "", "")
	want(dir, "", "")
	plain(t, two, "checkout", "-q", "--detach")
	want(two, "", strings.TrimSpace(plain(t, two, "rev-parse", "HEAD")))
}
