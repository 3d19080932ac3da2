package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/sourcegraph/conc/panics"
)

// What a crash loop is (REL-33): an editor gives a server up at the fifth crash
// within three minutes.
const (
	crashes     = 2                // so many starts that never got ready
	crashWindow = time.Minute      // within this time
	readyAfter  = 10 * time.Second // after the answer to initialize a start is no crash any more
)

const (
	startsVersion = 1
	maxStarts     = 64 << 10 // of the file, in bytes
)

// starts records the starts of a workspace's daemons that have not got ready:
// one that stays there has crashed, or was killed. The record never keeps a
// daemon from starting: what cannot be read counts as none, and what cannot be
// written is not.
type starts struct {
	file string
	now  func() time.Time
	own  start

	works sync.Once // done when it is known
}

// start is a daemon that began.
type start struct {
	At  int64 `json:"at"` // in milliseconds since 1970
	PID int   `json:"pid"`
}

// startsFile is the content of the record.
type startsFile struct {
	Version int     `json:"version"`
	Starts  []start `json:"starts"`
}

// begin records a start and reports whether too many before it have crashed.
func (s *starts) begin() (loop bool) {
	_ = panics.Try(func() { // whatever is wrong with the record, the daemon starts
		now := s.now()
		s.own = start{At: now.UnixMilli(), PID: os.Getpid()}
		all, ok := s.load()
		if !ok {
			return
		}
		all = slices.DeleteFunc(all, func(o start) bool {
			age := now.Sub(time.UnixMilli(o.At))
			return age < 0 || age >= crashWindow
		})
		crashed := 0
		for _, o := range all {
			if o.PID == s.own.PID || !alive(o.PID) { // a process with our id is not there any more
				crashed++
			}
		}
		loop = crashed >= crashes
		s.save(append(all, s.own))
	})
	return loop
}

// ready forgets all starts: the daemon works, or has ended as it should. Only the
// first call does something.
func (s *starts) ready() {
	s.works.Do(func() {
		_ = panics.Try(func() {
			if _, ok := s.load(); ok {
				_ = os.Remove(s.file) // a minute later it says nothing any more
			}
		})
	})
}

// load returns the recorded starts. ok is false for the record of a later
// version, which is left alone (REL-35).
func (s *starts) load() (all []start, ok bool) {
	info, err := os.Lstat(s.file)
	if err != nil || !info.Mode().IsRegular() { // opening anything else may wait for ever
		return nil, err == nil || errors.Is(err, fs.ErrNotExist)
	}
	f, err := os.Open(s.file)
	if err != nil {
		return nil, true
	}
	defer func() { _ = f.Close() }() // it was only read
	var record startsFile
	if err := json.NewDecoder(io.LimitReader(f, maxStarts)).Decode(&record); err != nil {
		return nil, true
	}
	return record.Starts, record.Version <= startsVersion
}

// save replaces the record whole; an empty one goes.
func (s *starts) save(all []start) {
	if len(all) == 0 {
		_ = os.Remove(s.file)
		return
	}
	text, err := json.Marshal(startsFile{Version: startsVersion, Starts: all})
	if err != nil || os.MkdirAll(filepath.Dir(s.file), 0o700) != nil {
		return
	}
	next := s.file + "." + strconv.Itoa(os.Getpid())
	if os.WriteFile(next, append(text, '\n'), 0o600) != nil || os.Rename(next, s.file) != nil {
		_ = os.Remove(next)
	}
}

// setAside moves what a workspace's daemons keep out of the way, by renaming,
// and returns where it lies now; "" where there was nothing. Agents, settings
// and trust stay. Sessions that another daemon has are an error.
func (c Config) setAside(key string) (to string, err error) {
	sessions := filepath.Join(c.state(), "sessions", key)
	if holder := inUse(sessions); holder != "" {
		return "", fmt.Errorf("another agentls has the session %s", holder)
	}
	aside := filepath.Join(c.state(), "aside", key+"-"+c.Now().UTC().Format("20060102T150405.000"))
	moves := map[string]string{sessions: filepath.Join(aside, "sessions")}
	for from, to := range moves {
		if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
			delete(moves, from)
		} else if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return "", err
		}
	}
	for from, to := range moves {
		if err := os.Rename(from, to); err != nil {
			return "", err
		}
	}
	if len(moves) == 0 {
		return "", nil
	}
	return aside, nil
}

// inUse returns a session of a folder that a daemon has; "" for none.
func inUse(sessions string) string {
	locks, err := filepath.Glob(filepath.Join(sessions, "*.lock"))
	if err != nil {
		return ""
	}
	for _, path := range locks {
		lock := flock.New(path)
		if got, err := lock.TryLock(); err == nil && !got {
			return filepath.Base(path[:len(path)-len(".lock")])
		}
		_ = lock.Close() // it is let go of
	}
	return ""
}
