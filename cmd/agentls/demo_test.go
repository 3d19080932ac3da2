package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/internal/chat"
)

// TestDemoInAnyEnvironment: nothing of the person's own git and go reaches the
// demo, and git is not needed.
func TestDemoInAnyEnvironment(t *testing.T) {
	for _, name := range []string{"go", "git", "bash"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	file := func(t *testing.T, text string, mode os.FileMode, parts ...string) string {
		path := filepath.Join(append([]string{t.TempDir()}, parts...)...)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	fakeGit := func(t *testing.T, script string) {
		path := file(t, "#!/bin/sh\n"+script, 0o755, "git")
		t.Setenv("PATH", filepath.Dir(path)+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	for _, c := range []struct {
		name       string
		prepare    func(t *testing.T)
		repository bool
	}{
		{"variables of git", func(t *testing.T) {
			t.Setenv("GIT_DIR", filepath.Join(t.TempDir(), "elsewhere"))
			t.Setenv("GIT_WORK_TREE", t.TempDir())
			t.Setenv("GIT_INDEX_FILE", filepath.Join(t.TempDir(), "nowhere", "index"))
		}, true},
		{"hooks of the person", func(t *testing.T) {
			hook := file(t, "#!/bin/sh\nexit 1\n", 0o755, "hooks", "pre-commit")
			config := file(t, "[core]\n\thooksPath = "+filepath.Dir(hook)+"\n", 0o644, "git", "config")
			t.Setenv("XDG_CONFIG_HOME", filepath.Dir(filepath.Dir(config)))
		}, true},
		{"a git that cannot name the first branch", func(t *testing.T) {
			fakeGit(t, `case " $* " in *" -b "*) echo "error: unknown switch b" >&2; exit 129;; esac; exec `+git+` "$@"`)
		}, true},
		{"a git that fails", func(t *testing.T) { fakeGit(t, "exit 1\n") }, false},
		{"a git that fails in the middle", func(t *testing.T) {
			fakeGit(t, `case " $* " in *" commit "*) exit 128;; esac; exec `+git+` "$@"`)
		}, false},
		{"variables of go", func(t *testing.T) {
			t.Setenv("GOFLAGS", "-no-such-flag")
			t.Setenv("GOWORK", filepath.Join(t.TempDir(), "go.work"))
		}, true},
		{"settings of go", func(t *testing.T) {
			t.Setenv("GOENV", "")
			path := file(t, "GOFLAGS=-no-such-flag\n", 0o644, "go", "env")
			t.Setenv("XDG_CONFIG_HOME", filepath.Dir(filepath.Dir(path)))
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			c.prepare(t)
			code, out, errs := command(t, t.TempDir(), "demo", "--keep")
			if code != 0 || !strings.Contains(out, "average.go is changed, and the test passes.") {
				t.Fatalf("exit %d\n%s\n%s", code, out, errs)
			}
			folder := regexp.MustCompile(`(?m)^Folder: (.*)$`).FindStringSubmatch(out)
			if folder == nil {
				t.Fatalf("no folder:\n%s", out)
			}
			_, err := os.Stat(filepath.Join(folder[1], ".git"))
			if (err == nil) != c.repository {
				t.Errorf("the folder's repository: %v, want one: %v", err, c.repository)
			}
			if c.repository {
				log := exec.Command(git, "-C", folder[1], "log", "--format=%an %s")
				log.Env = demoEnviron(os.Environ())
				if text, err := log.CombinedOutput(); err != nil || string(text) != "agentls demo A thermometer with a failing test\n" {
					t.Errorf("git log: %v\n%s", err, text)
				}
			}
		})
	}
}

// TestWhatACommandPrinted: the line of a command tells what it printed.
func TestWhatACommandPrinted(t *testing.T) {
	for _, c := range []struct{ display, want string }{
		{"```\nExit code: 0\nStdout:\nok  \texample.com/thermometer\t0.004s\nStderr: (empty)\n```", "ok    example.com/thermometer  0.004s"},
		{"```\nExit code: 0\nStdout:\na\nb\nStderr: (empty)\n```", "a …"},
		{"```\nExit code: 0\nStdout: (empty)\nStderr:\nwarning\n```", "warning"},
		{"```\nExit code: 0\nStdout:\na\nStderr:\nwarning\n```", "a …"},
		{"```\nExit code: 0\nStdout: (empty)\nStderr: (empty)\n```", "Exit code: 0"},
		{"```\nExit code: 0\nNote: 1 processes that it left behind were ended: sleep (7).\nStdout: (empty)\nStderr: (empty)\n```", "Note: 1 processes that it left behind were ended: sleep (7). …"},
		{"Started in the background.", "Started in the background."},
		{"", ""},
	} {
		if got := first(chat.PrintedText(c.display)); got != c.want {
			t.Errorf("%q shows %q, want %q", c.display, got, c.want)
		}
	}
}

// TestDemoWithoutGo: who has no Go is told so before anything begins, and what to do.
func TestDemoWithoutGo(t *testing.T) {
	root := t.TempDir()
	t.Setenv("PATH", t.TempDir())
	t.Setenv("TMPDIR", root)
	code, out, errs := command(t, t.TempDir(), "demo")
	if code == 0 || out != "" {
		t.Errorf("exit %d\n%s", code, out)
	}
	for _, want := range []string{"the go command is not in your PATH", "https://go.dev/dl", "`agentls init`"} {
		if !strings.Contains(errs, want) {
			t.Errorf("stderr lacks %q:\n%s", want, errs)
		}
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestDemoIsStopped: a person who stops the demo is told that, and nothing of what
// was going on.
func TestDemoIsStopped(t *testing.T) {
	bin, root := t.TempDir(), t.TempDir()
	began := filepath.Join(bin, "began")
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\n: > '"+began+"'\nexec sleep 60\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("TMPDIR", root)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // ends with the test
		for ctx.Err() == nil {
			if _, err := os.Stat(began); err == nil {
				cancel()
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	in, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out, errs bytes.Buffer
	var code exit
	if err := demo(ctx, streams{in, &out, &errs}, demoOptions{}); !errors.As(err, &code) || code.code != exitInterrupted || errs.String() != "Stopped.\n" {
		t.Errorf("%v\n%s%s", err, out.String(), errs.String())
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
