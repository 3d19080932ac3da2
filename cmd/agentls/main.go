// Command agentls is the agent language server: a daemon that makes AI agents a service of
// the editor, and a command line on the same core.
//
// Flags, the environment, exit codes and signals live here and nowhere else.
//
// # How a command is built
//
// Each command has a function, as in configCommand, that returns its *[cobra.Command];
// rootCommand lists them all. The function gets the three standard streams instead of
// using those of package os, so that tests give it their own. Flags are variables of that
// function, or the fields of a struct where other functions need them too. A check of
// arguments and flags returns a usage error, so that nothing was done when it fails.
//
// # How a command asks the daemon
//
// The command line is a client, as an editor is. Most commands use the function with,
// which starts a daemon for the current folder in this process, connects to it through a
// pipe in memory, runs the command's own function and ends the daemon, whose logs are
// written then. That function calls methods of the protocol (package wire) by
// connection.Call. A command that only prints one answer uses request. Errors of the daemon
// come back in words for a person at a command line: errors.go puts commands to type in
// the place of methods.
//
// Some commands have no such daemon: models, man and version, which need none; extensions,
// which changes the person's folder itself; test, where each test has a daemon of its own;
// and serve, whose client is an editor. Most of what a shell completes is read without one,
// too.
//
// # Where output goes
//
// What was asked for goes to standard output, as text or with --json as JSON, so that it
// can be piped. Questions, progress, warnings and errors go to standard error. Text that
// comes from a file, a model or a tool is escaped with tool.Escape before it is printed:
// it could hold control characters that change what the terminal shows.
//
// Where standard input is no terminal nobody is asked. A command then does what is safe,
// or fails with the flag that answers its question, as --yes, and calls of agents that
// would ask are refused.
//
// # Exit codes
//
// execute turns the error of a command into the exit code of the process, see the
// constants. A command that has printed all that is to be said returns an exit, and
// anything else is printed by execute.
//
// # Signals
//
// SIGINT, SIGTERM and SIGHUP end the context of the command; a second one ends the process
// at once. A run whose context ends is cancelled, and its answer is waited for, so that
// the log has its end. In a conversation SIGINT is a key instead: it cancels the run that
// goes on, and leaves when it comes again. SIGPIPE is taken and ignored, so that a closed
// output is an error of a write.
//
// # Environment
//
// docs/reference/environment.md has the variables that are for people. GEMINI_HOME,
// AGENTLS_TRUST and AGENTLS_DEBUG are read for every command (base), AGENTLS_DUMPABLE
// before anything else (private), and GOMEMLIMIT by serve. TERM, NO_COLOR and ACCESSIBLE
// decide how a terminal is drawn on; VISUAL, EDITOR and PAGER name programs to start.
// Keys and tokens are not there any more when a command runs: environ has what the daemon
// gets.
//
// # A run on the screen
//
// Three types show a run and talk with the person. timeline makes lines of events, for
// each command that runs an agent. terminal asks questions and reads the input, by one
// goroutine for the process. dialogue is a conversation: it takes what terminal reads, or
// what the chat does, sends requests, and steers runs. In a chat (conversation) the
// screen is package chat's: it draws most events itself, and timeline writes the others
// as its notes.
//
// # Files
//
// Most files are named after their command. Several commands share these:
//
//	connect.go, errors.go: the daemon in this process, and its errors in our words
//	sessions.go: with, request, printJSON, and how a session is named
//	complete.go: flags that take one of some values, and what shells complete
//	terminal.go, terminal_edit.go, input_*.go, flush_*.go: questions on a terminal
//	timeline*.go, lines.go, delegated.go, status.go: a run as it goes on, in lines
//	run_follow.go: a run from its start to its end
//	interactive*.go: a conversation (run -i)
//	chat*.go: the conversation on a full screen
//	serve.go, logfile.go, stdin_*.go: the daemon of an editor
//	private*.go: secrets of the environment, hidden from other programs
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

