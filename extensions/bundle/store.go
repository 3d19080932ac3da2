package bundle

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/filelock"
)

// Store is the person's bundles, and what they have approved of each. It has no state
// of its own but the disk, and is safe for concurrent use, also by several processes.
type Store struct {
	Home  string // the person's folder: ~/.gemini
	State string // the daemon's own folder in it
	// Named returns a text that is another one after any change of a file of the folder
	// that texts may name, as commands do. It must be set; it may read the files.
	Named func(ctx context.Context, folder string, said []string) ([]byte, error)
}

// State says whether a bundle takes effect.
type State string

// The states of a bundle.
const (
	Active     State = "enabled"
	Disabled   State = "disabled"
	Unapproved State = "not approved" // never, or it brings something else by now
	Broken     State = "broken"
)

// Listed is a bundle with its state. News and Gone are what the person is asked about.
type Listed struct {
	*Bundle
	State State
	News  []Item // what is new or changed since it was approved
	Gone  []Item // what was approved and is not there any more
}

// approval is what the person has approved of one bundle. A bundle that was disabled
// keeps what was approved of it.
type approval struct {
	Disabled bool              `json:"disabled,omitempty"`
	Items    map[string]string `json:"items"` // digests, by kind and name
}

// records is the content of the file of approvals, by the bundle's folder.
type records struct {
	Version int                 `json:"version"`
	Bundles map[string]approval `json:"bundles"`
}

// recordVersion is the version of the file that this program writes; of any other nothing counts.
const recordVersion = 1

// File is where approvals are kept: it changes with every bundle that comes, goes or
// is switched.
func (s *Store) File() string { return filepath.Join(s.State, "extensions.json") }

// Dir is the folder of the person's bundles.
func (s *Store) Dir() string { return filepath.Join(s.Home, "extensions") }

// load reads the approvals. It fails closed: of a file that is not understood, or that
// others can write to, nothing counts. With an error the records are empty, not nil.
func (s *Store) load() (*records, error) {
	r := &records{Version: recordVersion, Bundles: map[string]approval{}}
	info, err := os.Lstat(s.File())
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	data, readErr := os.ReadFile(s.File())
	var read records
	switch {
	case err != nil || readErr != nil:
		err = errors.Join(err, readErr)
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0:
		err = errors.New("others could have written it")
	case json.Unmarshal(data, &read) != nil || read.Version != recordVersion || read.Bundles == nil:
		err = errors.New("it is not understood")
	default:
		return &read, nil
	}
	return r, fault.New(fault.Unavailable, "bundle.records",
		"no extension is enabled, since %s cannot be used: %w; remove it and approve your extensions again", s.File(),
		err)
}

// change changes the approvals. It waits for the lock of other processes until ctx
// ends. A file that cannot be read is not replaced.
// do may change the map; it is called once, with what is on disk then.
func (s *Store) change(ctx context.Context, do func(map[string]approval)) error {
	if err := os.MkdirAll(s.State, 0o700); err != nil {
		return err
	}
	lock := filelock.New(s.File() + ".lock")
	if ok, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil || !ok {
		return cmp.Or(err, ctx.Err())
	}
	defer func() { _ = lock.Unlock() }()
	r, err := s.load()
	if err != nil {
		return err
	}
	do(r.Bundles)
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(s.File(), append(data, '\n'))
}

