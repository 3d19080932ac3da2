package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// phase is what a run is about when it is killed.
type phase string

// The phases that are aimed at, and where a kill falls that meets none of them.
const (
	streaming  phase = "streaming"
	executing  phase = "executing"
	waiting    phase = "waiting"
	committing phase = "committing"
	between    phase = "between"
)

var phases = []phase{streaming, executing, waiting, committing}

// killed is what came of one kill.
type killed struct {
	fell    phase
	last    string // the type of the last event in the log
	told    int    // events that the client had received
	logged  int    // events in the logs
	torn    int    // bytes after the last line
	runs    int    // that were under way
	resumed int    // that came to their end
	stuck   int    // that did not
	orphans int
	lost    int // what was wrong with a log, or with what was done
	shared  int // sessions that two daemons had at once
	wrong   []string
}

// fails notes what is wrong, and counts it in one of k's counts.
func (k *killed) fails(count *int, format string, args ...any) {
	*count++
	k.wrong = append(k.wrong, fmt.Sprintf(format, args...))
}

// report is what came of all.
type report struct {
	least int // kills that each phase must have
	seed  uint64
	kills []killed
}

func (r *report) add(k killed) { r.kills = append(r.kills, k) }

// count returns how many kills fell into a phase.
func (r *report) count(p phase) (n int) {
	for _, k := range r.kills {
		if k.fell == p {
			n++
		}
	}
	return n
}

// rarest returns the phase with the fewest kills.
func (r *report) rarest() phase {
	return slices.MinFunc(phases, func(a, b phase) int { return r.count(a) - r.count(b) })
}

func (r *report) enough() bool { return r.count(r.rarest()) >= r.least }

// sum returns how much of something there was in all.
func (r *report) sum(of func(killed) int) (n int) {
	for _, k := range r.kills {
		n += of(k)
	}
	return n
}

func (r *report) lost() int   { return r.sum(func(k killed) int { return k.lost }) }
func (r *report) shared() int { return r.sum(func(k killed) int { return k.shared }) }

// table is a line for each phase, and their sum.
func (r *report) table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "phase\tkills\treceived\tin the logs\ttorn bytes\truns\tresumed\tstuck\torphans\tshared\tlost\t")
	line := func(name string, of func(killed) bool) {
		part := report{kills: slices.DeleteFunc(slices.Clone(r.kills), func(k killed) bool { return !of(k) })}
		fmt.Fprintf(w, "%s\t%d\t", name, len(part.kills))
		for _, count := range []func(killed) int{
			func(k killed) int { return k.told }, func(k killed) int { return k.logged },
			func(k killed) int { return k.torn },
			func(k killed) int { return k.runs }, func(k killed) int { return k.resumed },
			func(k killed) int { return k.stuck },
			func(k killed) int { return k.orphans }, func(k killed) int { return k.shared },
			func(k killed) int { return k.lost },
		} {
			fmt.Fprintf(w, "%d\t", part.sum(count))
		}
		fmt.Fprintln(w)
	}
	for _, p := range append(slices.Clone(phases), between) {
		line(string(p), func(k killed) bool { return k.fell == p })
	}
	line("all", func(killed) bool { return true })
	_ = w.Flush() // into memory
	return b.String()
}

// verdict says in a line what the table means, and returns the exit code.
func (r *report) verdict(unsafe bool, out io.Writer) (int, error) {
	stuck, orphans := r.sum(func(k killed) int { return k.stuck }), r.sum(func(k killed) int { return k.orphans })
	lost, shared := r.lost(), r.shared()
	switch {
	case unsafe && lost > 0 && shared > 0:
		fmt.Fprintf(out, "the build without syncs and locks was found out: %d losses, %d sessions of two daemons, in %d kills, seed %d\n", lost, shared, len(r.kills), r.seed)
		return exitOK, nil
	case unsafe:
		return exitFailed, fmt.Errorf("%d kills of a build without syncs and locks, and only %d losses and %d sessions of two daemons were seen: the checks are blind", len(r.kills), lost, shared)
	case lost+shared+stuck+orphans > 0:
		return exitFailed, fmt.Errorf("lost %d, shared %d, stuck %d, orphans %d; seed %d", lost, shared,
			stuck, orphans, r.seed)
	case !r.enough():
		return exitFailed, fmt.Errorf("only %d of %d kills fell into %s, want %d", r.count(r.rarest()),
			len(r.kills), r.rarest(), r.least)
	}
	fmt.Fprintf(out, "%d kills, seed %d: nothing lost, nothing stuck, nothing left\n", len(r.kills), r.seed)
	return exitOK, nil
}
