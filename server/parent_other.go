//go:build !linux

package server

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// watchProcess watches a process of this machine by its id alone.
func watchProcess(pid int) (alive func() bool) {
	return func() bool {
		p, err := os.FindProcess(pid)
		if err != nil {
			return false // on Windows, finding is opening
		}
		defer p.Release()
		if runtime.GOOS == "windows" {
			return true
		}
		err = p.Signal(syscall.Signal(0))
		return !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH)
	}
}
