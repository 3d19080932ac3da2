// Package filelock locks files against other processes. Where the file system
// has no locks, as on some network file systems, it locks them against this
// process alone.
//
// Locks of the system are advisory: only who asks for them is kept out. They belong to
// the open file, so two locks of one path in this process keep each other out as well.
// They go with the process, so nothing has to be cleaned up after a crash, and the file
// stays when its lock is let go: removing it would let two processes lock two files of
// one name. Without the system's locks nothing keeps another process out; [Works] says
// so beforehand.
package filelock

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// A Lock is one holder of the lock of a file, or somebody who wants it. The
// system lets go of it when the process ends, however it ends. It may be taken again
// after Unlock. One goroutine after another may use it; several Locks may be of one
// path.
type Lock struct {
	file *flock.Flock
	// Absolute: what owns.held knows it by.
	path string
	own  hold // where the file system has no locks
}

// hold is what a Lock has of owns.held.
type hold uint8

const (
	none hold = iota
	shared
	exclusive
)

// Fault, if it is set, is what locking a file fails with. Only tests set it.
var Fault func(path string) error

// New returns a lock of the file at path, which nobody holds yet. The file is
// made when it is locked.
func New(path string) *Lock {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	return &Lock{file: flock.New(path), path: path}
}

// TryLock takes the lock if nobody has it. It returns at once. false without an error:
// somebody has it, or a share of it. The error is the system's, as where the file
// cannot be made. A Lock that has it already gets true.
func (l *Lock) TryLock() (bool, error) { return l.try(l.file.TryLock, exclusive) }

// TryRLock takes a share of the lock if nobody has it for themselves. Otherwise as for
// TryLock.
func (l *Lock) TryRLock() (bool, error) { return l.try(l.file.TryRLock, shared) }

// try asks the system first, and goes on with this process' own table only where that says that it
// has no locks.
func (l *Lock) try(system func() (bool, error), want hold) (bool, error) {
	if Fault != nil {
		if err := Fault(l.path); err != nil {
			system = func() (bool, error) { return false, err }
		}
	}
	ok, err := system()
	if err == nil || !Unsupported(err) {
		return ok, err
	}
	return l.tryOwn(want), nil
}

// TryLockContext takes the lock, and tries again until ctx ends while somebody
// else has it. pause is the time between two tries. The error is that of ctx, or one of
// TryLock, which ends it.
func (l *Lock) TryLockContext(ctx context.Context, pause time.Duration) (bool, error) {
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if ok, err := l.TryLock(); ok || err != nil {
			return ok, err
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// Unlock lets others have the lock. Without the lock it does nothing. The file stays.
func (l *Lock) Unlock() error {
	l.release()
	return l.file.Unlock()
}

// Stat returns what is known of the file that is locked. It is of the open file where
// the system locks it, so it tells whether another one took its place since.
func (l *Lock) Stat() (fs.FileInfo, error) {
	owns.Lock()
	own := l.own
	owns.Unlock()
	if own != none {
		return os.Stat(l.path)
	}
	return l.file.Stat()
}

// owns are the locks that this process has without the file system's help.
var owns struct {
	sync.Mutex
	held map[string]int // by path: how many share it, -1 for one who has it alone
}

// tryOwn takes a lock in this process' own table. A Lock that has a share gets true as well when it
// wants all of it: nobody here does that.
func (l *Lock) tryOwn(want hold) bool {
	owns.Lock()
	defer owns.Unlock()
	held := owns.held[l.path]
	switch {
	case l.own != none:
		return true
	case (held != 0 && want == exclusive) || held < 0:
		return false
	case owns.held == nil:
		owns.held = make(map[string]int)
	}
	if l.own = want; want == exclusive {
		owns.held[l.path] = -1
	} else {
		owns.held[l.path]++
	}
	return true
}

// release gives back what tryOwn took; nothing, for who has nothing.
func (l *Lock) release() {
	owns.Lock()
	defer owns.Unlock()
	switch l.own {
	case exclusive:
		delete(owns.held, l.path)
	case shared:
		if owns.held[l.path]--; owns.held[l.path] == 0 {
			delete(owns.held, l.path)
		}
	}
	l.own = none
}

// Works returns nil if files in a folder can be locked against other processes,
// or what the system says. It makes a file there for a moment. Where no file can be
// made there it is nil: that is another error, which whoever writes there gets.
func Works(dir string) error {
	f, err := os.CreateTemp(dir, ".agentls-*")
	if err != nil {
		return nil // it says nothing about locks
	}
	defer os.Remove(f.Name())
	_ = f.Close() // only its name is wanted
	if Fault != nil {
		return Fault(f.Name())
	}
	lock := flock.New(f.Name())
	defer lock.Close()
	if _, err = lock.TryLock(); err != nil && Unsupported(err) {
		return err
	}
	return nil
}

// Unsupported reports whether an error says that files cannot be locked here.
func Unsupported(err error) bool {
	for _, no := range unsupported {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}
