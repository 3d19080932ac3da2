package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/process"
	"github.com/agentls/agentls/internal/sandbox"
)

// maxOutput is how much is read of what a hook prints, in bytes of each stream (SEC-94).
const maxOutput = 64 << 10

// command is a hook of the settings at one event.
type command struct {
	all     *Hooks
	hook    Described
	folder  string // the workspace folder
	session string
}

// Run implements [Hook]. Whatever it starts has ended when it returns.
func (c command) Run(ctx context.Context, input []byte) (Output, error) {
	if c.hook.Problem != "" {
		return Output{}, errors.New(c.hook.Problem)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.hook.Timeout, fmt.Errorf("it did not end within %v", c.hook.Timeout))
	defer cancel()
	ended, notes, err := c.start(ctx, input)
	if ctx.Err() != nil {
		return Output{}, context.Cause(ctx)
	}
	if err != nil {
		return Output{}, err
	}
	out, err := ended.read()
	if len(notes) > 0 {
		out.SystemMessage = strings.TrimPrefix(out.SystemMessage+"\n"+strings.Join(notes, "\n"), "\n")
	}
	return out, err
}

// ended is how a command ended, and what it printed.
type ended struct {
	code           int
	stdout, stderr *capped
}

// read returns what a command says (spec 9.2): by its exit code, then by its output.
func (e ended) read() (Output, error) {
	said := bytes.TrimSpace(e.stdout.Bytes())
	complaint := strings.TrimSpace(plain(e.stderr.Bytes()))
	switch e.code {
	case 0:
		return e.parse(said)
	case 2:
		out, err := e.parse(said)
		if err != nil {
			out = Output{} // it blocks, whatever it prints
		}
		out.Decision = "deny"
		if complaint != "" || out.Reason == "" {
			out.Reason = complaint
		}
		return out, nil
	}
	if complaint == "" {
		return Output{}, fmt.Errorf("it ended with exit code %d", e.code)
	}
	return Output{}, fmt.Errorf("it ended with exit code %d: %s", e.code, complaint)
}

func (e ended) parse(said []byte) (Output, error) {
	var out Output
	switch {
	case len(said) == 0:
	case said[0] != '{':
		out.SystemMessage = plain(said)
	case e.stdout.over:
		return Output{}, fmt.Errorf("it printed more than %d KiB", maxOutput>>10)
	default:
		if err := json.Unmarshal(said, &out); err != nil {
			return Output{}, fmt.Errorf("what it printed is no JSON that a hook may answer: %v", err)
		}
	}
	return out, nil
}

// plain is what a command printed as text for people.
func plain(data []byte) string {
	var p process.Plain
	return strings.TrimSpace(p.Convert(data) + p.Flush())
}

// start runs the command to its end, and ends what it leaves behind.
func (c command) start(ctx context.Context, input []byte) (e ended, notes []string, err error) {
	all := c.all
	dir := c.folder
	if dir == "" || !all.Trusted(dir) {
		dir = all.Home // nothing is started in a stranger's folder, and none of its files is meant
		if walled := c.hook.Sandbox != "" && c.hook.Sandbox != sandbox.Full; walled {
			// The wall opens its folder: that must not be the whole home.
			if dir, err = os.MkdirTemp("", "agentls-hook-"); err != nil {
				return e, nil, err
			}
			defer os.RemoveAll(dir)
			if dir, err = filepath.EvalSymlinks(dir); err != nil {
				return e, nil, err
			}
		}
	}
	var program string
	var args []string
	if c.hook.Args != nil {
		name := c.hook.Command
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			name = filepath.Join(all.Home, rest)
		}
		program, err = process.Find(name, dir, c.hook.Env, all.Environ)
		args = append([]string{c.hook.Command}, c.hook.Args...)
	} else {
		program, err = process.Find("bash", dir, nil, all.Environ)
		args = []string{"bash", "--noprofile", "--norc", "-c", c.hook.Command}
	}
	if err != nil {
		return e, nil, err
	}
	job := process.NewJob(process.Options{Dir: dir, Environ: all.Environ, Now: all.Now})
	defer job.Output.Close()
	cmd := job.Command(program, args, append([]string{
		"GEMINI_PROJECT_DIR=" + dir, "CLAUDE_PROJECT_DIR=" + dir, "GEMINI_CWD=" + dir, "GEMINI_SESSION_ID=" + c.session,
	}, c.hook.Env...))
	e.stdout, e.stderr = &capped{}, &capped{}
	cmd.Stdout, cmd.Stderr = e.stdout, e.stderr
	theirs, ours, err := os.Pipe()
	if err != nil {
		return e, nil, err
	}
	cmd.Stdin = theirs
	begin, release, err := tool.Confine(ctx, job, cmd, tool.Enclosure{
		Sandbox: all.Sandbox(c.folder), Access: c.hook.Sandbox, Folder: dir, Places: all.Places,
	})
	if err != nil {
		_ = theirs.Close() // nobody has them
		_ = ours.Close()
		return e, nil, err
	}
	var feed conc.WaitGroup
	err = job.Run(ctx, func(string) {}, func() error {
		child, err := begin()
		_ = theirs.Close() // the command has its own
		if err != nil {
			return err
		}
		feed.Go(func() {
			_, _ = ours.Write(input) // a hook need not read it
			_ = ours.Close()
		})
		status, err := job.Wait(child)
		e.code = status.Code
		return err
	})
	_ = ours.Close() // also where something that the hook left still holds the other end
	feed.Wait()
	job.Release()
	changed, failed := release()
	for _, path := range changed {
		notes = append(notes, fmt.Sprintf("a protected place is new or changed since the hook %s was started; look at it if it was not you: %s", c.hook.Name, path))
	}
	if failed != nil {
		all.Log.Warn("the sandbox of a hook could not be cleaned up", "hook", c.hook.Name, "err", failed)
	}
	return e, notes, err
}

// capped keeps the beginning of what is written to it.
type capped struct {
	mu   sync.Mutex
	kept bytes.Buffer
	over bool
}

// Write implements [io.Writer]. It never fails: a hook is not ended for what it prints.
func (c *capped) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	room := maxOutput - c.kept.Len()
	if len(p) > room {
		c.over = true
	}
	c.kept.Write(p[:min(room, len(p))])
	return len(p), nil
}

// Bytes returns what was kept.
func (c *capped) Bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept.Bytes()
}
