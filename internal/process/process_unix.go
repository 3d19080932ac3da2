//go:build unix

package process

import (
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// signal is what a process is sent.
type signal = syscall.Signal

const (
	// A process is asked to end first, and killed afterwards.
	terminate = syscall.SIGTERM
	kill      = syscall.SIGKILL
)

// ownSession gives a process a session of its own, without a terminal.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// role is what the process that leads a group is.
type role bool

const (
	leader    role = false // a command
	container role = true  // what a command is contained in
)

// groups are the process groups that a job has running. Each is the session of
// the process that leads it. Reapers are in none of them: no signal that is
// meant for commands reaches them.
type groups struct {
	mu sync.Mutex
	// Keyed by the process that leads the group, whose number is that of the group.
	pids    map[int]role
	reapers map[int]*os.File // the daemon's ends of their status pipes
	// Nothing is started any more.
	closed bool
}

// start starts cmd, unless the job is being ended. A reaper comes with our end
// of its status pipe.
func (g *groups) start(cmd *exec.Cmd, r role, status *os.File) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return ErrEnded
	}
	Seal()
	if err := cmd.Start(); err != nil {
		return err
	}
	if g.pids == nil {
		g.pids, g.reapers = make(map[int]role), make(map[int]*os.File)
	}
	if status != nil {
		g.reapers[cmd.Process.Pid] = status
	} else {
		g.pids[cmd.Process.Pid] = r
	}
	return nil
}

// add enters the group of a process that a reaper has started.
func (g *groups) add(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pids[pid] = leader
}

// forget drops a process that was waited for: its number may be another's.
func (g *groups) forget(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.pids, pid)
	delete(g.reapers, pid)
}

// reaperPIDs returns the reapers that live.
func (g *groups) reaperPIDs() map[int]bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make(map[int]bool, len(g.reapers))
	for pid := range g.reapers {
		out[pid] = true
	}
	return out
}

func (g *groups) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// contains reports whether a process is a container.
func (g *groups) contains(pid int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pids[pid] == container
}

// signal sends what to every group, but containers only kill. One that has
// stopped is woken up to take it.
func (g *groups) signal(what signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for pid, r := range g.pids {
		if r == container && what != kill {
			continue
		}
		_ = syscall.Kill(-pid, what) // gone already is as good
		_ = syscall.Kill(-pid, syscall.SIGCONT)
	}
}

// dismissReapers has the reapers that live end all that is below them, and
// themselves: they see that nobody reads their status any more.
func (g *groups) dismissReapers() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, status := range g.reapers {
		_ = status.Close() // it was only read
	}
}

// copyWritten copies what lies in a pipe whose time to read is over, and waits for nothing.
// It ends also where somebody goes on writing: no pipe holds more than [maxPipe].
func copyWritten(to io.Writer, f *os.File) {
	raw, err := f.SyscallConn()
	if err != nil || f.SetReadDeadline(time.Time{}) != nil {
		return // it was closed
	}
	buf := make([]byte, 64<<10)
	for left := maxPipe; left > 0; {
		n := 0
		err := raw.Read(func(fd uintptr) bool {
			n, _ = syscall.Read(int(fd), buf) // the pipe does not block, so no signal interrupts it
			return true
		})
		if err != nil || n <= 0 {
			return
		}
		_, _ = to.Write(buf[:n]) // an Output takes all
		left -= n
	}
}

// maxPipe is the most that a pipe can hold, in bytes, for a process without privileges.
const maxPipe = 1 << 20
