//go:build !linux

package registry

// What a file looks like where only the portable facts are asked for.

import (
	"io/fs"
	"time"
)

// stampOf returns what a file looks like.
func stampOf(info fs.FileInfo) stamp {
	return stamp{size: info.Size(), modified: info.ModTime()}
}

// birth returns the zero time: it is not known when a file was made.
func birth(string) time.Time { return time.Time{} }
