package git

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/agentls/agentls/internal/fault"
)

// Command is one run of git.
type Command struct {
	Args    []string // the subcommand and its arguments
	Input   []byte   // nil = no input
	Environ []string // as KEY=value, besides what every git gets: the name of an author
	Config  []string // settings as key=value, besides what every git gets
	// Reads the output as it comes; nil = Run returns it. It is called on Run's goroutine, once;
	// its error ends git, and is Run's.
	Output func(r io.Reader) error
	// 0 = a minute. It is then killed, and the error is Unavailable.
	Timeout time.Duration
	Limit   int64 // bytes of output that Run returns; 0 = 64 MiB. More is an error
}

const (
	defaultTimeout = time.Minute
	defaultLimit   = 64 << 20
	stderrLimit    = 16 << 10
	linger         = time.Second // for a killed process's output
)

// ExitError is in the error of a git that ran and failed. Callers find it with
// errors.As, for codes that mean no failure.
type ExitError struct {
	Code   int
	Stderr string // its last words, trimmed
}

// Error returns what git said.
func (e *ExitError) Error() string {
	if e.Stderr == "" {
		return "git failed without a message"
	}
	return e.Stderr
}

// settings hold for every git: nothing that a configuration names is run, asked
// or reached, and the person's own lists of ignored files do not count. They come
// before those of the repository and the command on the command line, of which the last
// counts.
var settings = []string{
	"core.fsmonitor=false", "core.hooksPath=" + os.DevNull, "core.pager=cat", "core.editor=false",
	"core.sshCommand=false", "core.askPass=false",
	"core.attributesFile=" + os.DevNull, "core.excludesFile=" + os.DevNull, "core.alternateRefsCommand=false",
	"core.quotePath=false",
	"safe.bareRepository=explicit", "protocol.allow=never", "protocol.ext.allow=never", "credential.helper=",
	"diff.external=", "diff.ignoreSubmodules=all", "submodule.recurse=false", "status.submoduleSummary=false",
	"commit.gpgSign=false", "tag.gpgSign=false", "log.showSignature=false", "gpg.program=false",
	"gpg.ssh.program=false",
	"gc.auto=0", "maintenance.auto=false", "advice.detachedHead=false",
}

// run runs git with the environment and the settings of a repository. What git says on
// standard error is kept up to stderrLimit, and told only where it failed.
func (p *Program) run(ctx context.Context, environ, config []string, c Command) ([]byte, error) {
	const op = "git.run"
	timeout := c.Timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	args := []string{"--no-pager", "--no-optional-locks", "--literal-pathspecs"}
	for _, s := range slices.Concat(settings, config, c.Config) {
		args = append(args, "-c", s)
	}
	cmd := exec.CommandContext(limited, p.path, append(args, c.Args...)...)
	cmd.Dir = string(os.PathSeparator) // never a folder of somebody else's
	cmd.Env = slices.Concat(p.environ, environ, c.Environ)
	cmd.WaitDelay = linger
	isolate(cmd)
	if c.Input != nil {
		cmd.Stdin = bytes.NewReader(c.Input)
	}
	stderr := &tail{limit: stderrLimit}
	cmd.Stderr = stderr
	var out bytes.Buffer
	read := c.Output
	if read == nil {
		limit := c.Limit
		if limit == 0 {
			limit = defaultLimit
		}
		read = func(r io.Reader) error {
			n, err := io.Copy(&out, io.LimitReader(r, limit+1))
			if err == nil && n > limit {
				err = fault.New(fault.Unavailable, op, "git %s said more than %d bytes", c.Args[0], limit)
			}
			return err
		}
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fault.New(fault.Unavailable, op, "git cannot be started: %w", err)
	}
	if err := cmd.Start(); ctx.Err() != nil && err != nil {
		return nil, context.Cause(ctx)
	} else if err != nil {
		return nil, fault.New(fault.Unavailable, op, "git cannot be started: %w", err)
	}
	readErr := read(pipe)
	if readErr != nil {
		cancel() // nobody reads on
	}
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case readErr != nil && limited.Err() != context.DeadlineExceeded:
		return nil, readErr
	case limited.Err() == context.DeadlineExceeded:
		return nil, fault.New(fault.Unavailable, op, "git %s did not finish within %v", c.Args[0], timeout)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = &ExitError{exit.ExitCode(), strings.TrimSpace(stderr.text())}
	}
	if err != nil {
		return nil, fault.New(fault.Unavailable, op, "git %s: %w", c.Args[0], err)
	}
	return out.Bytes(), nil
}

// tail keeps the end of what is written to it. It is for the last words of a program,
// which say why it failed.
type tail struct {
	limit int
	data  []byte
}

// Write implements [io.Writer]. It never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	if len(t.data) > 2*t.limit {
		t.data = append(t.data[:0], t.data[len(t.data)-t.limit:]...)
	}
	return len(p), nil
}

// text returns what is kept, as valid UTF-8.
func (t *tail) text() string {
	return strings.ToValidUTF8(string(t.data[max(0, len(t.data)-t.limit):]), "\uFFFD")
}
