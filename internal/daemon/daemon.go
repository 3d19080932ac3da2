// Package daemon puts a daemon together: workspace, agents, model and handlers
// become one connection. The binary serves with it, the command line runs it in
// its own process, and so do the tests.
//
// It decides nothing: what there is to decide lies below.
//
// # Life of a daemon
//
// [Serve] makes the connection and the handlers, but nothing that needs a workspace: that
// is made by Config.build when initialize names the folders. What an answer to initialize
// can do without waits for that answer to be written (firstWrite): the watcher, the
// catalog, the retention of sessions. follow then reads the catalog, and takes changes of
// files and folders in, one after another, until the connection ends. Work of this kind
// is under guardWork: a panic in it is logged and the work begun anew.
//
// The end goes from above to below: the service interrupts its runs and closes the
// sessions, then traces, hooks and MCP servers end, then the work of the daemon itself,
// then the client of the provider.
//
// # Settings
//
// settingsOf gives what holds in a folder, translated to the words of the packages that
// use it. It is kept until a file changes (settingsCache.forget) and never changed: who
// has it keeps a consistent state. A project's settings count where the folder is
// trusted, and what a project brings to be run (servers, hooks, agents) only as the
// person approved it (basis, approvesItem, checkReviewed).
//
// # Locks
//
// renewing is held over a change of the catalog and the telling of it, so that clients
// are told of changes in their order. telling does the same for problems. settings.mu is
// held while settings are read; trust and bundles are asked under it, and may not ask for
// settings. mu guards small values.
//
// # Files
//
// daemon.go puts the parts together, catalog.go follows files, settings*.go and
// provider.go translate settings, review.go has trust and approvals, servers.go, hooks.go
// and extensions.go what folders and bundles bring, home.go and safemode.go the start,
// health.go and memory*.go what watches the process, and the others what their names say.
package daemon

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/conc"
	"github.com/sourcegraph/conc/panics"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/agenttest"
	"github.com/agentls/agentls/agents/guardrail"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/prompt"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/snapshot"
	"github.com/agentls/agentls/agents/template"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/builtin"
	"github.com/agentls/agentls/agents/trace/export"
	"github.com/agentls/agentls/extensions/hook"
	"github.com/agentls/agentls/extensions/mcp"
	"github.com/agentls/agentls/handlers"
	"github.com/agentls/agentls/handlers/language"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/process"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// Config is what a daemon is made of. Home, Now and Log are required.
// It is copied, and not changed once [Serve] has begun. Functions and writers are called
// from several goroutines.
type Config struct {
	// The person's folder: ~/.gemini, or $GEMINI_HOME; absolute, see [HomeOf]. What the
	// daemon itself keeps is below agentls in it.
	Home     string
	Homeless string   // why there is none, for the person, and Home is one for this process; "" = there is one
	Environ  []string // the person's environment, as KEY=value
	Trust    bool     // the workspace is trusted for this process
	// The approval mode in which sessions begin; "" = ask.
	Approval agents.Approval
	// Transport reaches the model; nil is the network.
	Transport http.RoundTripper
	// Of the binary, which clients, servers and logs are told.
	Version string
	// The id of a process: when that ends, so does the daemon; 0 = none is watched.
	Parent int
	// Headless: the client has nobody who could answer; main is told so.
	Headless bool
	// Brief: files are not watched, since the daemon ends as soon as it has done
	// what it was started for. To end a watch costs the kernel up to 17 ms.
	Brief bool
	// Secrets are what the environment holds; nil has them read from Environ. The
	// settings' are added, so whoever masks a log with them knows those too.
	Secrets *Secrets
	// Hooks are run in every folder, before those of the settings.
	Hooks []hook.Compiled
	// Validators are those that guards of agents can name besides executables.
	Validators map[string]guardrail.Validator
	// Memory is a limit of what the process uses, in bytes: from 80 % of it on what
	// can be read again is let go of, and new runs are refused (REL-42). 0 = none.
	Memory int64
	// Exit ends the process when the daemon hangs (REL-32), with exit code
	// [watchdog.Code]; nil has nobody look.
	Exit func(code int)
	// The clock of what is recorded. Timers are real ones.
	Now func() time.Time
	// What the daemon says of itself. Whoever makes it takes the secrets out ([Secrets]).
	Log *slog.Logger
	// Model answers instead of every provider, and needs no key; nil = providers do.
	Model model.Model
	// Tools may put others in the place of built-in tools; nil = nobody does.
	Tools func([]tool.Tool) []tool.Tool
	// Hooked answers instead of all hooks, and Servers offers instead of all MCP servers;
	// nil = those of the settings.
	Hooked  run.Hooks
	Servers agents.Servers
	// Apart: nothing of the person's is started or kept: no MCP servers, no hooks, no
	// snapshots, and sessions and answers for always are in memory only; of those that
	// were kept, the ones count that were given before Before.
	Apart  bool
	Before time.Time
	// RunTest runs a test of agents for an editor; nil = none are run.
	RunTest func(ctx context.Context, agents map[string]string, c *agenttest.Case) []agenttest.Failure
	// Console is where traces of the backend console go; nil = nowhere.
	Console io.Writer

	testHooks testHooks
}

