package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/agentls/agentls/agents/tool"
)

// entry is a server in a folder, whether it runs or not.
// Those fields above mu never change.
type entry struct {
	all    *Servers
	folder string
	name   string
	stderr *ring

	mu     sync.Mutex // held for short; all below is guarded by it
	server Server
	// One of the states, and why it is in it, for the person.
	state    string
	why      string
	conn     *connection
	starting chan struct{} // closed when the attempt that goes on is over; nil for none
	failures int           // in a row
	retry    time.Time     // not before
	stopped  bool          // by the person
	listed   []listed      // what the server lists, or listed last
	// Why tools are left out of listed.
	left     []string
	prompts  []Prompt
	accepted map[string]string // digests of tools that were approved, by name; nil = the server was never seen
	fresh    bool              // the connection is the first to the server, and its list may settle
	worked   bool              // it was ready when it was started last
	asked    string            // the pending tools that the person was asked about
	// What the server calls itself, and its version, as it said last.
	title   string
	version string
	// Since the daemon began; errors are those of them that failed.
	calls  int
	errors int
	took   []time.Duration // of the newest calls, a ring of maxTook
}

// maxTook is of how many calls it is known how long they took.
const maxTook = 256

// update takes over a description; the lock of all is held.
// A connection by the old description is closed in the background.
func (e *entry) update(s Server) {
	e.mu.Lock()
	defer e.mu.Unlock()
	// A Problem may come and go under one digest, as an approval does.
	if e.server.Digest == s.Digest && e.server.Problem == s.Problem {
		if s.Problem != "" {
			e.state, e.why = Unusable, s.Problem
		}
		return
	}
	conn := e.conn
	e.server, e.conn, e.failures, e.retry = s, nil, 0, time.Time{}
	e.state, e.why = Idle, ""
	if e.stopped {
		e.state, e.why = Stopped, "you stopped it"
	}
	if s.Problem != "" {
		e.state, e.why = Unusable, s.Problem
	}
	if conn != nil {
		e.all.work.Go(conn.close) // a server that is described anew is another one (SEC-11)
	}
}

// set changes the state and tells it.
// It takes the lock, and calls Changed without it.
func (e *entry) set(state, why string) {
	e.mu.Lock()
	same := e.state == state && e.why == why
	e.state, e.why = state, why
	e.mu.Unlock()
	if !same && e.all.Changed != nil {
		e.all.Changed(e.folder, State{Name: e.name, State: state, Why: why})
	}
}

// known reports whether there is a list of tools that was approved.
func (e *entry) known() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.accepted != nil
}

// begin starts the server if it does not run and may be started. It returns what
// is closed when the attempt that goes on is over; nil for none.
// It does not wait. nil is returned where the server runs, may not be started,
// or failed so recently that the next attempt is further away than the first
// backoff: then what it offered last is all there is.
func (e *entry) begin() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.starting != nil {
		return e.starting
	}
	if e.conn != nil || e.whyNotStarted() != nil {
		return nil
	}
	// The first failure is waited out by whoever needs the server; longer waits are left to the
	// next use, so that no run stands still for a minute.
	delay := e.retry.Sub(e.all.Now())
	if e.failures > 0 && delay > e.all.times.first {
		return nil
	}
	done := make(chan struct{})
	e.starting = done
	server := e.server
	if !e.all.try(func() { e.attempt(server, delay, done) }) {
		e.starting = nil
		return nil
	}
	return done
}

// try runs do, unless the servers are being closed.
// It reports whether it does. do runs on a goroutine of its own that Close waits
// for.
func (a *Servers) try(do func()) bool {
	// Close ends starts before it waits for work.
	if a.starts.Err() != nil {
		return false
	}
	a.work.Go(do)
	return true
}

// whyNotStarted returns why the server may not be started; the lock is held.
func (e *entry) whyNotStarted() error {
	switch {
	case e.server.Problem != "":
		return errors.New(e.server.Problem)
	case e.stopped:
		return errors.New("you stopped it; restart it with agents/mcp/restart")
	case e.failures >= maxFailures:
		return fmt.Errorf("it failed %d times in a row (%s); restart it with agents/mcp/restart", e.failures, e.why)
	}
	return nil
}

