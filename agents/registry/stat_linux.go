package registry

// What a file looks like on Linux, where it is known when it was made.

import (
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stampOf returns what a file looks like.
func stampOf(info fs.FileInfo) stamp {
	s := stamp{size: info.Size(), modified: info.ModTime()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.change = time.Unix(int64(st.Ctim.Sec), int64(st.Ctim.Nsec))
		s.device, s.inode = uint64(st.Dev), uint64(st.Ino)
	}
	return s
}

// birth returns when a file was made, or the zero time.
func birth(path string) time.Time {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_BTIME, &st); err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return time.Time{}
	}
	return time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
}
