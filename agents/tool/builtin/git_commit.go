package builtin

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/git"
	"github.com/agentls/agentls/internal/process"
	"github.com/agentls/agentls/internal/sandbox"
)

// commitTimeout bounds a commit with its hooks.
const commitTimeout = 5 * time.Minute

// maxNames is how many bytes the names of a commit's files may have: they are
// arguments of git, and systems bound these, some at 1 MiB.
const maxNames = 768 << 10

// maxCommitted is how many files of a commit the person is shown.
const maxCommitted = 50

// commitArgs are the arguments of git_commit.
type commitArgs struct {
	Message string   `json:"message"`
	Paths   []string `json:"paths"`
}

// gitCommit returns the tool that makes a commit; reaper is as in [Config].
func gitCommit(reaper bool) tool.Tool {
	return define("git_commit", tool.Medium, `{
	"type": "object",
	"properties": {
		"message": {"type": "string", "minLength": 1, "maxLength": 10000, "description": "The message of the commit."},
		"paths": {"type": "array", "minItems": 1, "maxItems": 500, "items": {"type": "string", "minLength": 1}, "description": "The files to commit, relative to the workspace folder; a folder means what changed in it."}
	},
	"required": ["message", "paths"],
	"additionalProperties": false
}`, map[string]string{"files": "paths", "file_paths": "paths", "commit_message": "message"},
		func(ctx context.Context, env *tool.Env, args commitArgs) (*tool.Plan, error) {
			c := &commitCall{commitArgs: args, reaper: reaper}
			return c.plan(ctx, env)
		})
}

// commitCall is a planned commit.
//
// plan fills it and do uses it, one after the other. look is called by both and replaces
// files, fresh and shown; paths and folder stay as they were decided about.
type commitCall struct {
	commitArgs
	reaper bool
	folder string   // of the repository
	paths  []string // absolute
	files  []string // what is committed, relative to folder; those first that git does not know
	fresh  int      // how many git does not know
	shown  []string // the files with their states, as git has them in order
	// Opened anew when the call runs, since it may have changed.
	repo *git.Repository
}

// plan finds the files and shows them. It runs git, which changes nothing, and
// heeds ctx. What would bring others' rights or secrets into the commit is
// refused: folders that are not trusted, repositories within, files that hold
// credentials.
func (c *commitCall) plan(ctx context.Context, env *tool.Env) (*tool.Plan, error) {
	if strings.TrimSpace(c.Message) == "" || strings.ContainsRune(c.Message, 0) {
		return nil, tool.Errorf(tool.CodeArgs, "/message: a commit needs a message.")
	}
	// Links are committed as links, so they are not followed.
	for _, path := range c.Paths {
		p, err := tool.ResolveLink(env, path)
		if err != nil {
			return nil, err
		}
		if c.folder == "" {
			c.folder = p.Folder
		}
		if p.Folder != c.folder {
			return nil, tool.Errorf(tool.CodeArgs,
				"/paths: %s and %s lie in two workspace folders; commit them one after the other.",
				tool.Name(c.Paths[0]), tool.Name(path))
		}
		c.paths = append(c.paths, p.Real)
	}
	if (c.folder == env.Folder && !env.Trusted) || slices.Contains(env.Strange, c.folder) {
		return nil, tool.Errorf(tool.CodeDenied, "Nothing is committed in %s: the person does not trust the folder.",
			tool.Name(c.folder))
	}
	// Trust comes first: nothing is asked of the repository of a folder that is not trusted.
	if err := c.open(ctx, env); err != nil {
		return nil, err
	}
	lines, err := c.look(ctx, env)
	if err != nil {
		return nil, err
	}
	shown := "git commit -m " + shellQuote(c.Message) + " --"
	for _, path := range c.Paths {
		shown += " " + shellQuote(path)
	}
	subject, _, _ := strings.Cut(c.Message, "\n")
	plan := &tool.Plan{
		Risk: tool.Medium, Why: "makes a commit", Title: "git_commit " + title(subject), Writes: c.paths, Spawns: true,
		Preview: tool.Preview{Kind: "command", Command: shown, Notes: lines, Cwd: c.folder},
		Do:      c.do,
	}
	if c.walled(env) {
		plan.Access = sandbox.Write // the repository's hooks run
	}
	if tool.Suspicious(c.Message) || slices.ContainsFunc(c.Paths, tool.Suspicious) {
		plan.Risk, plan.Why = plan.Risk.Raise(), plan.Why+"; it holds characters that are not seen"
	}
	return plan, nil
}

