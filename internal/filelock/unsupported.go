//go:build !windows

package filelock

import "syscall"

var unsupported = []error{syscall.ENOLCK, syscall.ENOSYS, syscall.ENOTSUP, syscall.EOPNOTSUPP}
