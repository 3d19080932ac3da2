package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/sandbox"
)

// Config is what Servers need. All of it is required but where it says so.
type Config struct {
	// Described returns the servers that the settings of a folder describe, by name:
	// also those that cannot be started, which have a Problem. It is asked before
	// each use, so that what changed is not used as it was.
	Described func(folder string) []Server
	// Roots returns the folders that servers may be told of: those that are trusted.
	Roots   func() []string
	Environ []string // of the processes, as KEY=value
	Home    string   // the person's
	Sandbox func(folder string) *sandbox.Sandbox
	// Places returns what the wall of a server in a folder hides and protects.
	Places func(ctx context.Context, folder string) (tool.Places, error)
	// Dir is where the lists of tools are kept that were approved; "" = nowhere.
	Dir     string
	Changed func(folder string, s State) // told of each change of state; may be nil; must not call Servers
	Version string
	Now     func() time.Time
	Log     *slog.Logger
}

// Servers are the servers of one daemon. They are safe for concurrent use; make
// them with [New], and close them.
type Servers struct {
	Config
	times times
	ctx   context.Context // ends when they are closed
	end   context.CancelFunc

	starts    context.Context // of those that are being started: ends when closing begins
	endStarts context.CancelFunc
	work      conc.WaitGroup
	slots     chan struct{} // for servers that are being started

	mu      sync.Mutex
	entries map[string]*entry // by folder and name; guarded by mu
	closed  bool              // guarded by mu
}

// maxStarting is how many servers are started at the same time (REL-90).
const maxStarting = 10

// firstWait is how long a run waits for servers that were never seen.
const firstWait = 2 * time.Second

// maxFailures is after how many failures in a row a server is started by hand only.
const maxFailures = 5

// New returns servers of which none runs. They end with ctx, but are closed all the
// same.
func New(ctx context.Context, c Config) *Servers { return newServers(ctx, c, usual) }

func newServers(ctx context.Context, c Config, t times) *Servers {
	a := &Servers{Config: c, times: t, slots: make(chan struct{}, maxStarting), entries: make(map[string]*entry)}
	a.ctx, a.end = context.WithCancel(ctx)
	a.starts, a.endStarts = context.WithCancel(a.ctx)
	return a
}

// Close ends all servers, and returns when nothing of them is left.
func (a *Servers) Close() {
	a.endStarts()
	a.mu.Lock()
	a.closed = true
	var open conc.WaitGroup
	for _, e := range a.entries {
		open.Go(e.shut)
	}
	a.mu.Unlock()
	open.Wait()
	a.end()
	a.work.Wait()
}

// The states of a server.
const (
	Idle     = "idle" // it is started when it is needed
	Starting = "starting"
	Ready    = "ready"
	Failed   = "failed"
	Stopped  = "stopped"  // by the person
	Unusable = "unusable" // its description cannot be used, or waits for the person's approval
)

// State is what is known of a server.
type State struct {
	Name        string
	Project     bool
	Command     string
	Description string
	State       string
	Why         string // for the person
	Title       string // as the server calls itself
	Version     string
	Since       time.Time // when it was started; zero unless it is ready
	Tools       []Tool    // that are offered, or were last
	Pending     []Tool    // that changed, and are not offered until the person approves them
	Left        []string  // tools that cannot be offered, with the reasons
	Calls       int
	Errors      int
	P50, P95    time.Duration // of the newest calls
	Stderr      []string      // its last lines
}

// Tool is a tool of a server, in words.
type Tool struct{ Name, Full, Description string }

// Change is a change of a server's tools that waits for the person's approval.
type Change struct {
	Server  string
	Tools   []Tool
	Approve func() error
	Again   func() // the person could not be asked: the next run is told of it as well
}

// Offer is what an agent gets of servers.
type Offer struct {
	Tools    []tool.Tool
	Problems []string // why tools are left out, for the person and the model
	Changes  []Change // to be asked about; each is told once
}

// Offer returns the tools of the named servers ("*" is all) in a folder. Servers that
// do not run are started, and are not waited for: what they offered last is
// offered. For those that were never seen it waits, two seconds at most.
func (a *Servers) Offer(ctx context.Context, folder string, names []string) Offer {
	var offer Offer
	var all []*serverTool
	entries, unknown := a.chosen(folder, names)
	for _, name := range unknown {
		offer.Problems = append(offer.Problems, fmt.Sprintf("The MCP server %s is not configured, so its tools are left out; describe it in the settings under mcpServers.", tool.Escape(name)))
	}
	wait, cancel := context.WithTimeout(ctx, firstWait)
	defer cancel()
	var fresh []<-chan struct{}
	for _, e := range entries {
		if started := e.begin(); started != nil && !e.known() {
			fresh = append(fresh, started)
		}
	}
	for _, started := range fresh {
		select {
		case <-started:
		case <-wait.Done():
		}
	}
	for _, e := range entries {
		tools, problem, change := e.offer()
		all = append(all, tools...)
		if problem != "" {
			offer.Problems = append(offer.Problems, problem)
		}
		if change != nil {
			offer.Changes = append(offer.Changes, *change)
		}
	}
	setNames(all)
	for _, t := range all {
		offer.Tools = append(offer.Tools, t)
	}
	return offer
}