// replaceFile writes a file of the person's own, whole or not at all.
//
// It is on stable storage before the rename, so that a crash leaves the old one or the new
// one.
func replaceFile(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// List returns the person's bundles and those of a workspace folder, "" for none, by
// name. Of two with one name the person's is first, and the other is broken. The error
// says that approvals cannot be read: no bundle is active then. It reads every bundle
// whole, each time.
func (s *Store) List(ctx context.Context, project string) ([]Listed, error) {
	records, err := s.load()
	var all []Listed
	add := func(dir, project string) {
		entries, _ := os.ReadDir(dir) // most have none
		for _, e := range entries {
			folder := filepath.Join(dir, e.Name())
			if info, err := os.Stat(folder); err != nil || !info.IsDir() || strings.HasPrefix(e.Name(), ".") {
				continue
			}
			l := judge(s.Read(ctx, folder, project), records)
			if slices.ContainsFunc(all, func(other Listed) bool { return other.Name == l.Name }) {
				l.State, l.Problem = Broken, "another extension has its name"
			}
			all = append(all, l)
		}
	}
	add(s.Dir(), "")
	// Where the project is the person's home, its folder is the one that was read
	// already.
	if project != "" && !inside(project, ".gemini/extensions", s.Dir()) {
		add(filepath.Join(project, ".gemini", "extensions"), project)
	}
	slices.SortStableFunc(all, func(a, b Listed) int { return cmp.Compare(a.Name, b.Name) })
	return all, err
}

// inside reports whether a folder of a project is the person's own, or leads out. A
// project that cannot be resolved counts as leading out.
// A folder that is not there is neither.
func inside(project, rel, own string) bool {
	real, err := filepath.EvalSymlinks(filepath.Join(project, filepath.FromSlash(rel)))
	if err != nil {
		return false // there is none
	}
	root, err := filepath.EvalSymlinks(project)
	if err != nil {
		return true
	}
	if resolved, err := filepath.EvalSymlinks(own); err == nil && resolved == real {
		return true
	}
	below, err := filepath.Rel(root, real)
	return err != nil || !filepath.IsLocal(below)
}

// judge says whether a bundle takes effect. Something that is gone does not make a
// bundle inactive: it has less effect than was approved.
// News has what a person must see before it can be active again. A disabled bundle stays
// so, whatever it brings.
func judge(b *Bundle, r *records) Listed {
	l := Listed{Bundle: b, State: Active}
	if b.Problem != "" {
		l.State = Broken
		return l
	}
	approved, known := r.Bundles[b.Folder]
	has := make(map[string]bool)
	for _, item := range b.Items {
		key := item.key()
		has[key] = true
		if digest, ok := approved.Items[key]; !ok || digest != item.Digest {
			l.News = append(l.News, item)
		}
	}
	for key := range approved.Items {
		if kind, name, _ := strings.Cut(key, "  "); !has[key] {
			l.Gone = append(l.Gone, Item{Kind: kind, Name: name})
		}
	}
	slices.SortFunc(l.Gone, func(a, b Item) int { return cmp.Compare(a.key(), b.key()) })
	switch {
	case approved.Disabled:
		l.State = Disabled
	case !known || len(l.News) > 0:
		l.State = Unapproved
	}
	return l
}

// key is what an item is called in the file of approvals.
func (i Item) key() string { return i.Kind + "  " + i.Name }

// Find returns the bundle of a name. The errors are NotFound, or with the bundle that
// of List.
func (s *Store) Find(ctx context.Context, project, name string) (Listed, error) {
	all, err := s.List(ctx, project)
	var names []string
	for _, l := range all {
		if l.Name == name {
			return l, err
		}
		names = append(names, l.Name)
	}
	if len(names) == 0 {
		return Listed{}, fault.New(fault.NotFound, "bundle.find", "there is no extension %s: none is installed", name)
	}
	return Listed{}, fault.New(fault.NotFound, "bundle.find", "there is no extension %s; there are %s", name,
		strings.Join(names, ", "))
}

// Approve records that a bundle may take effect as it was read. It also enables one
// that was disabled. It waits for other processes, and ends with ctx.
func (s *Store) Approve(ctx context.Context, b *Bundle) error {
	if b.Problem != "" {
		return fault.New(fault.Invalid, "bundle.approve", "%s cannot be used: %s", b.Name, b.Problem)
	}
	items := make(map[string]string, len(b.Items))
	for _, item := range b.Items {
		items[item.key()] = item.Digest
	}
	return s.change(ctx, func(all map[string]approval) { all[b.Folder] = approval{Items: items} })
}

// Disable records that a bundle takes no effect. What was approved stays, and counts
// when it is enabled again.
func (s *Store) Disable(ctx context.Context, b *Bundle) error {
	return s.change(ctx, func(all map[string]approval) {
		a := all[b.Folder]
		a.Disabled = true
		all[b.Folder] = a
	})
}

// Remove erases a bundle of the person's, and what was approved of it. What a link
// leads to stays. Only a folder right below the store's is removed.
func (s *Store) Remove(ctx context.Context, b *Bundle) error {
	if b.Project != "" {
		return fault.New(fault.Invalid, "bundle.remove", "%s is part of the project: delete %s", b.Name, b.Folder)
	}
	if filepath.Dir(b.Folder) != s.Dir() {
		return fault.New(fault.Invalid, "bundle.remove", "%s does not lie in %s", b.Folder, s.Dir())
	}
	if err := os.RemoveAll(b.Folder); err != nil {
		return err
	}
	return s.change(ctx, func(all map[string]approval) { delete(all, b.Folder) })
}
