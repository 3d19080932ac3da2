//go:build !linux

package daemon

// unmapBinary does nothing here: memory is measured on Linux.
func unmapBinary() {}