// stamped is the version that the linker sets in releases; "" in any other build.
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

// main hides the secrets of the environment first, before anything can be started that
// would inherit them, and leaves by the exit code of execute.
func main() {
	private()
	// A client that closes our output must not kill the process before the log
	// is synced (REL-27): a write then fails, which ends the connection. Not
	// Ignore, which commands would inherit.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(execute(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// streams are the standard streams of a command. Tests give it others; in is a file also
// there, since whether it is a terminal decides what can be asked.
type streams struct {
	in       *os.File
	out, err io.Writer
}

// exit ends a command with a code of its own. Whoever returns it has printed what there is
// to say, since execute prints nothing for it.
type exit struct{ code int }

// Error implements error; execute does not print it.
func (e exit) Error() string { return fmt.Sprintf("exit %d", e.code) }

// usage is an error of the command line itself: exit code 2. It is returned before
// anything is done; execute adds where the help is to an error of one line.
type usage struct{ error }

// execute runs one command and returns the process's exit code. SIGINT, SIGTERM and SIGHUP
// end the command's context, so that it can cancel its run and write its log; interactive
// commands take SIGINT themselves. Without arguments on a terminal it begins a
// conversation, and a first argument that looks like a prompt is taken for run's.
func execute(args []string, std streams) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	root := rootCommand(std)
	if len(args) == 0 && std.atTerminal() {
		args = []string{"--interactive"}
	}
	// Before cobra sees them: it would look for a command of that name.
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
	// An error after a signal is what the signal came to, as a request that was cancelled.
	if ctx.Err() != nil {
		return exitInterrupted
	}
	return exitFailed
}

// rootCommand returns the whole command line. Errors and usage are silenced in cobra,
// since execute prints them in its own form. The pages of docs/reference and the manual
// pages are made from this tree.
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

// isPrompt reports whether the arguments are those of run without its name: a prompt,
// which has a blank or a line end in it, or one of the flags -p, --prompt, -i and
// --interactive. A single word is never a prompt: it may be a command that was mistyped.
func isPrompt(args []string) bool {
	if len(args) == 0 {
		return false
	}
	flag, _, _ := strings.Cut(args[0], "=")
	sentence := !strings.HasPrefix(flag, "-") && strings.ContainsAny(args[0], " \n")
	// The value of -p may stand right behind it, as in -phello.
	return sentence || strings.HasPrefix(flag, "-p") || slices.Contains([]string{"--prompt", "-i",
		"--interactive"}, flag)
}

// unknownCommand is the error for a name that is none of c's subcommands. It suggests
// those that are spelled nearly so; below the root it lists all where none is near.
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

// arguments returns a check that a command gets from least to most arguments. The error
// quotes the command's Use line, which names them.
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

// base returns the configuration that every daemon of this process begins with. It fails
// where the person has no home folder and GEMINI_HOME is not set.
func base(std streams) (daemon.Config, error) {
	home, err := daemon.HomeOf(os.Getenv)
	if err != nil {
		return daemon.Config{}, err
	}
	return baseAt(std, home), nil
}

// baseAt is base for a given folder of the person's, which need not exist. The log goes to
// standard error from warnings on, with secrets masked. AGENTLS_TRUST=1 trusts the
// workspace for this process.
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

// logTo returns a log to out with secrets masked. It has messages from level least on, or
// all of them where AGENTLS_DEBUG is set.
func logTo(out io.Writer, secrets *daemon.Secrets, least slog.Level) *slog.Logger {
	level, _ := levels(os.Getenv("AGENTLS_DEBUG"))
	if os.Getenv("AGENTLS_DEBUG") == "" {
		level = least
	}
	return slog.New(slog.NewTextHandler(masked{out, secrets.MaskAll}, &slog.HandlerOptions{Level: level}))
}

// versionCommand prints the version, as --version does. It reads and asks nothing.
func versionCommand(std streams) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(std.out, "agentls", version)
			return err
		},
	}
}