// walled reports whether a wall confines the repository's hooks.
//
// Without a wall the repository's hooks and filters are not run at all (commitBare).
func (c *commitCall) walled(env *tool.Env) bool {
	if env.Sandbox == nil {
		return false
	}
	wall, _ := env.Sandbox.Wall()
	return wall != sandbox.None
}

// shellQuote returns a text as a word of the shell, for what a person is shown.
func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// open opens the repository.
// A repository that reaches out of its folder, as a worktree or a submodule does, is
// refused with CodeDenied; the checks are those of package git.
func (c *commitCall) open(ctx context.Context, env *tool.Env) error {
	program, err := git.Find(ctx, env.Environ)
	if err == nil {
		c.repo, err = program.Open(ctx, c.folder)
	}
	return c.explain(err)
}

// explain makes what git says an *Error for the model.
// A cancelled context is returned as it is. What package git denies is CodeDenied,
// anything else CodeFailed.
func (c *commitCall) explain(err error) error {
	if err == nil || fault.KindOf(err) == fault.Canceled {
		return err
	}
	code := tool.CodeFailed
	if fault.KindOf(err) == fault.Denied {
		code = tool.CodeDenied
	}
	if exit, ok := errors.AsType[*git.ExitError](err); ok {
		return tool.Errorf(code, "git: %s", exit.Error())
	}
	return tool.Errorf(code, "%s.", strings.TrimSuffix(fault.Message(err), "."))
}

// look finds what would be committed, and returns it for people.
// What git ignores, what a submodule has and what is gone both from the commit and
// the disk is not committed. Credentials are refused and not left out, so that the
// model does not take a part for the whole.
// It fills files, fresh and shown. shown is complete and unescaped, since lookAgain
// compares it; lines is cut to maxCommitted and escaped.
func (c *commitCall) look(ctx context.Context, env *tool.Env) (lines []string, err error) {
	// No renames, so that each file is one entry, and all files of new folders, so that each
	// of them is judged and shown.
	args := []string{"status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames",
		"--ignore-submodules=all", "--"}
	out, err := c.repo.Run(ctx, git.Command{Args: append(args, c.paths...)})
	if err != nil {
		return nil, c.explain(err)
	}
	var fresh, known []string
	c.shown = nil
	for entry := range strings.SplitSeq(string(out), "\x00") {
		if len(entry) < 4 || strings.HasPrefix(entry, "AD") { // neither in the last commit nor on disk
			continue
		}
		state, rel := entry[:2], entry[3:]
		// With --untracked-files=all git names a folder only where it is a repository.
		if strings.HasSuffix(rel, "/") {
			return nil, tool.Errorf(tool.CodeDenied, "%s is a repository of its own; it is not committed to this one.",
				tool.Name(rel))
		}
		p, err := tool.ResolveLink(env, filepath.Join(c.folder, filepath.FromSlash(rel)))
		if err != nil {
			return nil, err
		}
		// Revealed ones too: that they may be read does not mean that they may be published.
		if p.Credential {
			return nil, tool.Errorf(tool.CodeDenied,
				"%s holds credentials; it is not committed. Name the other files one by one, or add it to .gitignore.",
				tool.Name(rel))
		}
		if state == "??" {
			fresh = append(fresh, rel)
		} else {
			known = append(known, rel)
		}
		c.shown = append(c.shown, describeState(state)+" "+rel)
		if len(lines) < maxCommitted {
			lines = append(lines, describeState(state)+" "+tool.Name(rel))
		}
	}
	// New files first: they alone have to be added before the commit names them.
	c.files, c.fresh = slices.Concat(fresh, known), len(fresh)
	if len(strings.Join(c.files, " ")) > maxNames {
		return nil, tool.Errorf(tool.CodeTooLarge,
			"%d files are too many for one commit of this tool; name fewer paths, and make several commits.",
			len(c.files))
	}
	if len(c.files) == 0 {
		return nil, tool.Errorf(tool.CodeFailed,
			"There is nothing to commit: %s did not change since the last commit, or git ignores it.",
			tool.Name(strings.Join(c.Paths, ", ")))
	}
	if more := len(c.files) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	stat := []string{"diff", "--shortstat", "--no-ext-diff", "--no-textconv", "--no-renames",
		"--ignore-submodules=all", "HEAD", "--"}
	if out, err := c.repo.Run(ctx, git.Command{Args: append(stat, c.paths...)}); err == nil &&
		len(out) > 0 { // else there is no commit yet
		lines = append(lines, "in files that git knows: "+strings.TrimSpace(string(out)))
	}
	return lines, nil
}

