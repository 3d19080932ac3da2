//go:build !unix

package daemon

import "os"

// alive reports whether a process is there.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release() // it was only looked for
	return true
}
