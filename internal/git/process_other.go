//go:build !unix

package git

import "os/exec"

const executableName = "git.exe"

// isolate does nothing: the process alone is ended when its time is over.
func isolate(*exec.Cmd) {}
