package fault

import (
	"fmt"
	"hash/fnv"
	"runtime"
	"strings"
)

// BugID names the place of a panic, from the program counters of its stack: the
// same for the same place in the same build, so that reports of one bug can be
// told to be one. It is what a person is told; the stack is for the log.
func BugID(callers []uintptr) string {
	h := fnv.New32a()
	for frames := runtime.CallersFrames(callers); ; {
		f, more := frames.Next()
		// What the runtime and the catcher add differs by the kind of panic only.
		if !strings.HasPrefix(f.Function, "runtime.") && !strings.Contains(f.Function, "conc/panics") {
			fmt.Fprintf(h, "%s:%d\n", f.Function, f.Line)
		}
		if !more {
			return fmt.Sprintf("%08x", h.Sum32())
		}
	}
}
