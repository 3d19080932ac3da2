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
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/testrun"
)

// stamped is the version that the linker sets in releases.
var stamped string

// unreleased is the version of a build that no release is.
const unreleased = "0.1.0-dev"

// version is what this build calls itself.
var version = func() string {
	info, _ := debug.ReadBuildInfo() // nil where there is none
	return versionOf(stamped, info)
}()

// versionOf returns the version of a release, else that of the module as go install
// built it.
func versionOf(stamped string, info *debug.BuildInfo) string {
	switch {
	case stamped != "":
		return stamped
	case info != nil && strings.HasPrefix(info.Main.Version, "v"):
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	return unreleased
}

// The exit codes of spec 10. The page docs/reference/exit-codes.md is made of
// the comments.
const (
	exitOK          = 0   // It went well.
	exitFailed      = 1   // It failed, or what was checked has errors; standard error says why.
	exitUsage       = 2   // The command line was wrong; nothing was done.
	exitRefused     = 3   // The run ended well, but something that it needed was refused, since nobody was there to be asked.
	exitInterrupted = 130 // Ctrl-C, or a signal that ends programs. What was done is kept; `agentls sessions resume` goes on.
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
	root := rootCommand(std)
	if len(args) == 0 && std.atTerminal() {
		args = []string{"--interactive"}
	}
	if isPrompt(args) {
		args = append([]string{"run"}, args...)
	}
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	var code exit
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return code.code
	}
	shown := errorText(err)
	fmt.Fprintln(std.err, "agentls:", shown)
	var u usage
	if errors.As(err, &u) {
		if !strings.Contains(shown, "\n") {
			fmt.Fprintf(std.err, "  Run `%s --help` for usage.\n", c.CommandPath())
		}
		return exitUsage
	}
	if ctx.Err() != nil {
		return exitInterrupted
	}
	return exitFailed
}

// rootCommand returns the whole command line.
func rootCommand(std streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "agentls",
		Short: "Run AI agents, written as Markdown files, from your editor or terminal",
		Long: `Run AI agents, written as Markdown files, from your editor or terminal.
You approve every risky step. Try it without a key: agentls demo`,
		Example: `  agentls "what does this program do?"
  agentls run reviewer "look at src/app.ts"`,
		Version:       version,
		SilenceErrors: true, SilenceUsage: true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(c, args[0])
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SuggestionsMinimumDistance = 2
	root.SetVersionTemplate("agentls {{.Version}}\n")
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		serveCommand(std), runCommand(std), listCommand(std), createCommand(std), editCommand(std), deleteCommand(std),
		validateCommand(std), explainCommand(std), routeCommand(std), configCommand(std), diffAuthorityCommand(std),
		initCommand(std), modelsCommand(std), sessionsCommand(std), changesCommand(std), chainCommand(std),
		traceCommand(std), testCommand(std), graphCommand(std),
		contextCommand(std), trustCommand(std), permissionsCommand(std), memoryCommand(std), mcpServersCommand(std),
		extensionsCommand(std), importCommand(std), exportCommand(std), doctorCommand(std), demoCommand(std),
		manCommand(std), versionCommand(std),
	)
	return root
}

// isPrompt reports whether the arguments are those of run without its name: a
// prompt, which has a blank in it, or the flag that gives one, or asks for one.
func isPrompt(args []string) bool {
	if len(args) == 0 {
		return false
	}
	flag, _, _ := strings.Cut(args[0], "=")
	sentence := !strings.HasPrefix(flag, "-") && strings.ContainsAny(args[0], " \n")
	return sentence || strings.HasPrefix(flag, "-p") || slices.Contains([]string{"--prompt", "-i",
		"--interactive"}, flag)
}

// unknownCommand is the error for a name that is none of c's subcommands.
func unknownCommand(c *cobra.Command, name string) error {
	text := fmt.Sprintf("unknown command %q", tool.Escape(name))
	if c.HasParent() {
		text += " for " + c.CommandPath()
	}
	near := c.SuggestionsFor(name)
	switch {
	case len(near) > 0:
		text += "; did you mean " + strings.Join(near, " or ") + "?"
	case c.HasParent():
		var names []string
		for _, sub := range c.Commands() {
			names = append(names, sub.Name())
		}
		text += "; use " + joinOr(names)
	}
	return usage{errors.New(text)}
}

// arguments returns a check of how many arguments a command takes; its use says
// which.
func arguments(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) >= least && len(args) <= most:
			return nil
		case len(args) < least:
			return usage{fmt.Errorf("missing argument; use %s", c.UseLine())}
		}
		return usage{fmt.Errorf("unexpected argument %s; use %s",
			shellQuote(strings.Join(args[most:], " ")), c.UseLine())}
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
	c := daemon.Config{
		Home: home, Environ: environ(), Trust: os.Getenv("AGENTLS_TRUST") == "1", Version: version, Now: time.Now,
		Secrets: secrets, Console: std.err,
		Log: logTo(std.err, secrets, slog.LevelWarn),
	}
	c.RunTest = testrun.With(c)
	return c
}

// logTo returns a log of lines without secrets, from a level on where AGENTLS_DEBUG
// asks for no other.
func logTo(out io.Writer, secrets *daemon.Secrets, least slog.Level) *slog.Logger {
	level, _ := levels(os.Getenv("AGENTLS_DEBUG"))
	if os.Getenv("AGENTLS_DEBUG") == "" {
		level = least
	}
	return slog.New(slog.NewTextHandler(masked{out, secrets.MaskAll}, &slog.HandlerOptions{Level: level}))
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
