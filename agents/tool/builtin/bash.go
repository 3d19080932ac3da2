package builtin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/command"
	"github.com/agentls/agentls/internal/process"
	"github.com/agentls/agentls/internal/sandbox"
)

// What a command gets where the call does not say: two minutes. A title has so
// many characters of it.
const (
	defaultTimeout = 120 * time.Second
	maxTitle       = 80
)

// bashArgs are the arguments of bash. Timeout is in seconds, 0 = the default;
// Access "" = read.
type bashArgs struct {
	Command     string         `json:"command"`
	Description string         `json:"description"`
	Directory   string         `json:"directory"`
	Access      sandbox.Access `json:"access"`
	Timeout     int            `json:"timeout"`
	Background  bool           `json:"background"`
}

// bash returns the tool; reaper is as in [Config].
func bash(reaper bool) tool.Tool {
	return define("bash", tool.Safe, `{
	"type": "object",
	"properties": {
		"command": {"type": "string", "minLength": 1, "description": "The command, in the language of bash."},
		"description": {"type": "string", "maxLength": 500, "description": "What it is for, in a few words."},
		"directory": {"type": "string", "description": "The folder to run it in, relative to the workspace folder. Default: the workspace folder."},
		"access": {"type": "string", "enum": ["read", "write", "network", "any_host", "full"], "description": "The least that the command needs. read (default): reads files; writes nothing that stays, no network. write: also changes files in the workspace, and builds. network: also reaches the network. any_host: the same for a program that knows no proxy. full: no sandbox."},
		"timeout": {"type": "integer", "minimum": 1, "maximum": 600, "description": "Seconds until it is ended. Default 120."},
		"background": {"type": "boolean", "description": "Start it and return at once; it ends with this run."}
	},
	"required": ["command"],
	"additionalProperties": false
}`, map[string]string{"cmd": "command", "dir_path": "directory", "cwd": "directory", "workdir": "directory",
		"is_background": "background", "run_in_background": "background"},
		func(_ context.Context, env *tool.Env, args bashArgs) (*tool.Plan, error) {
			return planBash(env, args, reaper)
		})
}

// shellCall is a planned call of bash.
type shellCall struct {
	bashArgs
	dir string // where it runs
	// As in Config.
	reaper bool
	// The words of each simple command, as command.Analyze found them; the first is its
	// name.
	commands [][]string
}

// planBash plans a command: it parses it for what a person is shown and for the
// rules that deny programs, and concludes nothing else from its text. What keeps
// the command to its access is the wall. Answers for longer are offered only where
// every simple command is known (Keep) and runs in the trusted workspace folder.
func planBash(env *tool.Env, args bashArgs, reaper bool) (*tool.Plan, error) {
	p, err := resolveFolder(env, args.Directory)
	if err != nil {
		return nil, err
	}
	if !p.IsDir() {
		return nil, tool.Errorf(tool.CodeArgs, "/directory: %s is no folder.", tool.Name(p.Rel))
	}
	if args.Access == "" {
		args.Access = sandbox.Read
	}
	a, err := command.Analyze(args.Command, command.Config{Dir: p.Real, Home: env.HomeFolder(), Folders: env.Folders})
	if err != nil {
		return nil, err
	}
	// With any access, and before anybody is asked.
	if p.Credential {
		return nil, tool.Errorf(tool.CodeDenied, "%s holds credentials; nothing runs in it.", tool.Name(p.Rel))
	}
	c := shellCall{bashArgs: args, dir: p.Real, reaper: reaper, commands: a.Commands}
	plan := &tool.Plan{
		Risk: tiers[args.Access], Why: "access " + string(args.Access), Title: "bash " + title(args.Command),
		Reads:   []string{p.Real},
		Preview: tool.Preview{Kind: "command", Command: args.Command, Parsed: a.Parsed, Cwd: p.Real},
		Access:  args.Access,
		Spawns:  true,
		Leaves:  args.Access.Connects() || args.Access == sandbox.Full,
		Names:   a.Names, Commands: a.Commands, Unclear: a.Unclear, Keep: a.Keep, Prefix: a.Prefix,
		Do: c.do,
	}
	if a.Unclear != "" {
		plan.Preview.Notes = append(plan.Preview.Notes, tool.Escape(a.Unclear))
	}
	plan.Preview.Notes = append(plan.Preview.Notes, leads(p.Real, a.Commands)...)
	strange := func(words tool.Words) bool {
		return !tool.Within(env.Folder, words.Folder) || env.TaintOf(words.Folder) != tool.Clean
	}
	if slices.ContainsFunc(plan.Keep, strange) {
		plan.Keep, plan.Prefix = nil, nil // the same words may run what others wrote
	}
	// An answer for longer would cover what raised the risk as well, so none is offered.
	raise := func(risk tool.Risk, why string) {
		plan.Risk, plan.Why = plan.Risk.Max(risk), plan.Why+"; "+why
		plan.Keep, plan.Prefix = nil, nil
	}
	if a.Hidden {
		raise(plan.Risk.Raise(), "it holds characters that are not seen")
	}
	if a.Long {
		raise(tool.Protected, "it is too long to be shown whole")
	}
	if p.Protected && args.Access != sandbox.Read {
		raise(tool.Protected, "runs in a protected folder: "+p.ProtectedBy)
	}
	// Last, since it stands above all that was raised: nothing may lower it again.
	if a.Disaster != "" {
		plan.Risk, plan.Why, plan.Keep = tool.Catastrophic, a.Disaster, nil
	}
	return plan, nil
}

