package mcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/process"
	"github.com/agentls/agentls/internal/sandbox"
)

// times are how long is waited for servers (spec 9.1, 12.2).
type times struct {
	connect time.Duration // until a server has been started and has listed its tools
	silence time.Duration // of a call without progress
	closing time.Duration // from the end of its input until a server is killed
	write   time.Duration // until a server has read a message
	ping    time.Duration // between pings, and until a ping is answered
	idle    time.Duration // from the last use until a server is ended
	first   time.Duration // backoff; doubles up to most
	most    time.Duration
	list    time.Duration // between two readings of the list of tools
	settle  time.Duration // in which a server that was never seen may change its list
}

var usual = times{
	connect: 10 * time.Second, silence: 60 * time.Second, closing: 2 * time.Second, write: 10 * time.Second, ping: 30 * time.Second,
	idle: 10 * time.Minute, first: time.Second, most: time.Minute, list: time.Second, settle: 2 * time.Second,
}

// lastWait is how long servers are waited for when all are closed.
const lastWait = 500 * time.Millisecond

// The limits of a list of tools.
const (
	maxTools = 512
	maxPages = 50
	maxLeft  = 100 // of which it is told why they are left out
)

// connection is a server that runs.
type connection struct {
	entry  *entry
	server Server
	client *client.Client
	began  time.Time
	stderr *ring

	name, version string // as the server says

	end  context.CancelFunc // kills the process and all that it started
	gone chan struct{}      // closed when nothing of it is left
	dead chan struct{}      // closed when no call can be answered any more
	die  func(why error)    // closes dead, once
	why  error              // set before dead is closed
	work conc.WaitGroup     // its goroutines but those of the library
	in   *os.File           // what the server reads
	open atomic.Int64       // its requests that it has read no answer to

	changed chan struct{} // capacity 1: its list of tools has

	mu       sync.Mutex
	progress map[string]func(string) // by token; guarded by mu
	tokens   int
	calls    int       // that go on; guarded by mu
	used     time.Time // guarded by mu
	closed   bool      // nothing is begun any more; guarded by mu
}

// recorder is a transport that also keeps results as the server wrote them.
type recorder struct{ *transport.Stdio }

type rawKey struct{}

// SendRequest implements [transport.Interface].
func (r recorder) SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	response, err := r.Stdio.SendRequest(ctx, request)
	if raw, ok := ctx.Value(rawKey{}).(*[]byte); ok && err == nil && response.Error == nil {
		*raw = response.Result
	}
	return response, err
}

// keepRaw returns a context with which the result of a request is kept.
func keepRaw(ctx context.Context) (context.Context, *[]byte) {
	raw := new([]byte)
	return context.WithValue(ctx, rawKey{}, raw), raw
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
	if !bytes.Contains(data, []byte(`"method":`)) {
		p.open.Add(-1)
	}
	return n, err
}

// connect starts a server and greets it. stderr gets what it prints.
func connect(ctx context.Context, e *entry, s Server, stderr *ring) (*connection, error) {
	c := &connection{
		entry: e, server: s, stderr: stderr, began: e.all.Now(), gone: make(chan struct{}), dead: make(chan struct{}), changed: make(chan struct{}, 1),
		progress: make(map[string]func(string)), used: e.all.Now(),
	}
	var once sync.Once
	c.die = func(why error) {
		once.Do(func() {
			c.why = why
			close(c.dead)
		})
	}
	out, err := c.start(ctx)
	if err != nil {
		return nil, err
	}
	in := newLines(out, e.all.Now, c.notify)
	in.open = &c.open
	stdio := transport.NewIO(endReader{in, func() { c.die(cmp.Or(in.ended, errEnded)) }}, pipeEnd{c.in, e.all.times.write, c.die, &c.open}, io.NopCloser(strings.NewReader("")))
	c.client = client.NewClient(recorder{stdio}, client.WithDiscoverTimeout(e.all.times.connect/3), client.WithRootsHandler(roots{e.all.Roots}))
	if err := c.greet(ctx); err != nil {
		c.die(err)
		c.close()
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("it did not answer within %v", e.all.times.connect)
		default:
			return nil, err
		}
	}
	c.work.Go(c.watch)
	return c, nil
}

