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
		fmt.Fprintf(&b, "%s %v %d %d\n", path, info.Mode(), info.Size(), info.ModTime().UnixNano())
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

	patience time.Duration
	Ran      int      // how many different commands ran
	Unended  []string // those that were ended when their time was over, and had changed nothing
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
	l := &Lab{bash: bash, ran: make(map[string]bool), patience: patience}
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
		// Git writes the index anew when a file has another time than it says.
		longAgo := time.Now().Add(-48 * time.Hour)
		if err := os.Chtimes(filepath.Join(l.Folder, "a.txt"), longAgo, longAgo); err != nil {
			return err
		}
	}
	l.before, err = l.Tree()
	return err
}

// environ returns what the commands run with: for git what the tool gives it.
func (l *Lab) environ() []string {
	_, git := command.Harden([]string{"git"}, l.Folder)
	return append(git, "PATH=/usr/local/bin:/usr/bin:/bin", "HOME="+l.Home, "P=touch P", "CMD=touch P", "GIT_CONFIG_GLOBAL=/dev/null", "PAGER=cat")
}

// batch is how many commands one bash runs, and patience how long one bash may
// take.
const (
	batch    = 64
	patience = 20 * time.Second
)

// limits keep a command that takes all it can get from taking the machine:
// memory in KiB, seconds of the processor, and blocks of a file, for each
// process. A system that does not have one of them does without.
const limits = "{ ulimit -v 1048576; ulimit -t 5; ulimit -f 1048576; } 2>/dev/null\n"

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

// Flush runs what waits. What did not end and changed nothing is in Unended
// from then on.
func (l *Lab) Flush(ctx context.Context) ([]Violation, error) {
	all := l.queue
	l.queue = nil
	if len(all) == 0 {
		return nil, nil
	}
	var batched outcome
	if len(all) > 1 { // one alone need not be run twice
		var err error
		if batched, err = l.run(ctx, strings.Join(all, "\x00")+"\x00", loop); err != nil || batched == held {
			return nil, err
		}
		if err := l.fresh(l.Base); err != nil {
			return nil, err
		}
	}
	// One of them did it: each alone says which.
	var found []Violation
	for _, text := range all {
		before := l.before
		alone, err := l.run(ctx, "", text)
		if err != nil {
			return found, err
		}
		if !alone.ended && !alone.changed {
			l.Unended = append(l.Unended, text)
		}
		if !alone.changed {
			continue
		}
		after, err := l.Tree()
		if err != nil {
			return found, err
		}
		found = append(found, Violation{text, before, after})
		if err := l.fresh(l.Base); err != nil {
			return found, err
		}
	}
	if batched.changed && len(found) == 0 {
		found = append(found, Violation{Text: "one of " + strings.Join(all, "\n"), Before: "as it was", After: "changed, and by none of them alone"})
	}
	return found, nil
}

// outcome is what became of a script.
type outcome struct {
	ended   bool // by itself, in time
	changed bool // the world
}

// held is the outcome of what is as harmless as the analysis says.
var held = outcome{ended: true}

// run runs a script, and ends it with all that it started when its time is over.
func (l *Lab) run(ctx context.Context, in, script string) (outcome, error) {
	limited, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	cmd := exec.CommandContext(limited, l.bash, "--noprofile", "--norc", "-c", limits+script)
	cmd.Dir, cmd.Env = l.Folder, l.environ()
	cmd.WaitDelay = time.Second
	together(cmd)
	if in != "" {
		cmd.Stdin = strings.NewReader(in)
	}
	err := cmd.Run()
	if ctx.Err() != nil {
		return outcome{}, ctx.Err() // the time of all is over, not this one's
	}
	as := outcome{ended: !errors.Is(limited.Err(), context.DeadlineExceeded)}
	if e := (*exec.ExitError)(nil); as.ended && err != nil && !errors.As(err, &e) {
		return outcome{}, err
	}
	after, err := l.Tree()
	as.changed = after != l.before
	return as, err
}
