package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/process"
)

// start starts the process of a server and returns the transport to it.
// The transport's standard error is empty, since this package reads it itself.
func (c *connection) start(ctx context.Context) (transport.Interface, error) {
	out, err := c.startProcess(ctx)
	if err != nil {
		return nil, err
	}
	in := newLines(out, c.entry.all.Now, c.notify)
	in.open = &c.open
	end := endReader{in, func() { c.die(cmp.Or(in.why, errEnded)) }}
	return recorder{transport.NewIO(end, pipeEnd{c.in, c.entry.all.times.write, c.die, &c.open},
		io.NopCloser(strings.NewReader("")))}, nil
}

// startProcess starts the process and returns its output.
// It returns when the process runs or could not be started; c.gone is closed when
// the process and all that it started have ended. The pipes are this package's own
// and not those of os/exec: those would be waited for as long as anything that
// outlives the server holds them. ctx is for the preparation of the wall alone.
func (c *connection) startProcess(ctx context.Context) (io.Reader, error) {
	all, s := c.entry.all, c.server
	dir := s.Dir
	if dir = expandHome(dir, all.Home); !filepath.IsAbs(dir) {
		dir = filepath.Join(cmp.Or(c.entry.folder, all.Home), dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("its folder %s is not there; correct cwd", dir)
	}
	// Found before the wall is built, so that a program that is not there is told as that.
	program, err := process.Find(expandHome(s.Command, all.Home), dir, s.Env, all.Environ)
	if err != nil {
		return nil, err
	}
	job := process.NewJob(process.Options{Dir: dir, Environ: all.Environ, Now: all.Now})
	cmd := job.Command(program, append([]string{s.Command}, s.Args...), s.Env)
	// All reading and all writing ends, whoever's they are: with an error all are closed.
	var theirs, ours []*os.File
	open := func() (r, w *os.File) {
		if r, w, err = pipe(err); err == nil {
			theirs, ours = append(theirs, r), append(ours, w)
		}
		return r, w
	}
	stdin, in := open()
	out, stdout := open()
	errs, stderr := open()
	closeAll := func(files ...*os.File) {
		for _, f := range files {
			_ = f.Close() // nothing is lost with it
		}
	}
	if err != nil {
		closeAll(append(theirs, ours...)...)
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	start, release, err := c.confine(ctx, job, cmd)
	if err != nil {
		closeAll(append(theirs, ours...)...)
		return nil, err
	}
	started := make(chan process.Started, 1)
	all.work.Go(func() {
		defer close(c.gone)
		defer c.end()
		job.RunBackground(c.life, start, started)
		job.Output.Close()
		release()
		c.die(errEnded)
	})
	first := <-started
	// As long as an end that is the server's is open here, its output would not end with it.
	closeAll(stdin, stdout, stderr) // the server has its own
	if first.Err != nil {
		closeAll(in, out, errs)
		<-c.gone
		return nil, first.Err
	}
	c.in = in
	c.work.Go(func() {
		_, _ = io.Copy(c.stderr, errs) // ends with the server, or when it is closed
	})
	all.work.Go(func() { // what outlives the server may hold its output
		<-c.gone
		closeAll(out, errs)
	})
	return out, nil
}

// pipe is os.Pipe, unless there was an error before.
func pipe(before error) (r, w *os.File, err error) {
	if before != nil {
		return nil, nil, before
	}
	return os.Pipe()
}

// confine returns how the process is started behind the wall that the server is
// described with, and what is to be done when it has ended.
// release is called once, after the last process has ended.
func (c *connection) confine(ctx context.Context, job *process.Job,
	cmd *exec.Cmd) (start func() (*process.Child, error), release func(), err error) {
	all := c.entry.all
	start, done, err := tool.Confine(ctx, job, cmd, tool.Enclosure{
		Sandbox: all.Sandbox(c.entry.folder), Access: c.server.Sandbox, Folder: c.entry.folder, Places: all.Places,
	})
	return start, func() {
		// The person worked in the folder meanwhile: it may be theirs.
		changed, err := done()
		for _, path := range changed {
			all.Log.Warn("a protected place is new or changed since an MCP server was started; look at it if it was not you", "server", c.server.Name, "path", path)
		}
		if err != nil {
			all.Log.Warn("the sandbox of an MCP server could not be cleaned up", "server", c.server.Name, "err", err)
		}
	}, err
}

// expandHome returns a path with ~ as the person's home.
func expandHome(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	return path
}

// endReader tells when its reader ends.
// Every error is an end, not only io.EOF.
type endReader struct {
	io.Reader
	over func()
}

// Read implements [io.Reader].
func (r endReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil {
		r.over()
	}
	return n, err
}

// pipeEnd is what a server reads: a message that it does not take ends it, since a
// part of it cannot be taken back.
type pipeEnd struct {
	*os.File
	patience time.Duration
	die      func(error)
	open     *atomic.Int64 // requests of the server; each message but a request of ours answers one
}

// Write implements [io.Writer].
func (p pipeEnd) Write(data []byte) (int, error) {
	_ = p.SetWriteDeadline(time.Now().Add(p.patience)) // where that is not possible a dead server ends the write
	n, err := p.File.Write(data)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		p.die(errors.New("it does not read what it is sent"))
	}
	// Counted after the write: an answer that the server does not read stays open, and it may
	// send no more than maxOpen requests meanwhile.
	if isAnswer(data) {
		p.open.Add(-1)
	}
	return n, err
}
