//go:build !linux

package builtin

import "os/exec"

// canReap is false: only Linux has what a reaper needs.
const canReap = false

const ownProgram = ""

func isolateReaper(*exec.Cmd) {}

// Reap is for Linux only: it runs nothing and returns 2.
func Reap([]string) int { return 2 }
