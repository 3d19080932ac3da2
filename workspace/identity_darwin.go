package workspace

import (
	"io/fs"
	"syscall"
	"time"
)

// identityOf returns what the system says of a directory.
func identityOf(_ string, info fs.FileInfo) identity {
	st, is := info.Sys().(*syscall.Stat_t)
	if !is {
		return identity{}
	}
	return identity{Inode: st.Ino, Born: time.Unix(st.Birthtimespec.Unix()).UTC(), device: uint64(uint32(st.Dev))}
}
