//go:build !unix

package filelock

import "os"

// Alive reports whether a process of this machine is there, as one that a lock's file
// names as its holder.
func Alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release() // it was only looked for
	return true
}
