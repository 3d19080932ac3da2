package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/internal/collector"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/workspace"
)

// folders are those of the workspace, which a client may change. The catalog
// follows: current is closed when it has the agents of these folders.
// The zero value has no list yet; set gives it one before anybody asks.
type folders struct {
	mu      sync.Mutex
	list    []workspace.Folder // never changed, only replaced
	current chan struct{}
	moved   chan struct{} // capacity 1: the list is another
}

// set replaces the folders.
func (f *folders) set(list []workspace.Folder) {
	f.mu.Lock()
	defer f.mu.Unlock()
	// The first list is no change: nobody waits for moved yet.
	if f.moved == nil {
		f.moved = make(chan struct{}, 1)
	} else {
		select {
		case f.moved <- struct{}{}:
		default: // it is known already
		}
	}
	// Who asks from now on waits for the agents of the new list; who waits already goes
	// on.
	if f.current == nil || closed(f.current) {
		f.current = make(chan struct{})
	}
	f.list = slices.Clone(list)
}

// get returns the folders, and what is closed when the catalog has their
// agents.
func (f *folders) get() ([]workspace.Folder, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.list, f.current
}

// catalogReached says that the catalog has the agents of list, which may not be the
// folders any more.
// It is called with the list that was read, so that a catalog which was read for older
// folders lets nobody through.
func (f *folders) catalogReached(list []workspace.Folder) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.Equal(list, f.list) && !closed(f.current) {
		close(f.current)
	}
}

// closed reports whether a channel is closed, of one to which nothing is ever sent.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// paths returns the folders, canonical. The list is the caller's, who may append to it.
func (f *folders) paths() []string {
	list, _ := f.get()
	paths := make([]string, 0, len(list))
	for _, folder := range list {
		paths = append(paths, folder.Canonical)
	}
	return paths
}

// setFolders takes over the folders of the client. It does not wait until the
// catalog has their agents; who asks for the catalog does.
// There is no error.
func (b *daemon) setFolders(_ context.Context, list []workspace.Folder) error {
	b.folders.set(list)
	b.settings.forget() // which file a rule reveals depends on where links lie
	b.relyOn("")
	b.tellProblems()
	b.mcp.Refresh()
	return nil
}

// catalog returns the agents once they have been read.
// The error is that of ctx or of the daemon's end. Right after a change of folders
// it waits for them, so that a client which asks at once is not told of agents from
// before.
func (b *daemon) catalog(ctx context.Context) (*registry.Snapshot, error) {
	_, current := b.folders.get()
	select {
	case <-current:
		return b.registry.Snapshot(), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-b.ctx.Done():
		return nil, b.ctx.Err()
	}
}

// places are where agents are looked for.
// In safe mode there are none.
func (b *daemon) places(list []workspace.Folder) []registry.Place {
	if b.safe {
		return nil
	}
	places := []registry.Place{{Scope: definition.Global, Dir: filepath.Join(b.Home, "agents")}}
	for _, f := range list {
		places = append(places, registry.Place{
			Scope: definition.Project, Dir: filepath.Join(f.Canonical, ".gemini", "agents"),
			Folder: f.Canonical, Name: f.Name,
		})
	}
	return append(places, b.bundlePlaces(list)...)
}

// watchTargets are the folders of agents and the files of settings. With them are the
// files of trust and of answers for always, and those of bundles.
func (b *daemon) watchTargets(list []workspace.Folder) (dirs, files []string) {
	for _, p := range b.places(list) {
		dirs = append(dirs, p.Dir)
	}
	files = []string{b.userSettings(), b.trustFile(), b.permissionsFile()}
	files = append(files, b.bundleFiles(list)...)
	for _, f := range list {
		files = append(files, filepath.Join(f.Canonical, workspace.ProjectSettings))
	}
	return dirs, files
}

