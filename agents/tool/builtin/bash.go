package builtin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/command"
)

const (
	defaultTimeout = 120 * time.Second
	maxTitle       = 80
)

type bashArgs struct {
	Command     string `json:"command"`
	Description string `json:"description"`
	Directory   string `json:"directory"`
	Timeout     int    `json:"timeout"`
	Background  bool   `json:"background"`
}

// bash returns the tool; reaper is as in [Config].
func bash(reaper string) tool.Tool {
	return define("bash", tool.Safe, `{
	"type": "object",
	"properties": {
		"command": {"type": "string", "minLength": 1, "description": "The command, in the language of bash."},
		"description": {"type": "string", "maxLength": 500, "description": "What it is for, in a few words."},
		"directory": {"type": "string", "description": "The folder to run it in, relative to the workspace folder. Default: the workspace folder."},
		"timeout": {"type": "integer", "minimum": 1, "maximum": 600, "description": "Seconds until it is ended. Default 120."},
		"background": {"type": "boolean", "description": "Start it and return at once; it ends with this run."}
	},
	"required": ["command"],
	"additionalProperties": false
}`, map[string]string{"cmd": "command", "dir_path": "directory", "cwd": "directory", "workdir": "directory", "is_background": "background", "run_in_background": "background"}, func(_ context.Context, env *tool.Env, args bashArgs) (*tool.Plan, error) {
		return planBash(env, args, reaper)
	})
}

// shellCall is a planned call of bash.
type shellCall struct {
	bashArgs
	dir      string // where it runs
	reaper   string
	analysis command.Analysis
}

func planBash(env *tool.Env, args bashArgs, reaper string) (*tool.Plan, error) {
	p, err := resolveFolder(env, args.Directory)
	if err != nil {
		return nil, err
	}
	if !p.IsDir() {
		return nil, tool.Errorf(tool.CodeArgs, "/directory: %s is no folder.", tool.Name(p.Rel))
	}
	c := shellCall{bashArgs: args, dir: p.Real, reaper: reaper}
	if c.analysis, err = command.Analyze(args.Command, command.Config{Env: env, Dir: p.Real}); err != nil {
		return nil, err
	}
	a := &c.analysis
	if args.Background || p.Real != env.Folder {
		a.Keep = nil // the same words mean something else there
	}
	if args.Background {
		a.Steps = nil
		if a.Risk < tool.High {
			a.Risk, a.Why = tool.High, "goes on in the background"
		}
	}
	if p.Protected && a.Risk > tool.Safe && a.Risk < tool.Protected {
		a.Risk, a.Why = tool.Protected, "runs in a protected folder: "+p.ProtectedBy
	}
	if p.Credential {
		return nil, tool.Errorf(tool.CodeDenied, "%s holds credentials; nothing runs in it.", tool.Name(p.Rel))
	}
	return &tool.Plan{
		Risk: a.Risk, Why: a.Why, Title: "bash " + title(args.Command), Reads: []string{p.Real},
		Preview: tool.Preview{Kind: "command", Command: args.Command, Parsed: a.Parsed, Notes: a.Notes, Cwd: p.Real},
		Spawns:  true,
		Leaves:  a.Risk > tool.Safe, // nothing keeps a process from the network yet
		Names:   a.Names, Commands: a.Commands, Keep: a.Keep,
		Do: c.do,
	}, nil
}

// title returns the beginning of a command, on one line.
func title(text string) string {
	first, all := tool.CutLine(tool.Escape(text), maxTitle)
	if !all {
		first += "…"
	}
	return first
}

