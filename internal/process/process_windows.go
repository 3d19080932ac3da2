package process

import (
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// signal is what a process is sent; both kinds end it here.
type signal int

const (
	terminate signal = iota
	kill
)

// Seal does nothing here: handles are not inherited unless they are named.
func Seal() {}

// Isolate does nothing here.
func Isolate(*exec.Cmd) {}

// role is as on Unix. There are no containers here, so nothing asks for it.
type role bool

const leader, container role = false, true

// ownSession says nothing here: there are no sessions.
func ownSession() *syscall.SysProcAttr { return nil }

// groups are the processes that a call has running; their children are not
// known here.
type groups struct {
	mu     sync.Mutex
	pids   map[int]*os.Process
	closed bool
}

// start starts cmd, unless the job is being ended.
func (g *groups) start(cmd *exec.Cmd, _ role, _ *os.File) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return ErrEnded
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if g.pids == nil {
		g.pids = make(map[int]*os.Process)
	}
	g.pids[cmd.Process.Pid] = cmd.Process
	return nil
}

// forget drops a process that was waited for.
func (g *groups) forget(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.pids, pid)
}

func (g *groups) add(int) {} // there are no reapers here

// contains reports no container: there are none here.
func (g *groups) contains(int) bool { return false }

// reaperPIDs returns none, as dismissReapers has none to dismiss.
func (g *groups) reaperPIDs() map[int]bool { return nil }

func (g *groups) dismissReapers() {}

// close keeps the job from starting more.
func (g *groups) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// signal kills: there is no way here to ask a process to end.
func (g *groups) signal(signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.pids {
		_ = p.Kill()
	}
}

// Found is a process of a job.
type Found struct {
	PID  int
	Name string
}

// signal does nothing, as nothing is found here.
func (p Found) signal(signal) {}

// find finds nothing here.
func find(string, map[int]Found, map[int]bool) []Found { return nil }

// copyWritten copies nothing here: pipes have no deadline that it would come after.
func copyWritten(io.Writer, *os.File) {}
