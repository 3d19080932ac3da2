//go:build unix && !linux

package server

import "golang.org/x/sys/unix"

// dup makes to a copy of from.
func dup(from, to int) error { return unix.Dup2(from, to) }
