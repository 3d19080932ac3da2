//go:build unix

package filelock

import (
	"errors"
	"syscall"
)

// Alive reports whether a process of this machine is there, as one that a lock's file
// names as its holder.
func Alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