// endReader tells when its reader ends.
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

// greet begins the protocol.
func (c *connection) greet(ctx context.Context) error {
	// The library's goroutines are not to end with the greeting.
	if err := c.client.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	var request mcp.InitializeRequest
	request.Params.ClientInfo = mcp.Implementation{Name: "agentls", Version: c.entry.all.Version}
	var result *mcp.InitializeResult
	err := c.await(ctx, func() (err error) {
		result, err = c.client.Initialize(ctx, request)
		return err
	})
	if err != nil {
		return err
	}
	c.name, c.version = description(result.ServerInfo.Name), description(result.ServerInfo.Version)
	if mcp.IsModernProtocol(result.ProtocolVersion) && result.Capabilities.Tools != nil && result.Capabilities.Tools.ListChanged {
		// The stream ends with the connection.
		_, err = c.client.ListenAsync(context.WithoutCancel(ctx), mcp.SubscriptionFilter{ToolsListChanged: true}, nil)
	}
	return err
}

// await runs do, and returns when it has, when ctx ends or when the server is
// dead: a message may be stuck in the pipe to it.
func (c *connection) await(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return c.why
	}
	c.work.Go(func() { done <- do() })
	c.mu.Unlock()
	select {
	case err := <-done:
		if errors.Is(err, transport.ErrTransportClosed) {
			<-c.dead // the end of its output is what closed it
			return c.why
		}
		return err
	case <-c.dead:
		return c.why
	case <-ctx.Done():
		select {
		case err := <-done:
			return err
		default:
			return context.Cause(ctx)
		}
	}
}

