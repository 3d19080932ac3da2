package builtin

// Files and folders of the workspace by handle (SEC-54, SEC-55, SEC-57).

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentls/agentls/agents/tool"
)

// opened is a folder of the workspace as a handle that nothing leads out of, and
// in which no link is followed: a name was resolved before it is opened here, so
// a link in it took the place of what was looked at.
type opened struct {
	root   *os.Root
	folder string // what root is of, absolute
}

// Why a file is not opened. None of them is told to the model as it is.
var (
	errSpecial = errors.New("not a regular file")
	errLarge   = errors.New("too large")
	errMoved   = errors.New("it changed while it was opened")
)

// open returns the handle of the outermost folder that holds p. The caller
// closes it.
func open(p tool.Place) (*opened, error) {
	root, err := openRoot(p.Root)
	if err != nil {
		return nil, fmt.Errorf("opening the workspace folder: %w", err)
	}
	return &opened{root: root, folder: p.Root}, nil
}

// openRoot opens a folder that is no link.
func openRoot(path string) (*os.Root, error) {
	seen, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return sameFolder(root, seen)
}

// sameFolder returns root if it is the folder that was seen, and closes it
// otherwise.
// Between the look at a folder and its opening a link may have taken its place: the two
// must be the same file to the system. TestSEC55RaceOfLinks holds it.
func sameFolder(root *os.Root, seen fs.FileInfo) (*os.Root, error) {
	now, err := root.Stat(".")
	if err != nil || !seen.IsDir() || !os.SameFile(seen, now) {
		_ = root.Close()
		return nil, errMoved
	}
	return root, nil
}

// close closes the handle.
func (o *opened) close() { _ = o.root.Close() } // it was only read

// rel returns a path of the folder relative to it.
// A path that cannot be made relative is returned as it is; opening it fails, since the
// root takes no absolute paths.
func (o *opened) rel(abs string) string {
	r, err := filepath.Rel(o.folder, abs)
	if err != nil {
		return abs
	}
	return r
}

// into opens a folder of o that has one name.
// Looked at before and after, as in sameFolder: a link that takes the folder's place is
// errMoved.
func (o *opened) into(name string) (*opened, error) {
	seen, err := o.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, errMoved
	}
	root, err := o.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if root, err = sameFolder(root, seen); err != nil {
		return nil, err
	}
	return &opened{root: root, folder: filepath.Join(o.folder, name)}, nil
}

// sub opens a folder below o, step by step; rel is "." for o itself. The caller
// closes it.
func (o *opened) sub(rel string) (*opened, error) {
	root, err := o.root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	at := &opened{root: root, folder: o.folder}
	// One name at a time: a whole path would follow links between its folders.
	for name := range strings.SplitSeq(filepath.Clean(rel), string(filepath.Separator)) {
		if name == "." || name == "" {
			continue
		}
		next, err := at.into(name)
		at.close()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// file reads at most limit bytes of a regular file, and says what it is on disk.
// It never waits: a pipe or a device is errSpecial, a longer file errLarge, a
// link errMoved.
func (o *opened) file(abs string, limit int64) ([]byte, fs.FileInfo, error) {
	folder, name := filepath.Split(o.rel(abs))
	at := o
	if folder != "" {
		in, err := o.sub(folder)
		if err != nil {
			return nil, nil, err
		}
		defer in.close()
		at = in
	}
	// Looked at before it is opened and after that: what was put in its place in between is
	// another file.
	seen, err := at.root.Lstat(name)
	switch {
	case err != nil:
		return nil, nil, err
	case seen.Mode()&fs.ModeSymlink != 0:
		return nil, nil, errMoved
	case !seen.Mode().IsRegular(): // not even opened: that alone may do something to a device
		return nil, nil, errSpecial
	}
	f, err := at.root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, nil, err
	case !info.Mode().IsRegular():
		return nil, nil, errSpecial
	case !os.SameFile(seen, info):
		return nil, nil, errMoved
	case info.Size() > limit:
		return nil, nil, errLarge
	}
	data, err := readWhole(f, info.Size(), limit)
	return data, info, err
}

// readWhole reads a file that has had a size when it was opened.
func readWhole(f io.Reader, size, limit int64) ([]byte, error) {
	data := make([]byte, 0, size+1)
	for {
		// The file has grown since it was opened.
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := f.Read(data[len(data):min(cap(data), int(limit)+1)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > limit:
			return nil, errLarge
		case errors.Is(err, io.EOF), err == nil && n > 0 && int64(len(data)) == size:
			return data, nil // at its size as it was: nobody has to ask for the end
		case err != nil:
			return nil, err
		}
	}
}

// entries lists the folder that o is of, up to so many entries, in no particular
// order. more is whether there are others.
func (o *opened) entries(limit int) (list []fs.DirEntry, more bool, err error) {
	f, err := o.root.OpenFile(".", os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	for len(list) <= limit {
		part, err := f.ReadDir(4096)
		list = append(list, part...)
		if errors.Is(err, io.EOF) {
			return list, false, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	return list[:limit], true, nil
}
