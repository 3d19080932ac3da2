package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// initialized is what the runtime says of a package of ours that was initialized.
var initialized = regexp.MustCompile(`(?m)^init (github\.com/agentls/agentls\S*) @.* (\d+) bytes, \d+ allocs$`)

// TestPackagesAllocateLittleAtTheStart: what a package makes at its
// initialization is in the memory of every process, also where nobody uses it.
func TestPackagesAllocateLittleAtTheStart(t *testing.T) {
	c := exec.Command(os.Args[0], "-test.run=^$")
	c.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := initialized.FindAllSubmatch(out, -1)
	if len(found) < 10 {
		t.Fatalf("only %d packages of ours:\n%s", len(found), out)
	}
	for _, m := range found {
		if size, err := strconv.Atoi(string(m[2])); err != nil || size > 512<<10 {
			t.Errorf("%s allocates %s bytes: make them when they are used", m[1], m[2])
		}
	}
}