// followOn follows, and once there is no following any more it lets nobody wait
// for the catalog, until ctx ends.
// A client would otherwise wait for ever for agents after a bug in follow.
func (b *daemon) followOn(ctx context.Context) {
	b.guardWork("see changes of files", b.follow)
	for ctx.Err() == nil {
		list, _ := b.folders.get()
		b.folders.catalogReached(list)
		select {
		case <-b.folders.moved:
		case <-ctx.Done():
		}
	}
}

// follow reads the catalog and then takes changes of files and folders in,
// until ctx ends.
// One goroutine does it, so changes are taken in one after another.
func (b *daemon) follow(ctx context.Context) {
	list, _ := b.folders.get()
	// First the watcher: what changes after it began is told.
	var batches <-chan workspace.Batch
	watcher := b.watch(list)
	if watcher != nil {
		defer func() { _ = watcher.Close() }() // it always returns nil
		batches = watcher.Batches()
	}
	b.readFirst(ctx, list)
	b.takeChanges(ctx, watcher, batches)
}

// watch begins to watch the files of some folders. It returns nil where that is not
// possible, or not wanted.
// The caller closes it.
func (b *daemon) watch(list []workspace.Folder) *workspace.Watcher {
	if b.Brief {
		return nil
	}
	dirs, files := b.watchTargets(list)
	watcher, err := workspace.NewWatcher(workspace.WatchConfig{Dirs: dirs, Files: files, Now: b.Now, Notice: b.notice})
	if err != nil {
		b.notice("agentls does not see changes of files: " + err.Error())
		return nil
	}
	b.watcher.Store(watcher)
	b.settings.forget() // what changed since the start was told to nobody
	b.setTable(b.settingsOf(b.first).table)
	return watcher
}

// readFirst reads the catalog for the first time.
// The order matters: trust says which bundles and servers count, and these say where
// agents are and what they are checked against. Memory is given back when all of it is
// done.
func (b *daemon) readFirst(ctx context.Context, list []workspace.Folder) {
	b.completeTrust(ctx, list)
	b.relyOn("")
	b.bundlesMoved()
	b.serversMoved() // those that there are now are what the agents are checked against
	if _, err := b.registry.SetPlaces(ctx, b.places(list)); err != nil && ctx.Err() == nil {
		b.Log.Error("the agents could not be read", "err", err)
	}
	collector.Restore()
	if !b.Brief {
		debug.FreeOSMemory() // half of the heap is what only the start needed
		unmapBinary()
	}
	b.folders.catalogReached(list)
	b.tellProblems()
	if !b.Brief {
		for _, f := range list {
			b.mcp.Warm(f.Canonical)
		}
	}
	b.sweep()
}

// takeChanges takes changes of files and folders in, until ctx ends.
// batches may be nil: then only folders change.
//
// again is set while files were found half-written and asks for one more look; a change
// that comes before it takes its place.
func (b *daemon) takeChanges(ctx context.Context, watcher *workspace.Watcher, batches <-chan workspace.Batch) {
	var again <-chan time.Time // when half-written files are looked at once more
	for {
		var next func() (*registry.Snapshot, error)
		select {
		case <-ctx.Done():
			return
		case batch, ok := <-batches:
			if !ok {
				batches = nil // the watcher has told why
				continue
			}
			next = func() (*registry.Snapshot, error) { return b.takeIn(ctx, batch) }
		case <-again:
			next = func() (*registry.Snapshot, error) {
				return b.registry.Apply(ctx, b.registry.Snapshot().Stale(), nil)
			}
		case <-b.folders.moved:
			list, _ := b.folders.get()
			if watcher != nil {
				if err := watcher.Set(b.watchTargets(list)); err != nil {
					b.Log.Warn("the new folders are not watched", "err", err)
				}
			}
			b.completeTrust(ctx, list)
			next = func() (*registry.Snapshot, error) {
				defer b.folders.catalogReached(list)
				// The agents are checked again only where other servers can be named in
				// them.
				if s, err := b.registry.SetPlaces(ctx, b.places(list)); err != nil || !b.serversMoved() {
					return s, err
				}
				return b.registry.Reparse(ctx) // the person's own agents run in the new folders
			}
		}
		after, err := b.renew(next)
		if err != nil {
			continue // the daemon ends
		}
		again = nil
		if len(after.Stale()) > 0 {
			again = time.After(staleAfter)
		}
	}
}

