package workspace

import (
	"os"
	"sync"
	"time"
)

// idleDisk is how long a folder stays open that nobody uses: long enough for what an
// agent does in a row, too short to keep a drive from being unplugged.
const idleDisk = time.Second

// Disks opens folders as [OpenDisk] does, and keeps each open for a moment, so that calls
// that read many files of one folder open it once. Its zero value is ready.
// It is safe for concurrent use, must not be copied, and need not be closed: what is open
// goes when it is idle.
type Disks struct {
	mu   sync.Mutex
	kept map[string]*keptDisk // by the path that was asked for
}

// keptDisk is a folder that is open. The mutex of its Disks guards it.
type keptDisk struct {
	*Disk
	users int // 0 = it is closed when idle fires
	idle  *time.Timer
}

// Open opens the folder at an absolute path. The caller closes it. Errors: those of
// [OpenDisk].
func (s *Disks) Open(folder string) (*Disk, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kept[folder]
	// What is kept is a folder without a link in its path, so a link is never the same. An
	// open folder's number is not given to another one.
	if now, err := os.Lstat(folder); k == nil || err != nil || !os.SameFile(k.info, now) {
		disk, err := OpenDisk(folder)
		// A folder that a link leads to is not kept: it would be looked for by the link's
		// path, and never be the same as what lies there.
		if err != nil || disk.path != folder {
			return disk, err
		}
		k = &keptDisk{Disk: disk}
		k.idle = time.AfterFunc(idleDisk, func() { s.expire(folder, k) })
		if s.kept == nil {
			s.kept = make(map[string]*keptDisk)
		}
		s.kept[folder] = k // another one that was there is closed when it is idle
	}
	// A timer that has fired already waits in expire for the lock, and then finds a user.
	k.idle.Stop()
	k.users++
	// Each caller has a disk of its own, so that closing one twice takes away one user.
	used := *k.Disk
	used.release = sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if k.users--; k.users == 0 {
			k.idle.Reset(idleDisk)
		}
	})
	return &used, nil
}

// expire closes a folder that nobody has used for a while.
func (s *Disks) expire(folder string, k *keptDisk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.users > 0 {
		return
	}
	if s.kept[folder] == k {
		delete(s.kept, folder)
	}
	_ = k.Disk.Close() // nothing was written to it; closing it again does nothing
}
