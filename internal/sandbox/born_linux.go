package sandbox

import "golang.org/x/sys/unix"

// born returns when the file at a path was made, in nanoseconds, without following a
// link; 0 where the file system does not tell.
func born(path string) int64 {
	var s unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &s)
	if err != nil || s.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return s.Btime.Sec*1e9 + int64(s.Btime.Nsec)
}