// renew changes the catalog and tells what became of it, one change at a time:
// what is told is what differs from what was told before.
// change must return the snapshot that is the newest then. Its error is passed on,
// and nothing is told.
func (b *daemon) renew(change func() (*registry.Snapshot, error)) (*registry.Snapshot, error) {
	b.renewing.Lock()
	defer b.renewing.Unlock()
	before := b.registry.Snapshot()
	after, err := change()
	if err == nil {
		b.site.Changed(before, after)
	}
	return after, err
}

// reread reads agent files again at once; a path that is no more is an agent no
// more.
// It returns when the catalog has them, and clients were told.
func (b *daemon) reread(ctx context.Context, paths ...string) {
	_, _ = b.renew(func() (*registry.Snapshot, error) {
		return b.registry.Apply(ctx, paths,
			nil)
	}) // the error is ctx's
	if w := b.watcher.Load(); w != nil {
		w.Recheck(paths...) // the files may be gone again before the watcher has seen them
	}
}

// takeIn brings what the daemon knows up to date with files that changed.
// Trust comes first and bundles second, as both say which settings count, and these
// which agents there are. The error is ctx's.
func (b *daemon) takeIn(ctx context.Context, batch workspace.Batch) (*registry.Snapshot, error) {
	b.settings.forget()
	// Refresh comes last: it asks for the servers that the new trust and settings
	// describe.
	defer b.mcp.Refresh()
	all := slices.Concat(batch.Created, batch.Changed, batch.Removed)
	// What trust lets count is known before the settings below are read.
	if slices.Contains(all, b.trustFile()) {
		b.tellProblems()
		if b.trustMoved() {
			b.site.Trusted(b.registry.Renumber())
		}
		if b.serversMoved() { // a folder's settings count where it is trusted
			if _, err := b.registry.Reparse(ctx); err != nil {
				return nil, err
			}
		}
	}
	// Bundles bring agents and servers, so both are looked at where other bundles count.
	if b.bundlesMoved() || slices.Contains(all, b.Bundles().File()) {
		b.tellProblems()
		list, _ := b.folders.get()
		if w := b.watcher.Load(); w != nil {
			if err := w.Set(b.watchTargets(list)); err != nil {
				b.Log.Warn("what extensions bring is not watched", "err", err)
			}
		}
		if _, err := b.registry.SetPlaces(ctx, b.places(list)); err != nil {
			return nil, err
		}
		if b.serversMoved() {
			if _, err := b.registry.Reparse(ctx); err != nil {
				return nil, err
			}
		}
	}
	if slices.Contains(all, b.permissionsFile()) {
		b.tellProblems()
	}
	if slices.ContainsFunc(all, func(path string) bool { return filepath.Base(path) == filepath.Base(workspace.ProjectSettings) }) {
		b.tellProblems()
		moved := b.serversMoved()
		// Both are asked whatever the other says, since each keeps what it found for the
		// next time.
		if b.setTable(b.settingsOf(b.first).table) || moved {
			if _, err := b.registry.Reparse(ctx); err != nil {
				return nil, err
			}
		}
	}
	return b.registry.Apply(ctx, slices.Concat(batch.Created, batch.Changed), batch.Removed)
}

// staleAfter is how long a file that was found half-written has to be finished
// (REL-114).
const staleAfter = 200 * time.Millisecond

