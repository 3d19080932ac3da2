package process

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Isolate gives a process a session of its own, without a terminal, and makes
// the kernel kill it when the thread that started it is gone.
func Isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// Seal marks every descriptor of the daemon but the first three as not to be
// inherited. Go does that for what it opens, but does not know what the daemon's
// own parent left open (SEC-117). Call it before a process is started.
func Seal() {
	if unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	entries, err := os.ReadDir("/proc/self/fd") // kernels before 5.11
	if err != nil {
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

// Found is a process as it was found. Its number and the time when it started
// tell it from a later one of the same number.
type Found struct {
	PID   int
	Name  string
	start string
}

// signal sends what to the process if it is still the same.
func (p Found) signal(what signal) {
	if again, ok := stat(p.PID); ok && again.start == p.start {
		_ = syscall.Kill(p.PID, what)
		_ = syscall.Kill(p.PID, syscall.SIGCONT)
	}
}

// find returns the living processes whose environment holds mark, those that
// are known already, and what is below or in the session of one of them or
// below a reaper: also what left the group and the session of the process that
// was started (REL-73). The reapers themselves are left out. Without a reaper, a
// process that empties its environment and whose parents are gone before
// anybody looks is not found.
func find(mark string, known map[int]Found, reapers map[int]bool) []Found {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	type candidate struct {
		Found
		parent, session int
	}
	var all []candidate
	ours := make(map[int]bool)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		raw, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		p, parent, session, alive := parseStat(pid, raw)
		if !alive {
			continue
		}
		all = append(all, candidate{p, parent, session})
		if known[pid].start == p.start || reapers[pid] {
			ours[pid] = true
			continue
		}
		environ, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err == nil && hasEntry(environ, mark) {
			ours[pid] = true
		}
	}
	// What one of ours has started is ours, and what that has, until nothing is added.
	for grown := true; grown && len(ours) > 0; {
		grown = false
		for _, p := range all {
			if !ours[p.PID] && (ours[p.parent] || ours[p.session]) {
				ours[p.PID], grown = true, true
			}
		}
	}
	var out []Found
	for _, p := range all {
		if ours[p.PID] && !reapers[p.PID] {
			out = append(out, p.Found)
		}
	}
	return out
}

// hasEntry reports whether an environment has the entry.
func hasEntry(environ []byte, entry string) bool {
	for part := range bytes.SplitSeq(environ, []byte{0}) {
		if string(part) == entry {
			return true
		}
	}
	return false
}

// stat returns a living process. One that has ended and was not waited for does not live.
func stat(pid int) (Found, bool) {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return Found{}, false
	}
	p, _, _, alive := parseStat(pid, raw)
	return p, alive
}

// parseStat reads /proc/PID/stat: the name stands in brackets and may hold
// anything.
func parseStat(pid int, raw []byte) (p Found, parent, session int, alive bool) {
	i, j := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
	if i < 0 || j < i {
		return p, 0, 0, false
	}
	fields := bytes.Fields(raw[j+1:])
	if len(fields) < 20 {
		return p, 0, 0, false
	}
	// fields[0] is field 3 of proc(5).
	state := fields[0][0]
	parent, _ = strconv.Atoi(string(fields[1]))
	session, _ = strconv.Atoi(string(fields[3]))
	p = Found{PID: pid, start: string(fields[19]), Name: string(raw[i+1 : j])}
	return p, parent, session, state != 'Z' && state != 'X'
}
