//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package main

import "golang.org/x/sys/unix"

// flushInput drops what was typed at a terminal and not read yet, also a line
// that is not whole. On anything else it does nothing.
func flushInput(fd int) {
	const readQueue = 1                                        // FREAD of sys/fcntl.h
	_ = unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, readQueue) // no terminal: nobody typed
}