// testHooks are what tests put in; the zero value is the daemon.
type testHooks struct {
	routes func([]server.Route) []server.Route
	build  func(*daemon)        // before anything is read
	agents func(*agents.Config) // before there is a service
	site   func(*handlers.Site)
}

// Serve serves one client on rwc until it goes or ctx ends. When it returns,
// runs are interrupted, child processes gone and logs on stable storage.
// It closes rwc. The outcome says who ended it, for the exit code; the error is that of
// the connection and of the end, joined, and what was to be stored may then not be. It
// may be called several times in a process, each with its own connection. A daemon that
// nobody has initialized keeps and starts nothing.
func Serve(ctx context.Context, rwc io.ReadWriteCloser, c Config) (server.Outcome, error) {
	var h *handlers.Handlers
	answered := make(chan struct{})
	first := &firstWrite{ReadWriteCloser: rwc, written: sync.OnceFunc(func() { close(answered) })}
	p := new(parts)
	build := func(ctx context.Context, site handlers.Site) (*handlers.Daemon, error) {
		return c.build(ctx, site, answered, p)
	}
	var watched conc.WaitGroup
	if c.Exit != nil {
		// Not until ctx ends, but until all has: what hangs may do so at the end.
		watch, over := context.WithCancel(context.WithoutCancel(ctx))
		defer watched.Wait()
		defer over()
		watched.Go(func() { c.watchdog(watch, p) })
	}
	outcome, err := server.Serve(ctx, first, server.Config{Now: c.Now, Log: c.Log, Parent: c.Parent, Pulse: &p.loop},
		func(ctx context.Context, peer server.Peer) []server.Route {
			h = handlers.New(ctx, peer, handlers.Config{Build: build, Version: c.Version, Now: c.Now, Log: c.Log})
			routes := h.Routes()
			if c.testHooks.routes != nil {
				routes = c.testHooks.routes(routes)
			}
			return routes
		})
	var closed error
	if caught := panics.Try(func() { closed = h.Close() }); caught != nil {
		// Of a goroutine that it waited for: the rest has ended, or ends with the process.
		c.Log.Error("panic", "in", "the end of the daemon", "bug", fault.BugID(caught.Callers), "stack",
			fault.PanicText(caught.Value, caught.Stack))
	}
	return outcome, errors.Join(err, closed)
}

// firstWrite tells when something was written: the answer to initialize, before
// which nothing is sent.
// written is called after each write, and must be quick.
type firstWrite struct {
	io.ReadWriteCloser
	written func()
}

