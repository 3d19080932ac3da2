package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/modelserver"
	"github.com/agentls/agentls/internal/process"
	"github.com/agentls/agentls/internal/sandbox"
	"github.com/agentls/agentls/internal/wire"
)

// demoFiles are the program of the demo, its agent and what its model says. Go
// files end in .txt there, so that they are not part of this module.
//
//go:embed demo
var demoFiles embed.FS

// demoOptions are the flags of demo. live needs a key; without it nothing goes over the
// network.
type demoOptions struct{ keep, deny, live bool }

// demoCommand lets a person watch agents fix a bug, without a key. It reads nothing of the
// folder where it runs. Without a terminal it answers the questions of the agents itself,
// and says so. It exits with 1 where the run did not reach its goal.
func demoCommand(std streams) *cobra.Command {
	var o demoOptions
	c := &cobra.Command{
		Use: "demo", Short: "Watch agents find, fix and review a bug; needs no key", Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return demo(c.Context(), std, o) },
	}
	c.Flags().BoolVar(&o.keep, "keep", false, "leave the folder")
	c.Flags().BoolVar(&o.deny, "deny", false, "refuse the edit")
	c.Flags().BoolVar(&o.live, "live", false, "use the real model, with GEMINI_API_KEY")
	return c
}

// demo makes a program with a failing test in a folder of its own, has an agent fix it,
// and says how that went. Program, sessions and settings lie in one temporary folder,
// which is removed at the end unless --keep. It needs the go command, and git only where
// it is there. The two tests before and after are run here and not by the agent, so that
// what is said about them is a fact.
func demo(ctx context.Context, std streams, o demoOptions) (err error) {
	if _, err := exec.LookPath("go"); err != nil {
		return fault.New(fault.Unavailable, "demo", "the demo fixes a program in Go, and the go command is not in your PATH; "+
			"install Go from https://go.dev/dl, or begin with an agent for your own code: `agentls init`")
	}
	root, err := os.MkdirTemp("", "agentls-demo-")
	if err != nil {
		return fault.New(fault.Unavailable, "demo", "no folder for the demo: %w", err)
	}
	// The daemon names folders by their real paths.
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return err
	}
	project, home := filepath.Join(root, "project"), filepath.Join(root, "home")
	defer func() {
		if err != nil && ctx.Err() != nil { // what it was at is nothing to fix
			fmt.Fprintln(std.err, "Stopped.")
			err = exit{exitInterrupted}
		}
		if !o.keep {
			err = errors.Join(err, os.RemoveAll(root))
		}
	}()
	config, err := base(std)
	if err != nil {
		return err
	}
	// The demo leaves nothing in the person's own folder, and its agent may act
	// in the demo's.
	config.Home, config.Trust, config.Environ = home, true, demoEnviron(config.Environ)
	if err := unpack(project); err != nil {
		return err
	}
	if err := repository(ctx, config.Environ, project); err != nil {
		return err
	}
	var script *modelserver.Server
	if !o.live {
		if script, config, err = scriptModel(config); err != nil {
			return err
		}
	}

	d := demonstration{std, config, project, home, o}
	d.introduce()
	if err := shareCache(ctx, config.Environ, home); err != nil {
		return err
	}
	if wall, why := config.Wall(ctx); wall == sandbox.None {
		d.say("The agent's commands run without a sandbox: %s.\n", why)
	} else {
		d.say("The agent's commands run in a sandbox (%s).\n", wall)
	}
	passed, output, err := goTest(ctx, config.Environ, project)
	if err != nil {
		return err
	}
	d.say("$ go test ./...\n%s\n", indent(output))
	if passed {
		return fault.New(fault.Internal, "demo", "the demo's test passes before it is fixed")
	}

	// The run is a part of the demo's story, so all of it goes to standard output.
	result, err := runAgent(ctx, config, project, &wire.RunParams{
		Agent: "auto", Input: wire.InputBlocks{{Type: "text",
			Text: "this panic: index out of range [3] with length 3, in average.go. Fix it"}},
	}, newTimeline(streams{std.in, std.out, std.out}, demoTerminal(std, o)))
	if err != nil {
		return err
	}
	// A request that is not in the script is a fault of the demo, however the run ended.
	if script != nil {
		if failures := script.Failures(); len(failures) > 0 {
			return fault.New(fault.Internal, "demo", "the demo did not go as its script says: %s", failures[0])
		}
	}

	return d.tellResult(ctx, result)
}

