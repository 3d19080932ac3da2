package main

import (
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// stdin is a connection on standard input whose Close ends a Read that waits: else the
// process would outlast its client's exit by the time that one waits for such a Read in
// vain.
type stdin struct {
	io.ReadWriteCloser
	// fd is that of standard input, which stays as it was given: blocking or not.
	fd int
	// ends and hush are a pipe: closing hush ends a Read, and ends stays open until the
	// process ends.
	ends, hush *os.File
	// once and err have Close do its work once, and return the same each time.
	once sync.Once
	err  error
}

// interruptible returns a connection that reads from in, such that Close ends a Read.
// Where that cannot be had it returns rwc itself.
func interruptible(rwc io.ReadWriteCloser, in *os.File) io.ReadWriteCloser {
	s := &stdin{ReadWriteCloser: rwc}
	conn, err := in.SyscallConn() // Fd would make it blocking
	if err != nil || conn.Control(func(fd uintptr) { s.fd = int(fd) }) != nil {
		return rwc
	}
	if s.ends, s.hush, err = os.Pipe(); err != nil {
		return rwc
	}
	return s
}

// Read waits without reading, so that nothing is lost or changed of a
// descriptor that others may share.
func (s *stdin) Read(p []byte) (int, error) {
	fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}, {Fd: int32(s.ends.Fd()), Events: unix.POLLIN}}
	for {
		// Where poll fails the read waits, as that of any other connection does.
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return s.ReadWriteCloser.Read(p)
		}
		switch {
		case fds[1].Revents != 0:
			return 0, io.EOF
		case fds[0].Revents != 0:
			return s.ReadWriteCloser.Read(p)
		}
	}
}

// Close implements io.Closer.
func (s *stdin) Close() error {
	s.once.Do(func() { s.err = errors.Join(s.hush.Close(), s.ReadWriteCloser.Close()) })
	return s.err
}
