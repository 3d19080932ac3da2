//go:build unix

package tooltest

import (
	"syscall"
	"time"
)

// Spent returns the processor time that this process has had. A test that bounds
// the cost of a computation takes the difference of two: time on the clock also
// grows with whatever else the machine does.
func Spent() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // the arguments are constants
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