// describeState names the two letters of git status.
func describeState(state string) string {
	switch {
	case strings.Contains(state, "U"), state == "AA", state == "DD":
		return "conflict"
	case state == "??" || strings.Contains(state, "A"):
		return "new"
	case strings.Contains(state, "D"):
		return "deleted"
	}
	return "changed"
}

// do makes the commit.
// Everything that was decided about is looked at again, with the slot held: a path
// that leads elsewhere by now, or another list of files, is stale.
func (c *commitCall) do(ctx context.Context, env *tool.Env) (*tool.Result, error) {
	note := ""
	if env.Edits != nil {
		note = noteUnsaved(env, env.Edits.Save(ctx, "files are about to be committed"))
	}
	// The slot before the second look, so that the commit follows that look at once.
	leave, err := enter(ctx, env.Slots)
	if err != nil {
		return nil, err
	}
	defer leave()
	for i, path := range c.Paths {
		if now, err := tool.ResolveLink(env, path); err != nil || now.Real != c.paths[i] {
			return nil, tool.Errorf(tool.CodeStale,
				"%s is not where it was when the call was decided about. Repeat the call.", tool.Name(path))
		}
	}
	if err := c.lookAgain(ctx, env); err != nil {
		return nil, err
	}
	if c.walled(env) {
		return c.commitWalled(ctx, env, note)
	}
	return c.commitBare(ctx, env, note)
}

// lookAgain refuses to commit other files than were found when the call was
// decided about.
// The error is CodeStale and names the first file that is new, or says that some are gone.
// TestSEC51GitCommitLooksAgain holds it.
func (c *commitCall) lookAgain(ctx context.Context, env *tool.Env) error {
	if err := c.open(ctx, env); err != nil { // it may have changed since
		return err
	}
	before := c.shown
	if _, err := c.look(ctx, env); err != nil {
		return err
	}
	if slices.Equal(before, c.shown) {
		return nil
	}
	for _, now := range c.shown {
		if !slices.Contains(before, now) {
			return tool.Errorf(tool.CodeStale,
				"The files to commit are not those that the call was decided about: %s. Repeat the call.",
				tool.Name(now))
		}
	}
	return tool.Errorf(tool.CodeStale, "Some of the files to commit are as in the last commit again. Repeat the call.")
}

// commitScript runs behind the wall, with the message, how many of the files git
// does not know, and the files, these first, as arguments.
// Names are literal: a file may have a name that git would take for a pattern.
const commitScript = `set -e; message=$1; fresh=$2; shift 2
if [ "$fresh" -gt 0 ]; then git --literal-pathspecs add -- "${@:1:fresh}"; fi
git --literal-pathspecs commit --quiet --no-gpg-sign -m "$message" -- "$@"
git --no-pager show --no-ext-diff --no-textconv --stat --format='%h %s' HEAD`

