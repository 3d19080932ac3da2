//go:build !linux

package main

// hide does nothing: what a system shows of a process differs.
func hide([]string, bool) {}

// checkProcess says what hide does not do.
func checkProcess() finding {
	return finding{"process", odd,
		"process: whether other programs of yours can look into agentls is the system's matter here", ""}
}
