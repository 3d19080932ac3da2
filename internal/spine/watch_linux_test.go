package spine_test

import (
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agentls/agentls/internal/faults"
)

// awaitLog waits until a log's file is as wanted, and returns its events. It
// looks whenever the file was written.
func awaitLog(t testing.TB, path string, want func([]line) bool) []line {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if _, err := unix.InotifyAddWatch(fd, filepath.Dir(path), unix.IN_MODIFY|unix.IN_CREATE); err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(patience)
	buf := make([]byte, 64<<10)
	log := faults.LogReader{Path: path}
	for {
		if err := log.More(); err != nil {
			t.Fatal(err)
		}
		if want(log.Events) {
			return log.Events
		}
		left := time.Until(end)
		if left <= 0 {
			t.Fatalf("%s, of %d events, is not what is waited for", path, len(log.Events))
		}
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds())+1); err != nil && err != unix.EINTR {
			t.Fatal(err)
		}
		for {
			if n, err := unix.Read(fd, buf); n <= 0 || err != nil {
				break
			}
		}
	}
}
