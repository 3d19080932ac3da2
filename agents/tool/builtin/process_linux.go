package builtin

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// isolate gives a process a session of its own, without a terminal, and makes
// the kernel kill it when the thread that started it is gone.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// isolateReaper gives a reaper a session of its own, and has the kernel tell it
// when the thread that started it is gone. Before it listens, that ends it.
func isolateReaper(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: dismissal}
}

// seal marks every descriptor of the daemon but the first three as not to be
// inherited. Go does that for what it opens; what the daemon's own parent left
// open it does not know of (SEC-117).
func seal() {
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

// process is a process as it was found, by its number and the time when it
// started, which tell it from a later one of the same number.
type process struct {
	pid   int
	start string
	name  string
}

// signal sends what to the process if it is still the same.
func (p process) signal(what signal) {
	if again, ok := stat(p.pid); ok && again.start == p.start {
		_ = syscall.Kill(p.pid, what)
		_ = syscall.Kill(p.pid, syscall.SIGCONT)
	}
}

// marked returns the living processes whose environment holds mark, those that
// are known already, and what is below or in the session of one of them: also
// what left the group and the session of the one that was started (REL-73). The
// reapers are not among them, but all that is below them is. Without a reaper, a
// process that empties its environment and whose parents are gone before
// anybody looks is not found.
func marked(mark string, known map[int]process, reapers map[int]bool) []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	type seen struct {
		process
		parent, session int
	}
	var all []seen
	of := make(map[int]bool)
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
		all = append(all, seen{p, parent, session})
		if known[pid].start == p.start {
			of[pid] = true
			continue
		}
		environ, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err == nil && hasEntry(environ, mark) {
			of[pid] = true
		}
	}
	for grown := true; grown && len(of) > 0; {
		grown = false
		for _, p := range all {
			if !of[p.pid] && (of[p.parent] || of[p.session]) {
				of[p.pid], grown = true, true
			}
		}
	}
	var out []process
	for _, p := range all {
		if of[p.pid] && !reapers[p.pid] {
			out = append(out, p.process)
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

// stat returns a living process.
func stat(pid int) (process, bool) {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return process{}, false
	}
	p, _, _, alive := parseStat(pid, raw)
	return p, alive
}

// parseStat reads /proc/PID/stat: the name stands in brackets and may hold
// anything.
func parseStat(pid int, raw []byte) (p process, parent, session int, alive bool) {
	i, j := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
	if i < 0 || j < i {
		return p, 0, 0, false
	}
	fields := bytes.Fields(raw[j+1:])
	if len(fields) < 20 {
		return p, 0, 0, false
	}
	state := fields[0][0]
	parent, _ = strconv.Atoi(string(fields[1]))
	session, _ = strconv.Atoi(string(fields[3]))
	p = process{pid: pid, start: string(fields[19]), name: string(raw[i+1 : j])}
	return p, parent, session, state != 'Z' && state != 'X'
}
