// Package daemon puts a daemon together: workspace, agents, model and handlers
// become one connection. The binary serves with it, the command line runs it in
// its own process, and so do the tests.
//
// It decides nothing: what there is to decide lies below.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/model/gemini"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool/builtin"
	"github.com/agentls/agentls/handlers"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// Config is what a daemon is made of. Home, Now and Log are required.
type Config struct {
	Home     string   // the person's folder: ~/.gemini, or $GEMINI_HOME
	Environ  []string // the person's environment, as KEY=value
	Trust    bool     // the workspace is trusted for this process
	Approval agents.Approval
	// Transport reaches the model; nil is the network.
	Transport http.RoundTripper
	Version   string
	Parent    int // process that is watched; 0 = none
	Now       func() time.Time
	Log       *slog.Logger
}

// Serve serves one client on rwc until it goes or ctx ends. When it returns,
// runs are interrupted, child processes gone and logs on stable storage.
func Serve(ctx context.Context, rwc io.ReadWriteCloser, c Config) (server.Outcome, error) {
	var h *handlers.Handlers
	outcome, err := server.Serve(ctx, rwc, server.Config{Now: c.Now, Log: c.Log, Parent: c.Parent},
		func(ctx context.Context, peer server.Peer) []server.Route {
			h = handlers.New(ctx, peer, handlers.Config{Build: c.build, Version: c.Version, Now: c.Now, Log: c.Log})
			return h.Routes()
		})
	return outcome, errors.Join(err, h.Close())
}

// house is what belongs to one workspace.
type house struct {
	Config
	ctx      context.Context // ends with the connection
	site     handlers.Site
	trust    *workspace.Trust
	registry *registry.Registry
	settings settingsCache
	work     conc.WaitGroup
	loaded   chan struct{}                  // closed when the catalog has been read
	client   func() (*gemini.Client, error) // made when it is first called
	used     atomic.Bool                    // client was called
}

// build makes the parts of the daemon for a workspace. The catalog is read
// meanwhile.
func (c Config) build(ctx context.Context, site handlers.Site) (*handlers.House, error) {
	ctx, end := context.WithCancel(ctx)
	state := filepath.Join(c.Home, "agentls")
	b := &house{
		Config: c, ctx: ctx, site: site, loaded: make(chan struct{}),
		trust: workspace.NewTrust(c.trustFile(), c.Now),
	}
	var notes []string
	table := model.NewTable(c.Now)
	places := []registry.Place{{Scope: definition.Global, Dir: filepath.Join(c.Home, "agents")}}
	for _, f := range site.Folders {
		places = append(places, registry.Place{
			Scope: definition.Project, Dir: filepath.Join(f.Canonical, ".gemini", "agents"), Folder: f.Canonical, Name: f.Name,
		})
	}
	b.registry = registry.New(registry.Config{Places: places})
	settings := b.settingsOf(b.first())
	notes = append(notes, settings.problems...)
	host, _ := os.Hostname() // only to tell another daemon's person who holds a session
	sessions := session.Config{
		Health: site.Health,
		Folder: b.first(), Owner: fmt.Sprintf("agentls %s, process %d on %s", c.Version, os.Getpid(), host),
		Version: c.Version, Now: c.Now, Log: c.Log,
	}
	if settings.persistent {
		sessions.Dir = filepath.Join(state, "sessions", session.Key(b.first()))
	}
	store := session.New(sessions)
	if _, err := b.trust.Records(); err != nil {
		notes = append(notes, fault.Message(err))
	}
	b.client = sync.OnceValues(func() (*gemini.Client, error) { return b.newClient(table) })
	service := agents.NewService(ctx, agents.Config{
		Agents: b.registry.Snapshot, Sessions: store, Table: table, Provider: b.provider,
		Tools: builtin.Tools(), Folders: b.folders, Trusted: b.trusted,
		Settings: func(folder string) agents.Settings { return b.settingsOf(folder).runs },
		Approval: b.approval(), Environ: builtin.Environ(c.Environ), Now: c.Now, Log: c.Log,
		Home: canonical(b.env("HOME")), State: canonical(c.Home),
	})
	watcher, err := b.watch()
	if err != nil {
		end()
		return nil, errors.Join(err, service.Close())
	}
	b.work.Go(func() { b.load(ctx, watcher) })
	return &handlers.House{
		Agents: service, Catalog: b.catalog, Trusted: b.trusted, SetTrust: b.setTrust, Reach: b.reach,
		Shown: c.shown(), Notes: notes,
		Close: func() error {
			err := service.Close()
			end()
			err = errors.Join(err, watcher.Close())
			b.work.Wait()
			b.closeClient()
			return err
		},
	}, nil
}

// trustFile is where it is recorded which folders are trusted (spec 4.4).
func (c Config) trustFile() string { return filepath.Join(c.Home, "agentls", "trust.json") }

// shown returns the folder for texts that this process shows as files, and
// removes what others left that ended without doing so.
func (c Config) shown() string {
	all := filepath.Join(c.Home, "agentls", "shown")
	entries, _ := os.ReadDir(all) // a folder that is not there has nothing to remove
	for _, e := range entries {
		if info, err := e.Info(); err == nil && c.Now().Sub(info.ModTime()) > keepShown {
			_ = os.RemoveAll(filepath.Join(all, e.Name())) // what cannot be removed is tried again the next time
		}
	}
	return filepath.Join(all, strconv.Itoa(os.Getpid()))
}

// keepShown is how long texts stay that a daemon which was killed has shown.
const keepShown = 24 * time.Hour