// commitWalled commits behind the wall, where the repository's hooks and filters
// may run.
// The script gets the message and the files as its arguments, and not as a part of
// its text. It has commitTimeout.
func (c *commitCall) commitWalled(ctx context.Context, env *tool.Env, note string) (*tool.Result, error) {
	path, err := shell(env)
	if err != nil {
		return nil, tool.Errorf(tool.CodeFailed, "The commit could not be made: %v.", err)
	}
	limited, cancel := context.WithTimeoutCause(ctx, commitTimeout, errTimeout)
	defer cancel()
	j := newJob(env, c.folder)
	defer j.Output.Close()
	cmd := j.Command(path, append([]string{"bash", "--noprofile", "--norc", "-c", commitScript, "git_commit", c.Message,
		strconv.Itoa(c.fresh)}, c.files...), nil)
	cmd.Stdout, cmd.Stderr = j.Output.Stdout, j.Output.Stderr
	wall, err := confine(limited, env, cmd, sandbox.Write, c.reaper)
	if err != nil {
		return nil, err
	}
	var end ending
	err = j.Run(limited, env.Progress, func() error {
		child, err := wall.start(j)
		if err != nil {
			return err
		}
		s, err := j.Wait(child)
		end.code, end.signal = s.Code, s.Signal
		return err
	})
	end.timeout = errors.Is(context.Cause(limited), errTimeout)
	end.cancelled = ctx.Err() != nil && !end.timeout
	// Nothing that a hook has started goes on after the commit.
	j.Kill()
	j.Release()
	end.notes = wall.release(ctx)
	if err != nil && !errors.Is(err, process.ErrEnded) && !errors.Is(err, process.ErrStuck) {
		return nil, tool.Errorf(tool.CodeFailed, "The commit could not be made: %v.", err)
	}
	r := end.result(j.Output, note, commitTimeout)
	if !r.Failed {
		subject, _, _ := strings.Cut(j.Output.Stdout.Text(), "\n")
		r.Display = "Committed " + tool.Name(subject)
	}
	return r, nil
}

// commitBare commits where no wall stands: with our own git, which runs nothing of
// the repository's.
// A file with a filter is refused: a filter is a program of the repository's
// choice.
func (c *commitCall) commitBare(ctx context.Context, env *tool.Env, note string) (*tool.Result, error) {
	who, err := c.repo.Identity(ctx, env.HomeFolder())
	if err != nil {
		return nil, c.explain(err)
	}
	attrs, err := c.repo.Run(ctx, git.Command{Args: append([]string{"check-attr", "-z", "filter", "--"}, c.files...)})
	if err != nil {
		return nil, c.explain(err)
	}
	fields := strings.Split(string(attrs), "\x00") // path, attribute, value
	for i := 2; i < len(fields); i += 3 {
		if v := fields[i]; v != "unspecified" && v != "unset" && v != "set" {
			return nil, tool.Errorf(tool.CodeDenied,
				"%s goes through the filter %s of git, which only runs in a sandbox, and there is none here. The person can commit it.", tool.Name(fields[i-2]), tool.Name(v))
		}
	}
	commands := [][]string{
		append([]string{"commit", "--quiet", "--no-verify", "-m", c.Message, "--"}, c.files...),
		{"show", "--no-ext-diff", "--no-textconv", "--stat", "--format=%h %s", "HEAD"},
	}
	if c.fresh > 0 {
		commands = slices.Insert(commands, 0, append([]string{"add", "--"}, c.files[:c.fresh]...))
	}
	var out []byte
	for _, args := range commands {
		if out, err = c.repo.Run(ctx, git.Command{Args: args, Environ: who, Timeout: commitTimeout}); err != nil {
			return nil, c.explain(err)
		}
	}
	subject, _, _ := strings.Cut(string(out), "\n")
	return &tool.Result{
		Content: note + "Committed. Hooks of the repository were not run, since there is no sandbox here.\n" +
			string(out),
		Display: "Committed " + tool.Name(subject) + " (without the repository's hooks)",
	}, nil
}
