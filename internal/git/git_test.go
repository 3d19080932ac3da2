package git_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/git"
)

// found returns the git of this machine.
func found(t *testing.T) *git.Program {
	t.Helper()
	p, err := git.Find(t.Context(), os.Environ())
	if err != nil {
		t.Skip(err)
	}
	return p
}

// plain runs git as a person would, with a home of its own.
func plain(t *testing.T, folder string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.WaitDelay = time.Second
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func write(t *testing.T, text string, elements ...string) {
	t.Helper()
	path := filepath.Join(elements...)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
		t.Fatal(err)
	}
}

// repository makes a folder with a commit in it.
func repository(t *testing.T) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	plain(t, folder, "init", "-q")
	write(t, "one\n", folder, "a.txt")
	plain(t, folder, "add", "-A")
	plain(t, folder, "commit", "-q", "-m", "one")
	return folder
}

// TestSEC48And51NothingOfAConfigurationRuns: each setting that runs a program
// leaves its mark when a person's git works in the folder, and none when ours does.
func TestSEC48And51NothingOfAConfigurationRuns(t *testing.T) {
	p := found(t)
	if runtime.GOOS == "windows" {
		t.Skip("the canaries are scripts of a shell")
	}
	for _, c := range []struct {
		name   string
		config []string // key, value; CANARY is the script
		attrs  string
		hook   string
		bait   []string // what makes git run it
	}{
		{name: "fsmonitor", config: []string{"core.fsmonitor", "CANARY"}, bait: []string{"status", "--porcelain"}},
		{name: "clean filter", config: []string{"filter.x.clean", "CANARY"}, attrs: "* filter=x", bait: []string{"add", "-A"}},
		{name: "required process filter", config: []string{"filter.x.process", "CANARY", "filter.x.required", "true"}, attrs: "* filter=x", bait: []string{"add", "-A"}},
		{name: "filter with dots", config: []string{"filter.a.b.clean", "CANARY"}, attrs: "* filter=a.b", bait: []string{"add", "-A"}},
		{name: "external diff", config: []string{"diff.external", "CANARY"}, bait: []string{"diff"}},
		{name: "driver of diffs", config: []string{"diff.y.textconv", "CANARY"}, attrs: "* diff=y", bait: []string{"diff", "--no-textconv"}},
		{name: "pre-commit hook", hook: "pre-commit", bait: []string{"commit", "-q", "-a", "-m", "x"}},
		{name: "post-index-change hook", hook: "post-index-change", bait: []string{"add", "-A"}},
		{name: "hooks elsewhere", config: []string{"core.hooksPath", "HOOKS"}, bait: []string{"commit", "-q", "-a", "-m", "x"}},
		{name: "signatures", config: []string{"commit.gpgSign", "true", "gpg.program", "CANARY"}, bait: []string{"commit", "-q", "-a", "-m", "x"}},
		{name: "ext protocol", config: []string{"remote.o.url", "ext::CANARY x"}, bait: []string{"fetch", "o"}},
		{name: "ssh command", config: []string{"remote.o.url", "ssh://127.0.0.1:1/x", "core.sshCommand", "CANARY"}, bait: []string{"fetch", "o"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder, mark := repository(t), filepath.Join(t.TempDir(), "mark")
			script := filepath.Join(t.TempDir(), "canary")
			write(t, "#!/bin/sh\necho ran >> '"+mark+"'\nexit 1\n", script)
			hooks := t.TempDir()
			write(t, "#!/bin/sh\n"+script+" </dev/null\n", hooks, "pre-commit")
			for i := 0; i < len(c.config); i += 2 {
				value := strings.NewReplacer("CANARY", script, "HOOKS", hooks).Replace(c.config[i+1])
				plain(t, folder, "config", c.config[i], value)
			}
			if c.hook != "" {
				write(t, "#!/bin/sh\n"+script+" </dev/null\n", folder, ".git", "hooks", c.hook)
			}
			if c.attrs != "" {
				write(t, c.attrs+"\n", folder, ".gitattributes")
			}
			write(t, "two\n", folder, "a.txt")
			r, err := p.Open(t.Context(), folder)
			if err != nil {
				t.Fatal(err)
			}
			name := []string{"user.name=a", "user.email=a@example.com"}
			_, err = r.Run(t.Context(), git.Command{Args: c.bait, Config: name})
			t.Log(err)
			if data, err := os.ReadFile(mark); err == nil {
				t.Fatalf("the program ran %d times", strings.Count(string(data), "ran"))
			}
			write(t, "three\n", folder, "a.txt")
			control := append([]string{"-c", "protocol.ext.allow=always"}, slices.DeleteFunc(c.bait, func(a string) bool { return a == "--no-textconv" })...)
			plain(t, folder, control...)
			if _, err := os.Stat(mark); err != nil {
				t.Error("the control: the program did not run for a person either")
			}
		})
	}
}

