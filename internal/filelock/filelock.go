// Package filelock locks files against other processes. Where the file system
// has no locks, as on some network file systems, it locks them against this
// process alone.
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
// system lets go of it when the process ends, however it ends.
type Lock struct {
	file *flock.Flock
	path string
	own  hold // where the file system has no locks
}

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

// TryLock takes the lock if nobody has it.
func (l *Lock) TryLock() (bool, error) { return l.try(l.file.TryLock, exclusive) }

// TryRLock takes a share of the lock if nobody has it for themselves.
func (l *Lock) TryRLock() (bool, error) { return l.try(l.file.TryRLock, shared) }

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
// else has it.
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

// Unlock lets others have the lock.
func (l *Lock) Unlock() error {
	l.release()
	return l.file.Unlock()
}

// Stat returns what is known of the file that is locked.
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
// or what the system says. It makes a file there for a moment.
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
