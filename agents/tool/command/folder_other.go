//go:build !unix

package command

import (
	"io/fs"
	"os"
)

// openFolder opens a folder, and nothing that is none.
func openFolder(path string) (*os.File, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil, fs.ErrNotExist
	}
	return os.Open(path)
}
