package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/agentls/agentls/internal/fault"
)

// maxLinks is how many symbolic links one name may lead through; the kernel's
// own limit.
const maxLinks = 40

// place is where a name leads: the open folder that holds it and the name in
// that folder, after every link. What is done through dir is done in that very
// folder, whatever somebody makes of the path meanwhile (SEC-55).
type place struct {
	dir  *os.Root
	base string
	rel  string      // of the whole, relative to the Disk's folder; no element of it is a link
	info fs.FileInfo // of the last element, not followed; nil when it is not there

	disks bool // dir is the Disk's own, which stays open
}

// close gives the folder back, unless it is the Disk's own.
func (p *place) close() {
	if !p.disks {
		_ = p.dir.Close()
	}
}

// walk says how a name is followed.
// It is used for one name.
type walk struct {
	op       string // for errors
	mkdir    bool   // make folders that are missing
	keepLink bool   // a link as the last element is the place, not where it leads
	disk     *Disk
	name     string     // as the caller wrote it
	handles  []*os.Root // of the folders in done; handles[0] is the Disk's own and not ours to close
	done     []string   // elements walked, no link among them
	todo     []string
	links    int
	missing  []string // the element that is not there, when there is none
}

// locate follows name element by element from the Disk's folder on. Each folder
// is opened through the handle of the one above it and compared with what was
// looked at before it was opened, so that a link that takes a folder's place in
// between is noticed. The caller closes the place.
func (w *walk) locate() (*place, error) {
	rel, err := w.disk.relative(w.op, w.name)
	if err != nil {
		return nil, err
	}
	w.handles = []*os.Root{w.disk.root}
	w.todo = elements(rel)
	defer w.closeAll()
	for len(w.todo) > 0 {
		element := w.todo[0]
		w.todo = w.todo[1:]
		if element == ".." {
			if err := w.up(); err != nil {
				return nil, err
			}
			continue
		}
		p, err := w.step(element)
		if p != nil || err != nil {
			return p, err
		}
	}
	return nil, fault.New(fault.Invalid, w.op, "%q is a folder", w.name)
}

// step goes one element further: it returns the place when that was the last.
// A nil place without an error means: go on. Folders that are missing are made
// where w.mkdir says so, one that is made meanwhile is taken. The handles of
// the folders on the way stay open, so that ".." leads back where it came from.
func (w *walk) step(element string) (*place, error) {
	dir := w.handles[len(w.handles)-1]
	last := len(w.todo) == 0
	info, err := dir.Lstat(element)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if last {
			return w.finish(element, nil), nil
		}
		if !w.mkdir {
			w.missing = []string{element}
			return nil, fault.New(fault.NotFound, w.op, "%q does not exist", w.name)
		}
		if err := dir.Mkdir(element, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, w.disk.wrapError(w.op, w.name, err)
		}
		// Walk the new folder like any other: somebody may have put a link in its place.
		w.todo = append([]string{element}, w.todo...)
		return nil, nil
	case err != nil:
		return nil, w.disk.wrapError(w.op, w.name, err)
	case info.Mode()&fs.ModeSymlink != 0 && w.disk.strict && !(last && w.keepLink):
		return nil, moving(w.op, w.name)
	case info.Mode()&fs.ModeSymlink != 0 && w.disk.direct && !(last && w.keepLink):
		return nil, linkError(w.op, w.name, filepath.Join(append(w.done, element)...))
	case info.Mode()&fs.ModeSymlink != 0 && !(last && w.keepLink):
		return nil, w.follow(dir, element)
	case last:
		return w.finish(element, info), nil
	case !info.IsDir():
		return nil, fault.New(fault.Invalid, w.op, "%q: %q %w", w.name,
			filepath.Join(append(w.done, element)...), errNotFolder)
	}
	return nil, w.enter(dir, element, info)
}

// errNotFolder is in the chain where a name leads through what is no folder.
var errNotFolder = errors.New("is not a folder")

// enter opens the folder element of dir.
// seen is what lay there before. The error is that of moving where something else was opened.
func (w *walk) enter(dir *os.Root, element string, seen fs.FileInfo) error {
	sub, err := dir.OpenRoot(element)
	if err != nil {
		return w.disk.wrapError(w.op, w.name, err)
	}
	opened, err := sub.Stat(".")
	if err != nil || !os.SameFile(seen, opened) {
		_ = sub.Close()
		return moving(w.op, w.name)
	}
	w.handles = append(w.handles, sub)
	w.done = append(w.done, element)
	return nil
}