// attempt tries to start the server once, after a delay.
// done is closed when the outcome can be seen in the entry. A server that was
// stopped or described anew meanwhile is closed again, and was not started.
func (e *entry) attempt(s Server, delay time.Duration, done chan struct{}) {
	conn, err := e.connectAfter(s, delay)
	e.mu.Lock()
	// Looked at with the lock that update and Stop take, so that a connection is either taken
	// over and closed by them, or closed here.
	replaced := e.server.Digest != s.Digest || e.stopped
	told := e.state != Starting // update has said what became of it
	if err == nil && !replaced {
		e.conn, e.worked = conn, true
		if e.title != conn.name || e.version != conn.version {
			e.title, e.version = conn.name, conn.version
			e.keep()
		}
	}
	if err != nil {
		e.worked = false
		if errors.Is(err, errLogin) {
			e.failures = 0 // the person may log in at any time
		}
		e.fail()
	}
	e.starting = nil
	e.mu.Unlock()
	switch {
	case err != nil:
		e.set(Failed, errorText(err))
	case replaced:
		conn.close()
		if !told {
			e.set(Idle, "")
		}
	default:
		e.set(Ready, "")
		e.all.work.Go(func() { e.await(conn) })
	}
	close(done)
}

// connectAfter waits for the delay and for a slot, starts the server and takes
// over its tools and prompts. It ends early when the servers are being closed.
// The error of one that ended at once has the last line that it printed.
func (e *entry) connectAfter(s Server, delay time.Duration) (*connection, error) {
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-e.all.starts.Done():
		}
	}
	select {
	case e.all.slots <- struct{}{}:
		defer func() { <-e.all.slots }()
	case <-e.all.starts.Done():
	}
	if err := e.all.starts.Err(); err != nil {
		return nil, err
	}
	e.set(Starting, "")
	ctx, cancel := context.WithTimeout(e.all.starts, e.all.times.connect)
	defer cancel()
	conn, err := connect(ctx, e, s, e.stderr)
	if err != nil {
		// It often says why, such as a module that is missing.
		if last := e.stderr.last(1); len(last) > 0 && errors.Is(err, errEnded) {
			err = fmt.Errorf("%w; it last printed: %s", err, last[0])
		}
		return nil, err
	}
	tools, left, err := conn.tools(ctx)
	if err != nil {
		conn.close()
		return nil, err
	}
	// Before the connection is the entry's: no call can use a tool that was not judged.
	e.take(tools, left, false)
	e.readPrompts(ctx, conn)
	return conn, nil
}

// fail counts a failure; the lock is held.
// The next attempt is due after 1, 2, 4 seconds and so on, a minute at most.
func (e *entry) fail() {
	e.failures++
	wait := e.all.times.first << min(e.failures-1, 10)
	e.retry = e.all.Now().Add(min(wait, e.all.times.most))
}

// await waits for the end of a connection.
// It is run once for each connection that the entry took over, and closes it.
func (e *entry) await(conn *connection) {
	<-conn.dead
	e.mu.Lock()
	own := e.conn == conn
	idle := errors.Is(conn.why, errIdle)
	// A connection that was taken from the entry was ended on purpose, so nothing is told of it.
	if own {
		e.conn = nil
		if !idle {
			e.fail()
		}
	}
	e.mu.Unlock()
	if own && idle {
		e.set(Idle, "")
	} else if own {
		if e.all.starts.Err() == nil { // else all are being closed
			e.all.Log.Warn("an MCP server ended", "server", e.name, "why", conn.why)
		}
		e.set(Failed, errorText(conn.why))
	}
	conn.close()
}

// shut ends the server, if it runs or is being started, and waits for that.
// A server that a call needs afterwards is started again, unless it was stopped
// first.
func (e *entry) shut() {
	e.mu.Lock()
	conn, starting := e.conn, e.starting
	e.conn = nil
	e.mu.Unlock()
	// An attempt takes the connection over when it is through, which may be after the look
	// above.
	if starting != nil {
		select {
		case <-starting:
		// All are being closed: Close waits for the attempt itself.
		case <-e.all.ctx.Done():
		}
		e.mu.Lock()
		conn, e.conn = cmp.Or(conn, e.conn), nil
		e.mu.Unlock()
	}
	if conn != nil {
		conn.close()
		e.set(Idle, "")
	}
}

