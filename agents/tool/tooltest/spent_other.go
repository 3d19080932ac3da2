//go:build !unix

package tooltest

import "time"

var began = time.Now()

// Spent returns the time on the clock since the process began, where the
// system's processor time is not read.
func Spent() time.Duration { return time.Since(began) }
