package commandtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/command"
)

// World is a workspace folder with a few files, beside a home and a folder that
// is not the workspace's.
type World struct {
	Base, Folder, Home, Outside string
	Env                         *tool.Env
}

var files = map[string]string{
	"proj/a.txt": "a\nb\n", "proj/b.txt": "b\n", "proj/src/main.go": "package main\n", "proj/.git/HEAD": "ref: refs/heads/main\n",
	"proj/.git/config": "", "proj/docs/x.md": "x\n", "home/.ssh/id_rsa": "key\n", "home/.bashrc": "", "proj-evil/secret": "s\n",
	"proj/package.json": "{}\n",
}

// NewWorld makes the files below base, which is canonical.
func NewWorld(base string) (World, error) {
	w := World{Base: base, Folder: filepath.Join(base, "proj"), Home: filepath.Join(base, "home"), Outside: filepath.Join(base, "proj-evil")}
	for name, text := range files {
		path := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return w, err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return w, err
		}
	}
	w.Env = &tool.Env{Folder: w.Folder, Folders: []string{w.Folder}, Home: w.Home, Trusted: true}
	return w, nil
}

// Analyze is [command.Analyze] in the world's folder.
func (w World) Analyze(text string) (command.Analysis, error) {
	return command.Analyze(text, command.Config{Env: w.Env, Dir: w.Folder})
}

// Tree returns what lies below the world: names, kinds, sizes, modes and times.
func (w World) Tree() (string, error) {
	var b strings.Builder
	err := filepath.WalkDir(w.Base, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %v %d", path, info.Mode(), info.Size())
		if d.Name() != ".git" { // git makes and removes a lock there
			fmt.Fprintf(&b, " %d", info.ModTime().UnixNano())
		}
		b.WriteByte('\n')
		return nil
	})
	return b.String(), err
}

// Lab runs commands in a real bash. It is for one goroutine.
type Lab struct {
	World
	bash   string
	before string
	ran    map[string]bool
	queue  []string
	Ran    int // how many different commands ran
}

// Violation is a command that was called auto and changed something.
type Violation struct{ Text, Before, After string }

// NewLab makes a lab below base. The error is exec.ErrNotFound where there is no
// bash.
func NewLab(base string) (*Lab, error) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		return nil, err
	}
	l := &Lab{bash: bash, ran: make(map[string]bool)}
	return l, l.fresh(base)
}

// fresh makes the world anew.
func (l *Lab) fresh(base string) error {
	entries, err := os.ReadDir(base)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(base, e.Name())); err != nil {
			return err
		}
	}
	if l.World, err = NewWorld(base); err != nil {
		return err
	}
	if git, err := exec.LookPath("git"); err == nil {
		if err := os.RemoveAll(filepath.Join(l.Folder, ".git")); err != nil {
			return err
		}
		for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"}} {
			cmd := exec.Command(git, args...)
			cmd.Dir, cmd.Env = l.Folder, l.environ()
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("git %v: %w: %s", args, err, out)
			}
		}
	}
	l.before, err = l.Tree()
	return err
}

func (l *Lab) environ() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + l.Home, "P=touch P", "CMD=touch P", "GIT_OPTIONAL_LOCKS=0", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_PAGER=cat", "PAGER=cat"}
}

// batch is how many commands one bash runs, and patience how long it may take.
const (
	batch    = 64
	patience = time.Minute
)

// Try takes a command, and runs it, now or with the next ones, if the analysis
// calls it auto and it has not run before. It reports whether it is auto, and
// what was found, in this one or earlier ones.
func (l *Lab) Try(ctx context.Context, text string) (auto bool, found []Violation, err error) {
	a, err := l.Analyze(text)
	if err != nil || a.Risk != tool.Safe {
		return false, nil, nil
	}
	if l.ran[text] {
		return true, nil, nil
	}
	l.ran[text] = true
	l.Ran++
	if l.queue = append(l.queue, text); len(l.queue) == batch {
		found, err = l.Flush(ctx)
	}
	return true, found, err
}

// loop runs the commands that it is given, each in a shell of its own.
const loop = `while IFS= read -r -d "" t; do ( eval "$t" ) </dev/null >/dev/null 2>&1; done`

// Flush runs what waits.
func (l *Lab) Flush(ctx context.Context) ([]Violation, error) {
	all := l.queue
	l.queue = nil
	if len(all) == 0 {
		return nil, nil
	}
	ok, err := l.holds(ctx, strings.Join(all, "\x00")+"\x00", loop)
	if err != nil || ok {
		return nil, err
	}
	// One of them did it: each alone says which.
	var found []Violation
	for _, text := range all {
		if err := l.fresh(l.Base); err != nil {
			return found, err
		}
		before := l.before
		if ok, err = l.holds(ctx, "", text); err != nil {
			return found, err
		}
		if !ok {
			after, err := l.Tree()
			if err != nil {
				return found, err
			}
			found = append(found, Violation{text, before, after})
		}
	}
	if len(found) == 0 {
		found = append(found, Violation{Text: "one of " + strings.Join(all, "\n"), Before: "as it was", After: "changed, and by none of them alone"})
	}
	return found, l.fresh(l.Base)
}

// holds runs a script and reports whether everything is as it was and it ended.
func (l *Lab) holds(ctx context.Context, in, script string) (bool, error) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(limited, l.bash, "--noprofile", "--norc", "-c", script)
	cmd.Dir, cmd.Env = l.Folder, l.environ()
	if in != "" {
		cmd.Stdin = strings.NewReader(in)
	}
	err := cmd.Run()
	if ctx.Err() != nil {
		return false, ctx.Err() // the time of all is over, not this one's
	}
	if errors.Is(limited.Err(), context.DeadlineExceeded) {
		return false, nil
	}
	if e := (*exec.ExitError)(nil); err != nil && !errors.As(err, &e) {
		return false, err
	}
	after, err := l.Tree()
	return after == l.before, err
}