// TestSEC14And50RepositoriesThatReachOutAreRefused: and nothing outside is read.
func TestSEC14And50RepositoriesThatReachOutAreRefused(t *testing.T) {
	p := found(t)
	for _, c := range []struct {
		name string
		make func(t *testing.T, folder, other string)
		why  string
	}{
		{"alternates", func(t *testing.T, folder, other string) {
			write(t, filepath.Join(other, ".git", "objects")+"\n", folder, ".git", "objects", "info", "alternates")
		}, "alternates"},
		{"commondir", func(t *testing.T, folder, other string) {
			write(t, filepath.Join(other, ".git")+"\n", folder, ".git", "commondir")
		}, "commondir"},
		{"core.worktree", func(t *testing.T, folder, other string) { plain(t, folder, "config", "core.worktree", other) }, "core.worktree"},
		{"bare", func(t *testing.T, folder, other string) { plain(t, folder, "config", "core.bare", "true") }, "bare"},
		{"an include", func(t *testing.T, folder, other string) { plain(t, folder, "config", "include.path", "../x") }, "includes"},
		{"a conditional include", func(t *testing.T, folder, other string) {
			plain(t, folder, "config", "includeIf.gitdir:/.path", "../x")
		}, "includes"},
		{"a filter that cannot be overridden", func(t *testing.T, folder, other string) {
			plain(t, folder, "config", "filter.a=b.clean", "touch x")
		}, "filter"},
		{"the configuration of a worktree", func(t *testing.T, folder, other string) {
			plain(t, folder, "config", "extensions.worktreeConfig", "true")
			write(t, "[core]\n\tworktree = "+other+"\n", folder, ".git", "config.worktree")
		}, "core.worktree"},
		{"a link for .git", func(t *testing.T, folder, other string) {
			if err := errors.Join(os.RemoveAll(filepath.Join(folder, ".git")), os.Symlink(filepath.Join(other, ".git"), filepath.Join(folder, ".git"))); err != nil {
				t.Fatal(err)
			}
		}, "link"},
		{"a file for .git", func(t *testing.T, folder, other string) {
			if err := os.RemoveAll(filepath.Join(folder, ".git")); err != nil {
				t.Fatal(err)
			}
			write(t, "gitdir: "+filepath.Join(other, ".git")+"\n", folder, ".git")
		}, "worktree or a submodule"},
		{"a link for the index", func(t *testing.T, folder, other string) {
			if err := errors.Join(os.Remove(filepath.Join(folder, ".git", "index")), os.Symlink(filepath.Join(other, ".git", "index"), filepath.Join(folder, ".git", "index"))); err != nil {
				t.Fatal(err)
			}
		}, "link"},
		{"a link among the objects", func(t *testing.T, folder, other string) {
			if err := os.Symlink(filepath.Join(other, ".git", "objects"), filepath.Join(folder, ".git", "objects", "zz")); err != nil {
				t.Fatal(err)
			}
		}, "link"},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder, other := repository(t), repository(t)
			c.make(t, folder, other)
			_, err := p.Open(t.Context(), folder)
			if fault.KindOf(err) != fault.Denied || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := p.Open(t.Context(), t.TempDir()); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a folder without a repository: %v", err)
	}
	if _, err := p.Open(t.Context(), repository(t)); err != nil {
		t.Errorf("an ordinary repository: %v", err)
	}
}

