//go:build unix

package daemon

import (
	"errors"
	"syscall"
)

// alive reports whether a process is there.
func alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
