package builtin

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/process"
	"github.com/agentls/agentls/internal/sandbox"
)

// sandboxedCommand is a command behind a wall, or behind none where there is none.
//
// Its life is: confine, start, the job's wait, release. release is called once on every
// path after confine succeeded. A nil one, which is what a command that was never confined
// has, releases nothing.
//
// One goroutine uses it at a time.
type sandboxedCommand struct {
	box *sandbox.Box // nil without a sandbox
	// Started by start, once.
	cmd    *exec.Cmd
	reaper bool
	env    *tool.Env
	// What the wall was asked for; zero without a sandbox.
	spec sandbox.Spec

	network *network // nil where the command reaches no host, or any
}

// confine puts a command that has not been started behind the wall of the call's
// Env, with an access. The caller calls release, whether it was started or not.
// Without a Sandbox in Env nothing confines the command; where
// the settings require a wall and there is none, the error is CodeDenied and nothing may
// be run. With access full no places are looked up, since the wall lets the command reach
// all of them.
func confine(ctx context.Context, env *tool.Env, cmd *exec.Cmd, access sandbox.Access,
	reaper bool) (*sandboxedCommand, error) {
	c := &sandboxedCommand{cmd: cmd, reaper: reaper, env: env}
	if env.Sandbox == nil {
		return c, nil
	}
	c.spec = sandbox.Spec{Access: access, ReadOnly: env.Strange}
	// A folder that is not trusted may be read and never written: it is in ReadOnly.
	for _, folder := range env.Folders {
		if slices.Contains(env.Strange, folder) {
			continue
		}
		c.spec.Folders = append(c.spec.Folders, folder)
	}
	// Looked up for each command anew: files may have been made since the last one.
	if wall, _ := env.Sandbox.Wall(); wall != sandbox.None && access != sandbox.Full {
		places, err := c.places(ctx)
		if err != nil {
			return nil, err
		}
		c.spec.Protected = places.Protected
		for _, path := range slices.Concat(places.Credentials, places.Denied) {
			if !slices.Contains(env.Reveal, path) {
				c.spec.Masked = append(c.spec.Masked, path)
			}
		}
	}
	if access == sandbox.Network && env.Sandbox.CanLimitHosts() {
		n, err := startNetwork(ctx, env)
		if err != nil {
			return nil, errNetwork(err)
		}
		c.network, c.spec.Proxy = n, n.socket
	}
	var err error
	// The caller does not release what was never confined, so the proxy ends here.
	if c.box, err = env.Sandbox.Confine(cmd, c.spec); err != nil {
		c.network.end()
	}
	if errors.Is(err, sandbox.ErrNoWall) {
		return nil, tool.Errorf(tool.CodeDenied,
			"Commands do not run here: no sandbox works on this machine, and the person's settings require one (tools.sandbox.mode).")
	}
	return c, err
}

// places returns the places of all folders that the command must not read or
// change.
// Without a Survey nothing is known, and the answer counts as complete: whoever makes an
// Env without one confines nothing.
func (c *sandboxedCommand) places(ctx context.Context) (tool.Places, error) {
	all := tool.Places{Complete: true}
	if c.env.Survey == nil {
		return all, nil
	}
	for _, folder := range slices.Concat(c.spec.Folders, c.spec.ReadOnly) {
		p, err := c.env.Survey(ctx, folder)
		if err != nil {
			return all, err
		}
		all.Credentials = append(all.Credentials, p.Credentials...)
		all.Denied = append(all.Denied, p.Denied...)
		all.Protected = append(all.Protected, p.Protected...)
		all.Complete = all.Complete && p.Complete
	}
	return all, nil
}

// placesAfter returns the protected places after the command, and a note if there may
// be more. Those that were there and those at the top of each folder, which matter
// the most, are always among them.
func (c *sandboxedCommand) placesAfter(ctx context.Context) (protected []string, note string) {
	places, err := c.places(ctx)
	if err == nil && places.Complete {
		return append([]string{}, places.Protected...), "" // not nil, even where there are none
	}
	protected = slices.Concat(c.spec.Protected, places.Protected)
	for _, folder := range c.spec.Folders {
		protected = append(protected, tool.ProtectedPlaces(folder)...)
	}
	slices.Sort(protected)
	note = "the workspace could not be looked through after the command"
	if err != nil {
		note += " (" + err.Error() + ")"
	}
	note += ": it may have made protected places, such as .vscode or .envrc, that were not moved to quarantine; " +
		"look at what is new (git status --ignored) before you open or run it"
	return slices.Compact(protected), note
}