// tiers are the risks of the accesses (spec 4.2).
var tiers = map[sandbox.Access]tool.Risk{
	sandbox.Read: tool.Safe, sandbox.Write: tool.Medium, sandbox.Network: tool.High,
	sandbox.AnyHost: tool.High, sandbox.Full: tool.High,
}

// paths returns the words of commands that may be paths, absolute: each once, and
// no more than the first maxPaths.
// It knows no program's options: a word with "=" counts by what stands behind it, and one
// that begins with "-" does not count. It is for notes and for the taint of a result,
// never for what a command may do.
func paths(dir string, commands [][]string) (words, all []string) {
	for _, command := range commands {
		for _, word := range command[1:] {
			if _, value, ok := strings.Cut(word, "="); ok {
				word = value
			}
			if len(words) == maxPaths {
				return words, all
			}
			if word == "" || word[0] == '-' || slices.Contains(words, word) {
				continue
			}
			path := filepath.FromSlash(word)
			if !filepath.IsAbs(path) {
				path = filepath.Join(dir, path)
			}
			words, all = append(words, word), append(all, path)
		}
	}
	return words, all
}

// maxPaths is how many words of a command are looked at for where they lead.
const maxPaths = 64

// taint is what comes of the places that the command names: one that others wrote,
// or a folder that has such a one in it.
func (c *shellCall) taint(env *tool.Env) tool.Taint {
	worst := tool.Clean
	_, all := paths(c.dir, c.commands)
	for _, path := range all {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		worst = worst.Max(env.TaintOf(path))
		// A command that names a folder may read all below it.
		if slices.ContainsFunc(env.Strange, func(folder string) bool { return tool.Within(path, folder) }) {
			worst = worst.Max(tool.Foreign)
		}
	}
	return worst
}

// leads tells where words of commands lead that are links, or lie behind one, so
// that a person is not misled by a name (SEC-67). What is a path and what is not
// it does not know.
func leads(dir string, commands [][]string) (notes []string) {
	words, all := paths(dir, commands)
	for i, path := range all {
		if !linked(path, dir) {
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(dir, real); err == nil && tool.Within(dir, real) {
			real = rel
		}
		notes = append(notes, tool.Name(words[i])+" → "+tool.Name(filepath.ToSlash(real)))
	}
	return notes
}

// linked reports whether a path is a link, or one of the folders on its way from
// dir is. What is not there, or not below dir, is only looked at itself.
//
// The loop ends at dir, so the folder of the call may itself lie behind a link: the plan
// shows that folder resolved.
func linked(path, dir string) bool {
	for at := path; len(at) > len(dir); at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil && at == path {
			return false
		}
		if err == nil && info.Mode()&os.ModeSymlink != 0 {
			return true
		}
		if !tool.Within(dir, at) {
			return false
		}
	}
	return false
}

// title returns the beginning of a command, on one line.
func title(text string) string {
	first, all := tool.CutLine(tool.Escape(text), maxTitle)
	if !all {
		first += "…"
	}
	return first
}

