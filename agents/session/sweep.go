package session

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/fault"
)

// sweep removes the blobs of the given names that no log of the workspace names
// any more. What an event refers to that is not written yet may go too; then
// its result says that it is lost.
//
// It reads all logs of the workspace, up to where no name is left to be looked for. The logs
// are read as bytes: whatever looks like a name in one counts as a reference, so a blob is
// rather kept than lost.
func (s *Store) sweep(names []string) error {
	if len(names) == 0 {
		return nil
	}
	left := make(map[string]bool, len(names))
	for _, sha := range names {
		left[sha] = true
	}
	entries, err := os.ReadDir(s.cfg.Dir)
	for _, e := range entries {
		if err != nil || len(left) == 0 {
			break
		}
		if strings.HasSuffix(e.Name(), ".jsonl") && !strings.HasPrefix(e.Name(), gonePrefix) && e.Type().IsRegular() {
			err = s.digests(filepath.Join(s.cfg.Dir, e.Name()), func(sha string) { delete(left, sha) })
		}
	}
	for sha := range left {
		if err != nil {
			break
		}
		err = remove(s.cfg.Files, filepath.Join(s.blobs.dir, sha))
	}
	if err == nil && len(left) > 0 {
		if err = s.cfg.Files.SyncDir(s.blobs.dir); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return fault.New(fault.Unavailable, "session.sweep",
			"Data beside the sessions could not be erased: %w. Fix the disk and try again.", err)
	}
	return nil
}

// digests tells fn the names of blobs that a file may hold.
func (s *Store) digests(path string, fn func(sha string)) error {
	return s.scan(path, 66, func(piece []byte) { // a name, and what is before and after it
		for sha := range activity.Digests(piece) {
			fn(sha)
		}
	})
}

// scan gives fn the pieces of the file at a path, as [scan] does; none where there is no file.
func (s *Store) scan(path string, overlap int, fn func(piece []byte)) error {
	f, err := s.cfg.Files.Open(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	return scan(io.NewSectionReader(f, 0, size), overlap, fn)
}

// scan gives fn the pieces of a file; each begins with the last overlap bytes of the
// one before it.
func scan(in io.Reader, overlap int, fn func(piece []byte)) error {
	buf := make([]byte, 0, 1<<20)
	for {
		n, err := in.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		fn(buf)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if rest := len(buf) - overlap; rest > 0 {
			buf = append(buf[:0], buf[rest:]...)
		}
	}
}