// start starts the process and returns its output.
func (c *connection) start(ctx context.Context) (io.Reader, error) {
	all, s := c.entry.all, c.server
	dir := s.Dir
	if dir = expandHome(dir, all.Home); !filepath.IsAbs(dir) {
		dir = filepath.Join(cmp.Or(c.entry.folder, all.Home), dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("its folder %s is not there; correct cwd", dir)
	}
	program, err := find(expandHome(s.Command, all.Home), dir, s.Env, all.Environ)
	if err != nil {
		return nil, err
	}
	job := process.NewJob(process.Options{Dir: dir, Environ: all.Environ, Now: all.Now})
	cmd := job.Command(program, append([]string{s.Command}, s.Args...), s.Env)
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
	life, end := context.WithCancel(all.ctx)
	started := make(chan process.Started, 1)
	all.work.Go(func() {
		defer close(c.gone)
		defer end()
		job.RunBackground(life, start, started)
		job.Output.Close()
		release()
		c.die(errEnded)
	})
	first := <-started
	closeAll(stdin, stdout, stderr) // the server has its own
	if first.Err != nil {
		closeAll(in, out, errs)
		<-c.gone
		return nil, first.Err
	}
	c.in, c.end = in, end
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
func (c *connection) confine(ctx context.Context, job *process.Job, cmd *exec.Cmd) (start func() (*process.Child, error), release func(), err error) {
	all, access := c.entry.all, c.server.Sandbox
	box := all.Sandbox(c.entry.folder)
	if access == "" || access == sandbox.Full || box == nil {
		return func() (*process.Child, error) { return job.StartReaped(cmd) }, func() {}, nil
	}
	spec := sandbox.Spec{Access: access, Folders: []string{c.entry.folder}}
	places, err := all.Places(ctx, c.entry.folder)
	if err != nil {
		return nil, nil, err
	}
	for _, list := range [][]string{places.Credentials, places.Denied} {
		spec.Masked = append(spec.Masked, list...)
	}
	spec.Protected = places.Protected
	if wall, why := box.Wall(); wall == sandbox.None {
		return nil, nil, fmt.Errorf("it is to run in a sandbox, and none works here (%s); describe it in your own settings to start it without one", why)
	}
	if len(spec.Masked) > 0 && !box.CanMask(access) || !places.Complete {
		return nil, nil, errors.New("the sandbox of this machine cannot hide the credential files of the workspace from it; describe it in your own settings to start it without one")
	}
	confined, err := box.Confine(cmd, spec)
	if err != nil {
		return nil, nil, err
	}
	return func() (*process.Child, error) { return confined.Start(job) }, func() {
		var protected []string
		if after, err := all.Places(context.WithoutCancel(ctx), c.entry.folder); err == nil && after.Complete {
			protected = append([]string{}, after.Protected...)
		} else {
			protected = append(append([]string{}, spec.Protected...), tool.ProtectedAt(c.entry.folder)...)
		}
		// The person worked in the folder meanwhile: it may be theirs.
		changed, err := confined.ReleaseShared(protected)
		for _, path := range changed {
			all.Log.Warn("a protected place is new or changed since an MCP server was started; look at it if it was not you", "server", c.server.Name, "path", path)
		}
		if err != nil {
			all.Log.Warn("the sandbox of an MCP server could not be cleaned up", "server", c.server.Name, "err", err)
		}
	}, nil
}

// find returns the path of a program: as it is named, or in the folders of PATH.
func find(command, dir string, env, environ []string) (string, error) {
	if filepath.IsAbs(command) {
		return command, nil
	}
	if strings.ContainsRune(command, filepath.Separator) {
		return filepath.Join(dir, command), nil
	}
	search := process.SearchPath(environ)
	for _, entry := range env {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			search = process.SearchPath([]string{"PATH=" + path})
		}
	}
	for _, folder := range search {
		path := filepath.Join(folder, command)
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no program %s in PATH; install it, or correct command", command)
}

// expandHome returns a path with ~ as the person's home.
func expandHome(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	return path
}

// watch pings the server, reads its list again when it has changed, and ends it
// when nobody has used it for long.
func (c *connection) watch() {
	all := c.entry.all
	ping := time.NewTicker(all.times.ping)
	defer ping.Stop()
	for {
		select {
		case <-c.dead:
			return
		case <-c.changed:
			c.entry.relist(c)
			select {
			case <-time.After(all.times.list): // however often it says so (SEC-84, REL-86)
			case <-c.dead:
				return
			}
		case <-ping.C:
			c.mu.Lock()
			busy, used := c.calls > 0, c.used
			c.mu.Unlock()
			if busy {
				continue // a call has limits of its own, and a server may do one thing at a time
			}
			if all.Now().Sub(used) >= all.times.idle {
				c.die(errIdle)
				return
			}
			ctx, cancel := context.WithTimeout(all.ctx, all.times.ping)
			err := c.await(ctx, func() error {
				//lint:ignore SA1019 the versions before 2026-07-28, which servers speak, have no other sign of life
				return c.client.Ping(ctx)
			})
			if ctx.Err() != nil && all.ctx.Err() == nil {
				c.die(fmt.Errorf("it answered no ping for %v", all.times.ping))
			}
			cancel()
			_ = err // an error is an answer
		}
	}
}

// errIdle says that a server was ended since nobody used it.
var errIdle = errors.New("nobody used it for a while")

// close ends the server: it is to end by itself when its input does, and is
// killed with all that it started when it does not. It waits for that.
func (c *connection) close() {
	c.die(errors.New("it was stopped"))
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	_ = c.in.Close() // also while something is written to it
	patience := c.entry.all.times.closing
	if c.entry.all.starts.Err() != nil {
		patience = min(patience, lastWait)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-c.gone:
	case <-timer.C:
	case <-c.entry.all.ctx.Done():
	}
	c.end()
	<-c.gone
	_ = c.client.Close() // its input is closed already
	c.work.Wait()
}

// roots answers which folders a server may look at.
type roots struct{ folders func() []string }

// ListRoots implements [client.RootsHandler].
func (r roots) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	result := &mcp.ListRootsResult{Roots: []mcp.Root{}}
	for _, folder := range r.folders() {
		result.Roots = append(result.Roots, mcp.Root{URI: tool.URI(folder), Name: filepath.Base(folder)})
	}
	return result, nil
}
