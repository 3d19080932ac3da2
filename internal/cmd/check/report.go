package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc"
)

// step is one thing that must hold.
type step struct {
	name string
	do   func() outcome
}

// outcome is what came of a step.
type outcome struct {
	note   string    // said behind a step that passed, and its name: "31.2 MB"
	output string    // shown when it failed
	err    error     // why it failed; nil when it passed
	left   []leftOut // parts, or all, that were not done
	none   bool      // nothing of it was done

	measured []string // said in lines of their own below a step that passed
}

// leftOut is something that was not done.
type leftOut struct {
	what string
	why  string
	how  string // to get it
}

// String is the one line that is said of it.
func (l leftOut) String() string {
	s := "left out: " + l.what + ": " + l.why
	if l.how != "" {
		s += ", " + l.how
	}
	return s
}

// skip is the outcome of a step of which nothing can be done.
func skip(what, why, how string) outcome {
	return outcome{none: true, left: []leftOut{{what, why, how}}}
}

// passed is the outcome of a command: it failed where err is not nil.
func passed(output string, err error) outcome { return outcome{output: output, err: err} }

// failed is an outcome with a reason.
func failed(output, format string, args ...any) outcome {
	return outcome{output: output, err: fmt.Errorf(format, args...)}
}

// report says what came of steps, a line each.
type report struct {
	out   io.Writer
	now   func() time.Time
	width int // of names
	begun time.Time

	mu     sync.Mutex // of steps that are done at once
	ok     int
	failed int
	left   int
	names  []string // of what failed
}

// do does steps at once and says what came of each when it ends. A panic of a
// step is its failure.
func (r *report) do(steps ...step) {
	start := r.now()
	if r.begun.IsZero() {
		r.begun = start
	}
	var all conc.WaitGroup
	for _, s := range steps {
		all.Go(func() {
			o := protected(s.do)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.tell(s, o, start)
		})
	}
	all.Wait()
}

// tell says what came of a step that began at start.
func (r *report) tell(s step, o outcome, start time.Time) {
	for _, l := range o.left {
		r.left++
		fmt.Fprintln(r.out, l)
	}
	if o.none && o.err == nil {
		return
	}
	name := s.name
	if o.note != "" {
		name += ", " + o.note
	}
	word := "ok"
	if o.err != nil {
		word = "FAILED"
	}
	fmt.Fprintf(r.out, "%-*s  %-6s  %5.1f s\n", r.width, name, word, r.now().Sub(start).Seconds())
	if o.err == nil {
		r.ok++
		for _, line := range o.measured {
			fmt.Fprintln(r.out, "  "+line)
		}
		return
	}
	r.failed++
	r.names = append(r.names, s.name)
	if text := strings.TrimRight(o.output, "\n"); text != "" {
		fmt.Fprintln(r.out, text)
	}
	fmt.Fprintf(r.out, "%s: %v\n\n", s.name, o.err)
}

func protected(do func() outcome) (o outcome) {
	defer func() {
		if v := recover(); v != nil {
			o = outcome{err: errors.New(fmt.Sprint("a bug of check: ", v))}
		}
	}()
	return do()
}

// verdict says in one line how it went, and how long all of it took.
func (r *report) verdict() {
	took := r.now().Sub(r.begun).Round(time.Second)
	if r.failed == 0 {
		fmt.Fprintf(r.out, "all is well: %d steps ok, %d left out, %.0f s (%v)\n", r.ok, r.left, took.Seconds(), took)
		return
	}
	fmt.Fprintf(r.out, "NOT well: %s failed; %d steps ok, %d left out, %.0f s (%v)\n", strings.Join(r.names, "; "),
		r.ok, r.left, took.Seconds(), took)
}
