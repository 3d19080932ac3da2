//go:build unix

package filelock

import (
	"errors"
	"syscall"
)

// Alive reports whether a process of this machine is there, as one that a lock's file
// names as its holder. A process of another person counts too. Its id may have gone to
// another process since, so true is a guess, and false is certain.
func Alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
