//go:build unix

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// readFlags open a file to be looked at: opening a named pipe does not wait for
// a writer, and the last element is not followed.
const readFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOFOLLOW | syscall.O_NOCTTY

// owner returns who owns a file.
func owner(info fs.FileInfo) (uid, gid int, ok bool) {
	if st, is := info.Sys().(*syscall.Stat_t); is {
		return int(st.Uid), int(st.Gid), true
	}
	return 0, 0, false
}

// inode returns the number of a file on its disk.
func inode(info fs.FileInfo) uint64 {
	if st, is := info.Sys().(*syscall.Stat_t); is {
		return uint64(st.Ino)
	}
	return 0
}

// isNotDir says that a path leads through what is no folder.
func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// cannotLink says that the file system has no hard links.
// EPERM is what link(2) says of a file system without them, EMLINK that the file has as
// many names as there may be.
func cannotLink(err error) bool {
	for _, no := range []error{syscall.EPERM, syscall.ENOTSUP, syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.EMLINK} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// cannotLock says that a folder cannot be locked here.
func cannotLock(err error) bool {
	for _, no := range []error{syscall.EBADF, syscall.EISDIR, syscall.ENOTSUP, syscall.EOPNOTSUPP,
		syscall.ENOSYS, syscall.EINVAL} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// noWatches says that the system has no room for another watch.
// inotify_add_watch(2) says so at the limit fs.inotify.max_user_watches.
func noWatches(err error) bool { return errors.Is(err, syscall.ENOSPC) }

// noInstances says that the system has no room for another watcher.
// EMFILE is the limit of inotify instances as well as that of open files.
func noInstances(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
