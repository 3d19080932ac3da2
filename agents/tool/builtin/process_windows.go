package builtin

import (
	"errors"
	"os"
	"os/exec"
	"sync"
)

// signal is what a process is sent; both kinds end it here.
type signal int

const (
	terminate signal = iota
	kill
)

var errEnded = errors.New("the call has ended")

// seal does nothing here: handles are not inherited unless they are named.
func seal() {}

// isolate does nothing here.
func isolate(*exec.Cmd) {}

// groups are the processes that a call has running; their children are not
// known here.
type groups struct {
	mu     sync.Mutex
	pids   map[int]*os.Process
	closed bool
}

func (g *groups) start(cmd *exec.Cmd, _ bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return errEnded
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

func (g *groups) ended(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.pids, pid)
}

func (g *groups) lead(int) {} // there are no reapers here

func (g *groups) reaping() map[int]bool { return nil }

func (g *groups) dismiss() {}

func (g *groups) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

func (g *groups) signal(signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.pids {
		_ = p.Kill()
	}
}

// process is a process of a call.
type process struct {
	pid  int
	name string
}

func (p process) signal(signal) {}

// marked finds nothing here.
func marked(string, map[int]process, map[int]bool) []process { return nil }
