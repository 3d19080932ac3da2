package helper

import (
	"fmt"
	"os"
)

// Works says that this program can be a helper here.
const Works = true

// Program is how this program is started again, also when its file has been
// replaced.
const Program = "/proc/self/exe"

// run is the whole of a helper. It returns the process's exit code.
func run(name string, args, environ []string) int {
	switch {
	case name == Reap && len(args) > 1:
		return reap(args[0], args[1:], environ, func() error { return nil })
	case name == Confine && len(args) > 1:
		return reap(args[0], args[1:], environ, confine)
	case name == Relay && len(args) > 3:
		return relay(args[0], args[1], args[2], args[3:], environ)
	}
	fmt.Fprintln(os.Stderr, "agentls: this helper is started by agentls only")
	return 2
}
