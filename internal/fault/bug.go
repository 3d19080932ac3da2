package fault

import (
	"errors"
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

// PanicText is what a log keeps of a panic: its stack, and its value only where
// that is the runtime's own error. Any other value may hold what a person or a
// model said (SEC-118).
func PanicText(value any, stack []byte) string {
	what := fmt.Sprintf("a %T", value)
	err, _ := value.(error)
	if own, is := errors.AsType[runtime.Error](err); is {
		what = own.Error()
	}
	return fmt.Sprintf("panic: %s\n%s", what, stack)
}
