package activity

import (
	"os"

	"golang.org/x/sys/unix"
)

// datasync syncs a file's content and length, and not its times, which nothing here reads. The file
// must be open; it is not closed.
func datasync(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		for {
			// A signal is no failure of the disk.
			if failed = unix.Fdatasync(int(fd)); failed != unix.EINTR {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	if failed != nil {
		return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: failed}
	}
	return nil
}
