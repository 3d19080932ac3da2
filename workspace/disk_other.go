//go:build !unix

package workspace

import (
	"io/fs"
	"os"
)

// readFlags open a file to be looked at.
const readFlags = os.O_RDONLY

// owner returns who owns a file, which this system does not say.
func owner(fs.FileInfo) (uid, gid int, ok bool) { return 0, 0, false }

// inode returns the number of a file on its disk, which this system does not say.
func inode(fs.FileInfo) uint64 { return 0 }

// isNotDir says that a path leads through what is no folder; here that is told as
// one that does not exist.
func isNotDir(error) bool { return false }

// cannotLink says that the file system has no hard links.
func cannotLink(error) bool { return true }

// cannotLock says that a folder cannot be locked here.
func cannotLock(error) bool { return true }

// noWatches says that the system has no room for another watch.
func noWatches(error) bool { return false }

// noInstances says that the system has no room for another watcher.
func noInstances(error) bool { return false }
