//go:build unix

package builtin

import (
	"errors"
	"os/exec"
	"sync"
	"syscall"
)

// signal is what a process is sent.
type signal = syscall.Signal

const (
	terminate = syscall.SIGTERM
	kill      = syscall.SIGKILL
)

// errEnded says that no process is started any more because the call ends.
var errEnded = errors.New("the call has ended")

// groups are the process groups that a call has running. Each is the session
// of the process that leads it.
type groups struct {
	mu     sync.Mutex
	pids   map[int]bool
	closed bool
}

// start starts cmd, unless the call is being ended.
func (g *groups) start(cmd *exec.Cmd) error {
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
		g.pids = make(map[int]bool)
	}
	g.pids[cmd.Process.Pid] = true
	return nil
}

// ended forgets a process that was waited for: its number may be another's.
func (g *groups) ended(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.pids, pid)
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