func (c *shellCall) do(ctx context.Context, env *tool.Env) (*tool.Result, error) {
	var unsaved []string
	if env.Edits != nil {
		unsaved = env.Edits.Save(ctx, "a command is about to run")
	}
	note := unsavedNote(env, unsaved)
	if c.Background {
		if err := c.again(env); err != nil {
			return nil, err
		}
		return c.background(ctx, env, note)
	}
	leave, err := enter(ctx, env.Slots)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := c.again(env); err != nil { // as late as can be: the editor saved and others ran meanwhile
		return nil, err
	}
	limit := defaultTimeout
	if c.Timeout > 0 {
		limit = time.Duration(c.Timeout) * time.Second
	}
	limited, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	w := newWork(env, c.dir, c.reaper)
	defer w.output.close()
	var end ending
	err = w.during(limited, func() error {
		var err error
		end, err = c.run(w)
		return err
	})
	end.timeout = errors.Is(context.Cause(limited), errTimeout)
	end.cancelled = ctx.Err() != nil && !end.timeout
	stays := false
	if err == nil && !end.timeout && !end.cancelled && c.analysis.Steps == nil {
		end.left, stays = w.leave()
	}
	if !stays {
		w.dismiss()
	}
	if err != nil && !errors.Is(err, errEnded) && !errors.Is(err, errLost) {
		return nil, tool.Errorf(tool.CodeFailed, "The command could not be started: %v.", err)
	}
	if len(w.stuck) > 0 {
		end.left = fmt.Sprintf("%s could not be ended and wait for the system: %s", tool.Count(len(w.stuck), "process", "processes"), listed(w.stuck))
	}
	r := end.result(w, note, limit)
	r.Taint = c.analysis.Taint
	return r, nil
}

// enter waits for one of the slots for processes, in the order in which calls
// came (REL-77), and returns what gives it back; nil slots are without number.
func enter(ctx context.Context, slots chan struct{}) (leave func(), err error) {
	if slots == nil {
		return func() {}, nil
	}
	select {
	case slots <- struct{}{}: // a channel serves who waits in order
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// errTimeout says that a command used up its time.
var errTimeout = errors.New("the command's time is over")

// again makes sure that the folder is where it was, and that what ran by itself
// still may: links can have changed since the call was planned.
func (c *shellCall) again(env *tool.Env) error {
	p, err := resolveFolder(env, c.Directory)
	if err != nil {
		return err
	}
	if p.Real != c.dir || !p.IsDir() {
		return tool.Errorf(tool.CodeStale, "The folder %s is not what it was when the call was decided about. Repeat the call.", tool.Name(p.Rel))
	}
	if c.analysis.Steps == nil {
		return nil
	}
	now, err := command.Analyze(c.Command, command.Config{Env: env, Dir: c.dir})
	if err != nil {
		return err
	}
	if now.Steps == nil {
		return tool.Errorf(tool.CodeStale, "The files that the command names are not what they were when the call was decided about (%s). Repeat the call.", now.Why)
	}
	return nil
}

// ending is how a command ended.
type ending struct {
	code      int
	signal    string
	timeout   bool
	cancelled bool
	left      string // what goes on without the command
}

// run runs the command and waits for it.
func (c *shellCall) run(w *work) (ending, error) {
	if c.analysis.Steps != nil {
		code, err := w.step(c.analysis.Steps, streams{out: w.output.out, err: w.output.err})
		return ending{code: code}, err
	}
	path, err := shell(w.env)
	if err != nil {
		return ending{}, err
	}
	cmd := w.command(path, []string{"bash", "--noprofile", "--norc", "-c", c.Command}, nil)
	cmd.Stdout, cmd.Stderr = w.output.out, w.output.err
	s, err := w.await(w.shelter(cmd))
	return ending{code: s.code, signal: s.signal}, err
}

// shell returns the path of bash. No other shell takes its place: what was
// analysed is the language of bash (SEC-42).
func shell(env *tool.Env) (string, error) {
	for _, path := range []string{"/bin/bash", "/usr/bin/bash"} {
		if executable(path) {
			return path, nil
		}
	}
	if path := lookup(env, "bash"); path != "" {
		return path, nil
	}
	return "", errors.New("bash is not installed, and no other shell is used in its place: install bash, or use the other tools")
}

// leave sees to what a command has started and left behind: it goes on until
// the run ends, where there is somebody to end it, and else is ended now
// (REL-71). It says so, and whether something stays.
func (w *work) leave() (note string, stays bool) {
	left := w.left()
	if len(left) == 0 {
		return "", false
	}
	names := listed(left)
	if w.env.Background == nil {
		w.signal(terminate)
		w.sweep()
		return "what it left behind was ended: " + names, false
	}
	w.env.Background(func(ctx context.Context) {
		over := make(chan struct{})
		var waiting conc.WaitGroup
		waiting.Go(func() {
			w.wards.Wait() // with a reaper, until nothing is left
			close(over)
		})
		select {
		case <-over:
			if len(w.left()) > 0 { // there is no reaper
				<-ctx.Done()
			}
		case <-ctx.Done():
		}
		w.end(over)
		w.dismiss()
		waiting.Wait()
	})
	return "what it left behind goes on until this run ends: " + names + ". Its output is not kept; start servers with background: true", true
}

// listed names the first processes of a list.
func listed(left []process) string {
	names := make([]string, 0, len(left))
	for _, p := range left[:min(len(left), 10)] {
		names = append(names, fmt.Sprintf("%s (%d)", tool.Name(p.name), p.pid))
	}
	return strings.Join(names, ", ")
}

// result returns what the model is told.
func (e ending) result(w *work, note string, limit time.Duration) *tool.Result {
	stdout, stderr := w.output.out.text(), w.output.err.text()
	var b strings.Builder
	b.WriteString(note)
	r := &tool.Result{Whole: w.output.whole()}
	switch {
	case e.timeout:
		r.Failed, r.Code = true, tool.CodeTimeout
		fmt.Fprintf(&b, "The command was ended after %v.\n", limit)
	case e.cancelled:
		r.Failed, r.Code = true, tool.CodeCancelled
		b.WriteString("The command was cancelled.\n")
	case e.signal != "":
		r.Failed, r.Code = true, tool.CodeFailed
		fmt.Fprintf(&b, "Ended by signal: %s\n", e.signal)
	default:
		r.Failed = e.code != 0
		fmt.Fprintf(&b, "Exit code: %d\n", e.code)
	}
	if e.left != "" {
		b.WriteString("Note: " + e.left + ".\n")
	}
	section(&b, "Stdout", stdout)
	section(&b, "Stderr", stderr)
	r.Content = b.String()
	r.Display = "```\n" + strings.TrimRight(r.Content, "\n") + "\n```"
	if strings.Contains(r.Content, "```") || len(r.Content) > tool.MaxResult {
		r.Display = "" // a fence that the output could close shows nothing that is sure
	}
	return r
}

func section(b *strings.Builder, name, text string) {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		fmt.Fprintf(b, "%s: (empty)\n", name)
		return
	}
	fmt.Fprintf(b, "%s:\n%s\n", name, text)
}

// unsavedNote names the documents that a process reads as they were.
func unsavedNote(env *tool.Env, paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = tool.Name(path)
		if rel, err := filepath.Rel(env.Folder, path); err == nil && tool.Within(env.Folder, path) {
			names[i] = tool.Name(filepath.ToSlash(rel))
		}
	}
	return "unsaved in the editor: " + strings.Join(names, ", ") + "\n"
}