// demonstration is a demo that goes on: what its steps have in common.
type demonstration struct {
	std    streams
	config daemon.Config
	// project has the program, and home stands for the person's .gemini folder.
	project, home string
	options       demoOptions
}

// say prints a line to standard output.
func (d demonstration) say(format string, args ...any) { fmt.Fprintf(d.std.out, format+"\n", args...) }

// introduce says what is to come.
func (d demonstration) introduce() {
	d.say("You say what is wrong; the agent for it takes over, and passes on what is not its own work.")
	if d.options.live {
		d.say("The model is the real one.")
	} else {
		d.say("The model is a script inside this program; everything else is real.")
	}
	d.say("Folder: %s", d.project)
}

// tellResult shows what the run changed, and whether the test passes now. It returns exit
// 1 where the run ended otherwise than by reaching its goal.
func (d demonstration) tellResult(ctx context.Context, result *wire.RunResult) error {
	// File and test are looked at here, whatever the agent says of them.
	changed, err := differs(d.project, "average.go")
	if err != nil {
		return err
	}
	passed, output, err := goTest(ctx, d.config.Environ, d.project)
	if err != nil {
		return err
	}
	d.say("\n$ go test ./...\n%s", indent(output))
	switch {
	case changed && passed:
		d.say("average.go is changed, and the test passes.")
	case !changed && !passed:
		d.say("The edit was refused: average.go is unchanged, and the test still fails.")
	default:
		d.say("average.go changed: %v; the test passes: %v.", changed, passed)
	}
	d.say("\n$ agentls chain")
	if err := printChain(d.std.out, result.Chain); err != nil {
		return err
	}
	log := filepath.Join(d.home, "agentls", "sessions", session.Key(d.project), result.Session+".jsonl")
	if d.options.keep {
		d.say("Folder: %s\nSession: %s", d.project, log)
	} else {
		d.say("Folder: %s\nSession: %s\nBoth are removed now; `agentls demo --keep` leaves them.", d.project, log)
	}
	if result.Reason != activity.Goal {
		return exit{exitFailed}
	}
	return nil
}

// scriptModel makes the demo's script the model of a daemon, without a port: requests to
// the model are answered within the process. The server tells by Failures where a request
// was not as the script has it.
func scriptModel(config daemon.Config) (*modelserver.Server, daemon.Config, error) {
	text, err := demoFiles.ReadFile("demo/script.txt")
	if err != nil {
		return nil, config, err
	}
	script, err := modelserver.Parse(string(text))
	if err != nil {
		return nil, config, err
	}
	server := modelserver.New(modelserver.Config{Script: script, Now: time.Now})
	config.Transport = modelserver.Transport(server)
	// The daemon takes the first of two variables with one name. The last one keeps it
	// from Vertex AI, whatever the person uses.
	config.Environ = append([]string{"GEMINI_API_KEY=demo", "GOOGLE_GEMINI_BASE_URL=http://demo.invalid",
		"GOOGLE_GENAI_USE_ENTERPRISE=false"}, config.Environ...)
	return server, config, nil
}

// shareCache lets the demo's commands use the person's cache of Go, where there is one:
// they are ours, and an empty cache has the first test compile Go's library. The sandbox
// gets the folder by a setting of the demo's own home.
func shareCache(ctx context.Context, environ []string, home string) error {
	c := exec.CommandContext(ctx, "go", "env", "GOCACHE")
	c.Env = environ
	out, err := c.Output()
	cache := strings.TrimSpace(string(out))
	if info, statErr := os.Stat(cache); err != nil || statErr != nil || !info.IsDir() {
		return ctx.Err()
	}
	settings, err := json.Marshal(map[string]any{"tools": map[string]any{"sandbox": map[string]any{"write": []string{cache}}}})
	if err != nil {
		return err
	}
	caches := filepath.Join(home, "agentls", "cache")
	if err := os.MkdirAll(caches, 0o700); err != nil {
		return err
	}
	_ = os.Symlink(cache, filepath.Join(caches, "go-build")) // without links the first test takes longer
	return os.WriteFile(filepath.Join(home, "settings.json"), settings, 0o600)
}

