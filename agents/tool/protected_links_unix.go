//go:build unix

package tool

import (
	"io/fs"
	"syscall"
)

// identity returns what all names of a file share, and whether it has several.
func identity(info fs.FileInfo) (id fileID, several bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, false
	}
	return fileID{uint64(st.Dev), uint64(st.Ino)}, st.Nlink > 1
}
