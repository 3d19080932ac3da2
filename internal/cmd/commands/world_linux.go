package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/conc"
)

// world is a throw-away place: a project as a person has it, a home, and what
// stands for the network and for a daemon of the machine.
type world struct {
	base, work, home string
	network          *httptest.Server
	daemon           *http.Server
	reached, spoken  atomic.Int64 // requests that came to the two
	serving          conc.WaitGroup
}

func newWorld(base string) (*world, error) {
	w := &world{base: base, work: filepath.Join(base, "work"), home: filepath.Join(base, "home")}
	for _, dir := range []string{w.work, w.home, filepath.Join(base, "tmp")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	near, err := net.Listen("tcp", "127.0.0.2:0") // 127.0.0.1 is a command's own
	if err != nil {
		return nil, err
	}
	network := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { w.reached.Add(1) })
	w.network = &httptest.Server{Listener: near, Config: &http.Server{Handler: network}}
	w.network.Start()
	socket := filepath.Join(base, "daemon.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	w.daemon = &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { w.spoken.Add(1) })}
	w.serving.Go(func() { _ = w.daemon.Serve(l) }) // until close
	return w, installStubs(filepath.Join(base, "bin"), w.network.URL, socket)
}

func (w *world) close() {
	w.network.Close()
	_ = w.daemon.Close() // a world that is thrown away
	w.serving.Wait()
}

// environ is the person's.
func (w *world) environ() []string {
	return []string{
		"PATH=" + filepath.Join(w.base, "bin") + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + w.home,
		"TMPDIR=" + filepath.Join(w.base, "tmp"), "LANG=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0",
	}
}

// project is what lies in the workspace.
var project = map[string]string{
	"Makefile":         ".DEFAULT:\n\t@echo made > made-$@\nall:\n\t@echo made > made-all\n",
	"package.json":     `{"name": "app", "version": "1.0.0", "scripts": {"test": "true"}, "dependencies": {"react": "18"}}`,
	"go.mod":           "module example.com/app\n\ngo 1.22\n",
	"pyproject.toml":   "[project]\nname = \"app\"\n",
	"uv.lock":          "version = 1\n",
	"requirements.txt": "uv\n", "requirements-dev.txt": "mypy\n",
	"src/App.jsx":     "import React from 'react'\n// addEventListener setState\n",
	"src/path/a":      "a\n",
	"src/path/b":      "b\n",
	"page.xaml":       "<TableView/> ContextActions PlatformConfiguration.ListView api_key\n",
	"application.log": "NoSuchMethodError: reactor\n",
	"file":            "a file\n",
	"index.cgi":       "#!/usr/bin/perl\n",
	"plan.json":       "{}\n",
	"runs.json":       "[{\"a\": 1}]\n",

	"experiment_a/runs.json": `[{"evaluations": {"correctness": {"score": 1}}}]`,
	"experiment_b/runs.json": `[{"evaluations": {"correctness": {"score": 0}}}]`,
	"trace_1/spans.json":     `[{"attributes": {"llm": {"prompt_template": "t"}}}]`,
	"bin/mcp-server":         "a program\n",
	"conductor/index.md":     "# Index\n", "conductor/product.md": "# Product\n",
	"conductor/tech-stack.md": "# Stack\n",
	"conductor/workflow.md":   "# Work\n", "conductor/tracks.md": "# Tracks\n",
	"hooks/session-logger/x.sh":                "#!/bin/sh\n",
	"hooks/tool-guardian/guard-tool.sh":        "cat\n",
	"package-lock.json.backup":                 "{}\n",
	"node_modules/react/package.json":          `{"version": "18.0.0"}`,
	"scripts/latchshot.mjs":                    "console.log('usage')\n",
	"skills/md-to-docx/scripts/package.json":   "{}",
	"src/main/java/CassandraConfig.java":       "class CassandraConfig {}\n",
	".gitignore":                               "node_modules/\n",
	".github/skills/x/scripts/example.py":      "print(1)\n",
	".github/hooks/.keep":                      "",
	"gradlew":                                  "#!/bin/sh\nmkdir -p build && echo built > build/out\n",
	".devcontainer/devcontainer.json":          "{}\n",
	"managing-local-files.go":                  "package main\n\nfunc main() {}\n",
	"audio.txt":                                "a\n",
	"src/model.test.js":                        "Simulate.x\n",
	"docs/project-summary.md":                  "# Summary\n",
	"awesome-claude-code-subagents/README.md":  "# Agents\n",
	"my-package/README.md":                     "# Package\n",
	"my-cdk-project/README.md":                 "# CDK\n",
	"project-name/README.md":                   "# Name\n",
	"skills/drawio/scripts/drawio-to-png.mjs":  "process.exit(2)\n",
	"hooks/dependency-license-checker/main.sh": "#!/bin/sh\n",
	"hooks/session-auto-commit/main.sh":        "#!/bin/sh\n",
}

// reset makes the workspace and the home what they were.
func (w *world) reset() error {
	if err := os.MkdirAll(filepath.Join(w.base, "tmp"), 0o700); err != nil {
		return err
	}
	for _, dir := range []string{w.work, w.home} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Name() == ".gemini" && dir == w.home {
				continue // the daemon's
			}
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	for name, text := range project {
		path := filepath.Join(w.work, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{".bashrc": "# mine\n",
		".gitconfig": "[user]\n\tname = n\n\temail = n@example.com\n"} {
		if err := os.WriteFile(filepath.Join(w.home, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"},
		{"commit", "-q", "-m", "first"}, {"tag", "v1.2.3"}} {
		c := exec.Command("git", args...)
		c.Dir = w.work
		c.Env = append(w.environ(), "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return os.WriteFile(filepath.Join(w.work, "src/path/a"), []byte("changed\n"), 0o644)
}

// effect is what came of a command.
type effect struct {
	code            int
	output          string
	work, outside   map[string]string // what changed, by its path
	aside           bool              // caches or the index of git changed
	reached, spoken bool
}

// need is the least access that a command with this effect has to have.
func (e effect) need() string {
	switch {
	case e.spoken || len(e.outside) > 0:
		return "full"
	case e.reached:
		return "network"
	case len(e.work) > 0 || e.aside:
		return "write"
	}
	return "read"
}

// differs says in what way an effect is another than one without a wall; "" for
// the same. withOutput says whether the two must print the same.
func (e effect) differs(from effect, withOutput bool) string {
	switch {
	case e.code != from.code:
		return fmt.Sprintf("exit code %d, not %d", e.code, from.code)
	case !maps.Equal(e.work, from.work):
		return fmt.Sprintf("it changed %v, not %v", slices.Sorted(maps.Keys(e.work)),
			slices.Sorted(maps.Keys(from.work)))
	case !maps.Equal(e.outside, from.outside):
		return fmt.Sprintf("outside it changed %v, not %v", slices.Sorted(maps.Keys(e.outside)),
			slices.Sorted(maps.Keys(from.outside)))
	case e.reached != from.reached || e.spoken != from.spoken:
		return fmt.Sprintf("network %v, not %v", e.reached || e.spoken, from.reached || from.spoken)
	case withOutput && !strings.Contains(e.output, strings.TrimSpace(from.output)):
		return fmt.Sprintf("it printed %.80q, not %.80q", e.output, from.output)
	}
	return ""
}

// watch runs something in a fresh world and returns what it changed.
func (w *world) watch(do func() error) (effect, error) {
	var e effect
	if err := w.reset(); err != nil {
		return e, err
	}
	w.reached.Store(0)
	w.spoken.Store(0)
	before, err := w.look()
	if err != nil {
		return e, err
	}
	if err := do(); err != nil {
		return e, err
	}
	after, err := w.look()
	if err != nil {
		return e, err
	}
	e.reached, e.spoken = w.reached.Load() > 0, w.spoken.Load() > 0
	e.work, e.outside = make(map[string]string), make(map[string]string)
	names := maps.Clone(before)
	maps.Copy(names, after)
	for name := range names {
		if before[name] == after[name] {
			continue
		}
		rel, inside := strings.CutPrefix(name, "work/")
		switch {
		case slices.ContainsFunc(aside, func(dir string) bool {
			return name == dir ||
				strings.HasPrefix(name, dir+"/")
		}):
			e.aside = true
		case inside:
			e.work[rel] = after[name]
		default:
			e.outside[name] = after[name]
		}
	}
	return e, nil
}

// aside are places whose content depends on when a command runs, and on where its
// caches are. That they change counts, and not how.
var aside = []string{
	"work/.git/index", "work/.git/logs", "work/.git/objects", "work/.git/ORIG_HEAD", "home/.cache",
	"home/.config", "home/go",
}

// look tells what lies in the workspace and at home, by its path below base.
func (w *world) look() (map[string]string, error) {
	all := make(map[string]string)
	for _, root := range []string{w.work, w.home} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(w.base, path)
			if err != nil || path == root {
				return err
			}
			if name == "home/.gemini" {
				return fs.SkipDir // the daemon's
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			all[name] = info.Mode().String()
			if info.Mode().IsRegular() && !strings.HasPrefix(name, "work/.git/refs/") {
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				all[name] += fmt.Sprintf(" %x", sha256.Sum256(data))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// bare runs a command without a wall.
func (w *world) bare(ctx context.Context, text string) (effect, error) {
	var code int
	var output string
	e, err := w.watch(func() error {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		c := exec.CommandContext(ctx, "bash", "--noprofile", "--norc", "-c", text)
		c.Dir, c.Env, c.WaitDelay = w.work, w.environ(), time.Second
		var stdout strings.Builder
		c.Stdout = &stdout
		err := c.Run()
		if ended := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ended) {
			return err
		}
		code, output = c.ProcessState.ExitCode(), stdout.String()
		return nil
	})
	e.code, e.output = code, output
	return e, err
}