// start starts the command.
func (c *sandboxedCommand) start(j *process.Job) (*process.Child, error) {
	switch {
	case c.box != nil:
		return c.box.Start(j)
	case c.reaper:
		return j.StartReaped(c.cmd)
	}
	return j.Start(c.cmd)
}

// maxQuarantineNotes is how many places that were moved are told one by one.
const maxQuarantineNotes = 50

// release removes what the command had for itself when all of its processes have
// ended, and moves protected places to quarantine that it made. The notes say
// which, for the model and the person.
func (c *sandboxedCommand) release(ctx context.Context) (notes []string) {
	if c == nil || c.box == nil {
		return nil
	}
	notes = c.network.end()
	var now []string
	// The command may have ended because ctx did: what it made counts all the same.
	if access := c.spec.Access; c.box.Wall != sandbox.None && access.Writes() {
		var note string
		if now, note = c.placesAfter(context.WithoutCancel(ctx)); note != "" {
			notes = append(notes, note)
		}
	}
	// Whatever err says, what was moved is told.
	report, err := c.box.Release(now)
	for i, q := range report.Quarantined {
		if i == maxQuarantineNotes {
			notes = append(notes, fmt.Sprintf("%d more protected places that the command made or changed were moved to %s",
				len(report.Quarantined)-i, tool.Name(filepath.Dir(q.To))))
			break
		}
		what := "is a protected place that the command made"
		if q.Back {
			what = "is a protected place that the command changed; what was there is back, and"
		}
		note := fmt.Sprintf("%s %s: it was moved to %s", c.name(q.Path), what, tool.Name(q.To))
		if filepath.Base(q.Path) == ".git" {
			note += "; a command that makes a repository (git init, git clone) can ask with access: full"
		}
		notes = append(notes, note)
	}
	if err != nil {
		notes = append(notes, "the sandbox could not be cleaned up: "+err.Error())
	}
	return notes
}

// name is a path as it is shown: relative to the workspace folder in it.
func (c *sandboxedCommand) name(path string) string {
	if rel, err := filepath.Rel(c.env.Folder, path); err == nil && tool.Within(c.env.Folder, path) {
		return tool.Name(filepath.ToSlash(rel))
	}
	return tool.Name(path)
}

// hint says which access could help a command that failed, if what it printed
// looks as if the wall kept it from something.
// It goes by the words of well-known programs, so it may be wrong in both directions; it
// only says what can be asked for and gives nothing.
func (c *sandboxedCommand) hint(output string) []string {
	if c == nil || c.box == nil || c.box.Wall == sandbox.None {
		return nil
	}
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(output, w) })
	}
	// The words of curl, git, Go, Node and Python, as they print them.
	network := says("Could not resolve host", "Temporary failure in name resolution", "Name or service not known",
		"Network is unreachable",
		"network is unreachable", "ENOTFOUND", "EAI_AGAIN", "getaddrinfo", "dial tcp",
		"socket: operation not permitted", "ENETUNREACH")
	writing := says("Read-only file system", "read-only file system", "EROFS", "Permission denied",
		"permission denied", "EACCES")
	hidden := ""
	if says("Device or resource busy", "unsupported file type", "can only add regular files", "would be overwritten by",
		"local modifications", "Unable to process path") {
		hidden = c.hiddenFileIn(output)
	}
	// The most special hint first; one at most, since each names what to do next.
	switch access := c.spec.Access; {
	case hidden != "":
		return []string{"the sandbox hides " + hidden +
			" from commands, since it holds credentials: it cannot be changed, " +
			"and git takes it for changed; name the other files (git restore src, git add src), or call again with access: full"}
	case network && c.network != nil:
		return []string{"the sandbox lets programs reach hosts by the proxy of HTTP_PROXY and HTTPS_PROXY alone; a program that knows no proxy can ask with access: any_host"}
	case network && (access == sandbox.Read || access == sandbox.Write):
		return []string{fmt.Sprintf("the sandbox does not let a command with access %s reach the network; if it needs to, call again with access: network", access)}
	case (writing || says("Operation not permitted")) && access == sandbox.Read:
		return []string{"the sandbox lets a command with access read change nothing; if it needs to, call again with access: write"}
	case writing:
		return []string{"the sandbox keeps commands from credential files, from protected places such as .git/config and .git/hooks, and from what is outside of the workspace; a command that needs these can ask with access: full"}
	}
	return nil
}

// hiddenFileIn returns the name of a file that the wall hides and that an output names, ""
// for none.
// It compares names only, so it may take a namesake for it.
func (c *sandboxedCommand) hiddenFileIn(output string) string {
	for _, path := range c.spec.Masked {
		if strings.Contains(output, filepath.Base(path)) {
			return c.name(path)
		}
	}
	return ""
}
