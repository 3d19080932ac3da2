package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc/panics"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/filelock"
)

// What a crash loop is (REL-33): an editor gives a server up at the fifth crash
// within three minutes.
const (
	crashes     = 2                // so many starts that never got ready
	crashWindow = time.Minute      // within this time
	readyAfter  = 10 * time.Second // after the answer to initialize a start is no crash any more
)

const (
	// startsVersion is the newest version of the record that this program reads, and the
	// one that it writes.
	startsVersion = 1
	maxStarts     = 64 << 10 // of the file, in bytes
)

// starts records the starts of a workspace's daemons that have not got ready.
// Beside the record each start has a file that the Go runtime writes a crash to:
// one that ended without that was killed by somebody, which says nothing about
// the workspace. The record never keeps a daemon from starting: what cannot be
// read counts as none, and what cannot be written is not.
// It is used by one goroutine until begin has returned; ready may then be called
// from any.
type starts struct {
	// The record of this workspace; crash files lie beside it.
	file string
	now  func() time.Time
	// This process's start, set by begin.
	own  start
	safe bool // too many starts have crashed

	worked func() // called once when a start is no crash, but for one in safe mode; may be nil

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

// crash is where the runtime writes why the process of a start crashed.
func (s *starts) crash(o start) string {
	return fmt.Sprintf("%s-%d-%d%s", strings.TrimSuffix(s.file, ".json"), o.At, o.PID, crashSuffix)
}

// crashSuffix ends the names of the files that the runtime writes a crash to.
const crashSuffix = ".crash"

// crashed reports whether a start has ended by itself: a process with our id is
// not there any more.
// Without a crash file or with an empty one it was ended from outside.
func (s *starts) crashed(o start) bool {
	info, err := os.Stat(s.crash(o))
	return err == nil && info.Size() > 0 && (o.PID == s.own.PID || !filelock.Alive(o.PID))
}

// watchCrash has the runtime write a crash of this process to a file. Where that is not
// possible a crash is not counted.
func (s *starts) watchCrash() {
	f, err := os.OpenFile(s.crash(s.own), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return
	}
	_ = debug.SetCrashOutput(f, debug.CrashOptions{}) // it has its own descriptor of it
	_ = f.Close()
}

// begin records a start and reports whether too many before it have crashed.
// Starts that are older than crashWindow, or from a clock that was ahead, do not count.
// This one is added before it is known whether it works.
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
			if s.crashed(o) {
				crashed++
			}
		}
		loop = crashed >= crashes
		s.safe = loop
		s.save(append(all, s.own))
		s.watchCrash()
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
			_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
			_ = os.Remove(s.crash(s.own))
			if s.safe {
				return // the person may want to see why the others crashed
			}
			old, _ := filepath.Glob(strings.TrimSuffix(s.file, ".json") + "-*" + crashSuffix)
			for _, file := range old {
				_ = os.Remove(file)
			}
			if s.worked != nil {
				s.worked()
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
//
// It writes a file beside and renames it, so that a reader has the old or the new one.
// Errors are left: a start that is not recorded is only not counted.
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
// Nothing is moved before all folders that it needs are there. A second crash after
// sessions came back gives the folder staysSuffix, so that they are not brought back
// again.
func (c Config) setAside(key string) (to string, err error) {
	sessions := filepath.Join(c.state(), "sessions", key)
	if holder := inUse(sessions); holder != "" {
		return "", fmt.Errorf("another agentls has the session %s", holder)
	}
	aside := filepath.Join(c.state(), "aside", key+"-"+c.Now().UTC().Format("20060102T150405.000"))
	if c.forgetReturn(key) { // they were brought back, and it crashed again
		aside += staysSuffix
	}
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

// staysSuffix ends the name of a folder that is not brought back by itself.
const staysSuffix = "-stays"

// asides returns the folders in which safe mode has put a workspace's sessions,
// but for those that stay there.
func (c Config) asides(key string) []string {
	all, _ := filepath.Glob(filepath.Join(c.state(), "aside", key+"-*"))
	return slices.DeleteFunc(all, func(dir string) bool { return strings.HasSuffix(dir, staysSuffix) })
}

// bringBack moves the sessions back that safe mode has set aside. The empty
// folder stays until [Config.forgetReturn], so that a workspace that crashes
// because of its sessions does so once. What cannot go back, since there are
// sessions again, is returned as a sentence for the person.
func (c Config) bringBack(key string) (told string) {
	sessions := filepath.Join(c.state(), "sessions", key)
	for _, aside := range c.asides(key) {
		from := filepath.Join(aside, "sessions")
		entries, err := os.ReadDir(from)
		if errors.Is(err, fs.ErrNotExist) {
			continue // they are back already
		}
		if logs, _ := filepath.Glob(filepath.Join(sessions, "*.jsonl")); len(logs) > 0 {
			err = errors.New("there are new ones")
		}
		if err == nil {
			err = os.MkdirAll(sessions, 0o700)
		}
		for _, e := range entries {
			if err == nil {
				to := filepath.Join(sessions, e.Name())
				_ = os.Remove(to) // an empty folder, or the lock of no session
				err = os.Rename(filepath.Join(from, e.Name()), to)
			}
		}
		if err == nil {
			err = os.Remove(from)
		}
		if err != nil {
			stays := aside + staysSuffix
			_ = os.Rename(aside, stays)
			told = fmt.Sprintf("The sessions that safe mode set aside could not be brought back (%s). They are in %s. To have them back, end agentls and move them to %s.",
				fault.Message(err), filepath.Join(stays, "sessions"), sessions)
		}
	}
	return told
}

// forgetReturn removes what says that sessions were brought back, and reports
// whether they were.
func (c Config) forgetReturn(key string) (returned bool) {
	for _, aside := range c.asides(key) {
		returned = os.Remove(aside) == nil || returned // it fails for one that is not empty
	}
	return returned
}

// inUse returns a session of a folder that a daemon has; "" for none.
// It takes each lock for a moment; one that it gets is nobody's.
func inUse(sessions string) string {
	locks, err := filepath.Glob(filepath.Join(sessions, "*.lock"))
	if err != nil {
		return ""
	}
	for _, path := range locks {
		lock := filelock.New(path)
		if got, err := lock.TryLock(); err == nil && !got {
			return filepath.Base(path[:len(path)-len(".lock")])
		}
		_ = lock.Unlock()
	}
	return ""
}
