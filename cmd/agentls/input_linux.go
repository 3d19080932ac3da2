package main

import (
	"errors"

	"golang.org/x/sys/unix"
)

// flushInput drops what was typed at a terminal and not read yet, also a line
// that is not whole. On anything else it does nothing.
func flushInput(fd int) {
	_ = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) // no terminal: nobody typed
}

// next waits until something is typed, and takes it if a question is open then.
// It reads under the lock under which questions are opened: what was typed
// before one is never on its way to take meanwhile.
func (t *terminal) next(buf []byte) {
	const forever = -1
	t.poll(forever)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil || !t.poll(0) {
		return
	}
	n, err := t.in.Read(buf)
	t.take(buf[:n], err != nil)
}

// poll waits for input or its end, for so many milliseconds, and reports whether
// a read would not wait.
func (t *terminal) poll(ms int) bool {
	fds := []unix.PollFd{{Fd: int32(t.in.Fd()), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, ms)
		if !errors.Is(err, unix.EINTR) {
			return n != 0 || err != nil
		}
	}
}
