//go:build unix

package builtin

import (
	"errors"
	"maps"
	"os/exec"
	"sync"
	"syscall"
)

// signal is what a process is sent.
type signal = syscall.Signal

const (
	terminate = syscall.SIGTERM
	kill      = syscall.SIGKILL
	dismissal = syscall.SIGUSR1 // to a reaper
)

// errEnded says that no process is started any more because the call ends.
var errEnded = errors.New("the call has ended")

// groups are the process groups that a call has running. Each is the session
// of the process that leads it. A reaper leads a group of its own, which is
// told nothing that is meant for commands.
type groups struct {
	mu      sync.Mutex
	pids    map[int]bool
	reapers map[int]bool
	closed  bool
}

// start starts cmd, unless the call is being ended.
func (g *groups) start(cmd *exec.Cmd, reaper bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return errEnded
	}
	seal()
	if err := cmd.Start(); err != nil {
		return err
	}
	if g.pids == nil {
		g.pids, g.reapers = make(map[int]bool), make(map[int]bool)
	}
	if reaper {
		g.reapers[cmd.Process.Pid] = true
	} else {
		g.pids[cmd.Process.Pid] = true
	}
	return nil
}

// lead enters the group of a process that a reaper has started.
func (g *groups) lead(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pids[pid] = true
}

// ended forgets a process that was waited for: its number may be another's.
func (g *groups) ended(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.pids, pid)
	delete(g.reapers, pid)
}

// reaping returns the reapers that live.
func (g *groups) reaping() map[int]bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.reapers)
}

func (g *groups) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// signal sends what to every group. One that has stopped is woken up to take
// it.
func (g *groups) signal(what signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for pid := range g.pids {
		_ = syscall.Kill(-pid, what) // gone already is as good
		_ = syscall.Kill(-pid, syscall.SIGCONT)
	}
}

// dismiss has the reapers that live end all that they see to, and themselves.
func (g *groups) dismiss() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for pid := range g.reapers {
		_ = syscall.Kill(pid, dismissal) // gone already is as good
	}
}
