//go:build unix

package snapshot

import (
	"io/fs"
	"syscall"
)

// inode is a file's number, which changes when another takes its place.
func inode(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Ino)
	}
	return 0
}
