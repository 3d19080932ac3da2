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

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/process"
	"github.com/agentls/agentls/internal/sandbox"
)

// maxOutput is how much is read of what a hook prints, in bytes of each stream (SEC-94).
const maxOutput = 64 << 10

// command is a hook of the settings at one event.
// It is made for one event and not changed.
type command struct {
	all     *Hooks
	hook    Described
	folder  string // the workspace folder
	session string
}

// Run implements [Hook]. Whatever it starts has ended when it returns.
// The hook's own timeout counts besides ctx; the error is then that of whichever ended
// it. The person is told of protected places that changed while it ran, in the message
// of the output.
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
	out, err := read(ended)
	if len(notes) > 0 {
		out.SystemMessage = strings.TrimPrefix(out.SystemMessage+"\n"+strings.Join(notes, "\n"), "\n")
	}
	return out, err
}

// read returns what a command says (spec 9.2): by its exit code, then by its output.
// The error is for the person, and says that the hook failed.
func read(e tool.Ended) (Output, error) {
	said := bytes.TrimSpace(e.Stdout.Bytes())
	complaint := e.Stderr.Text()
	switch e.Code {
	case 0:
		return parse(e, said)
	case 2:
		out, err := parse(e, said)
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
		return Output{}, fmt.Errorf("it ended with exit code %d", e.Code)
	}
	return Output{}, fmt.Errorf("it ended with exit code %d: %s", e.Code, complaint)
}

// parse reads what a command printed: nothing, a JSON object, or text, which is a
// message to the person. An object that is not whole, or whose members have other types,
// is an error: a guard that means to deny must not be read as one that says nothing.
func parse(e tool.Ended, said []byte) (Output, error) {
	var out Output
	switch {
	case len(said) == 0:
	case said[0] != '{':
		out.SystemMessage = e.Stdout.Text()
	case e.Stdout.Over():
		return Output{}, fmt.Errorf("it printed more than %d KiB", maxOutput>>10)
	default:
		if err := json.Unmarshal(said, &out); err != nil {
			return Output{}, fmt.Errorf("what it printed is no JSON that a hook may answer: %v", err)
		}
	}
	return out, nil
}

// start runs the command to its end, and ends what it leaves behind.
// notes are for the person. A command that could not be started is an error; one that
// ended with any exit code is not. The error of a context that ended is not told here:
// Run looks at it.
func (c command) start(ctx context.Context, input []byte) (e tool.Ended, notes []string, err error) {
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
	run := tool.Program{
		Path: program, Args: args, Dir: dir, Environ: all.Environ, Input: input, Max: maxOutput, Now: all.Now,
		Extra: append([]string{
			"GEMINI_PROJECT_DIR=" + dir, "CLAUDE_PROJECT_DIR=" + dir, "GEMINI_CWD=" + dir,
			"GEMINI_SESSION_ID=" + c.session,
		}, c.hook.Env...),
		Enclosure: tool.Enclosure{Sandbox: all.Sandbox(c.folder), Access: c.hook.Sandbox,
			Folder: dir, Places: all.Places},
	}
	e, err = run.Run(ctx)
	for _, path := range e.Changed {
		notes = append(notes, fmt.Sprintf("a protected place is new or changed since the hook %s was started; look at it if it was not you: %s", c.hook.Name, path))
	}
	if e.Uncleared != nil {
		all.Log.Warn("the sandbox of a hook could not be cleaned up", "hook", c.hook.Name, "err", e.Uncleared)
	}
	return e, notes, err
}
