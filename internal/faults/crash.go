package faults

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
)

// Kill returns what the next process finds when this one has died: all that was
// written, of which only what was safe is. The Disk has ended; the new one has
// no fault and no calls.
func (d *Disk) Kill() *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
	next := &Disk{t: d.t, real: d.real, names: make(map[string]*node), safe: make(map[string]*node)}
	copies := make(map[*node]*node)
	again := func(n *node) *node {
		if n == nil {
			return nil
		}
		if copies[n] == nil {
			copies[n] = &node{now: slices.Clone(n.now), safe: slices.Clone(n.safe), lost: n.lost}
		}
		return copies[n]
	}
	for name, n := range d.names {
		next.names[name] = again(n)
	}
	for name, n := range d.safe {
		next.safe[name] = again(n)
	}
	for _, m := range d.moves {
		next.moves = append(next.moves, move{m.from, m.to, again(m.node)})
	}
	return next
}

// Cut returns what the next process finds when the power went: with nil only
// what was synced, else also, by chance, some of the rest: of the changes of
// names the first so many, of a file that grew some of what came after its last
// sync, with zeros behind it or not. All that is there is safe. The Disk has
// ended; the new one has no fault and no calls. Over a folder, the machine's
// files are made what it says, so the old Disk cannot be asked again.
func (d *Disk) Cut(by *rand.Rand) *Disk {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
	found := maps.Clone(d.safe)
	if by != nil {
		for _, m := range d.moves[:by.IntN(len(d.moves)+1)] {
			m.apply(found)
		}
	}
	next := &Disk{t: d.t, real: d.real, names: make(map[string]*node), safe: make(map[string]*node)}
	for _, name := range slices.Sorted(maps.Keys(found)) { // in order: chance is a seed's
		data := found[name].left(by)
		n := &node{now: data, safe: slices.Clone(data)}
		next.names[name], next.safe[name] = n, n
	}
	if d.real {
		if err := d.remake(next); err != nil {
			d.t.Errorf("faults: %v", err)
		}
	}
	return next
}

// left returns what is left of a file's content.
func (n *node) left(by *rand.Rand) []byte {
	switch {
	case by == nil, bytes.Equal(n.now, n.safe):
		return slices.Clone(n.safe)
	case !bytes.HasPrefix(n.now, n.safe):
		if by.IntN(2) == 0 {
			return slices.Clone(n.safe)
		}
		return slices.Clone(n.now)
	}
	rest := n.now[len(n.safe):]
	some := by.IntN(len(rest) + 1)
	data := slices.Concat(n.safe, rest[:some])
	if by.IntN(2) == 0 {
		data = append(data, make([]byte, by.IntN(len(rest)-some+1))...)
	}
	return data
}

// remake makes the machine's files those of next. d.mu is held.
func (d *Disk) remake(next *Disk) error {
	var errs []error
	for name := range d.names {
		if next.names[name] == nil {
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	for name, n := range next.names {
		// As a new file: who has the old one open does not see it change.
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		errs = append(errs, os.WriteFile(name, n.now, 0o600))
	}
	return errors.Join(errs...)
}