// Write implements [io.Writer].
func (f *firstWrite) Write(p []byte) (int, error) {
	n, err := f.ReadWriteCloser.Write(p)
	f.written()
	return n, err
}

// daemon is what belongs to one workspace.
// Fields above the locks are set by build and not changed afterwards, or guard
// themselves.
type daemon struct {
	Config
	ctx context.Context // ends with the connection
	// site is how the client is told of what changes, and how its documents are read.
	site    handlers.Site
	first   string // the first folder of the start, canonical; "" without one: sessions stay with it
	folders folders
	trust   *workspace.Trust
	// Answers for always; nil where only the access to models is checked.
	always   *workspace.Permissions
	registry *registry.Registry
	watcher  atomic.Pointer[workspace.Watcher] // nil until files are watched
	// Models by name, the settings' rows first.
	table    *model.Table
	settings settingsCache
	// Of the person's settings, for all folders.
	boxes sandboxes
	// Goroutines of the daemon's own, which the end waits for.
	work    conc.WaitGroup
	gemini  provider
	mcp     *mcp.Servers
	service atomic.Pointer[agents.Service] // nil until there is one
	// What watches the memory of the process. What agents remember is in memories.
	memory  memory
	shownIn string   // this process's folder for texts that it shows as files
	starts  *starts  // nil for one that is not recorded
	safe    bool     // no agents are loaded (REL-33)
	banners []string // what the person is told as long as the daemon lives

	renewing sync.Mutex // held while the catalog is changed and that is told

	telling sync.Mutex // held while what is wrong with settings and trust is read and told

	mu      sync.Mutex
	rows    []model.Entry     // of the settings, that the table has
	bundled string            // the bundles that took effect, as they were last
	named   string            // the MCP servers of all folders, as they were last
	relied  map[string]string // how far each folder of the workspace was trusted when that was last looked at
}

// build makes the parts of the daemon for a workspace. What an answer to
// initialize can do without is left for afterwards: the catalog is read when
// answered is closed, so that the two do not share the processor.
// It returns what handlers work with, whose Close ends all of it. The error would be told
// as that of initialize; there is none at present, since whatever is wrong with settings
// or folders is told as a problem.
func (c Config) build(ctx context.Context, site handlers.Site, answered <-chan struct{},
	p *parts) (*handlers.Daemon, error) {
	ctx, end := context.WithCancel(ctx)
	if c.Secrets == nil {
		c.Secrets = NewSecrets(c.Environ)
	}
	if c.testHooks.site != nil {
		c.testHooks.site(&site)
	}
	b := c.newDaemon(ctx, site)
	inMemory := c.Apart || b.lookAtHome()
	if c.testHooks.build != nil {
		c.testHooks.build(b)
	}
	b.registry = registry.New(registry.Config{Model: b.knows, Installed: b.newInstalled()})
	settings := b.settingsOf(b.first)
	b.setTable(settings.table)
	notes := b.problems(b.first)
	traces := b.newTracer()
	store := session.New(b.sessions(settings.runs.ContextPersistence && !inMemory, traces))
	b.memory = memory{limit: c.Memory, now: c.Now, shed: b.settings.forget}
	b.mcp = b.newServers()
	hooks := b.newHooks()
	work := b.agentsConfig(store, traces, hooks)
	service := agents.NewService(ctx, work)
	b.service.Store(service)
	p.daemon.Store(&working{service, store})
	b.startWork(answered, store)
	forHandlers := b.forHandlers(service)
	forHandlers.Settings, forHandlers.Notes = work.Settings, notes
	forHandlers.Close = func() error {
		err := service.Close()
		traces.Close()
		hooks.Close()
		b.mcp.Close()
		end()
		b.work.Wait()
		b.closeClient()
		// An orderly end is no crash, however early it comes.
		if b.starts != nil {
			b.starts.ready()
		}
		return err
	}
	return forHandlers, nil
}

