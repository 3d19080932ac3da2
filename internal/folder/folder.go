// Package folder reads files that somebody else may have written: without following a link
// out of their folder where one is given, and without waiting for a pipe.
//
// Errors are those of the system or clauses without a name, which who calls puts into its
// own words. Nothing is kept open but what is returned.
package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Open opens a folder, which has to lie in within; "" is no bound. A link on the way from
// within that leads out of it is an error. The caller closes the root. dir may be
// absolute, or relative as within is. What is below the root is opened by os.Root, which
// follows no link out of it either.
func Open(within, dir string) (*os.Root, error) {
	if within == "" {
		return os.OpenRoot(dir)
	}
	rel, err := filepath.Rel(within, dir)
	if err != nil {
		return nil, err
	}
	above, err := os.OpenRoot(within)
	if err != nil {
		return nil, err
	}
	defer above.Close()
	return above.OpenRoot(rel)
}

// OpenFile opens a regular file beneath a folder for reading, and returns its size in
// bytes. What is none, as a folder, a pipe or a device, is an error at once. name has
// slashes or the system's separators, and must not lead out of root. The caller closes
// the file. The size is that of now: a file may grow while it is read.
func OpenFile(root *os.Root, name string) (*os.File, int64, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a file")
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// ReadFile returns the content of a regular file beneath a folder. One with more than
// limit bytes is an error. limit is checked on what is read, not on what the file said
// of itself.
func ReadFile(root *os.Root, name string, limit int64) ([]byte, error) {
	f, _, err := OpenFile(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, fmt.Errorf("it is larger than %d KiB", limit>>10)
	}
	return data, err
}

// errNotRegular is why something is not opened.
var errNotRegular = errors.New("not a regular file")

// OpenRegular opens the regular file at a path for reading, links followed. Anything else
// is an error at once: opening a device may do something, and opening a pipe waits for
// who writes into it. The caller closes the file. It is looked at before it is opened,
// and again afterwards, since another may have taken its place in between; for that case
// the open does not wait either (openFlags).
func OpenRegular(path string) (*os.File, fs.FileInfo, error) {
	return openPath(path, openFlags, os.Stat)
}

// OpenPlain is [OpenRegular] for a file that is no link itself.
func OpenPlain(path string) (*os.File, fs.FileInfo, error) {
	return openPath(path, openFlags|noFollow, os.Lstat)
}

// openPath opens what look and the open file both say is a regular file.
func openPath(path string, flags int, look func(string) (fs.FileInfo, error)) (*os.File, fs.FileInfo, error) {
	info, err := look(path)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|flags, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err = f.Stat()
	if err == nil && !info.Mode().IsRegular() { // it took the place of the other one
		err = &fs.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// ReadRegular returns the content of the regular file at a path, links followed, and what
// is known of the file. One with more than limit bytes is an error. The info is of the
// file that was read. The error is an *fs.PathError where it is no regular file or too
// large.
func ReadRegular(path string, limit int64) ([]byte, fs.FileInfo, error) {
	return readAll(limit)(OpenRegular(path))
}

// ReadPlain is [ReadRegular] for a file that is no link itself.
func ReadPlain(path string, limit int64) ([]byte, fs.FileInfo, error) {
	return readAll(limit)(OpenPlain(path))
}

// ReadStart returns the first bytes of the regular file at a path, links followed: most of
// them at most, so that a file of most bytes may be larger than that.
func ReadStart(path string, most int64) ([]byte, error) {
	f, _, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// readAll returns what reads an opened file to its end, at most limit bytes, and closes it.
func readAll(limit int64) func(*os.File, fs.FileInfo, error) ([]byte, fs.FileInfo, error) {
	return func(f *os.File, info fs.FileInfo, err error) ([]byte, fs.FileInfo, error) {
		if err != nil {
			return nil, nil, err
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, limit+1))
		if err == nil && int64(len(data)) > limit {
			err = &fs.PathError{Op: "read", Path: f.Name(), Err: fmt.Errorf("it is larger than %d bytes", limit)}
		}
		if err != nil {
			return nil, nil, err
		}
		return data, info, nil
	}
}

// IsName reports whether what such a folder holds can be called so: letters, numbers and
// marks, nothing that ends a word or shows otherwise than it is. most is in characters. A
// regular expression took 5 MB and 9 ms of each start.
func IsName(name, marks string, most int) bool {
	foreign := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune(marks, r)
	}
	return name != "" && utf8.RuneCountInString(name) <= most && !strings.ContainsFunc(name, foreign)
}
