package builtin_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
	"github.com/agentls/agentls/internal/sandbox"
)

// committed is a workspace with a repository that has one commit.
type committed struct {
	*tooltest.Workspace
	t   *testing.T
	env *tool.Env
}

func newCommitted(t *testing.T) *committed {
	t.Helper()
	tooltest.Program(t, "git")
	w := &committed{tooltest.New(t, map[string]string{"a.txt": "one\n", "gone.txt": "x\n", ".gitignore": "*.log\n"}), t, nil}
	w.env = w.Env()
	if err := os.MkdirAll(w.env.Home, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.env.Home, ".gitconfig"), []byte("[user]\n\tname = A Person\n\temail = person@example.com\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.git("init", "-q")
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "one")
	w.Put(t, "a.txt", "one\ntwo\n")
	w.Put(t, "sub/new.txt", "new\n")
	w.Put(t, "other.txt", "not named\n")
	w.Put(t, ".env", "KEY=secret\n")
	if err := os.Remove(w.Path("gone.txt")); err != nil {
		t.Fatal(err)
	}
	return w
}

// git runs git as the person does.
func (w *committed) git(args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = w.Folder, append(os.Environ(), "HOME="+w.env.Home, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// hook makes hooks that leave a mark beside the workspace and in it.
func (w *committed) hook() (mark string) {
	mark = filepath.Join(filepath.Dir(w.Folder), "mark")
	for _, name := range []string{"pre-commit", "commit-msg", "post-commit", "post-index-change"} {
		w.Put(w.t, ".git/hooks/"+name, "#!/bin/sh\necho "+name+" > '"+mark+"' 2>/dev/null\necho "+name+" >> "+"hooks.log\n")
		if err := os.Chmod(w.Path(".git/hooks/"+name), 0o755); err != nil {
			w.t.Fatal(err)
		}
	}
	return mark
}

// planOf returns the plan of a call, which must have one.
func planOf(t *testing.T, env *tool.Env, name string, pairs ...any) *tool.Plan {
	t.Helper()
	p, err := named(t, name).Plan(t.Context(), env, []byte(args(t, pairs...)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSEC51GitCommit(t *testing.T) {
	w := newCommitted(t)
	mark := w.hook()
	p := planOf(t, w.env, "git_commit", "message", "Two\n\nand more", "paths", []string{"a.txt", "gone.txt", "sub"})
	notes := strings.Join(p.Preview.Notes, "; ")
	if p.Risk != tool.Medium || !p.Spawns || !strings.Contains(p.Preview.Command, "Two\n\nand more") || !strings.Contains(notes, "changed a.txt") || !strings.Contains(notes, "deleted gone.txt") || !strings.Contains(notes, "new sub/new.txt") || strings.Contains(notes, "other.txt") {
		t.Errorf("%+v", p)
	}
	r := call(t, w.env, "git_commit", "message", "Two\n\nand more", "paths", []string{"a.txt", "gone.txt", "sub"})
	if r.Failed || !strings.Contains(r.Content, "Two") || !strings.Contains(r.Content, "were not run") {
		t.Errorf("%+v", r)
	}
	if got := w.git("log", "-1", "--format=%an <%ae> %s|%b"); got != "A Person <person@example.com> Two|and more" {
		t.Error(got)
	}
	if got := w.git("show", "--name-status", "--format=", "HEAD"); got != "M\ta.txt\nD\tgone.txt\nA\tsub/new.txt" {
		t.Error(got)
	}
	if _, err := os.Stat(mark); err == nil || w.Text("hooks.log") != "" {
		t.Error("a hook ran without a wall")
	}
}

// TestSEC51GitCommitLooksAgain: what comes into a named folder after the call was
// decided about is not committed, nor what changes its state.
func TestSEC51GitCommitLooksAgain(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *committed)
		code   string
	}{
		"a new file":     {func(w *committed) { w.Put(t, "sub/late.txt", "late\n") }, tool.CodeStale},
		"a credential":   {func(w *committed) { w.Put(t, "sub/.env", "KEY=secret\n") }, tool.CodeDenied},
		"a deleted file": {func(w *committed) { w.mustRemove("a.txt") }, tool.CodeStale},
		"one less":       {func(w *committed) { w.Put(t, "a.txt", "one\n") }, tool.CodeStale},
		"other content":  {func(w *committed) { w.Put(t, "a.txt", "one\ntwo\nthree\n") }, ""},
	} {
		w := newCommitted(t)
		before := w.git("rev-parse", "HEAD")
		p := planOf(t, w.env, "git_commit", "message", "m", "paths", []string{"a.txt", "sub"})
		c.change(w)
		_, err := p.Do(t.Context(), w.env)
		code := ""
		if refusal, ok := errors.AsType[*tool.Error](err); ok {
			code = refusal.Code
		}
		if code != c.code {
			t.Errorf("%s: %q (%v)", name, code, err)
		}
		if now := w.git("rev-parse", "HEAD"); (now == before) != (c.code != "") {
			t.Errorf("%s: there is a commit: %v", name, now != before)
		}
	}
}

// TestGitCommitTakesWhatIsStaged: also a deletion, and without what was staged and
// is gone again.
// TestGitCommitSaysWhatConflicts: however both sides came to differ.
func TestGitCommitSaysWhatConflicts(t *testing.T) {
	w := newCommitted(t)
	w.git("stash", "-q", "--include-untracked")
	w.git("checkout", "-q", "-b", "theirs")
	w.Put(t, "both.txt", "theirs\n")
	w.mustRemove("gone.txt")
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "theirs")
	w.git("checkout", "-q", "-b", "ours", "HEAD~")
	w.Put(t, "both.txt", "ours\n")
	w.Put(t, "gone.txt", "ours\n")
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "ours")
	_ = exec.Command("git", "-C", w.Folder, "merge", "theirs").Run() // it conflicts
	p := planOf(t, w.env, "git_commit", "message", "m", "paths", []string{"both.txt", "gone.txt"})
	if notes := strings.Join(p.Preview.Notes, "; "); !strings.Contains(notes, "conflict both.txt") || !strings.Contains(notes, "conflict gone.txt") {
		t.Error(notes)
	}
}

func TestGitCommitTakesWhatIsStaged(t *testing.T) {
	w := newCommitted(t)
	w.mustRemove(".env")
	w.git("rm", "-q", "--cached", "gone.txt")
	w.Put(t, "was.txt", "x\n")
	w.git("add", "was.txt", "other.txt")
	w.mustRemove("was.txt")
	if r := call(t, w.env, "git_commit", "message", "m", "paths", []string{"."}); r.Failed {
		t.Fatalf("%+v", r)
	}
	if got := w.git("show", "--name-status", "--format=", "HEAD"); got != "M\ta.txt\nD\tgone.txt\nA\tother.txt\nA\tsub/new.txt" {
		t.Error(got)
	}
}

func TestSEC50GitCommitRefuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(w *committed)
		paths   []string
		code    string
	}{
		{name: "nothing changed", paths: []string{".gitignore"}, code: tool.CodeFailed},
		{name: "an ignored file", prepare: func(w *committed) { w.Put(w.t, "x.log", "x") }, paths: []string{"x.log"}, code: tool.CodeFailed},
		{name: "credentials", paths: []string{".env"}, code: tool.CodeDenied},
		{name: "credentials in a folder", paths: []string{"."}, code: tool.CodeDenied},
		{name: "outside", paths: []string{"../home/.gitconfig"}, code: tool.CodeOutside},
		{name: "behind a link and ..", prepare: func(w *committed) { link(w.t, "/etc/ssl", w.Path("l")) }, paths: []string{"l/../a.txt"}, code: tool.CodeOutside},
		{name: "no repository", prepare: func(w *committed) { w.mustRemove(".git") }, paths: []string{"a.txt"}, code: tool.CodeFailed},
		{name: "alternates", prepare: func(w *committed) { w.Put(w.t, ".git/objects/info/alternates", "/tmp\n") }, paths: []string{"a.txt"}, code: tool.CodeDenied},
		{name: "a repository inside", prepare: func(w *committed) { w.Put(w.t, "in/x", "x"); w.git("init", "-q", "in") }, paths: []string{"in"}, code: tool.CodeDenied},
		{name: "no trust", prepare: func(w *committed) { w.env.Trusted = false }, paths: []string{"a.txt"}, code: tool.CodeDenied},
		{name: "no name", prepare: func(w *committed) { w.env.Home = w.t.TempDir() }, paths: []string{"a.txt"}, code: tool.CodeFailed},
		{name: "a filter", prepare: func(w *committed) { w.Put(w.t, ".gitattributes", "*.txt filter=lfs\n") }, paths: []string{"a.txt"}, code: tool.CodeDenied},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newCommitted(t)
			before := w.git("rev-parse", "HEAD")
			if c.prepare != nil {
				c.prepare(w)
			}
			refused(t, w.env, c.code, "git_commit", "message", "m", "paths", c.paths)
			if c.name == "no repository" {
				return
			}
			if c.name == "alternates" {
				w.mustRemove(".git/objects/info/alternates")
			}
			if now := w.git("rev-parse", "HEAD"); now != before {
				t.Error("there is a commit")
			}
		})
	}
}

