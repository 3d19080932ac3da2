// Package helper is what this program does when a daemon starts it once more to
// stand between itself and a command.
//
// It does its work in an init function, which no other package of this program
// may have, and ends the process there. Go initialises packages in the order of
// their import paths as soon as what they import is ready: since this package
// imports the os and the system calls alone, it runs before almost all others,
// whose initialisation takes far longer than a helper's start (20 ms against 2).
// So it must not import anything else, and it alone below cmd reads os.Args and
// ends the process. Any program that links it, tests too, can be a helper.
package helper

import (
	"os"
	"syscall"
)

// Argument is the first argument by which this program knows that it is a
// helper. The second says which one, the others are its own.
const Argument = "__helper"

// The helpers.
const (
	Reap    = "reap"    // starts one command and outlives all that it starts
	Confine = "confine" // the same, and confines the command by Landlock and seccomp first
	Relay   = "relay"   // runs one command and passes connections to a port of loopback on to a Unix socket
)

func init() {
	if len(os.Args) < 3 || os.Args[1] != Argument {
		return
	}
	// Not os.Exit: under the race detector that sleeps for a second.
	syscall.Exit(run(os.Args[2], os.Args[3:], os.Environ()))
}
