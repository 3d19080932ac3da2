//go:build unix

package command

import (
	"os"
	"syscall"
)

// openFolder opens a folder. What is none is not opened, as a pipe, which would wait
// for who writes into it, or a device.
func openFolder(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
}
