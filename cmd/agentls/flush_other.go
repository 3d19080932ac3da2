//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd && !windows

package main

// flushInput does nothing: this system has no call for it that we know.
func flushInput(int) {}