// acquire returns the connection, which is made if there is none.
// It waits for an attempt at most until ctx ends. The error is for the model and
// the person, and has when the next attempt is due where that is so.
func (e *entry) acquire(ctx context.Context) (*connection, error) {
	e.mu.Lock()
	conn, hindered := e.conn, e.whyNotStarted()
	e.mu.Unlock()
	if conn != nil {
		return conn, nil
	}
	if hindered != nil {
		return nil, hindered
	}
	// Without an attempt to wait for, the last failure is told at once.
	if done := e.begin(); done != nil {
		select {
		case <-done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conn != nil {
		return e.conn, nil
	}
	wait := max(e.retry.Sub(e.all.Now()).Round(time.Second), time.Second)
	return nil, fmt.Errorf("it does not run (%s) and is tried again in %v", cmp.Or(e.why, "it ended"), wait)
}

// call calls a tool of the server, if it is still the one that was offered.
// s is the description when it was offered, and the call is refused where that
// has changed. args is the JSON object that the policy was asked about. The
// errors say why there is no result, in words that follow "did not do it: ". How
// long a call took counts only where it had an answer.
func (e *entry) call(ctx context.Context, s Server, name string, args []byte, env *tool.Env) ([]byte, error) {
	now := e.all.current(e.folder) // what was approved may be gone since (SEC-11)
	if !slices.Contains(now, e) {
		return nil, errors.New("it is not described in the settings any more")
	}
	e.mu.Lock()
	current := e.server
	e.mu.Unlock()
	if current.Problem != "" {
		return nil, errors.New(current.Problem)
	}
	if current.Digest != s.Digest {
		return nil, errors.New("its description in the settings changed; the next run has it as it is now")
	}
	conn, err := e.acquire(ctx)
	if err != nil {
		return nil, err
	}
	// After acquire, which may have started the server and read another list.
	if why := e.withdrawn(name); why != nil {
		return nil, why
	}
	began := e.all.Now()
	raw, err := conn.call(ctx, name, args, env)
	took := e.all.Now().Sub(began)
	e.record(took, err)
	if err != nil {
		return nil, err
	}
	return raw, nil
}

// record counts a call that went so.
func (e *entry) record(took time.Duration, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.calls++; err != nil {
		e.errors++
		return
	}
	// Only an answer shows that the server works: that it starts does not.
	e.failures = 0
	if len(e.took) < maxTook {
		e.took = append(e.took, took)
	} else {
		e.took[(e.calls-e.errors-1)%maxTook] = took
	}
}

// withdrawn returns why a tool that was offered is not called: it is gone, or is
// another by now.
func (e *entry) withdrawn(name string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	i := slices.IndexFunc(e.listed, func(l listed) bool { return l.Name == name })
	switch {
	case i < 0:
		return fmt.Errorf("it has no tool %s any more", name)
	case e.accepted[name] != e.listed[i].Digest:
		return fmt.Errorf("its tool %s changed, and the person has not approved that yet", name)
	}
	return nil
}

// relist reads the list of tools again.
// Where that fails the connection ends: what is offered would be out of date.
func (e *entry) relist(c *connection) {
	ctx, cancel := context.WithTimeout(e.all.ctx, e.all.times.connect)
	defer cancel()
	tools, left, err := c.tools(ctx)
	if err != nil {
		c.die(fmt.Errorf("its list of tools could not be read again: %w", err))
		return
	}
	e.take(tools, left, e.all.Now().Sub(c.began) < e.all.times.settle)
	e.readPrompts(ctx, c)
}

// report returns what is known of the server.
// The caller owns what it returns, but for the texts.
func (e *entry) report() State {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := State{
		Name: e.name, Project: e.server.Project, Command: e.server.Command, URL: e.server.Address,
		Description: e.server.Description, State: e.state, Why: e.why,
		Title: e.title, Version: e.version, Tools: []Tool{}, Left: slices.Clone(e.left), Calls: e.calls,
		Errors: e.errors, Stderr: e.stderr.last(20),
	}
	if e.conn != nil {
		s.Since = e.conn.began
	}
	for _, l := range e.listed {
		t := Tool{l.Name, canonicalName(e.name, l.Name), l.Description}
		// The digest is of the name, the description and the schema: a tool is what was approved
		// only where all three are.
		if e.accepted[l.Name] == l.Digest {
			s.Tools = append(s.Tools, t)
		} else {
			s.Pending = append(s.Pending, t)
		}
	}
	if took := slices.Sorted(slices.Values(e.took)); len(took) > 0 {
		s.P50, s.P95 = took[len(took)/2], took[len(took)*95/100]
	}
	return s
}

// file is where the approved tools are kept.
// It is "" where nothing is kept.
func (e *entry) file() string {
	if e.all.Dir == "" {
		return ""
	}
	return filepath.Join(e.all.Dir, fileName(e.folder, e.name))
}