// demoTerminal answers for a person who is not there, and says so: no to edits with
// --deny, and yes to everything where there is no terminal. On a terminal the person
// answers the rest.
func demoTerminal(std streams, o demoOptions) *terminal {
	t := newTerminal(streams{std.in, std.out, std.out})
	t.answer = func(p *wire.ConfirmParams) (outcome, why string) {
		switch {
		case o.deny && p.Tool == "edit_file":
			return "reject", "no (--deny)"
		case !t.there:
			return "once", "yes (there is no terminal to ask on, so the demo says yes itself)"
		}
		return "", ""
	}
	return t
}

// demoEnviron returns the person's environment without what would make git or
// go work on something else than the demo's folder.
func demoEnviron(own []string) []string {
	out := slices.DeleteFunc(slices.Clone(own), func(entry string) bool {
		name, _, _ := strings.Cut(strings.ToUpper(entry), "=")
		return strings.HasPrefix(name, "GIT_") || name == "GOFLAGS" || name == "GOWORK"
	})
	// An empty GOFLAGS would be filled from the file that `go env -w` writes. This
	// one is what go does by itself.
	return append(out, "GOFLAGS=-mod=readonly", "GOWORK=off")
}

// unpack writes the demo's program to a folder. It makes the folders that are needed, and
// replaces files.
func unpack(folder string) error {
	for name, path := range map[string]string{
		"go.mod.txt": "go.mod", "average.go.txt": "average.go", "average_test.go.txt": "average_test.go",
		"debugger.md": ".gemini/agents/debugger.md", "fixer.md": ".gemini/agents/fixer.md",
		"test-reader.md": ".gemini/agents/test-reader.md", "reviewer.md": ".gemini/agents/reviewer.md",
	} {
		data, err := demoFiles.ReadFile("demo/" + name)
		if err != nil {
			return err
		}
		path = filepath.Join(folder, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// repository makes a git repository of a folder, so that --keep leaves one in which git
// diff shows the edit. It uses none of the person's settings of git. Where git is not
// there or fails the folder is as good without one; only the end of ctx is an error.
func repository(ctx context.Context, environ []string, folder string) error {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil
	}
	for _, args := range [][]string{
		// The person's template may have hooks, and is left out.
		{"init", "-q", "--template="}, {"add", "-A"},
		{"-c", "user.name=agentls demo", "-c", "user.email=demo@example.com", "-c", "commit.gpgsign=false", "commit",
			"-q", "-m", "A thermometer with a failing test"},
	} {
		c := exec.CommandContext(ctx, git, append([]string{"-C", folder}, args...)...)
		c.Env = append(slices.Clone(environ), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
		if c.Run() != nil {
			return errors.Join(ctx.Err(), os.RemoveAll(filepath.Join(folder, ".git")))
		}
	}
	return nil
}

// goTest runs the tests of a folder in the environment that the agent's own commands have;
// passed says whether they do. Tests that fail are no error.
func goTest(ctx context.Context, environ []string, folder string) (passed bool, output string, err error) {
	c := exec.CommandContext(ctx, "go", "test", "./...")
	c.Dir, c.Env = folder, append(process.Environ(environ), "GOWORK=off")
	out, err := c.CombinedOutput()
	if _, ran := errors.AsType[*exec.ExitError](err); err != nil && !ran {
		return false, "", err
	}
	return err == nil, string(out), nil
}

// differs reports whether a file of the demo is another than it was. A file that is gone
// is an error.
func differs(folder, name string) (bool, error) {
	want, err := demoFiles.ReadFile("demo/" + name + ".txt")
	if err != nil {
		return false, err
	}
	have, err := os.ReadFile(filepath.Join(folder, name))
	return !bytes.Equal(want, have), err
}

// indent sets the output of a command off, without the stacks of a panic, which are longer
// than what is to be seen.
func indent(text string) string {
	text, _, _ = strings.Cut(text, "\ngoroutine ")
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}