// do runs the command and waits for it, or starts it in the background. A command
// that fails is a result with Failed set, whose text the model reads; an error
// means that it was not run. The order at the end matters: what is left behind is
// looked for while the job still knows its processes, and the wall is released
// when all of them have ended, since what it finds at protected places may still
// be written until then.
func (c *shellCall) do(ctx context.Context, env *tool.Env) (*tool.Result, error) {
	var unsaved []string
	if env.Edits != nil {
		unsaved = env.Edits.Save(ctx, "a command is about to run")
	}
	// Documents that the editor could not save are on disk as they were: the model is told
	// that the command saw these.
	note := noteUnsaved(env, unsaved)
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
	// The time begins with the slot: what the call waited for others is not the command's.
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	allowed := newAllowance(limit, env.Now, func() { cancel(errTimeout) })
	defer allowed.end()
	env = allowed.waiting(env)
	j := newJob(env, c.dir)
	defer j.Output.Close()
	var end ending
	var wall *sandboxedCommand
	err = j.Run(limited, env.Progress, func() error {
		var err error
		end, wall, err = c.run(limited, env, j)
		return err
	})
	end.timeout = errors.Is(context.Cause(limited), errTimeout)
	end.cancelled = ctx.Err() != nil && !end.timeout
	// Nothing stays of a command that was ended: its processes were ended with it.
	stays := false
	if err == nil && !end.timeout && !end.cancelled {
		end.left, stays = keepRemaining(env, j, func() []string { return wall.release(ctx) })
	}
	if !stays {
		j.Release()
		end.notes = wall.release(ctx)
	}
	var refused *tool.Error
	if errors.As(err, &refused) {
		return nil, err
	}
	// A command that was ended, also one that the system does not let go of, has a result that
	// says so. Any other error means that it did not run.
	if err != nil && !errors.Is(err, process.ErrEnded) && !errors.Is(err, process.ErrStuck) {
		return nil, tool.Errorf(tool.CodeFailed, "The command could not be started: %v.", err)
	}
	if stuck := j.Survivors(); len(stuck) > 0 {
		end.left = fmt.Sprintf("%s could not be ended and wait for the system: %s",
			tool.Count(len(stuck), "process", "processes"), listProcesses(stuck))
	}
	if end.code != 0 {
		end.notes = append(end.notes, wall.hint(j.Output.Stderr.Text()+j.Output.Stdout.Text())...)
	}
	r := end.result(j.Output, note, limit)
	r.Taint = c.taint(env)
	return r, nil
}

// enter waits for one of the slots for processes, in the order in which calls
// came (REL-77), and returns what gives it back; nil slots are without number.
// It waits until ctx ends. The caller must call leave exactly once, or the slot stays taken.
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

// again makes sure that the folder is where it was: links can have changed since
// the call was planned.
// The error is CodeStale, or that of resolveFolder where the folder is gone.
func (c *shellCall) again(env *tool.Env) error {
	p, err := resolveFolder(env, c.Directory)
	if err != nil {
		return err
	}
	if p.Real != c.dir || !p.IsDir() {
		return tool.Errorf(tool.CodeStale,
			"The folder %s is not what it was when the call was decided about. Repeat the call.", tool.Name(p.Rel))
	}
	return nil
}

// ending is how a command ended.
//
// It is filled by the goroutine that ran the command, before result is called. At most one
// of timeout and cancelled is set; signal is "" for a command that exited by itself.
type ending struct {
	// Of the shell; 128 and the number of the signal where one ended it.
	code int
	// Its name as the system has it, such as killed; "" for none.
	signal    string
	timeout   bool
	cancelled bool
	left      string // what goes on without the command
	// What the wall and the proxy say, a sentence without a full stop each.
	notes []string
}

// run runs the command and waits for it. The caller releases the wall.
// The wall is nil where the command did not get that far; release takes a nil one.
func (c *shellCall) run(ctx context.Context, env *tool.Env, j *process.Job) (ending, *sandboxedCommand, error) {
	path, err := shell(env)
	if err != nil {
		return ending{}, nil, err
	}
	// No startup files: they are not part of what was analysed and shown.
	cmd := j.Command(path, []string{"bash", "--noprofile", "--norc", "-c", c.Command}, nil)
	cmd.Stdout, cmd.Stderr = j.Output.Stdout, j.Output.Stderr
	wall, err := confine(ctx, env, cmd, c.Access, c.reaper)
	if err != nil {
		return ending{}, nil, err
	}
	child, err := wall.start(j)
	if err != nil {
		return ending{}, wall, err
	}
	s, err := j.Wait(child)
	return ending{code: s.Code, signal: s.Signal}, wall, err
}

