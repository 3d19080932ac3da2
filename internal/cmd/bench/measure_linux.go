package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// supported says why nothing can be measured here; nil where it can.
func supported() error { return nil }

// memory returns a line of a process's smaps_rollup, in MiB: Pss, Pss_Anon.
func memory(pid int, line string) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), line+":"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("smaps_rollup has no %s: it takes Linux 5.4 or newer", line)
}

// cpu returns the time that a process has run, of all its threads.
func cpu(pid int) (time.Duration, error) {
	var t unix.Timespec
	// The clock of another process: clock_getcpuclockid(3).
	err := unix.ClockGettime(int32(^pid<<3|2), &t)
	return time.Duration(t.Nano()), err
}

// mono is the clock of the model's log, in nanoseconds.
func mono() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return t.Nano()
}
