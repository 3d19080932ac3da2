package session

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/agentls/agentls/agents/activity"
)

// readFile returns what a file holds.
// All of it is read at once; the caller bounds what it asks for.
func readFile(files activity.Files, name string) ([]byte, error) {
	f, err := files.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	n, err := f.ReadAt(data, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return data[:n], err
}

// sizeOf returns how long a file is.
func sizeOf(files activity.Files, name string) (int64, error) {
	f, err := files.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.Size()
}

// writeFile puts a file in its place in one step. It does not wait for stable
// storage.
func writeFile(files activity.Files, name string, data []byte) error {
	f, temp, err := tempFile(files, name+tempMark)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = files.Rename(temp, name)
	}
	if err != nil {
		_ = files.Remove(temp) // a rest does no harm
	}
	return err
}

// tempMark is in the names of files that will replace others.
const tempMark = ".tmp"

// tempFile makes a file that nobody else writes. Others may be at the same now,
// and what a crash left may still be there.
func tempFile(files activity.Files, prefix string) (f activity.File, name string, err error) {
	for n := 0; ; n++ {
		name = prefix + "-" + strconv.Itoa(n)
		if f, err = files.Open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); !errors.Is(err, fs.ErrExist) {
			return f, name, err
		}
	}
}

// remove removes a file; one that is not there is removed already.
func remove(files activity.Files, name string) error {
	if err := files.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// exists reports whether a file is there, or may be.
func exists(files activity.Files, name string) bool {
	f, err := files.Open(name, os.O_RDONLY, 0)
	if err == nil {
		_ = f.Close() // only looked at
	}
	return !errors.Is(err, fs.ErrNotExist)
}

// segmentsOf returns the files of a session's log, in order.
func (s *Store) segmentsOf(id string) []string {
	var out []string
	for n := 1; ; n++ {
		path := filepath.Join(s.cfg.Dir, segmentName(id, n))
		if !exists(s.cfg.Files, path) {
			return out
		}
		out = append(out, path)
	}
}
