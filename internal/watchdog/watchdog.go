// Package watchdog notices that a process hangs, keeps what its goroutines were
// at, and ends it so that whoever started it starts it again (REL-32).
//
// [Watch] makes checks; [Bite] is what happens when one does not come back. They
// know nothing of what is checked.
//
// # No false alarms
//
// A check's time is not read off a clock. It is counted in beats of a fiftieth
// of it, and a beat that comes late counts once: so a process that was starved,
// stopped or suspended has no less of its time left than before, and neither a
// busy machine nor the sleep of a laptop is a hang (REL-48).
//
// [Watch] runs for the life of the process, with Bite.Hung as hung. Checks are made in
// rounds: the next one begins when all of the last have returned, so a check that hangs
// keeps the others from being made, and is told again and again.
package watchdog

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sourcegraph/conc"
	"github.com/sourcegraph/conc/panics"
)

// Every is how often the checks are made, and how long each may take.
const Every = 5 * time.Second

// beats is how many of them a check may take.
const beats = 50

// Check is a part of the process that must come round.
type Check struct {
	// For a log and a person.
	Name string
	// Ping returns soon while the part works. It is not called again before it
	// has returned; a panic counts as a return.
	Ping func()
}

// Watch makes the checks every five seconds until ctx ends. For those that did
// not return in time hung is called, with their names, each time that they have
// had the same time again, until they return. hung runs in place: while it runs
// nothing is checked.
//
// A check that never returns keeps its goroutine.
func Watch(ctx context.Context, checks []Check, hung func(names []string)) {
	watch(ctx, checks, hung, Every, time.After)
}

// watch is Watch with a time of its own and a clock of its own.
func watch(ctx context.Context, checks []Check, hung func([]string), every time.Duration,
	after func(time.Duration) <-chan time.Time) {
	r := &rounds{beat: func() <-chan time.Time { return after(every / beats) }, returned: make(chan int, len(checks)),
		out: make(map[int]string)}
	for {
		select {
		case <-ctx.Done():
			return
		case <-after(every):
		}
		for i, c := range checks {
			r.start(i, c)
		}
		if !r.wait(ctx, hung) {
			return
		}
	}
}

// rounds is the checks that are being made.
type rounds struct {
	beat     func() <-chan time.Time
	returned chan int
	out      map[int]string // names of those that have not returned
	pings    conc.WaitGroup // nobody waits for it: what hangs cannot be waited for
}

// start makes a check in a goroutine of its own, and notes that it is out.
func (r *rounds) start(i int, c Check) {
	r.out[i] = c.Name
	r.pings.Go(func() {
		var caught panics.Catcher
		caught.Try(c.Ping)
		r.returned <- i // has room for all
	})
}

// wait returns true when all checks have returned, and false when ctx ends.
func (r *rounds) wait(ctx context.Context, hung func([]string)) bool {
	beat := r.beat()
	for n := 0; len(r.out) > 0; {
		select {
		case <-ctx.Done():
			return false
		case i := <-r.returned:
			delete(r.out, i)
		case <-beat:
			beat = r.beat()
			if n++; n%beats == 0 {
				hung(r.names())
			}
		}
	}
	return true
}

// names returns what is out, in the order of the checks.
func (r *rounds) names() []string {
	var all []string
	for _, i := range slices.Sorted(maps.Keys(r.out)) {
		all = append(all, r.out[i])
	}
	return all
}