// Known returns the tools of the named servers as they were offered last, and
// starts nothing.
func (a *Servers) Known(folder string, names []string) []tool.Tool {
	var all []*serverTool
	entries, _ := a.chosen(folder, names)
	for _, e := range entries {
		e.mu.Lock()
		all = append(all, e.approvedTools()...)
		e.mu.Unlock()
	}
	setNames(all)
	tools := make([]tool.Tool, len(all))
	for i, t := range all {
		tools[i] = t
	}
	return tools
}

// chosen returns the servers with the names, and the names that no server has.
func (a *Servers) chosen(folder string, names []string) (entries []*entry, unknown []string) {
	if len(names) == 0 {
		return nil, nil
	}
	all := a.current(folder)
	if slices.Contains(names, "*") {
		return all, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(all, func(e *entry) bool { return e.name == name })
		if i < 0 {
			unknown = append(unknown, name)
		} else if !slices.Contains(entries, all[i]) {
			entries = append(entries, all[i])
		}
	}
	return entries, unknown
}

// current returns the servers of a folder as they are described now, by name. One
// whose description is another is ended, and one that is no more goes.
func (a *Servers) current(folder string) []*entry {
	described := a.Described(folder)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	var list []*entry
	keep := make(map[string]bool)
	for _, s := range described {
		key := folder + "\x00" + s.Name
		keep[key] = true
		e := a.entries[key]
		if e == nil {
			e = &entry{all: a, folder: folder, name: s.Name, server: s, state: Idle, stderr: new(ring)}
			e.load()
			a.entries[key] = e
		}
		e.update(s)
		list = append(list, e)
	}
	for key, e := range a.entries {
		if e.folder == folder && !keep[key] {
			delete(a.entries, key)
			a.work.Go(e.shut)
		}
	}
	slices.SortFunc(list, func(x, y *entry) int { return strings.Compare(x.name, y.name) })
	return list
}

// Refresh ends the servers that are not described any more as they were.
func (a *Servers) Refresh() {
	folders := make(map[string]bool)
	a.mu.Lock()
	for _, e := range a.entries {
		folders[e.folder] = true
	}
	a.mu.Unlock()
	for folder := range folders {
		a.current(folder)
	}
}

// States returns what each server of a folder does now, in a word.
func (a *Servers) States(folder string) map[string]string {
	states := make(map[string]string)
	for _, e := range a.current(folder) {
		e.mu.Lock()
		states[e.name] = e.state
		e.mu.Unlock()
	}
	return states
}