// TestTheEnvironmentOfTheDaemonDoesNotCount: neither its variables nor the
// person's home say where git works or what it runs.
func TestTheEnvironmentOfTheDaemonDoesNotCount(t *testing.T) {
	folder, other, home := repository(t), repository(t), t.TempDir()
	write(t, "[core]\n\texcludesFile = "+filepath.Join(home, "ignored")+"\n[alias]\n\tls-files = !false\n", home, ".gitconfig")
	write(t, "*.txt\n", home, "ignored")
	write(t, "new\n", folder, "new.txt")
	p, err := git.Find(t.Context(), append(os.Environ(), "HOME="+home, "GIT_DIR="+other+"/.git", "GIT_INDEX_FILE="+other+"/.git/index", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.bare", "GIT_CONFIG_VALUE_0=true"))
	if err != nil {
		t.Skip(err)
	}
	r, err := p.Open(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.Run(t.Context(), git.Command{Args: []string{"ls-files", "--others", "--exclude-standard"}})
	if err != nil || string(out) != "new.txt\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestRunIsBounded(t *testing.T) {
	p, folder := found(t), repository(t)
	r, err := p.Open(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	write(t, strings.Repeat("x", 1000), folder, "long")
	hash := git.Command{Args: []string{"hash-object", "-w", "--stdin"}, Input: []byte(strings.Repeat("x", 1000))}
	sha, err := r.Run(t.Context(), hash)
	if err != nil {
		t.Fatal(err)
	}
	show := git.Command{Args: []string{"cat-file", "blob", strings.TrimSpace(string(sha))}, Limit: 999}
	if _, err := r.Run(t.Context(), show); err == nil || !strings.Contains(err.Error(), "more than 999 bytes") {
		t.Errorf("over the limit: %v", err)
	}
	show.Limit = 1000
	if out, err := r.Run(t.Context(), show); err != nil || len(out) != 1000 {
		t.Errorf("at the limit: %d bytes, %v", len(out), err)
	}
	mine := errors.New("mine")
	show.Output = func(io.Reader) error { return mine }
	if _, err := r.Run(t.Context(), show); !errors.Is(err, mine) {
		t.Errorf("a reader that stops: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(mine)
	if _, err := r.Run(ctx, hash); !errors.Is(err, mine) {
		t.Errorf("cancelled: %v", err)
	}
	_, err = r.Run(t.Context(), git.Command{Args: []string{"cat-file", "blob", "nothing"}})
	if exit, ok := errors.AsType[*git.ExitError](err); !ok || exit.Code != 128 || !strings.Contains(exit.Stderr, "nothing") {
		t.Errorf("a git that fails: %v", err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	// A git that hangs, with a child that holds its output.
	slow := t.TempDir()
	write(t, "#!/bin/sh\ncase \"$*\" in *version*) echo git version 9.9 ;; *) sleep 100 & wait ;; esac\n", slow, "git")
	p, err = git.Find(t.Context(), []string{"PATH=" + slow})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Own(folder, folder).Run(t.Context(), git.Command{Args: []string{"status"}, Timeout: 50 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "within 50ms") {
		t.Errorf("a git that hangs: %v", err)
	}
}

func TestFind(t *testing.T) {
	old := t.TempDir()
	write(t, "#!/bin/sh\necho git version 2.17.1\n", old, "git")
	for path, why := range map[string]string{"": "not installed", ".:relative": "not installed", old: "too old"} {
		if runtime.GOOS == "windows" && path == old {
			continue
		}
		if _, err := git.Find(t.Context(), []string{"PATH=" + path}); fault.KindOf(err) != fault.NotFound || !strings.Contains(err.Error(), why) {
			t.Errorf("PATH=%s: %v", path, err)
		}
	}
}
