package server

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
)

// watchProcess watches a process of this machine. A zombie is gone: it can be
// one for as long as whoever started it does not ask. So is an id that was
// given to another process, which another start time tells.
func watchProcess(pid int) (alive func() bool) {
	began, _, _ := processStat(pid)
	return func() bool {
		start, state, err := processStat(pid)
		if err != nil {
			return syscall.Kill(pid, 0) != syscall.ESRCH // a missing file may be a missing /proc
		}
		return state != 'Z' && state != 'X' && (began == "" || start == began)
	}
}

// processStat returns when a process began, in the kernel's ticks, and the
// letter of its state (proc_pid_stat(5), fields 22 and 3).
func processStat(pid int) (began string, state byte, err error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", 0, err
	}
	// The name, field 2, is in parentheses and may hold any byte.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return "", 0, errors.New("a stat file with too few fields")
	}
	return string(fields[19]), fields[0][0], nil
}