func (w *committed) mustRemove(name string) {
	w.t.Helper()
	if err := os.RemoveAll(w.Path(name)); err != nil {
		w.t.Fatal(err)
	}
}

// TestSEC51GitCommitBehindTheWall: the repository's hooks run there, and write nothing
// outside of the workspace.
func TestSEC51GitCommitBehindTheWall(t *testing.T) {
	w := newCommitted(t)
	mark := w.hook()
	w.env.Sandbox = sandbox.New(sandbox.Config{Home: w.env.Home, State: filepath.Join(t.TempDir(), "state"), Environ: append(os.Environ(), "HOME="+w.env.Home)})
	if wall, why := w.env.Sandbox.Wall(); wall == sandbox.None {
		t.Skip(why)
	}
	if p := planOf(t, w.env, "git_commit", "message", "Two", "paths", []string{"a.txt"}); p.Access != sandbox.Write {
		t.Errorf("access %s", p.Access)
	}
	began := time.Now()
	r := call(t, w.env, "git_commit", "message", "Two", "paths", []string{"a.txt"})
	if r.Failed || !strings.Contains(r.Content, "Two") {
		t.Errorf("%+v after %v", r, time.Since(began))
	}
	if got := w.git("log", "-1", "--format=%an <%ae> %s"); got != "A Person <person@example.com> Two" {
		t.Error(got)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a hook wrote outside of the workspace")
	}
	if got := w.Text("hooks.log"); !strings.Contains(got, "pre-commit") || !strings.Contains(got, "post-commit") {
		t.Errorf("the hooks did not run: %q", got)
	}
	w.Put(t, ".git/hooks/pre-commit", "#!/bin/sh\necho no good >&2\nexit 1\n")
	w.Put(t, "a.txt", "three\n")
	r = call(t, w.env, "git_commit", "message", "Three", "paths", []string{"a.txt"})
	if !r.Failed || !strings.Contains(r.Content, "no good") {
		t.Errorf("a hook that refuses: %+v", r)
	}
}
