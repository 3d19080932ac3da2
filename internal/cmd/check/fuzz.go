package main

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/sourcegraph/conc/pool"
)

// target is one fuzz target.
type target struct{ pkg, name string }

// targets reads what go test -list said: the targets of a package, then its
// closing line.
func targets(output string) []target {
	var all []target
	var names []string
	for line := range strings.Lines(output) {
		switch fields := strings.Fields(line); {
		case len(fields) == 1 && strings.HasPrefix(fields[0], "Fuzz"):
			names = append(names, fields[0])
		case len(fields) >= 2 && fields[0] == "ok":
			for _, name := range names {
				all = append(all, target{pkg: fields[1], name: name})
			}
			names = nil
		}
	}
	return all
}

// fuzz runs each fuzz target for a while. What is found stays in the package's
// testdata, where go test plays it again.
func (c *checks) fuzz() outcome {
	out, err := c.run("go", "test", "-vet=off", "-list", "^Fuzz", "./...")
	all := targets(out)
	if len(all) == 0 {
		return failed(out, "there are no fuzz targets")
	}
	o := outcome{note: fmt.Sprintf("%d targets of %s", len(all), c.fuzztime)}
	var broken []string
	if err != nil { // the targets of the other packages are fuzzed all the same
		o.output = withoutPassed(out)
		broken = append(broken, "some packages have tests that do not compile")
	}
	// Two at once, each with half of the processors: their time is the clock's.
	atOnce := min(2, runtime.NumCPU())
	workers := strconv.Itoa(max(1, runtime.NumCPU()/atOnce))
	outs := make([]string, len(all))
	failures := make([]bool, len(all))
	group := pool.New().WithMaxGoroutines(atOnce)
	for i, t := range all {
		group.Go(func() {
			if c.ctx.Err() != nil {
				return
			}
			out, err := c.run("go", "test", "-vet=off", "-run=^$", "-fuzz=^"+t.name+"$", "-parallel="+workers,
				"-fuzztime="+c.fuzztime.String(), t.pkg)
			outs[i], failures[i] = out, err != nil && !lateStop(out)
		})
	}
	group.Wait()
	if c.ctx.Err() != nil {
		return failed(o.output, "interrupted")
	}
	for i, t := range all {
		if failures[i] {
			o.output += outs[i]
			broken = append(broken, t.pkg+"."+t.name)
		}
	}
	if broken != nil {
		o.err = errors.New(strings.Join(broken, ", "))
	}
	return o
}

// lateStop reports whether a target failed only because its time was up: before
// Go 1.27 the coordinator may take the end of -fuzztime for a failure
// (go.dev/issue/75804). A failure that is one has an input, or says more.
func lateStop(output string) bool {
	var said []string
	inside := false
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "--- FAIL: "):
			inside = true
		case line == "FAIL" || strings.HasPrefix(line, "FAIL\t"):
			inside = false
		case inside && line != "":
			said = append(said, line)
		case strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:"):
			return false
		}
	}
	return len(said) == 1 && said[0] == "context deadline exceeded"
}