// background starts the command for as long as the run lasts.
func (c *shellCall) background(ctx context.Context, env *tool.Env, note string) (*tool.Result, error) {
	if env.Background == nil {
		return nil, tool.Errorf(tool.CodeFailed, "Nothing can go on in the background here. Run it without background, with a timeout.")
	}
	path, err := shell(env)
	if err != nil {
		return nil, tool.Errorf(tool.CodeFailed, "The command could not be started: %v.", err)
	}
	file, err := scratch(env.Blobs, "background-*.log")
	if err != nil {
		return nil, tool.Errorf(tool.CodeFailed, "The command's output has no place: %v.", err)
	}
	w := newWork(env, c.dir, c.reaper)
	cmd := w.command(path, []string{"bash", "--noprofile", "--norc", "-c", c.Command}, nil)
	sink := &capped{file: file, left: maxSpool}
	cmd.Stdout, cmd.Stderr = sink, sink
	started := make(chan begun, 1)
	env.Background(func(run context.Context) {
		defer file.Close()
		if env.Blobs == "" {
			defer os.Remove(file.Name())
		}
		w.outlive(run, cmd, started)
	})
	first := <-started // it takes no time; the run's end ends it
	if first.err != nil {
		return nil, tool.Errorf(tool.CodeFailed, "The command could not be started: %v.", first.err)
	}
	return &tool.Result{
		Content: fmt.Sprintf("%sStarted in the background as process %d. Its output goes to %s. It ends with this run.\n", note, first.pid, file.Name()),
		Display: fmt.Sprintf("Started in the background (process %d)", first.pid),
	}, nil
}
