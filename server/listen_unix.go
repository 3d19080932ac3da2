//go:build unix

package server

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// takeOver returns a private, close-on-exec copy of out and makes out's
// descriptor a copy of errs's. It goes through SyscallConn: File.Fd would make
// the files blocking.
func takeOver(out, errs *os.File) (*os.File, error) {
	outConn, err := out.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("standard output: %w", err)
	}
	errsConn, err := errs.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("standard error: %w", err)
	}
	var private int
	var failed error
	err = outConn.Control(func(to uintptr) {
		if private, failed = unix.FcntlInt(to, unix.F_DUPFD_CLOEXEC, 3); failed != nil {
			return
		}
		if err := errsConn.Control(func(from uintptr) { failed = dup(int(from), int(to)) }); failed == nil {
			failed = err
		}
		if failed != nil {
			_ = unix.Close(private)
		}
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, fmt.Errorf("keeping standard output private: %w", err)
	}
	return os.NewFile(uintptr(private), out.Name()), nil
}
