package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/sandbox"
)

// git runs git as the person does, in a folder.
func (w *world) git(t testing.TB, folder string, args ...string) {
	t.Helper()
	own := []string{"-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always"}
	cmd := exec.Command("git", append(own, args...)...)
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// withMain makes a repository beside the workspace, with one commit.
func (w *world) withMain(t testing.TB) (main string) {
	t.Helper()
	main = filepath.Join(w.home, "src", "main")
	put(t, filepath.Join(main, "a.txt"), "one\n")
	put(t, filepath.Join(main, "untracked"), "planted-untracked")
	w.git(t, main, "init", "-q", "-b", "main")
	w.git(t, main, "add", "a.txt")
	w.git(t, main, "commit", "-qm", "first")
	return main
}

// TestGitOfWorktreesAndSubmodules: in a workspace that is one, git reads the
// repository that it belongs to, and nothing is written there or read beside it.
func TestGitOfWorktreesAndSubmodules(t *testing.T) {
	for name, open := range map[string]func(t *testing.T, w *world, main string) (folder string){
		"a worktree": func(t *testing.T, w *world, main string) string {
			folder := filepath.Join(w.home, "src", "tree")
			w.git(t, main, "worktree", "add", "-q", folder)
			return folder
		},
		"a submodule": func(t *testing.T, w *world, main string) string {
			super := filepath.Join(w.home, "src", "super")
			put(t, filepath.Join(super, "x"), "planted-super")
			w.git(t, super, "init", "-q")
			w.git(t, super, "submodule", "--quiet", "add", main, "libs/sub")
			return filepath.Join(super, "libs", "sub")
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachWall(t, func(t *testing.T, w *world) {
				main := w.withMain(t)
				w.folder = open(t, w, main)
				put(t, filepath.Join(w.folder, "a.txt"), "two\n")
				for _, access := range []sandbox.Access{sandbox.Read, sandbox.Write} {
					r := w.run(t, w.spec(access), "git status --short && git diff && git log --oneline")
					if r.code != 0 || !strings.Contains(r.out, " M a.txt") || !strings.Contains(r.out, "+two") || !strings.Contains(r.out, "first") {
						t.Errorf("%s: %+v", access, r)
					}
				}
				for _, text := range []string{"d=$(git rev-parse --git-common-dir); echo x > $d/CANARY; rm $d/HEAD; ls $d", "git branch CANARY", "cat ../untracked ../main/untracked ../../x"} {
					if r := w.run(t, w.spec(sandbox.Write), text); strings.Contains(r.out, "CANARY\n") || strings.Contains(r.out, "planted") {
						t.Errorf("%s: %+v", text, r)
					}
				}
				cmd := exec.Command("git", "branch", "--list", "CANARY")
				cmd.Dir = w.folder
				if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
					t.Errorf("the repository was changed: %s, %v", out, err)
				}
			})
		})
	}
}

// TestSEC14ForgedGitFiles: a .git file leads to no repository that does not itself
// name the folder as its own.
func TestSEC14ForgedGitFiles(t *testing.T) {
	eachWall(t, func(t *testing.T, w *world) {
		main := w.withMain(t)
		tree := filepath.Join(w.home, "src", "tree")
		w.git(t, main, "worktree", "add", "-q", tree)
		dir := filepath.Join(main, ".git")
		w.folder = filepath.Join(w.home, "src", "forged")
		own := filepath.Join(w.folder, "own", "worktrees", "x")
		for name, files := range map[string]map[string]string{
			"a repository":           {".git": "gitdir: " + dir},
			"another's worktree":     {".git": "gitdir: " + filepath.Join(dir, "worktrees", "tree")},
			"one of its own":         {".git": "gitdir: " + own, "own/worktrees/x/gitdir": w.folder + "/.git", "own/worktrees/x/commondir": dir, "own/worktrees/x/HEAD": "ref: refs/heads/main"},
			"a link to a repository": {".git": "gitdir: own/link", "own/x": ""},
		} {
			if err := os.RemoveAll(w.folder); err != nil {
				t.Fatal(err)
			}
			for path, text := range files {
				put(t, filepath.Join(w.folder, path), text)
			}
			if _, linked := files["own/x"]; linked {
				if err := os.Symlink(dir, filepath.Join(w.folder, "own", "link")); err != nil {
					t.Fatal(err)
				}
			}
			if r := w.run(t, w.spec(sandbox.Read), "git log --oneline; ls -d "+dir+"; cat "+dir+"/HEAD "+dir+"/worktrees/tree/HEAD"); strings.Contains(r.out, "first") || strings.Contains(r.out, "refs/heads") {
				t.Errorf("%s: %+v", name, r)
			}
		}
	})
}
