package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// fewWatches is how many a daemon may need: one for each folder of agents, and for those
// above them.
const fewWatches = 64

// checkWatches tries whether files can be watched, by making an inotify instance and a
// watch: the limits alone do not say how many are in use. Without watches agentls works;
// it sees changes of files later.
func checkWatches() finding {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if errors.Is(err, unix.EMFILE) {
		return finding{"watches", odd,
			fmt.Sprintf("watches: none left of %s inotify instances, so changes of files are seen later",
				limit("max_user_instances")),
			"raise it: sysctl fs.inotify.max_user_instances=1024"}
	}
	if err != nil {
		return finding{"watches", odd, "watches: " + err.Error() + ", so changes of files are seen later", ""}
	}
	defer unix.Close(fd)
	// The first watch that is too many fails with ENOSPC.
	if _, err := unix.InotifyAddWatch(fd, "/", unix.IN_CREATE); err != nil {
		return finding{"watches", odd, fmt.Sprintf("watches: none left of %s (%v), so changes of files are seen later",
			limit("max_user_watches"), err),
			"raise it: sysctl fs.inotify.max_user_watches=524288"}
	}
	if n, err := strconv.Atoi(limit("max_user_watches")); err == nil && n < fewWatches {
		return finding{"watches", odd,
			fmt.Sprintf("watches: only %d are allowed, so changes of files may be seen later", n),
			"raise it: sysctl fs.inotify.max_user_watches=524288"}
	}
	return finding{"watches", fine, fmt.Sprintf("watches: %s inotify watches and %s instances are allowed",
		limit("max_user_watches"), limit("max_user_instances")), ""}
}

// limit returns a limit of inotify, as the kernel writes it, in words where it cannot be
// read.
func limit(name string) string {
	data, err := os.ReadFile("/proc/sys/fs/inotify/" + name)
	if err != nil {
		return "an unknown number of"
	}
	return strings.TrimSpace(string(data))
}

// freeSpace returns how many bytes a person can still write in a folder. What the file
// system keeps for root does not count.
func freeSpace(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}