// folders returns the workspace's folders, canonical.
func (b *house) folders() []string {
	var list []string
	for _, f := range b.site.Folders {
		list = append(list, f.Canonical)
	}
	return list
}

func (b *house) first() string {
	if len(b.site.Folders) == 0 {
		return ""
	}
	return b.site.Folders[0].Canonical
}

// trusted says whether a folder is. Without a folder there is nothing of a
// stranger's to distrust.
func (b *house) trusted(folder string) bool {
	if b.Trust || folder == "" {
		return true
	}
	ok, _, err := b.trust.Trusted(folder)
	if err != nil {
		b.Log.Warn("trust could not be read; nothing is trusted", "err", err)
	}
	return ok && err == nil
}

func (b *house) setTrust(folder string, trusted bool) error {
	defer b.settings.forget() // after: who reads meanwhile may see what was
	return b.trust.Set(b.ctx, folder, trusted)
}

func (b *house) approval() agents.Approval {
	if b.Approval == "" {
		return "ask"
	}
	return b.Approval
}

// reach returns the folders in which runs may read and write.
func (b *house) reach() []string {
	return append(b.folders(), b.settingsOf(b.first()).runs.AdditionalFolders...)
}

// catalog returns the agents once they have been read.
func (b *house) catalog(ctx context.Context) (*registry.Snapshot, error) {
	select {
	case <-b.loaded:
		return b.registry.Snapshot(), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// load reads the catalog and then takes changes of files in, until the watcher
// is closed.
func (b *house) load(ctx context.Context, watcher *workspace.Watcher) {
	if _, err := b.registry.Load(ctx); err != nil && ctx.Err() == nil {
		b.Log.Error("the agents could not be read", "err", err)
	}
	close(b.loaded)
	var again <-chan time.Time // when half-written files are looked at once more
	for {
		var changed, removed []string
		select {
		case batch, ok := <-watcher.Batches():
			if !ok {
				return
			}
			b.settings.forget()
			if slices.Contains(slices.Concat(batch.Created, batch.Changed, batch.Removed), b.trustFile()) {
				b.site.Trusted(b.registry.Snapshot())
			}
			changed, removed = append(batch.Created, batch.Changed...), batch.Removed
		case <-again:
			changed = b.registry.Snapshot().Stale()
		}
		before := b.registry.Snapshot()
		after, err := b.registry.Apply(ctx, changed, removed)
		if err != nil {
			continue // the daemon ends
		}
		again = nil
		if len(after.Stale()) > 0 {
			again = time.After(staleAfter)
		}
		b.site.Changed(before, after)
	}
}

// staleAfter is how long a file that was found half-written has to be finished
// (REL-114).
const staleAfter = 200 * time.Millisecond

// watch starts watching the folders of agents and the settings.
func (b *house) watch() (*workspace.Watcher, error) {
	dirs := []string{filepath.Join(b.Home, "agents")}
	files := []string{filepath.Join(b.Home, "settings.json"), b.trustFile()}
	for _, folder := range b.folders() {
		dirs = append(dirs, filepath.Join(folder, ".gemini", "agents"))
		files = append(files, filepath.Join(folder, workspace.ProjectSettings))
	}
	return workspace.NewWatcher(workspace.WatchConfig{
		Dirs: dirs, Files: files, Now: b.Now, Notice: func(text string) { b.Log.Warn("watching files", "notice", text) },
	})
}

// newClient makes the client of the Gemini API.
func (b *house) newClient(table *model.Table) (*gemini.Client, error) {
	b.used.Store(true)
	key := b.env("GOOGLE_API_KEY") // as in Google's SDKs, this one wins
	if key == "" {
		key = b.env("GEMINI_API_KEY")
	}
	if key == "" {
		return nil, fault.New(fault.Denied, "daemon.provider",
			"no key for the Gemini API: set GEMINI_API_KEY in the environment of agentls (keys: https://aistudio.google.com/apikey); `agentls demo` needs none").
			Because(fault.AuthRequired, "command", "export GEMINI_API_KEY=…")
	}
	return gemini.New(gemini.Config{
		APIKey: key, BaseURL: b.env("GOOGLE_GEMINI_BASE_URL"), Transport: b.Transport, Proxy: http.ProxyFromEnvironment, Table: table, Now: b.Now,
	})
}

// provider returns who answers for a model.
func (b *house) provider(id string) (model.Model, error) {
	if vendor, _, ok := strings.Cut(id, "/"); ok && vendor != "gemini" && vendor != "models" || strings.HasPrefix(id, "claude-") {
		return nil, fault.New(fault.NotFound, "daemon.provider", "no provider is configured for the model %q; use a Gemini model", id).Because(fault.Config)
	}
	return b.client()
}

// closeClient gives the connections to the model back.
func (b *house) closeClient() {
	if b.used.Load() {
		if client, err := b.client(); err == nil {
			_ = client.Close() // it has nothing to save
		}
	}
}

// canonical returns a path with its links resolved, or as it is where that
// cannot be told.
func canonical(path string) string {
	if resolved, err := workspace.Canonical(path); err == nil {
		return resolved
	}
	return path
}

// env returns a variable of the person's environment.
func (b *house) env(name string) string {
	for _, kv := range b.Environ {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// HomeOf returns the person's folder: $GEMINI_HOME, or ~/.gemini.
func HomeOf(getenv func(string) string) (string, error) {
	if home := getenv("GEMINI_HOME"); home != "" {
		return filepath.Abs(home)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fault.New(fault.Unavailable, "daemon.home", "no home folder: set HOME or GEMINI_HOME (%w)", err)
	}
	return filepath.Join(home, ".gemini"), nil
}
