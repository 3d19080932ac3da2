//go:build !unix

package commandtest

import "os/exec"

// together does nothing: what a command started can outlive it here.
func together(*exec.Cmd) {}
