// Package registry says which agents there are, and which hides which.
//
// # The one idea
//
// A [Snapshot] is a value: every agent file of every place as it was read, with
// its state decided by the rules of spec 1.1. A [Registry] owns the newest one.
// Reading the disk is [Registry.Load] and [Registry.Apply]; everything else
// reads a snapshot and may keep it, as a run keeps the definitions that it
// started with.
//
// # Order and ownership
//
// Load, Apply and SetPlaces are serialised by one lock that is held while files
// are read; [Registry.Snapshot] never waits. Goroutines are started only inside
// these calls, which wait for them.
//
// # Cost
//
// A catalogue of ten thousand files is read in some tenths of a second and kept
// in the size of the files and 1.6 KB for each; after a change of one of them
// only what its name concerns is decided anew. The benchmarks measure both.
//
// # Failure
//
// One file never hurts another: what cannot be read or parsed is an [Entry] with
// a problem. What an agent's neighbours make wrong with it, as a handoff to nobody,
// is found when it is asked for ([Snapshot.Findings]). Trust (spec 4.4) is not this
// package's concern.
//
// It watches nothing: who watches calls Apply with what changed.
//
// # Files
//
// disk.go lists folders and reads files, stat_*.go asks the system about them,
// resolve.go decides which agent hides which, snapshot.go answers questions about
// the result, findings.go, graph.go and graphs.go find what agents make wrong with
// each other, and system.go has the agents that are in the binary.
//
// # Invariants
//
//   - Entries of a snapshot are in the order of precedes, so that those of a name
//     are found by a binary search in each scope.
//   - What did not change is the same *Entry in the next snapshot (Snapshot.reuse),
//     so Diff and who keeps many snapshots need look at little.
//   - amend gives what resolve gives: deciding anew only the names that a change
//     concerns makes no difference (TestApplyIsLoad).
//   - A file belongs to one place, by a pointer that stays the same while the place
//     does (Registry.known), so that a file need not be read again when other
//     places come and go.
package registry

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/agentls/agentls/agents/definition"
)

// Place is a folder that holds agent files.
// Two places that are equal are one. A folder that does not exist yet is looked for
// again with each Load.
type Place struct {
	Scope  definition.Scope // Project, Global or Extension
	Dir    string           // the folder of *.md files, absolute; it need not exist
	Folder string           // the workspace folder of a project place or a project's extension, absolute; else ""
	Name   string           // what folder:name calls the workspace folder; "" = its last part
}

// Config is what a registry is made of. The zero value has the system agents
// only.
// It is not changed after [New]. Its functions must not call the registry, whose
// lock may be held.
type Config struct {
	// Places in order of precedence within a scope: workspace folders in the
	// workspace's order. Scopes rank by spec 1.1 whatever their order here.
	Places []Place
	// Model is definition.Source.Model, called from several goroutines at once.
	Model func(name string) (string, bool)
	// Installed is definition.Source.Installed, called from several goroutines at
	// once. When it answers differently, [Registry.Reparse] looks again.
	Installed definition.Installed
	// URI makes the URI that problems carry of a path; nil = definition.FileURI.
	URI func(path string) string
}

// Registry owns the newest snapshot.
// It is safe for concurrent use, and need not be closed. It keeps every file that
// it read, parsed, so it has the size of the catalogue.
type Registry struct {
	config Config
	system []*definition.Definition
	head   atomic.Pointer[Snapshot]

	mu     sync.Mutex
	places []Place          // guarded by mu
	known  map[Place]*Place // guarded by mu: each place under the one pointer by which files name it
	disk   map[string]*file // guarded by mu: what was read, by path
	faults map[*Place]*file // guarded by mu: places that cannot be read
}

// New returns a registry whose snapshot holds the system agents. It reads
// nothing; call [Registry.Load].
func New(config Config) *Registry {
	r := &Registry{config: config, places: slices.Clone(config.Places), known: map[Place]*Place{},
		disk: map[string]*file{}, faults: map[*Place]*file{}}
	r.system = systemAgents()
	r.head.Store(r.resolve(&Snapshot{}))
	return r
}

// Snapshot returns the newest snapshot, at once. It is never nil.
// Two calls may return different ones: whoever asks several questions takes one
// snapshot for all of them.
func (r *Registry) Snapshot() *Snapshot { return r.head.Load() }

// Load brings every place up to date with the disk and returns the new
// snapshot: folders are listed, files whose size, times and identity are as
// before are not read again. When nothing changed, the snapshot is the one
// before. The error is ctx's, and the snapshot then stays as it was. It keeps
// every processor busy while it reads files for the first time.
func (r *Registry) Load(ctx context.Context) (*Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.load(ctx, false)
}

// Reparse is Load that reads every file again, as when Config.Model answers
// differently after a change of settings.
// Its errors are as of Load.
func (r *Registry) Reparse(ctx context.Context) (*Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.load(ctx, true)
}

