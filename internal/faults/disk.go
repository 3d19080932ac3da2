package faults

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/agentls/agentls/agents/activity"
)

// T hears of what no program may do, and of a Disk that does not work;
// *testing.T is one.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// Disk is a file system with faults. See the package's doc.
type Disk struct {
	t    T
	real bool // every call is done on the machine's files as well

	mu    sync.Mutex
	names map[string]*node // as the running system sees them
	safe  map[string]*node // those whose folder was synced
	moves []move           // changes of names that are not safe, in order
	calls []Call
	fault Fault
	ended bool
}

// node is a file, whatever its name is.
type node struct {
	now, safe []byte
	lost      bool // a sync failed: no later one makes safe what is there now
}

// move is a change of a name. from is "" for a file that is made, to for one
// that is removed.
type move struct {
	from, to string
	node     *node
}

// Memory returns an empty file system in memory. It has no folders: every name
// can be made.
func Memory(t T) *Disk {
	return &Disk{t: t, names: make(map[string]*node), safe: make(map[string]*node)}
}

// Folder returns a file system over the machine's files, for a test's own
// folder: calls are done there too, and reads come from there. A file that it
// meets for the first time counts as safe, and what is done to files past it is
// not known to it.
func Folder(t T) *Disk {
	d := Memory(t)
	d.real = true
	return d
}

// Fail sets the fault that is asked from now on; nil lets all be done.
func (d *Disk) Fail(f Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = f
}

// Calls returns the calls so far, also those that failed.
func (d *Disk) Calls() []Call {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls)
}

// Ended reports whether the machine has ended.
func (d *Disk) Ended() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ended
}

// Put makes a file, on stable storage, past the count. A file that is there is
// replaced.
func (d *Disk) Put(name string, data []byte) {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	n := &node{now: slices.Clone(data), safe: slices.Clone(data)}
	d.names[name], d.safe[name] = n, n
	d.moves = slices.DeleteFunc(d.moves, func(m move) bool { return m.from == name || m.to == name })
	if d.real {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			d.t.Errorf("faults: %v", err)
		}
	}
}

// Now returns what a file holds for the running system; false where there is
// none.
func (d *Disk) Now(name string) ([]byte, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.at(name)
	if n == nil {
		return nil, false
	}
	return slices.Clone(n.now), true
}

// Safe returns what of a file is on stable storage for sure; false where its
// name is not.
func (d *Disk) Safe(name string) ([]byte, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at(name)
	n := d.safe[name]
	if n == nil {
		return nil, false
	}
	return slices.Clone(n.safe), true
}

// Names returns the files that there are for the running system, in order. Over
// a folder those that were met.
func (d *Disk) Names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]string, 0, len(d.names))
	for name := range d.names {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// at returns a name's node, nil for none. d.mu is held.
func (d *Disk) at(name string) *node {
	if n := d.names[name]; n != nil || !d.real {
		return n
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	n := &node{now: data, safe: slices.Clone(data)}
	d.names[name], d.safe[name] = n, n
	return n
}

// call counts a call and asks the fault. d.mu is held.
func (d *Disk) call(op Op, name string, size int) error {
	if d.ended {
		return ErrEnded
	}
	c := Call{N: len(d.calls) + 1, Op: op, Name: name, Size: size}
	d.calls = append(d.calls, c)
	if d.fault == nil {
		return nil
	}
	err := d.fault(c)
	if errors.Is(err, ErrEnded) {
		d.ended = true
	}
	return err
}

// plain takes a Torn off an error.
func plain(err error) error {
	if torn, ok := errors.AsType[Torn](err); ok {
		return torn.Err
	}
	return err
}

// Open opens a file; see [activity.Files]. Reading goes on after the machine's
// end.
func (d *Disk) Open(name string, flag int, perm fs.FileMode) (activity.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.at(name)
	switch {
	case n == nil && flag&os.O_CREATE == 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case n != nil && flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrExist}
	}
	changes := n == nil || flag&os.O_TRUNC != 0
	if changes {
		if err := d.call(Create, name, 0); err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: plain(err)}
		}
	}
	f := &file{disk: d, name: name, appends: flag&os.O_APPEND != 0}
	if d.real {
		var err error
		if f.real, err = os.OpenFile(name, flag, perm); err != nil {
			return nil, err
		}
	}
	if n == nil {
		n = &node{}
		d.names[name] = n
		d.moves = append(d.moves, move{"", name, n})
	} else if changes {
		n.now, n.lost = nil, false
	}
	f.node = n
	return f, nil
}

// Rename puts a file in another's place.
func (d *Disk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.at(from)
	d.at(to) // what it replaces may come back
	if n == nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrNotExist}
	}
	if err := d.call(Rename, to, 0); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: plain(err)}
	}
	if d.real {
		if err := os.Rename(from, to); err != nil {
			return err
		}
	}
	delete(d.names, from)
	d.names[to] = n
	d.moves = append(d.moves, move{from, to, n})
	return nil
}

// Remove removes a file.
func (d *Disk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.at(name) == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	if err := d.call(Remove, name, 0); err != nil {
		return &fs.PathError{Op: "remove", Path: name, Err: plain(err)}
	}
	if d.real {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	delete(d.names, name)
	d.moves = append(d.moves, move{name, "", nil})
	return nil
}

// SyncDir makes the names of a folder safe.
func (d *Disk) SyncDir(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call(SyncDir, name, 0); err != nil {
		return &fs.PathError{Op: "sync", Path: name, Err: plain(err)}
	}
	dir := filepath.Clean(name)
	d.moves = slices.DeleteFunc(d.moves, func(m move) bool {
		in := (m.from != "" && filepath.Dir(m.from) == dir) || (m.to != "" && filepath.Dir(m.to) == dir)
		if in {
			m.apply(d.safe)
		}
		return in
	})
	return nil
}

// apply changes names as the move does.
func (m move) apply(names map[string]*node) {
	if m.from != "" {
		delete(names, m.from)
	}
	if m.to != "" {
		names[m.to] = m.node
	}
}
