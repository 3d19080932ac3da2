package main

import (
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
)

// mutants applies each patch of testdata/mutants and expects its test to fail.
func (c *checks) mutants() outcome {
	args := []string{"run", "./internal/cmd/mutants"}
	if c.passed {
		args = append(args, "-passed")
	}
	out, err := c.run("go", args...)
	return lastLine(out, err)
}

// crashes kills the real binary in 200 moments of its work, other ones each time.
func (c *checks) crashes() outcome {
	if runtime.GOOS != "linux" {
		return skip("the crash loop", "it looks for processes as Linux shows them", "run it on Linux")
	}
	out, err := c.run("go", "run", "./internal/cmd/crashloop", "-n", "200", "-seed",
		strconv.FormatUint(rand.Uint64(), 10))
	return lastLine(out, err)
}

// wall tries for a minute to get through each wall of this machine.
func (c *checks) wall() outcome {
	if runtime.GOOS != "linux" {
		return skip("the wall", "only walls of Linux are tried", "run it on Linux")
	}
	var notes []string
	for _, wall := range []string{"bubblewrap", "landlock"} {
		out, err := c.run("go", "run", "./internal/cmd/wallfuzz", "-wall", wall, "-for", "60s", "-programs", "300",
			"-seed", strconv.FormatUint(rand.Uint64(), 10))
		o := lastLine(out, err)
		if o.err != nil {
			return o
		}
		notes = append(notes, o.note)
	}
	return outcome{note: strings.Join(notes, "; ")}
}

// lastLine is the outcome of a command whose last line sums it up.
func lastLine(out string, err error) outcome {
	o := passed(out, err)
	if err == nil {
		lines := strings.Split(strings.TrimSpace(out), "\n")
		o.note, o.output = lines[len(lines)-1], ""
	}
	return o
}
