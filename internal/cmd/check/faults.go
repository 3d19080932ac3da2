package main

import (
	"runtime"
	"strings"
)

// mutants applies each patch of testdata/mutants and expects its test to fail.
func (c *checks) mutants() outcome {
	out, err := c.run("go", "run", "./internal/cmd/mutants")
	return lastLine(out, err)
}

// crashes kills the real binary in 60 moments of its work.
func (c *checks) crashes() outcome {
	if runtime.GOOS != "linux" {
		return skip("the crash loop", "it looks for processes as Linux shows them", "run it on Linux")
	}
	out, err := c.run("go", "run", "./internal/cmd/crashloop", "-n", "60")
	return lastLine(out, err)
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
