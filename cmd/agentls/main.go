// Command agentls is the agent language server: a daemon that makes AI agents a
// service of the editor, and a command line on the same core.
//
// Flags, the environment, exit codes and signals live here and nowhere else.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/daemon"
)

// version is set by the linker in releases.
var version = "0.1.0-dev"

// The exit codes of spec 10.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	private()
	// A client that closes our output must not kill the process before the log
	// is synced (REL-27): a write then fails, which ends the connection. Not
	// Ignore, which commands would inherit.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(execute(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// streams are the standard ones.
type streams struct {
	in       *os.File
	out, err io.Writer
}

// exit ends a command with a code of its own; the message, if any, was printed.
type exit struct{ code int }

func (e exit) Error() string { return fmt.Sprintf("exit %d", e.code) }

// usage is an error of the command line itself.
type usage struct{ error }

// execute runs one command and returns the process's exit code.
func execute(args []string, std streams) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	root := &cobra.Command{
		Use:           "agentls",
		Short:         "The agent language server: AI agents as a service of the editor",
		Long:          "agentls serves AI agents, which are Markdown files under .gemini/agents, to editors.\nTry `agentls demo`: it needs no key.",
		SilenceErrors: true, SilenceUsage: true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			text := "there is no command " + tool.Escape(args[0])
			if near := c.SuggestionsFor(args[0]); len(near) > 0 {
				text += "; did you mean " + strings.Join(near, " or ") + "?"
			}
			return usage{errors.New(text)}
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SuggestionsMinimumDistance = 2
	root.SetArgs(args)
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage{err} })
	root.AddCommand(
		serveCommand(std), runCommand(std), listCommand(std), createCommand(std), editCommand(std), deleteCommand(std), validateCommand(std), explainCommand(std), routeCommand(std), configCommand(std), diffAuthorityCommand(std), sessionsCommand(std), changesCommand(std), chainCommand(std), contextCommand(std), trustCommand(std), permissionsCommand(std), mcpServersCommand(std),
		importCommand(std), exportCommand(std), doctorCommand(std), demoCommand(std), versionCommand(std),
	)
	c, err := root.ExecuteContextC(ctx)
	var code exit
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return code.code
	}
	fmt.Fprintln(std.err, "agentls:", shownError(err))
	var u usage
	if errors.As(err, &u) {
		fmt.Fprintf(std.err, "Run `%s --help` for what there is.\n", c.CommandPath())
		return exitUsage
	}
	if ctx.Err() != nil {
		return exitInterrupted
	}
	return exitFailed
}

// arguments returns a check of how many arguments a command takes; its use says
// which.
func arguments(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) >= least && len(args) <= most:
			return nil
		case len(args) < least:
			return usage{fmt.Errorf("an argument is missing: %s", c.UseLine())}
		case most == 0:
			return usage{fmt.Errorf("%s takes no arguments, got %s", c.CommandPath(), quoted(strings.Join(args, " ")))}
		}
		return usage{fmt.Errorf("%s is too much: %s", quoted(strings.Join(args[most:], " ")), c.UseLine())}
	}
}

// base returns what every daemon of this process is made of.
func base(std streams) (daemon.Config, error) {
	home, err := daemon.HomeOf(os.Getenv)
	if err != nil {
		return daemon.Config{}, err
	}
	return baseAt(std, home), nil
}

// baseAt is base for a person's folder. Its log has no secrets.
func baseAt(std streams, home string) daemon.Config {
	secrets := daemon.NewSecrets(environ())
	level, _ := levels(os.Getenv("AGENTLS_DEBUG"))
	return daemon.Config{
		Home: home, Environ: environ(), Trust: os.Getenv("AGENTLS_TRUST") == "1", Version: version, Now: time.Now, Secrets: secrets,
		Log: slog.New(slog.NewTextHandler(masked{std.err, secrets.Shown}, &slog.HandlerOptions{Level: level})),
	}
}

func versionCommand(std streams) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(std.out, "agentls", version)
			return err
		},
	}
}
