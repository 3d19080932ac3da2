//go:build unix

package credential

import "syscall"

// openFlags keep an open from waiting for the other end of a pipe.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY
