//go:build unix

package git

import (
	"os/exec"
	"syscall"
)

// executableName is the file that is looked for on the PATH.
const executableName = "git"

// isolate gives a process a group of its own, which ends with it when its time
// is over.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
