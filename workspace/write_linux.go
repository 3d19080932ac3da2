package workspace

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// putUnnamed is putFile with a new file that has no name until it is complete, so
// that a daemon that is killed meanwhile leaves none. done is false where the
// file system cannot do that; nothing was put then.
func putUnnamed(dir *os.Root, base string, put putting) (done bool, err error) {
	d, err := dir.Open(".")
	if err != nil {
		return false, nil
	}
	defer d.Close()
	mode := fs.FileMode(0o600)
	if put.fresh {
		mode = put.mode
	}
	fd, err := unix.Openat(int(d.Fd()), ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, uint32(mode.Perm()))
	if err != nil {
		return false, nil
	}
	f := os.NewFile(uintptr(fd), base)
	defer f.Close() // it is synced
	if err := fill(f, put); err != nil {
		return true, err
	}
	if put.before != nil {
		if err := put.before(); err != nil {
			return true, err
		}
	}
	link := func(name string) error {
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), int(d.Fd()), name, unix.AT_SYMLINK_FOLLOW)
	}
	if put.fresh {
		// Linkat needs /proc; without it, fall back to putNamed.
		if err = link(base); err != nil && !errors.Is(err, fs.ErrExist) {
			return false, nil
		}
		return true, err
	}
	// Linkat cannot replace a file, so link under a temporary name and rename.
	temp := tempPrefix + rand.Text() + tempSuffix
	if link(temp) != nil {
		return false, nil
	}
	if err = dir.Rename(temp, base); err != nil {
		_ = dir.Remove(temp)
	}
	return true, err
}