// newDaemon returns a daemon that knows its folders and reads what is recorded of them.
// It reads the environment and makes no file.
func (c Config) newDaemon(ctx context.Context, site handlers.Site) *daemon {
	b := &daemon{
		Config: c, ctx: ctx, site: site, trust: workspace.NewTrust(c.trustFile(), c.Now),
		always: workspace.NewPermissions(c.permissionsFile(), c.Now),
		table:  model.NewTable(c.Now), relied: make(map[string]string),
	}
	b.folders.set(site.Folders)
	if len(site.Folders) > 0 {
		b.first = site.Folders[0].Canonical
	}
	// A process id comes again, so a part of the name is random.
	b.shownIn = filepath.Join(b.scratchFolder(), strconv.Itoa(os.Getpid())+"-"+rand.Text()[:8])
	return b
}

// sessions says how sessions are kept: on disk, or in memory.
// What is recorded is masked of known secrets alone, since a model's context is rebuilt
// from it (spec 7.2).
func (b *daemon) sessions(onDisk bool, traces *export.Tracer) session.Config {
	host, _ := os.Hostname() // only to tell another daemon's person who holds a session
	of := session.Config{
		Health: b.site.Health,
		Folder: b.first, Owner: fmt.Sprintf("agentls %s, process %d on %s", b.Version, os.Getpid(), host),
		Version: b.Version, Now: b.Now, Log: b.Log, Mask: b.record,
	}
	if onDisk {
		of.Dir = b.SessionsOf(b.first)
		of.UserState, of.WorkspaceState = filepath.Join(b.state(), "state", "user.json"),
			filepath.Join(b.state(), "state", session.Key(b.first)+".json")
	}
	if !b.Apart {
		of.Forget = traces.Forget
	}
	return of
}

// agentsConfig is what agents work with.
// Functions in it are called while runs go on, so each asks for the settings anew.
func (b *daemon) agentsConfig(store *session.Store, traces *export.Tracer, hooks *hook.Hooks) agents.Config {
	work := agents.Config{
		Servers: offers{b.mcp}, Traces: traces, Hooks: hooks, Validators: b.Validators,
		ExplainHooks: b.explainHooks, Skills: b.skills,
		Agents: b.registry.Snapshot, Sessions: store, Table: b.table, Provider: b.provider,
		Tools: b.tools(), Folders: b.folders.paths, Trusted: b.trusted, TrustError: b.trustError,
		Settings: func(folder string) *agents.Settings { return &b.settingsOf(folder).runs },
		Approval: b.approval(), Environ: process.Environ(b.Environ), Now: b.Now, Log: b.Log,
		Home: workspace.CanonicalPath(b.env("HOME")), State: workspace.CanonicalPath(b.Home),
		Admit: b.memory.admit, Mask: b.Secrets,
		Proxy:    http.ProxyFromEnvironment,
		Reviewed: b.checkReviewed, Unreviewed: b.unreviewed,
		Memories: b.memories(),
		Memory:   b.instructions, Prompt: prompt.Read(b.Environ, b.Home, b.env("HOME")), Headless: b.Headless,
		Snapshots: snapshot.New(snapshot.Config{
			Dir: filepath.Join(workspace.CanonicalPath(b.state()), "snapshots"), Home: workspace.CanonicalPath(b.env("HOME")),
			Environ: b.Environ, Now: b.Now,
		}),
	}
	if b.Hooked != nil {
		work.Hooks = b.Hooked
	}
	if b.Config.Servers != nil {
		work.Servers = b.Config.Servers
	}
	switch {
	case b.Apart:
		work.Grants, work.Snapshots = b.apartGrants(), nil
	case b.first != "": // without a folder there is no workspace to keep an answer for
		work.Grants = permissionStore{b.ctx, b.always, b.first}
	}
	if b.testHooks.agents != nil {
		b.testHooks.agents(&work)
	}
	return work
}