// SetPlaces replaces the places, as when workspace folders or extensions come
// and go, and loads: what lies in the new ones is read, what lay in those that
// are gone is dropped, and files of places that stay are not read again.
// The slice is copied. The error is ctx's; then the places stay those of before as
// well.
func (r *Registry) SetPlaces(ctx context.Context, places []Place) (*Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.places
	r.places = slices.Clone(places)
	s, err := r.load(ctx, false)
	if err != nil {
		r.places = before
	}
	return s, err
}

// folders returns the places by their folders. A folder that is several places
// is the person's own if it is one of those, as where the workspace is their
// home; else it is the first.
// r.mu is held. It also updates r.known.
func (r *Registry) folders() map[string]*Place {
	known := make(map[Place]*Place, len(r.places))
	byDir := make(map[string]*Place, len(r.places))
	for _, p := range r.places {
		p.Dir = filepath.Clean(p.Dir)
		at := r.known[p]
		if at == nil {
			at = &p
		}
		known[p] = at
		if first := byDir[p.Dir]; first == nil || (p.Scope == definition.Global && first.Scope != definition.Global) {
			byDir[p.Dir] = at
		}
	}
	r.known = known
	return byDir
}

// load reads the places and publishes; r.mu is held. anyway is job's.
// The new state takes effect as a whole, or not at all where ctx ended. If nothing
// changed, the snapshot stays the same one.
func (r *Registry) load(ctx context.Context, anyway bool) (*Snapshot, error) {
	var wanted []job
	faults := make(map[*Place]*file)
	for _, place := range r.folders() {
		if err := ctx.Err(); err != nil {
			return r.head.Load(), err
		}
		names, fault := r.list(place)
		if fault != nil {
			faults[place] = fault
		}
		wanted = slices.Grow(wanted, len(names))
		for _, name := range names {
			path := place.Dir + string(filepath.Separator) + name
			wanted = append(wanted, job{path: path, place: place, known: r.disk[path], anyway: anyway})
		}
	}
	read, err := r.readAll(ctx, wanted)
	if err != nil {
		return r.head.Load(), err
	}
	disk := make(map[string]*file, len(read))
	last := r.head.Load()
	// Faults are made anew with each look, so with one of them it is publish that finds out
	// whether anything is different.
	same := len(faults)+len(r.faults) == 0 && slices.Equal(r.places, last.places)
	for i, f := range read {
		same = same && f == wanted[i].known
		if f != nil {
			disk[wanted[i].path] = f
		}
	}
	if same && len(disk) == len(r.disk) {
		return last, nil
	}
	r.disk, r.faults = disk, faults
	return r.publish(r.resolve(last)), nil
}

// Apply reads again what a watcher says has changed or is gone, and returns the
// new snapshot. Both lists are hints: of each path the disk has the last word,
// and a named file is read even if it looks as before. A path that is a place's
// folder, or lies above one, stands for all its files. Paths that concern no
// place are ignored. When nothing changed, the snapshot is the one before. The
// error is ctx's, and the snapshot then stays as it was.
//
// What it costs beside reading grows with what changed, but for a walk over the
// snapshot's entries.
func (r *Registry) Apply(ctx context.Context, changed, removed []string) (*Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	byDir := r.folders()
	above := make(map[string]bool, 4*len(byDir))
	for dir := range byDir {
		for at := dir; !above[at]; at = filepath.Dir(at) {
			above[at] = true
		}
	}
	var wanted []job
	seen := make(map[string]bool, len(changed)+len(removed))
	safe := make(map[*Place]bool)
	for _, path := range slices.Concat(changed, removed) {
		path = filepath.Clean(path)
		if seen[path] {
			continue
		}
		seen[path] = true
		if above[path] {
			// Everything may be different; a full load is quick where nothing is.
			return r.load(ctx, false)
		}
		place := byDir[filepath.Dir(path)]
		if place == nil || !candidate(filepath.Base(path)) {
			continue
		}
		if !safe[place] && (r.faults[place] != nil || place.leadsOut()) {
			// Which of its files may be read is for the whole folder to say.
			return r.load(ctx, false)
		}
		safe[place] = true
		wanted = append(wanted, job{path: path, place: place, known: r.disk[path], anyway: true})
	}
	read, err := r.readAll(ctx, wanted)
	if err != nil {
		return r.head.Load(), err
	}
	// From here on nothing can fail: r.disk and the snapshot change together.
	changes := make([]change, 0, len(read))
	for i, f := range read {
		path := wanted[i].path
		if before := r.disk[path]; before != f {
			changes = append(changes, change{before, f})
		}
		if f == nil {
			delete(r.disk, path)
			continue
		}
		r.disk[path] = f
	}
	return r.publish(r.amend(r.head.Load(), changes)), nil
}

// Renumber publishes the newest snapshot once more, under the next revision, and
// returns it: what a client is shown of the agents has changed outside of their
// files, as by trust.
func (r *Registry) Renumber() *Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := *r.head.Load()
	next.Revision++
	r.head.Store(&next)
	return &next
}

// publish makes a snapshot the newest, if it differs from the one before.
// r.mu is held. next must not be known to others yet.
func (r *Registry) publish(next *Snapshot) *Snapshot {
	last := r.head.Load()
	if next.same(last) {
		return last
	}
	next.Revision = last.Revision + 1
	r.head.Store(next)
	return next
}
