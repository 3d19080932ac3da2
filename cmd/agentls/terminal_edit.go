package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// draft is what a person may change of a call: its command, the text of the file that it
// writes, or else its arguments. edit of an agent's file uses name and text only.
type draft struct {
	// name is that of the file in which the editor gets the text: by its ending an editor
	// knows what it is.
	name string // of a file that has it, for the editor's sake
	what string // for people
	text string
	// line says that it can be typed on one line, by whom has no editor. It may not be
	// empty then.
	line bool
	// take makes the daemon's answer of the text as it was changed.
	take func(text string) (*wire.Modified, error)
}

// draftOf returns what of a call is to be changed, by the kind of its preview. Of a
// command only the argument command is replaced; the others stay as the agent gave them.
func draftOf(p *wire.ConfirmParams) draft {
	switch {
	case p.Preview != nil && p.Preview.Kind == "command":
		return draft{name: "command.sh", what: "command", text: p.Preview.Command, line: true,
			take: func(text string) (*wire.Modified, error) {
				// RawMessage keeps the other arguments as they are written, large numbers
				// included.
				args := map[string]json.RawMessage{}
				if err := json.Unmarshal(p.Args, &args); err != nil {
					return nil, err
				}
				command, err := wire.Codec{}.Marshal(text)
				if err != nil {
					return nil, err
				}
				args["command"] = command
				all, err := json.Marshal(args)
				return &wire.Modified{Args: all}, err
			}}
	case p.Preview != nil && p.Preview.Kind == "diff":
		return draft{name: filepath.Base(p.Preview.URI), what: "file", text: p.Preview.NewText,
			take: func(text string) (*wire.Modified, error) {
				return &wire.Modified{NewText: &text}, nil
			}}
	}
	return draft{name: "arguments.json", what: "arguments", text: string(p.Args), line: true,
		take: func(text string) (*wire.Modified, error) {
			if !json.Valid([]byte(text)) {
				return nil, errors.New("these arguments are no JSON")
			}
			return &wire.Modified{Args: json.RawMessage(text)}, nil
		}}
}

// modification makes the answer of the text as the person left it. A text that was not
// changed is an error: whoever leaves the editor without saving has not agreed to
// anything.
func (d *draft) modification(text string) (*wire.Modified, error) {
	switch {
	case text == d.text:
		return nil, errors.New("nothing was changed")
	case strings.TrimSpace(text) == "" && d.line:
		return nil, errors.New("it is empty now")
	}
	return d.take(text)
}

// edit has the person change a call: in their editor, or on a line where they have none.
// nil is a call that was not changed; the person was told why, and is asked again.
func (t *terminal) edit(ctx context.Context, p *wire.ConfirmParams) *wire.ConfirmResult {
	d := draftOf(p)
	var text string
	var err error
	switch {
	case len(t.editor) > 0:
		text, err = t.inEditor(ctx, d)
	case d.line:
		fmt.Fprintf(t.out, "The %s instead, on one line (an empty one leaves it):\n", d.what)
		answer := t.listen()
		fmt.Fprint(t.out, "> ")
		line, ok := t.await(ctx, answer)
		// The old text tells modification that nothing was changed.
		if text = line; !ok || line == "" {
			text = d.text
		}
	default:
		err = errors.New("to change a file's text set VISUAL or EDITOR to your editor")
	}
	if ctx.Err() != nil {
		return nil
	}
	var m *wire.Modified
	if err == nil {
		m, err = d.modification(text)
	}
	if err != nil {
		fmt.Fprintf(t.out, "→ %s\n", tool.Escape(err.Error()))
		return nil
	}
	return &wire.ConfirmResult{Outcome: "modify", Modified: m}
}

// closing is how long an editor has to leave the screen as it was when the question is
// withdrawn, before it is killed.
const closing = 2 * time.Second

// inEditor has a text changed in the person's own editor, in a file of a folder that only
// they can read and that is removed afterwards. With the error of an editor that did not
// end well it returns what that left. t.editor is not empty.
func (t *terminal) inEditor(ctx context.Context, d draft) (string, error) {
	dir, err := os.MkdirTemp("", "agentls-edit-") // 0700
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, d.name)
	if err := os.WriteFile(path, []byte(d.text), 0o600); err != nil {
		return "", err
	}
	ended := t.editFile(ctx, path)
	text, err := os.ReadFile(path)
	switch {
	case ended != nil && err != nil:
		text, err = []byte(d.text), fmt.Errorf("nothing was changed: %w", ended)
	case ended != nil:
		err = fmt.Errorf("nothing was changed: %w", ended)
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("the editor %s left no file, so nothing was changed", tool.Escape(t.editor[0]))
	}
	if !strings.HasSuffix(d.text, "\n") { // editors end the last line
		return strings.TrimSuffix(string(text), "\n"), err
	}
	return string(text), err
}

// editFile has the person's own editor change a file. What is typed meanwhile is the
// editor's, and the state of the terminal is restored after it, also where it was killed.
func (t *terminal) editFile(ctx context.Context, path string) error {
	t.hold(true)
	defer t.hold(false)
	fd := int(t.in.Fd())
	if state, err := term.GetState(fd); err == nil {
		defer term.Restore(fd, state)
	}
	// The slice is cut to its length, so that append does not write into the one of the
	// terminal.
	c := exec.CommandContext(ctx, t.editor[0], append(t.editor[1:len(t.editor):len(t.editor)], path)...)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = closing
	c.Stdin, c.Stdout, c.Stderr = t.in, t.in, t.in // standard output may be a file
	if f, ok := t.out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		c.Stdout, c.Stderr = f, f
	}
	name := tool.Escape(t.editor[0])
	switch err := c.Run(); {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no editor %s; set VISUAL or EDITOR to a program that is there", name)
	case c.ProcessState == nil:
		return fmt.Errorf("the editor %s cannot be started; set VISUAL or EDITOR to another (%w)", name, err)
	default:
		return fmt.Errorf("the editor %s did not end well (%w)", name, err)
	}
}

// hold keeps what is typed for somebody else, and takes it again with false. A read that
// waits already on a system other than Linux still gets the first line.
func (t *terminal) hold(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held = on
	t.rouse()
}
