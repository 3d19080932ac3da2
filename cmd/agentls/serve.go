package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/server"
)

// channel is how serve and its client reach each other: one of its fields.
type channel struct {
	stdio  bool
	pipe   string // a Unix socket that the client listens on
	socket int    // a port of this machine that the client listens on
}

// serveCommand serves an editor until it goes. It asks nothing and prints nothing of its
// own: standard output has frames of the protocol only, and the log goes to a file and,
// from warnings on, to standard error. It exits with 0 where the editor shut it down as
// the protocol has it, and else with 1.
func serveCommand(std streams) *cobra.Command {
	var way channel
	var trust bool
	var parent int
	var approve, logTo string
	c := &cobra.Command{
		Use: "serve", Short: "Serve an editor as a language server, on standard input and output",
		Long: `Serves an editor as a language server: on standard input and output, or on a
socket that the editor listens on, which it names with --pipe or --socket. The
daemon itself never listens.`,
		Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := way.check(c.Flags().Changed); err != nil {
				return err
			}
			config, end, err := serveConfig(std, logTo)
			if err != nil {
				return err
			}
			defer end()
			config.Trust = config.Trust || trust
			config.Approval = agents.Approval(approve)
			config.Parent = parent
			rwc, err := way.open(c.Context())
			if err != nil {
				return err
			}
			// The error goes to the log; the exit code depends on how the client ended
			// the connection.
			outcome, err := daemon.Serve(c.Context(), rwc, config)
			if err != nil {
				config.Log.Error("the connection ended", "err", err)
			}
			if code := outcome.Code(); code != 0 {
				return exit{code}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&way.stdio, "stdio", true, "speak on standard input and output")
	c.Flags().StringVar(&way.pipe, "pipe", "", "connect to the Unix socket at `PATH`, on which the client listens")
	c.Flags().IntVar(&way.socket, "socket", 0, "connect to this `PORT` of 127.0.0.1, on which the client listens")
	c.Flags().BoolVar(&trust, "trust", false, "trust the workspace for this process")
	chooseApproval(c, &approve)
	c.Flags().StringVar(&logTo, "log", "",
		"write the log to this `FILE`, 10 MiB at most and two older ones; without it in agentls/logs of your .gemini folder")
	c.Flags().IntVar(&parent, "clientProcessId", 0, "end when this process has")
	return c
}

// serveConfig returns what a daemon is made of that serves an editor: it needs no home,
// has a log file, keeps to a limit of memory, and ends when it hangs. Call end when it has
// ended. logTo is the file of the log; "" is the usual one.
func serveConfig(std streams, logTo string) (config daemon.Config, end func(), err error) {
	var leave []func()
	end = func() {
		for _, f := range leave {
			f()
		}
	}
	homeless := ""
	home, err := daemon.HomeOf(os.Getenv)
	if err != nil {
		homeless = fault.Message(err)
		if home, err = os.MkdirTemp("", "agentls-"); err != nil {
			return config, end, fault.New(fault.Unavailable, "serve",
				"there is neither a home folder nor a temporary one: set HOME or GEMINI_HOME (%w)", err)
		}
		leave = append(leave, func() { _ = os.RemoveAll(home) }) // a temporary folder
	}
	config = baseAt(std, home)
	config.Homeless = homeless
	if logTo == "" {
		logTo = filepath.Join(home, "agentls", "logs", "agentls.log")
	}
	file := &logFile{path: logTo}
	// The log is closed first, since it may lie in the folder that is removed.
	leave = append([]func(){func() { _ = file.Close() }}, leave...) // every line is written
	_, level := levels(os.Getenv("AGENTLS_DEBUG"))
	config.Log = slog.New(slog.NewMultiHandler(
		config.Log.Handler(),
		slog.NewTextHandler(masked{file, config.Secrets.MaskAll},
			&slog.HandlerOptions{Level: level}).WithAttrs([]slog.Attr{slog.Int("pid", os.Getpid())}),
	))
	// A limit that the person has set themselves counts.
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(daemon.MemoryLimit)
	}
	config.Memory = daemon.MemoryLimitOf()
	// A daemon that hangs ends its process, since an editor starts another.
	config.Exit = os.Exit
	return config, end, nil
}

// check refuses flags that do not name exactly one way. given reports whether a flag was
// on the command line.
func (w *channel) check(given func(flag string) bool) error {
	var ways []string
	for _, flag := range []string{"stdio", "pipe", "socket"} {
		// --stdio=false names no way.
		if given(flag) && (flag != "stdio" || w.stdio) {
			ways = append(ways, "--"+flag)
		}
	}
	switch {
	case len(ways) > 1:
		return usage{fmt.Errorf("%s do not go together; give one", strings.Join(ways, " and "))}
	case given("pipe") && w.pipe == "":
		return usage{errors.New("--pipe is empty; give the path of a socket")}
	case given("socket") && (w.socket < 1 || w.socket > 65535):
		return usage{fmt.Errorf("invalid --socket %d; use a port from 1 to 65535", w.socket)}
	case len(ways) == 0 && !w.stdio:
		return usage{errors.New("without --stdio there is nothing to speak on; give --pipe or --socket")}
	case runtime.GOOS == "windows" && strings.HasPrefix(w.pipe, `\\.\pipe\`):
		return usage{errors.New("named pipes of Windows are not supported in this version; use --stdio or --socket")}
	}
	return nil
}

// connectWithin is how long connecting to a client's socket may take. The client listens
// already when it starts agentls, so it takes long only where it will fail.
const connectWithin = 10 * time.Second

// open returns the connection to the client. Nothing but frames goes there: with --stdio,
// os.Stdout is put out of the way of prints by mistake.
func (w *channel) open(ctx context.Context) (io.ReadWriteCloser, error) {
	network, address := "unix", w.pipe
	switch {
	case w.socket != 0:
		network, address = "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(w.socket))
	case w.pipe == "":
		// From here on a stray print would end the session.
		rwc, err := server.Stdio(os.Stdin, os.Stdout, os.Stderr)
		if err != nil {
			return nil, err
		}
		return interruptible(rwc, os.Stdin), nil
	}
	dialer := net.Dialer{Timeout: connectWithin}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "serve",
			"the client's socket cannot be reached: %w; the client has to listen on it before it starts agentls", err)
	}
	return conn, nil
}
