//go:build unix && !linux

package builtin

import (
	"os/exec"
	"syscall"
)

// isolate gives a process a session of its own, without a terminal.
func isolate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// seal does nothing here: what Go opens is not inherited.
func seal() {}

// process is a process of a call.
type process struct {
	pid  int
	name string
}

func (p process) signal(what signal) { _ = syscall.Kill(p.pid, what) }

// marked finds nothing here: a process that leaves its group is not seen.
func marked(string, map[int]process, map[int]bool) []process { return nil }
