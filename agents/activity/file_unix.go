//go:build unix

package activity

import (
	"errors"
	"os"
	"syscall"
)

// SyncDir puts a folder's names on stable storage. A file system that syncs no
// folders does so by itself, or not at all: nothing can be done about it.
func SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	if err = d.Sync(); errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}
