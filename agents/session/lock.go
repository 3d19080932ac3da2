package session

import (
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/filelock"
)

// lock is a session's lock, held. The system lets go of it when the process
// ends, however it ends; the file stays, and its content only informs.
type lock struct {
	flock *filelock.Lock
	path  string
}

// holder is the content of a lock's file.
type holder struct {
	Owner string `json:"owner"` // as Config.Owner
	Since string `json:"since"` // RFC 3339
	PID   int    `json:"pid"`
}

// acquire takes the lock at path. When somebody else has it: fault.Unavailable
// with the reason busy, and who.
//
// It waits only for a holder that has ended, a second at most; a live one is told
// at once. The lock must be released, or removed with its session.
func acquire(path, session, owner string, now time.Time) (*lock, error) {
	f := filelock.New(path)
	ok, err := take(f, path)
	// A process that is killed while it starts a program leaves its files to that
	// one, until it is another program.
	for left := maxLeft; err == nil && !ok && left > 0 && readHolder(path).ended(); left -= pause {
		time.Sleep(pause)
		ok, err = take(f, path)
	}
	if err != nil {
		return nil, fault.New(fault.Unavailable, "session.lock",
			"The session %s cannot be locked: %w. Use another session.", session, err)
	}
	if !ok {
		return nil, inUse(path, session)
	}
	if content, err := json.Marshal(holder{Owner: owner, Since: now.UTC().Format(time.RFC3339),
		PID: os.Getpid()}); err == nil {
		// The lock holds without it; who asks is told less.
		_ = os.WriteFile(path, append(content, '\n'), 0o600)
	}
	return &lock{f, path}, nil
}

// How long the lock of a process that has ended is waited for, and how often it is
// tried in that time.
const (
	maxLeft = time.Second
	pause   = time.Millisecond
)

// take tries the lock at path; !ok says that somebody has it.
func take(f *filelock.Lock, path string) (ok bool, err error) {
	ok, err = f.TryLock()
	// Who only looks whether it is held is gone in a moment, and so is one that
	// somebody takes away with its session.
	for tries := 0; err == nil && tries < maxLooks; tries++ {
		if (ok && current(f, path)) || (!ok && held(path)) {
			break
		}
		if ok {
			err = f.Unlock()
		}
		runtime.Gosched()
		if err == nil {
			ok, err = f.TryLock()
		}
	}
	return ok, err
}

// current reports whether the lock is on the file that has the name now: another
// one would keep nobody away.
func current(f *filelock.Lock, path string) bool {
	has, err := f.Stat()
	if err != nil {
		return false
	}
	is, err := os.Stat(path)
	return err == nil && os.SameFile(has, is)
}

// maxLooks bounds how often a lock is tried that only others who look at it can
// have.
const maxLooks = 10_000

// held reports whether somebody has the lock at path: nobody else could have a
// share of it.
// It takes a share of the lock for a moment, which is why take tries again when
// somebody only looks.
func held(path string) bool {
	f := filelock.New(path)
	ok, err := f.TryRLock()
	if ok {
		_ = f.Unlock() // closing it lets go of it
	}
	return err == nil && !ok
}

// inUse is the error for a session that another daemon has.
func inUse(path, session string) error {
	who := readHolder(path).String()
	return fault.New(fault.Unavailable, "session.lock",
		"The session %s is in use by another window or terminal (%s). "+
			"Go on there or close it; here, fork the session or use another one.", session, who).
		Because(fault.Busy, "session", session, "holder", who)
}

// readHolder reads who a lock's file says has it; empty where it says nothing.
func readHolder(path string) holder {
	var h holder
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &h) != nil {
		return holder{}
	}
	return h
}

// ended reports whether the holder was a process of this machine that is no more.
func (h holder) ended() bool { return h.PID > 0 && !filelock.Alive(h.PID) }

// String says who holds a lock, to a person.
func (h holder) String() string {
	if h.Owner == "" {
		return "another agentls"
	}
	if len(h.Owner) > 200 {
		h.Owner = h.Owner[:200]
	}
	who := strings.ToValidUTF8(h.Owner, "")
	if h.Since != "" && len(h.Since) <= 40 {
		who += " since " + strings.ToValidUTF8(h.Since, "")
	}
	return who
}

// release lets others have the lock.
func (l *lock) release() error {
	if l == nil {
		return nil
	}
	// An empty file is one that nobody has, so that lists need not try it.
	_ = os.Truncate(l.path, 0)
	return l.flock.Unlock()
}

// remove lets others have the lock of what is no more, and takes its file away
// where the system lets it go while it is held.
func (l *lock) remove() error {
	if err := os.Remove(l.path); err != nil {
		return l.release()
	}
	return l.flock.Unlock()
}

// busy reports whether err says that another daemon has the session.
func busy(err error) bool {
	e, ok := errors.AsType[*fault.Error](err)
	return ok && e.Reason == fault.Busy
}
