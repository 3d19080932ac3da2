//go:build !linux

package activity

import "os"

// datasync syncs a file.
func datasync(f *os.File) error { return f.Sync() }
