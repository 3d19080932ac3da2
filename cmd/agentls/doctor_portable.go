//go:build !linux

package main

import "errors"

// checkWatches has nothing to look at: other systems set no limit that a daemon
// would meet.
func checkWatches() finding {
	return finding{"watches", fine, "watches: this system sets no limit", ""}
}

// freeSpace does not know how much room a folder has.
func freeSpace(string) (uint64, error) { return 0, errors.ErrUnsupported }