// finish makes the place of the last element and keeps its folder open.
func (w *walk) finish(element string, info fs.FileInfo) *place {
	p := &place{
		dir: w.handles[len(w.handles)-1], base: element, rel: filepath.Join(filepath.Join(w.done...), element),
		info:  info,
		disks: len(w.handles) == 1,
	}
	if !p.disks {
		w.handles = w.handles[:len(w.handles)-1]
	}
	return p
}

// follow puts where a link leads in front of what is left to walk.
// An absolute target starts again from the Disk's folder.
func (w *walk) follow(dir *os.Root, element string) error {
	if w.links++; w.links > maxLinks {
		return fault.New(fault.Invalid, w.op, "%q leads through too many symbolic links", w.name)
	}
	target, err := dir.Readlink(element)
	if err != nil {
		return moving(w.op, w.name)
	}
	if filepath.IsAbs(target) {
		return w.restart(target)
	}
	w.todo = append(elements(target), w.todo...)
	return nil
}

// up leaves the innermost folder, which a link asked for.
func (w *walk) up() error {
	if len(w.done) == 0 {
		// A link may leave the folder and come back ("../proj/x").
		return w.restart(filepath.Dir(w.disk.path))
	}
	_ = w.handles[len(w.handles)-1].Close()
	w.handles = w.handles[:len(w.handles)-1]
	w.done = w.done[:len(w.done)-1]
	return nil
}

// restart walks an absolute path from the Disk's folder on, when it lies there.
//
// A path outside of the folder is fault.Denied, a chain of too many links fault.Invalid.
func (w *walk) restart(target string) error {
	if w.links++; w.links > maxLinks {
		return fault.New(fault.Invalid, w.op, "%q leads through too many symbolic links", w.name)
	}
	full := filepath.Join(append([]string{target}, w.todo...)...)
	rel, ok := Below(w.disk.path, full)
	if !ok {
		// The target may be spelled through another link, and the Disk's path is canonical.
		if resolved, err := Canonical(full); err == nil {
			full = resolved
			rel, ok = Below(w.disk.path, full)
		}
	}
	if !ok {
		return leaves(w.op, w.name, full)
	}
	w.closeAll()
	w.handles, w.done = w.handles[:1], nil
	w.todo = elements(rel)
	return nil
}

// closeAll closes the folders that were opened on the way.
func (w *walk) closeAll() {
	for _, h := range w.handles[1:] {
		_ = h.Close()
	}
	w.handles = w.handles[:1]
}

// relative returns name relative to the folder, by its letters alone.
func (d *Disk) relative(op, name string) (string, error) {
	if name == "" || strings.ContainsRune(name, 0) {
		return "", fault.New(fault.Invalid, op, "%q is not the name of a file", name)
	}
	full := filepath.Clean(name)
	if !filepath.IsAbs(full) {
		full = filepath.Join(d.path, name)
	}
	// Callers may use the folder's path as they wrote it, or its canonical one.
	for _, root := range []string{d.path, d.spelled} {
		if rel, ok := Below(root, full); ok {
			return rel, nil
		}
	}
	return "", leaves(op, name, full)
}

// elements returns the elements of a path, without "." and empty ones. ".." is
// kept: what it means depends on the links before it.
func elements(path string) []string {
	var list []string
	for _, e := range strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) }) {
		if e != "." {
			list = append(list, e)
		}
	}
	return list
}

// leaves is the error of a name that leads out of the folder.
func leaves(op, name, target string) error {
	return fault.New(fault.Denied, op, "%q leaves the workspace: it leads to %q", name, target)
}

// linkError is the error of a link where none is followed.
func linkError(op, name, link string) error {
	if link == filepath.Clean(name) {
		return fault.New(fault.Denied, op,
			"%q is a symbolic link, which is not followed here; name the file that it leads to, or remove the link",
			name)
	}
	return fault.New(fault.Denied, op, "%q leads through the symbolic link %q, which is not followed here", name, link)
}

// moving is the error of what was replaced between two looks. Whoever gets it
// may try again, [attempts] times.
func moving(op, name string) error {
	return fault.New(fault.Stale, op, "%q changed while it was opened; try again", name)
}

// wrapError sorts an error of the operating system.
// It must be one of an operation on a name, which is told in place of the
// system's.
func (d *Disk) wrapError(op, name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.NotFound, op, "%q does not exist", name)
	case errors.Is(err, fs.ErrPermission):
		return fault.New(fault.Denied, op, "%q: permission denied by the file system", name)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return fault.New(fault.Invalid, op, "%q: the name is too long", name)
	case strings.HasSuffix(err.Error(), "path escapes from parent"):
		// os exports no error for it.
		return leaves(op, name, filepath.Join(d.path, name))
	}
	return fault.New(fault.Unavailable, op, "%q: %w", name, err)
}
