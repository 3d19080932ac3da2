package builtin

// Running commands of the auto table from their parsed arguments.

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/tool/command"
)

// streams are what a step reads and writes; nil is nothing.
type streams struct {
	in       *os.File
	out, err io.Writer
}

// step runs a step as bash would run its text, and returns its exit code. The
// error says that it could not be run at all.
func (w *work) step(s *command.Step, io streams) (int, error) {
	switch s.Op {
	case command.Run:
		return w.simple(s, io)
	case command.Pipe:
		return w.pipe(s, io)
	case command.And, command.Or, command.Then:
		code, err := w.step(s.X, io)
		if err != nil || s.Op == command.And && code != 0 || s.Op == command.Or && code == 0 {
			return code, err
		}
		return w.step(s.Y, io)
	}
	return 0, fmt.Errorf("a step of unknown kind %d", s.Op)
}

// pipe runs both sides at once; the code is that of the last.
func (w *work) pipe(s *command.Step, io streams) (int, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("a pipe between two commands: %w", err)
	}
	var first, last error
	var code int
	var both conc.WaitGroup
	both.Go(func() {
		defer to.Close()
		_, first = w.step(s.X, streams{io.in, to, io.err})
	})
	both.Go(func() {
		defer from.Close() // the other side then learns that nobody reads
		code, last = w.step(s.Y, streams{from, io.out, io.err})
	})
	both.Wait()
	return code, errors.Join(first, last)
}

// simple runs one program.
func (w *work) simple(s *command.Step, io streams) (int, error) {
	args, extra := command.Harden(s.Argv, w.dir)
	path := lookup(w.env, args[0])
	if path == "" {
		if io.err != nil {
			fmt.Fprintf(io.err, "%s: command not found\n", args[0])
		}
		return 127, nil
	}
	for _, r := range s.Redirects {
		switch r {
		case command.OutToNull:
			io.out = nil
		case command.ErrToNull:
			io.err = nil
		case command.ErrToOut:
			io.err = io.out
		}
	}
	cmd := w.command(path, args, extra)
	cmd.Stdout, cmd.Stderr = io.out, io.err
	if io.in != nil {
		cmd.Stdin = io.in
	}
	end, err := w.finish(cmd)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", args[0], err)
	}
	return end.code, nil
}
