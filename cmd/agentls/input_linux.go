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

// next waits until something is typed, and takes it if somebody wants it then.
// It reads under the lock under which questions are opened: what was typed
// before one is never on its way to take meanwhile. Lines that come together, as
// pasted ones do, are taken together.
func (t *terminal) next(buf []byte) {
	const forever = -1
	t.poll(forever)
	t.mu.Lock()
	defer t.mu.Unlock()
	// What waited may be gone: an editor has read it, or flushInput dropped it.
	if t.held || (t.open == nil && t.lines == nil) || !t.poll(0) {
		return
	}
	n, err := t.in.Read(buf)
	data := append([]byte(nil), buf[:n]...)
	for err == nil && t.open == nil && len(data) < maxPrompt && t.poll(together) {
		n, err = t.in.Read(buf)
		data = append(data, buf[:n]...)
	}
	t.take(data, err != nil)
}

// together is how soon, in milliseconds, a line comes after another that was
// pasted with it. Nobody types that fast.
const together = 10

// drain takes what was typed and not read yet. t.mu is held.
func (t *terminal) drain() {
	buf := make([]byte, 4096)
	for t.lines != nil && t.poll(0) {
		n, err := t.in.Read(buf)
		t.take(buf[:n], err != nil)
	}
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