// ToolNames returns the names of a server's tools, and whether they are known.
func (a *Servers) ToolNames(folder, server string) (names []string, known bool) {
	a.mu.Lock()
	e := a.entries[folder+"\x00"+server]
	a.mu.Unlock()
	if e == nil {
		return nil, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range e.listed {
		names = append(names, l.Name)
	}
	return names, e.accepted != nil
}

// Warm starts the servers of a folder that are to be started with the workspace.
func (a *Servers) Warm(folder string) {
	for _, e := range a.current(folder) {
		e.mu.Lock()
		auto := e.server.AutoStart
		e.mu.Unlock()
		if auto {
			e.begin()
		}
	}
}

// List returns the servers of a folder, by name.
func (a *Servers) List(folder string) []State {
	list := []State{}
	for _, e := range a.current(folder) {
		list = append(list, e.told())
	}
	return list
}

// Restart starts a server anew, also one that has failed too often or that was
// stopped, and waits until it is there. With approve the tools that changed are
// approved as they were listed before, which is what the person saw.
func (a *Servers) Restart(ctx context.Context, folder, name string, approve bool) (State, error) {
	e, err := a.named(folder, name)
	if err != nil {
		return State{}, err
	}
	e.shut()
	e.mu.Lock()
	e.failures, e.retry, e.stopped = 0, time.Time{}, false
	shown, known := e.listed, e.accepted != nil
	e.mu.Unlock()
	_, err = e.acquire(ctx)
	if err == nil && approve && known {
		err = e.accept(shown)
	}
	if err != nil && ctx.Err() != nil {
		return State{}, ctx.Err()
	}
	return e.told(), nil // why it failed is in the state
}

// Stop ends a server and keeps it down until it is restarted.
func (a *Servers) Stop(folder, name string) (State, error) {
	e, err := a.named(folder, name)
	if err != nil {
		return State{}, err
	}
	e.mu.Lock()
	e.stopped = true
	e.mu.Unlock()
	e.shut()
	e.set(Stopped, "you stopped it")
	return e.told(), nil
}

func (a *Servers) named(folder, name string) (*entry, error) {
	all := a.current(folder)
	var names []string
	for _, e := range all {
		if e.name == name {
			return e, nil
		}
		names = append(names, e.name)
	}
	return nil, fault.New(fault.NotFound, "mcp.named", "there is no MCP server %q in %s; configured are: %s",
		name, cmp.Or(folder, "no folder"), cmp.Or(strings.Join(names, ", "), "none"))
}

// entry is a server in a folder, whether it runs or not.
type entry struct {
	all    *Servers
	folder string
	name   string
	stderr *ring

	mu       sync.Mutex // held for short; all below is guarded by it
	server   Server
	state    string
	why      string
	conn     *connection
	starting chan struct{} // closed when the attempt that goes on is over; nil for none
	failures int           // in a row
	retry    time.Time     // not before
	stopped  bool          // by the person
	listed   []listed      // what the server lists, or listed last
	left     []string
	accepted map[string]string // digests of tools that were approved, by name; nil = the server was never seen
	fresh    bool              // the connection is the first to the server, and its list may settle
	worked   bool              // it was ready when it was started last
	asked    string            // the pending tools that the person was asked about
	title    string
	version  string
	calls    int
	errors   int
	took     []time.Duration // of the newest calls, a ring of maxTook
}

// maxTook is of how many calls it is known how long they took.
const maxTook = 256

// update takes over a description; the lock of all is held.
func (e *entry) update(s Server) {
	e.mu.Lock()
	defer e.mu.Unlock()
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
func (e *entry) begin() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.starting != nil {
		return e.starting
	}
	if e.conn != nil || e.hindered() != nil {
		return nil
	}
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
func (a *Servers) try(do func()) bool {
	if a.starts.Err() != nil {
		return false
	}
	a.work.Go(do)
	return true
}

// hindered returns why the server may not be started; the lock is held.
func (e *entry) hindered() error {
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
func (e *entry) attempt(s Server, delay time.Duration, done chan struct{}) {
	conn, err := e.connectAfter(s, delay)
	e.mu.Lock()
	replaced := e.server.Digest != s.Digest || e.stopped
	if err == nil && !replaced {
		e.conn, e.worked = conn, true
		e.title, e.version = conn.name, conn.version
	}
	if err != nil {
		e.worked = false
		e.fail()
	}
	e.starting = nil
	e.mu.Unlock()
	switch {
	case err != nil:
		e.set(Failed, told(err))
	case replaced:
		conn.close()
	default:
		e.set(Ready, "")
		e.all.work.Go(func() { e.await(conn) })
	}
	close(done)
}

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
	e.take(tools, left, false)
	return conn, nil
}

// fail counts a failure; the lock is held.
func (e *entry) fail() {
	e.failures++
	wait := e.all.times.first << min(e.failures-1, 10)
	e.retry = e.all.Now().Add(min(wait, e.all.times.most))
}

// await waits for the end of a connection.
func (e *entry) await(conn *connection) {
	<-conn.dead
	e.mu.Lock()
	own := e.conn == conn
	idle := errors.Is(conn.why, errIdle)
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
		e.all.Log.Warn("an MCP server ended", "server", e.name, "why", conn.why)
		e.set(Failed, told(conn.why))
	}
	conn.close()
}

// shut ends the server, if it runs or is being started, and waits for that.
func (e *entry) shut() {
	e.mu.Lock()
	conn, starting := e.conn, e.starting
	e.conn = nil
	e.mu.Unlock()
	if starting != nil {
		select {
		case <-starting:
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
func (e *entry) acquire(ctx context.Context) (*connection, error) {
	e.mu.Lock()
	conn, hindered := e.conn, e.hindered()
	e.mu.Unlock()
	if conn != nil {
		return conn, nil
	}
	if hindered != nil {
		return nil, hindered
	}
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
func (e *entry) call(ctx context.Context, s Server, name string, args []byte, told func(string)) ([]byte, error) {
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
	if why := e.withdrawn(name); why != nil {
		return nil, why
	}
	began := e.all.Now()
	raw, err := conn.call(ctx, name, args, told)
	took := e.all.Now().Sub(began)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.calls++; err != nil {
		e.errors++
		return nil, err
	}
	e.failures = 0
	if len(e.took) < maxTook {
		e.took = append(e.took, took)
	} else {
		e.took[e.calls%maxTook] = took
	}
	return raw, nil
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
func (e *entry) relist(c *connection) {
	ctx, cancel := context.WithTimeout(e.all.ctx, e.all.times.connect)
	defer cancel()
	tools, left, err := c.tools(ctx)
	if err != nil {
		c.die(fmt.Errorf("its list of tools could not be read again: %w", err))
		return
	}
	e.take(tools, left, e.all.Now().Sub(c.began) < e.all.times.settle)
}

// told returns what is known of the server.
func (e *entry) told() State {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := State{
		Name: e.name, Project: e.server.Project, Command: e.server.Command, Description: e.server.Description, State: e.state, Why: e.why,
		Title: e.title, Version: e.version, Tools: []Tool{}, Left: slices.Clone(e.left), Calls: e.calls, Errors: e.errors, Stderr: e.stderr.last(20),
	}
	if e.conn != nil {
		s.Since = e.conn.began
	}
	for _, l := range e.listed {
		t := Tool{l.Name, canonicalName(e.name, l.Name), l.Description}
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
func (e *entry) file() string {
	if e.all.Dir == "" {
		return ""
	}
	return filepath.Join(e.all.Dir, fileName(e.folder, e.name))
}
