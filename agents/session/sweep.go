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
		if strings.HasSuffix(e.Name(), ".jsonl") && e.Type().IsRegular() {
			err = keepNamed(filepath.Join(s.cfg.Dir, e.Name()), left)
		}
	}
	for sha := range left {
		if err != nil {
			break
		}
		if err = os.Remove(filepath.Join(s.blobs.dir, sha)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil && len(left) > 0 {
		if err = activity.SyncDir(s.blobs.dir); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return fault.New(fault.Unavailable, "session.sweep", "Data beside the sessions could not be erased: %w. Mend the disk and try again.", err)
	}
	return nil
}

// keepNamed takes those names from left that a file holds.
func keepNamed(path string, left map[string]bool) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	const overlap = 66 // a name, and what is before and after it
	buf := make([]byte, 0, 1<<20)
	for {
		n, err := f.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		for sha := range activity.Digests(buf) {
			delete(left, sha)
		}
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
