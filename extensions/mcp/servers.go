package mcp

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/dial"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/sandbox"
)

// Config is what Servers need. All of it is required but where it says so.
// Its functions are called from many goroutines, and must be safe for that. They may
// read files, but must not wait for a server.
type Config struct {
	// Described returns the servers that the settings of a folder describe, by name:
	// also those that cannot be started, which have a Problem. It is asked before
	// each use, so that what changed is not used as it was.
	Described func(folder string) []Server
	// Roots returns the folders that servers may be told of: those that are trusted.
	Roots func() []string
	// Of the processes, as KEY=value: what commands get, without secrets. It is not
	// changed after New.
	Environ []string
	// The person's home, an absolute path; servers that belong to no folder start in
	// it.
	Home string
	// Returns the sandbox for processes of a folder, which may be one that offers no
	// wall.
	Sandbox func(folder string) *sandbox.Sandbox
	// Places returns what the wall of a server in a folder hides and protects.
	Places func(ctx context.Context, folder string) (tool.Places, error)
	// Hosts returns the hosts that the person lets agents of a folder reach, and Proxy
	// the proxy of a request, for servers over HTTP; both may be nil.
	Hosts func(folder string) dial.Hosts
	Proxy func(*http.Request) (*url.URL, error)
	// Logins keeps logins at servers over HTTP, and Hide has values that they hold taken
	// out of what is recorded and shown, under a name.
	Logins Logins
	Hide   func(name string, values ...string)
	// Dir is where the lists of tools are kept that were approved; "" = nowhere.
	Dir     string
	Changed func(folder string, s State) // told of each change of state; may be nil; must not call Servers
	// Of agentls, which servers are told in the greeting.
	Version string
	// The clock for backoff, idle times and statistics. Timers are real ones.
	Now func() time.Time
	Log *slog.Logger
}

// Servers are the servers of one daemon. They are safe for concurrent use; make
// them with [New], and close them.
// A folder is the root of a workspace folder as the settings know it, or "" for the
// person's own servers without a folder.
type Servers struct {
	Config
	times times
	ctx   context.Context // ends when they are closed
	end   context.CancelFunc

	starts    context.Context // of those that are being started: ends when closing begins
	endStarts context.CancelFunc
	work      conc.WaitGroup
	// Taken while a server is being started; capacity [maxStarting].
	slots chan struct{}

	mu      sync.Mutex
	entries map[string]*entry // by folder and name; guarded by mu
	closed  bool              // guarded by mu
}

// maxStarting is how many servers are started at the same time (REL-90).
// Starting one may mean that a package is downloaded.
const maxStarting = 10

// firstWait is how long a run waits for servers that were never seen.
const firstWait = 2 * time.Second

// maxFailures is after how many failures in a row a server is started by hand only.
// A call that succeeds sets the count back; that a server starts does not, as some
// start and then end at once.
const maxFailures = 5

// New returns servers of which none runs. They end with ctx, but are closed all the
// same.
func New(ctx context.Context, c Config) *Servers { return newServers(ctx, c, usual) }

// newServers is New with other times.
func newServers(ctx context.Context, c Config, t times) *Servers {
	a := &Servers{Config: c, times: t, slots: make(chan struct{}, maxStarting), entries: make(map[string]*entry)}
	a.ctx, a.end = context.WithCancel(ctx)
	a.starts, a.endStarts = context.WithCancel(a.ctx)
	return a
}

// Close ends all servers, and returns when nothing of them is left.
// Calls that go on fail. A server has half a second to end by itself, then it is
// killed. Afterwards folders have no servers.
func (a *Servers) Close() {
	// First, so that no attempt begins any more, and shut need not wait long for one that goes on.
	a.endStarts()
	a.mu.Lock()
	a.closed = true
	var open conc.WaitGroup
	// All at once: together they have the patience of one.
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
	Idle = "idle" // it is started when it is needed
	// An attempt goes on.
	Starting = "starting"
	// It runs, and has listed its tools.
	Ready = "ready"
	// The last attempt or connection failed; the next use may try again.
	Failed   = "failed"
	Stopped  = "stopped"  // by the person
	Unusable = "unusable" // its description cannot be used, or waits for the person's approval
)

// State is what is known of a server.
// It is a copy: the caller owns it.
type State struct {
	Name string
	// Whether the description is a project's.
	Project bool
	// The program that starts it, variables put in; "" over HTTP.
	Command     string
	URL         string // of one over HTTP, as it is written
	Description string
	// One of the states above.
	State   string
	Why     string // for the person
	Title   string // as the server calls itself
	Version string
	Since   time.Time // when it was started; zero unless it is ready
	Tools   []Tool    // that are offered, or were last
	Pending []Tool    // that changed, and are not offered until the person approves them
	Left    []string  // tools that cannot be offered, with the reasons
	// Since the daemon began, failed ones included; Errors are those.
	Calls  int
	Errors int
	// Of the newest 256 calls that had an answer; 0 where there was none.
	P50, P95 time.Duration
	// The last 20 lines that it printed to its standard error, or fewer. They are a
	// stranger's text.
	Stderr []string
}

// Tool is a tool of a server, in words.
// Name is as the server has it, Full is mcp.server.tool, which settings and agent files
// use, and Description is cut to 2000 characters.
type Tool struct{ Name, Full, Description string }

// Change is a change of a server's tools that waits for the person's approval.
type Change struct {
	// The name of the server.
	Server string
	// As the person is to be shown them.
	Tools []Tool
	// Approves exactly these. An error says that the approval was not saved, so the
	// person is asked again after a restart.
	Approve func() error
	Again   func() // the person could not be asked: the next run is told of it as well
}

