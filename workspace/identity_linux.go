package workspace

import (
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// identityOf asks the system for the birth time as well, which not each file system has.
func identityOf(dir string, info fs.FileInfo) identity {
	st, is := info.Sys().(*syscall.Stat_t)
	if !is {
		return identity{}
	}
	found := identity{Inode: st.Ino, device: st.Dev}
	var more unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, dir, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_BTIME, &more)
	// Another directory may have taken the path between the two calls: its birth time is not taken.
	if err == nil && more.Mask&unix.STATX_BTIME != 0 && more.Ino == st.Ino {
		found.Born = time.Unix(more.Btime.Sec, int64(more.Btime.Nsec)).UTC()
	}
	return found
}
