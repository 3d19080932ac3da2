package registry

// Looking at files and reading them on Linux: one call of the system tells all
// that is asked, and neither leaves garbage.

import (
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lookAt returns what lies at a path, or where the link there leads.
// It uses statx for the time of birth, which no other call has.
func lookAt(path string, follow bool) (fileState, error) {
	flags := unix.AT_SYMLINK_NOFOLLOW
	if follow {
		flags = 0
	}
	var st unix.Statx_t
	err := again(func() error {
		return unix.Statx(unix.AT_FDCWD, path, flags, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st)
	})
	switch err {
	case nil:
	case unix.ENOSYS, unix.EPERM:
		// An old kernel, or a container that does not let the call through.
		return lookPlainly(path, follow)
	default:
		return fileState{}, err
	}
	at := fileState{stamp: stamp{
		size: int64(st.Size), modified: st.Mtime.Sec*1e9 + int64(st.Mtime.Nsec),
		change: st.Ctime.Sec*1e9 + int64(st.Ctime.Nsec),
		device: unix.Mkdev(st.Dev_major, st.Dev_minor), inode: st.Ino,
	}}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		at.mode = fs.ModeDir
	case unix.S_IFLNK:
		at.mode = fs.ModeSymlink
	default:
		at.mode = fs.ModeIrregular
	}
	if st.Mask&unix.STATX_BTIME != 0 {
		at.created = time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
	}
	return at, nil
}

// more adds to a stamp what only this system tells.
func (s *stamp) more(info fs.FileInfo) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.change = st.Ctim.Nano()
		s.device, s.inode = uint64(st.Dev), uint64(st.Ino)
	}
}

// slurp reads a regular file up to what is sure to be too large, into buffer or
// what takes its place. The file is opened through a link only if link says that
// one was seen: what was put there since is not followed, nor waited for.
func slurp(path string, buffer []byte, link bool) ([]byte, error) {
	flags := unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY
	if !link {
		flags |= unix.O_NOFOLLOW
	}
	fd := -1
	if err := again(func() (err error) { fd, err = unix.Open(path, flags, 0); return err }); err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return fill(buffer, func(into []byte) (n int, err error) {
		err = again(func() error { n, err = unix.Read(fd, into); return err })
		return n, err
	})
}

// again calls f until no signal interrupts it.
func again(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}