// newJob returns the supervision of what a call runs in dir.
func newJob(env *tool.Env, dir string) *process.Job {
	return process.NewJob(process.Options{Dir: dir, Environ: env.Environ, Scratch: env.Blobs, Now: env.Now})
}

// shell returns the path of bash. No other shell takes its place: what was
// analysed is the language of bash (SEC-42).
func shell(env *tool.Env) (string, error) {
	// The system's own comes before PATH, in which any program may be called bash.
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

// keepRemaining deals with what a command has started and left behind: it goes
// on until the run ends, where something can end it then, and else is ended now
// (REL-71). The note says so; stays reports whether something goes on: then over
// is called when it has ended, for what the person is told.
func keepRemaining(env *tool.Env, j *process.Job, over func() (notes []string)) (note string, stays bool) {
	left := j.Remaining()
	if len(left) == 0 {
		return "", false
	}
	names := listProcesses(left)
	// Nobody could end it with the run.
	if env.Background == nil {
		j.Kill()
		return "what it left behind was ended: " + names, false
	}
	env.Background(func(ctx context.Context) []string {
		j.Linger(ctx)
		return over()
	})
	return "what it left behind goes on until this run ends: " + names +
		". Its output is not kept; start servers with background: true", true
}

// listProcesses names the first processes of a list.
func listProcesses(left []process.Found) string {
	names := make([]string, 0, len(left))
	for _, p := range left[:min(len(left), 10)] {
		names = append(names, fmt.Sprintf("%s (%d)", tool.Name(p.Name), p.PID))
	}
	return strings.Join(names, ", ")
}

// background starts the command for as long as the run lasts.
// The error is that it could not be started; how it ends later is told in a note
// when the run ends. Its output goes to a file that the agent can read.
func (c *shellCall) background(ctx context.Context, env *tool.Env, note string) (*tool.Result, error) {
	if env.Background == nil {
		return nil, tool.Errorf(tool.CodeFailed,
			"Nothing can go on in the background here. Run it without background, with a timeout.")
	}
	path, err := shell(env)
	if err != nil {
		return nil, tool.Errorf(tool.CodeFailed, "The command could not be started: %v.", err)
	}
	file, err := process.CreateScratch(env.Blobs, "background-*.log")
	if err != nil {
		return nil, tool.Errorf(tool.CodeFailed, "The command's output has no place: %v.", err)
	}
	j := newJob(env, c.dir)
	cmd := j.Command(path, []string{"bash", "--noprofile", "--norc", "-c", c.Command}, nil)
	// Credentials are masked before they reach the file, which the agent can read.
	sink := env.Output.Writer(process.NewLimitedFile(file))
	cmd.Stdout, cmd.Stderr = sink, sink
	wall, err := confine(ctx, env, cmd, c.Access, c.reaper)
	if err != nil {
		_ = file.Close() // nothing is in it
		return nil, err
	}
	started := make(chan process.Started, 1)
	env.Background(func(run context.Context) []string {
		defer file.Close()
		defer sink.Flush()
		// Without a folder of the session's the file would be left in the folder for temporary
		// files.
		if env.Blobs == "" {
			defer os.Remove(file.Name())
		}
		// The command lives with run, the context of the run, and not with the call's, which ends
		// when this function returns.
		j.RunBackground(run, func() (*process.Child, error) { return wall.start(j) }, started)
		return wall.release(run)
	})
	first := <-started // it takes no time; the run's end ends it
	if first.Err != nil {
		return nil, tool.Errorf(tool.CodeFailed, "The command could not be started: %v.", first.Err)
	}
	return &tool.Result{
		Content: fmt.Sprintf("%sStarted in the background as process %d. Its output goes to %s. It ends with this run.\n", note, first.PID, file.Name()),
		Display: fmt.Sprintf("Started in the background (process %d)", first.PID),
	}, nil
}