// Offer is what an agent gets of servers.
type Offer struct {
	// In the order of the servers' names, with names for models that are unique among
	// them.
	Tools    []tool.Tool
	Problems []string // why tools are left out, for the person and the model
	Changes  []Change // to be asked about; each is told once
}

// Offer returns the tools of the named servers ("*" is all) in a folder. Servers that
// do not run are started, and are not waited for: what they offered last is
// offered. For those that were never seen it waits, two seconds at most.
// An end of ctx only ends that wait. It returns no error: what is wrong is among the
// problems, and a run goes on without those tools. The tools stay valid while the run
// goes on, and refuse calls once what they were approved as has changed.
func (a *Servers) Offer(ctx context.Context, folder string, names []string) Offer {
	var offer Offer
	var all []*serverTool
	entries, unknown := a.choose(folder, names)
	for _, name := range unknown {
		offer.Problems = append(offer.Problems,
			fmt.Sprintf("The MCP server %s is not configured, so its tools are left out; describe it in the settings under mcpServers.", tool.Escape(name)))
	}
	wait, cancel := context.WithTimeout(ctx, firstWait)
	defer cancel()
	var fresh []<-chan struct{}
	for _, e := range entries {
		if started := e.begin(); started != nil && !e.known() {
			fresh = append(fresh, started)
		}
	}
	// One wait for all of them: after two seconds those that come are left to the next run.
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

// LastTools returns the tools of the named servers as they were offered last, and
// starts nothing.
// Tools that are pending, and those of servers that were stopped, are not among them.
func (a *Servers) LastTools(folder string, names []string) []tool.Tool {
	var all []*serverTool
	entries, _ := a.choose(folder, names)
	for _, e := range entries {
		e.mu.Lock()
		all = append(all, e.currentTools()...)
		e.mu.Unlock()
	}
	setNames(all)
	tools := make([]tool.Tool, len(all))
	for i, t := range all {
		tools[i] = t
	}
	return tools
}

// Overview returns the tools of all servers of a folder as they were offered last, and
// what each server does, by its name. It reads nothing: servers are there once a run or
// [Servers.Warm] looked at the folder.
// Names for models are not made unique among them.
func (a *Servers) Overview(folder string) (tools []tool.Tool, states map[string]string) {
	a.mu.Lock()
	var entries []*entry
	for _, e := range a.entries {
		if e.folder == folder {
			entries = append(entries, e)
		}
	}
	a.mu.Unlock()
	slices.SortFunc(entries, func(x, y *entry) int { return strings.Compare(x.name, y.name) })
	states = make(map[string]string)
	for _, e := range entries {
		e.mu.Lock()
		states[e.name] = e.state
		for _, t := range e.currentTools() {
			tools = append(tools, t)
		}
		e.mu.Unlock()
	}
	return tools, states
}

// choose returns the servers with the names, and the names that no server has.
// Both are nil for no names. Servers are in the order of names, each once.
func (a *Servers) choose(folder string, names []string) (entries []*entry, unknown []string) {
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
// It is nil once all are closed. Those that end do so in the background.
func (a *Servers) current(folder string) []*entry {
	// Without the lock, since this reads files.
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
			// Nobody else has the entry yet, so its lock is not needed.
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
// It is called when settings or approvals changed. It does not wait for the ends.
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
// By the names of the servers, one of the states.
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
// They are as the server has them, pending ones too. It reads no descriptions and
// starts nothing.
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
	// A server that has a list, even an empty one, was seen.
	return names, e.accepted != nil
}

// Warm starts the servers of a folder that are to be started with the workspace.
// It does not wait for them.
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
// It is never nil. Descriptions are read again; nothing is started.
func (a *Servers) List(folder string) []State {
	list := []State{}
	for _, e := range a.current(folder) {
		list = append(list, e.report())
	}
	return list
}

// Restart starts a server anew, also one that has failed too often or that was
// stopped, and waits until it is there. With approve the tools that changed are
// approved as they were listed before, which is what the person saw.
// The error is of kind fault.NotFound for a name that is not described, or ctx's own.
// That the server did not start, and why, is in the state that is returned.
func (a *Servers) Restart(ctx context.Context, folder, name string, approve bool) (State, error) {
	e, err := a.find(folder, name)
	if err != nil {
		return State{}, err
	}
	e.shut()
	e.mu.Lock()
	e.failures, e.retry, e.stopped = 0, time.Time{}, false
	// Taken before the server is started: what it lists then may be another list than the
	// person was shown.
	shown, known := e.listed, e.accepted != nil
	e.mu.Unlock()
	_, err = e.acquire(ctx)
	if err == nil && approve && known {
		err = e.accept(shown)
	}
	if err != nil && ctx.Err() != nil {
		return State{}, ctx.Err()
	}
	return e.report(), nil // why it failed is in the state
}

// Stop ends a server and keeps it down until it is restarted.
// It returns when the server has ended. Stopped is not kept: after a restart of the
// daemon the server is idle. The error is of kind fault.NotFound for a name that is not
// described.
func (a *Servers) Stop(folder, name string) (State, error) {
	e, err := a.find(folder, name)
	if err != nil {
		return State{}, err
	}
	// First, so that a call which wants the server while it ends does not start it again.
	e.mu.Lock()
	e.stopped = true
	e.mu.Unlock()
	e.shut()
	e.set(Stopped, "you stopped it")
	return e.report(), nil
}

// find returns the server of a folder with a name, or an error of kind fault.NotFound
// that has the names that there are.
func (a *Servers) find(folder, name string) (*entry, error) {
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
