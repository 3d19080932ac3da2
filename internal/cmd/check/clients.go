package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// needed are the programs that the client tests look for, with what to install.
var needed = []struct{ program, clients, how string }{
	{"node", "the client from npm", "install Node 20 or newer"},
	{"nvim", "Neovim", "install Neovim (Debian: neovim)"},
	{"tmux", "editors on a screen", "install tmux (Debian: tmux)"},
	{"emacs", "Emacs", "install Emacs with eglot (Debian: emacs-nox elpa-eglot)"},
}

// skipped finds why a test was left out, and its name on the line below.
var skipped = regexp.MustCompile(`(?m)^\s+\S+\.go:\d+: (.*)\n\s*--- SKIP: (\S+)`)

// measured finds what a test has measured, which is said under its step.
var measured = regexp.MustCompile(`(?m)^\s+\S+\.go:\d+: measured: (.*)$`)

// clients runs the tests against clients that others wrote. They leave
// themselves out where what they need is missing.
func (c *checks) clients() outcome {
	if !c.has(clients) {
		return skip("real clients", "this checkout has no "+clients, "")
	}
	var missing []leftOut
	for _, n := range needed {
		if _, err := exec.LookPath(n.program); err != nil {
			missing = append(missing, leftOut{n.clients, "there is no " + n.program, n.how})
		}
	}
	args := []string{"test", "-count=1", "-v", "-timeout=1h"}
	if !c.long {
		args = append(args, "-short") // without it Jaeger is built, which takes minutes
	}
	out, err := c.run("go", append(args, "./"+clients+"/...")...)
	o := clientsOutcome(out, err, missing)
	o.note += ", screens in " + cmp.Or(os.Getenv("AGENTLS_SHOTS"), "build/screenshots")
	c.closes(out)
	return o
}

// clientsOutcome reads what go test -v said. Missing programs are said once; of
// a test that was left out for another reason its own words are.
func clientsOutcome(out string, err error, missing []leftOut) outcome {
	o := outcome{output: out, err: err, left: missing}
	for _, m := range skipped.FindAllStringSubmatch(out, -1) {
		known := slices.ContainsFunc(missing, func(l leftOut) bool {
			return slices.Contains(strings.Fields(m[1]), strings.TrimPrefix(l.why, "there is no "))
		})
		if !known {
			o.left = append(o.left, leftOut{m[2], m[1], ""})
		}
	}
	ran := strings.Count("\n"+out, "\n--- PASS: ")
	o.none = err == nil && ran == 0
	o.note = fmt.Sprintf("%d tests", ran)
	for _, m := range measured.FindAllStringSubmatch(out, -1) {
		o.measured = append(o.measured, m[1])
	}
	return o
}