// startWork starts what goes on beside requests until the connection ends.
// It does not wait. Each is independent of the others: one that fails for good is told to
// the person.
func (b *daemon) startWork(answered <-chan struct{}, store *session.Store) {
	b.work.Go(func() {
		select {
		case <-answered:
			b.followOn(b.ctx)
		case <-b.ctx.Done():
		}
	})
	if b.Brief {
		return
	}
	// The names complete the sentence of guardWork: agentls does not … any more.
	for what, work := range map[string]func(context.Context){
		"look for sessions that need not be kept": func(ctx context.Context) { b.retain(ctx, store) },
		"look at its memory":                      b.memory.watch,
		"clean the caches of commands":            b.cleanCaches,
		"record its start":                        func(ctx context.Context) { b.becomeReady(ctx, answered) },
	} {
		b.work.Go(func() { b.guardWork(what, work) })
	}
}

// forHandlers is the daemon as handlers see it.
func (b *daemon) forHandlers(service *agents.Service) *handlers.Daemon {
	return &handlers.Daemon{
		Daemon: language.Daemon{
			Agents: service, Trusted: b.trusted, MCP: b.mcp, Mask: b.Secrets.MaskAll, Shown: b.shownIn,
			Templates: filepath.Join(b.Home, "agents", template.Folder),
			Locale:    cmp.Or(b.env("LC_ALL"), b.env("LC_MESSAGES"), b.env("LANG")),
			Knowledge: b.knowledge(),
		},
		Catalog: b.catalog, SetTrust: b.setTrust, Reviews: reviews{b}, SetFolders: b.setFolders, Commands: b.commands,
		Reach: b.reach, Values: b.values, SetValue: b.setValue, RunTest: b.RunTest,
		Home:   cmp.Or(b.env("HOME"), b.env("USERPROFILE")),
		Memory: filepath.Join(workspace.CanonicalPath(b.Home), "GEMINI.md"), Known: b.Secrets.MaskKnown,
		MakeShown: b.makeShown, Renew: b.reread,
	}
}

// knowledge is what agent files are checked against: the table of models, and
// the settings of their folders.
func (b *daemon) knowledge() language.Knowledge {
	return language.Knowledge{
		Model: b.knows, Installed: b.newInstalled(), Generation: b.settings.generation.Load, Table: b.table,
		Servers:  b.servers,
		Home:     b.Home,
		Settings: b.userSettings(),
	}
}

// tools returns the built-in tools, or what stands in their place.
func (b *daemon) tools() []tool.Tool {
	all := builtin.Config{Reaper: true}.Tools()
	if b.Tools != nil {
		all = b.Tools(all)
	}
	return all
}

// trusted says whether a folder is. Without a folder there is nothing of a
// stranger's to distrust.
// Where that cannot be read it is not. It is asked often, and reads a file only when that
// has changed.
func (b *daemon) trusted(folder string) bool {
	if b.Trust || folder == "" {
		return true
	}
	ok, _, err := b.trust.Lookup(folder)
	if err != nil {
		b.Log.Warn("trust could not be read; nothing is trusted", "err", err)
	}
	return ok && err == nil
}

// trustError returns why it cannot be told whether a folder is trusted.
// nil also where it can be told, whatever it is.
func (b *daemon) trustError(folder string) error {
	if b.Trust || folder == "" {
		return nil
	}
	_, _, err := b.trust.Lookup(folder)
	return err
}

// approval returns how calls are approved, ask where nothing says so.
func (b *daemon) approval() agents.Approval {
	if b.Approval == "" {
		return "ask"
	}
	return b.Approval
}

// reach returns the folders in which runs may read and write.
func (b *daemon) reach() []string {
	return append(b.folders.paths(), b.settingsOf(b.first).runs.AdditionalFolders...)
}

// env returns a variable of the person's environment.
// "" where it is not set; of one that is set twice the first.
func (b *daemon) env(name string) string {
	for _, kv := range b.Environ {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}