// setTable puts the rows of the person's settings into the table of models, and
// reports whether they are others than before.
//
// It compares first, since a table that is set anew has every agent file read again.
func (b *daemon) setTable(rows []model.Entry) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if reflect.DeepEqual(rows, b.rows) {
		return false
	}
	b.rows = rows
	b.table.Set(rows...)
	return true
}

// completeTrust adds to records of earlier versions which directory they are of
// (SEC-15). Where that fails they are believed as they were.
func (b *daemon) completeTrust(ctx context.Context, list []workspace.Folder) {
	for _, f := range list {
		completed, err := b.trust.Complete(ctx, f.Canonical)
		switch {
		case err != nil:
			b.Log.Warn("the record of trust was not completed", "folder", f.Canonical, "err", err)
		case completed:
			b.Log.Info("the record of trust says now which directory it is of; another one in its place is not trusted",
				"folder", f.Canonical)
		}
	}
}

// problems returns what is wrong with the settings of some folders, with the
// records of trust and with the answers for always, each once.
// Each is a sentence with its place. Texts are masked already.
// Banners come first, then each folder in the given order, then trust and permissions.
func (b *daemon) problems(folders ...string) []string {
	all := slices.Clone(b.banners)
	for _, folder := range folders {
		of := b.settingsOf(folder)
		for _, p := range slices.Concat(of.problems, of.notes, b.bundleProblems(folder)) {
			if !slices.Contains(all, p) { // the person's own settings hold in all folders
				all = append(all, p)
			}
		}
	}
	if _, err := b.trust.Records(); err != nil {
		all = append(all, fault.Message(err))
	}
	for i, folder := range folders { // the first of the start is mostly among those of now, too
		_, record, err := b.trust.Lookup(folder)
		if err == nil && record.Replaced && !slices.Contains(folders[:i], folder) {
			all = append(all, fmt.Sprintf("%s is not trusted any more: another folder has taken its place since you trusted it. "+
				"Look at it, then run `agentls trust %s`.", folder, folder))
		}
	}
	if b.always != nil { // not so where only the access to models is checked
		if _, err := b.always.Of(b.first); err != nil {
			all = append(all, fault.Message(err))
		}
	}
	return all
}

// tellProblems says what is wrong with the settings of all folders, and with
// trust, by now.
// All are told each time: a client shows them in place of those before.
func (b *daemon) tellProblems() {
	b.telling.Lock() // what is told last was read last
	defer b.telling.Unlock()
	all := b.problems(append(b.folders.paths(), b.first)...)
	if b.site.Problems != nil {
		b.site.Problems(all)
	}
}

// relyOn keeps how far the folders of the workspace are trusted: those that were
// not known yet, and those that are another folder or lie in it, where one is
// named.
//
// With changed "" only folders that are new are looked at. relied is compared by
// trustMoved.
func (b *daemon) relyOn(changed string) {
	for _, folder := range b.folders.paths() {
		b.mu.Lock()
		_, known := b.relied[folder]
		b.mu.Unlock()
		// standing reads files, so it is asked without the lock.
		if _, inside := workspace.Below(changed, folder); known && (changed == "" || !inside) {
			continue
		}
		is := b.standing(folder)
		b.mu.Lock()
		b.relied[folder] = is
		b.mu.Unlock()
	}
}

// trustMoved reports whether a folder of the workspace is trusted that was not
// before, or the other way round, or other items of it are approved.
//
// It keeps what it found, so that the next question is about changes from then on.
func (b *daemon) trustMoved() bool {
	moved := false
	for _, folder := range b.folders.paths() {
		is := b.standing(folder)
		b.mu.Lock()
		was, known := b.relied[folder]
		b.relied[folder] = is
		b.mu.Unlock()
		moved = moved || (known && was != is)
	}
	return moved
}

// notice tells the person something that is no answer.
// It is told once; see problems for what stays.
func (b *daemon) notice(text string) {
	b.Log.Warn(text)
	if b.site.Notice != nil {
		b.site.Notice(text)
	}
}
