//go:build unix

package folder

import "syscall"

// openFlags keep an open from waiting for the other end of a pipe.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY

// noFollow keeps an open from following a link.
const noFollow = syscall.O_NOFOLLOW
