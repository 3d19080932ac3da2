//go:build !linux

package sandbox

import (
	"errors"
	"os"
)

var errWall = errors.New("sandbox: a wall of Linux on another system")

// sockets, filter and relayCommand are of Linux; so is bubblewrap.
type sockets int

const (
	ownSockets sockets = iota
	netSockets
)

func filter(sockets) ([]byte, error) { return nil, errWall }

func inMemory(string, []byte) (*os.File, error) { return nil, errWall }

func relayCommand() []string { return nil }

func (b *Box) useLandlock() error { return errWall }
