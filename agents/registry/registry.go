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
// # Failure
//
// One file never hurts another: what cannot be read or parsed is an [Entry] with
// a problem. Trust (spec 4.4) is not this package's concern.
//
// It imports definition and fault only, and watches nothing: who watches calls
// Apply with what changed.
package registry

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/agentls/agentls/agents/definition"
)

// Place is a folder that holds agent files.
type Place struct {
	Scope  definition.Scope // Project, Global or Extension
	Dir    string           // the folder of *.md files, absolute; it need not exist
	Folder string           // the workspace folder of a project place, absolute; else ""
	Name   string           // what folder:name calls the workspace folder; "" = its last part
}

// Config is what a registry is made of. The zero value has the system agents
// only.
type Config struct {
	// Places in order of precedence within a scope: workspace folders in the
	// workspace's order. Scopes rank by spec 1.1 whatever their order here.
	Places []Place
	// Main is the system prompt of main; "" = the built-in one.
	Main string
	// Model is definition.Source.Model, called from several goroutines at once.
	Model func(name string) (string, bool)
	// URI makes the URI that problems carry of a path; nil = definition.FileURI.
	URI func(path string) string
}

// Registry owns the newest snapshot.
type Registry struct {
	config Config
	system []*definition.Definition
	head   atomic.Pointer[Snapshot]

	mu     sync.Mutex
	places []Place          // guarded by mu
	disk   map[string]*file // guarded by mu: what was read, by path
	faults map[string]*file // guarded by mu: places that cannot be read, by Dir
}

// New returns a registry whose snapshot holds the system agents. It reads
// nothing; call [Registry.Load].
func New(config Config) *Registry {
	r := &Registry{config: config, places: slices.Clone(config.Places), disk: map[string]*file{}, faults: map[string]*file{}}
	if r.config.URI == nil {
		r.config.URI = definition.FileURI
	}
	r.system = []*definition.Definition{mainAgent(config.Main)}
	r.head.Store(r.resolve(nil))
	return r
}

// Snapshot returns the newest snapshot, at once. It is never nil.
func (r *Registry) Snapshot() *Snapshot { return r.head.Load() }

// Load brings every place up to date with the disk and returns the new
// snapshot: folders are listed, files whose size, times and identity are as
// before are not read again. When nothing changed, the snapshot is the one
// before. The error is ctx's, and the snapshot then stays as it was.
func (r *Registry) Load(ctx context.Context) (*Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.load(ctx, r.places, false)
}

// Reparse is Load that reads every file again, as when Config.Model answers
// differently after a change of settings.
func (r *Registry) Reparse(ctx context.Context) (*Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.load(ctx, r.places, true)
}

// SetPlaces replaces the places, as when workspace folders or extensions come
// and go, and loads.
func (r *Registry) SetPlaces(ctx context.Context, places []Place) (*Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.places
	r.places = slices.Clone(places)
	s, err := r.load(ctx, r.places, false)
	if err != nil {
		r.places = before
	}
	return s, err
}

// load reads the given places and publishes; r.mu is held. anyway is job's.
func (r *Registry) load(ctx context.Context, places []Place, anyway bool) (*Snapshot, error) {
	var wanted []job
	faults := make(map[string]*file)
	kept := make(map[string]*file, len(r.disk))
	for i := range places {
		if err := ctx.Err(); err != nil {
			return r.head.Load(), err
		}
		names, fault := r.list(&places[i])
		if fault != nil {
			faults[places[i].Dir] = fault
		}
		for _, name := range names {
			path := filepath.Join(places[i].Dir, name)
			if _, twice := kept[path]; twice {
				continue
			}
			kept[path] = nil
			wanted = append(wanted, job{path: path, place: &places[i], known: r.disk[path], anyway: anyway})
		}
	}
	read, err := r.readAll(ctx, wanted)
	if err != nil {
		return r.head.Load(), err
	}
	for i, f := range read {
		if f == nil {
			delete(kept, wanted[i].path)
			continue
		}
		kept[wanted[i].path] = f
	}
	r.disk, r.faults = kept, faults
	return r.publish(), nil
}

// Apply reads again what a watcher says has changed or is gone, and returns the
// new snapshot. Both lists are hints: of each path the disk has the last word,
// and a named file is read even if it looks as before. A path that is a place's
// folder, or lies above one, stands for all its files. Paths that concern no
// place are ignored. When nothing changed, the snapshot is the one before. The
// error is ctx's, and the snapshot then stays as it was.
func (r *Registry) Apply(ctx context.Context, changed, removed []string) (*Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var wanted []job
	seen := make(map[string]bool, len(changed)+len(removed))
	for _, path := range slices.Concat(changed, removed) {
		path = filepath.Clean(path)
		if seen[path] {
			continue
		}
		seen[path] = true
		for i := range r.places {
			place := &r.places[i]
			switch {
			case place.Dir == path || strings.HasPrefix(place.Dir, path+string(filepath.Separator)):
				// Everything may be different; a full load is quick where nothing is.
				return r.load(ctx, r.places, false)
			case filepath.Dir(path) != place.Dir || !candidate(filepath.Base(path)):
				continue
			}
			wanted = append(wanted, job{path: path, place: place, known: r.disk[path], anyway: true})
			break
		}
	}
	read, err := r.readAll(ctx, wanted)
	if err != nil {
		return r.head.Load(), err
	}
	for i, f := range read {
		if f == nil {
			delete(r.disk, wanted[i].path)
			continue
		}
		r.disk[wanted[i].path] = f
	}
	return r.publish(), nil
}

// publish makes a snapshot of what was read, if it differs from the one before.
func (r *Registry) publish() *Snapshot {
	last := r.head.Load()
	next := r.resolve(last)
	if next.same(last) {
		return last
	}
	next.Revision = last.Revision + 1
	r.head.Store(next)
	return next
}
