package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// namesAtOnce is how many names of a folder are held at a time.
const namesAtOnce = 512

// eachStamp calls f with each agent file's name in a folder and what stampOf
// says of it, without garbage for every file: a folder of ten thousand is looked
// at whenever one of them changes.
func eachStamp(dir string, now time.Time, f func(name string, st stamp, ok bool, err error)) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	fd := int(d.Fd())
	for {
		names, err := d.Readdirnames(namesAtOnce)
		for _, name := range names {
			if AgentFile(name) {
				st, ok, err := stampIn(fd, name, now)
				f(name, st, ok, err)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// stampIn is stampOf for a name in an open folder.
func stampIn(fd int, name string, now time.Time) (stamp, bool, error) {
	var st unix.Stat_t
	if err := statIn(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return stamp{}, false, err
	}
	link := st.Mode&unix.S_IFMT == unix.S_IFLNK
	if link {
		if err := statIn(fd, name, &st, 0); err != nil {
			return stamp{}, false, err
		}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return stamp{}, false, nil
	}
	written := st.Mtim.Nano()
	return stamp{
		size: st.Size, time: written, inode: st.Ino, mode: fs.FileMode(st.Mode & 0o777), link: link,
		fresh: freshAt(written, now),
	}, true, nil
}

// statIn asks again where a signal interrupts the call.
func statIn(fd int, name string, st *unix.Stat_t, flags int) error {
	for {
		if err := unix.Fstatat(fd, name, st, flags); err != unix.EINTR {
			return err
		}
	}
}

// distant says that a folder lies on a file system where others may change files
// of which this system tells nothing: one of a network, of a host beneath a
// virtual machine, or of a program.
func distant(dir string) bool {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return false
	}
	switch uint32(st.Type) {
	case 0x6969, // NFS
		0x517B, 0xFF534D42, 0xFE534D42, // SMB, CIFS, SMB2
		0x65735546,                         // FUSE, and virtiofs
		0x01021997,                         // 9P
		0x00C36400,                         // Ceph
		0x5346414F, 0x6B414653, 0x73757245, // AFS, kAFS, Coda
		0x786F4256, 0xBACBACBC: // vboxsf, vmhgfs
		return true
	}
	return false
}
