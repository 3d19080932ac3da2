//go:build unix

package tool

import (
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// folderStamp changes when an entry of a folder is made, renamed or removed.
type folderStamp struct {
	dev, ino       uint64
	mtime, changed int64 // nanoseconds; nobody can set the second one back
	uid            uint32
}

// stampAt returns the stamp of a folder below at. A link is none.
func stampAt(at *os.File, rel string) (folderStamp, error) {
	var st unix.Stat_t
	err := unix.Fstatat(int(at.Fd()), rel, &st, unix.AT_SYMLINK_NOFOLLOW)
	for err == unix.EINTR {
		err = unix.Fstatat(int(at.Fd()), rel, &st, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return folderStamp{}, &os.PathError{Op: "lstat", Path: filepath.Join(at.Name(), rel), Err: err}
	}
	return folderStamp{uint64(st.Dev), st.Ino, st.Mtim.Nano(), st.Ctim.Nano(), st.Uid}, nil
}

// changedAfter reports whether the folder changed after a moment.
func (s folderStamp) changedAfter(t time.Time) bool { return max(s.mtime, s.changed) > t.UnixNano() }

// own reports whether the folder belongs to the user who runs this program.
func (s folderStamp) own() bool { return int(s.uid) == os.Geteuid() }
