//go:build !unix

package git

import "os/exec"

// executableName is the file that is looked for on the PATH.
const executableName = "git.exe"

// isolate does nothing: the process alone is ended when its time is over.
func isolate(*exec.Cmd) {}
