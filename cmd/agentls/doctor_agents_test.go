package main

import (
	"strings"
	"testing"
)

// TestDoctorTellsWarnedAgentsFromBrokenOnes: an agent that runs without a tool that nobody
// knows is one; a file that cannot be read is none.
func TestDoctorTellsWarnedAgentsFromBrokenOnes(t *testing.T) {
	dir := explainable(t)
	agent(t, dir, "warned", "tools: [read_file, nope_tool]")
	agent(t, dir, "broke", "tools: [")
	_, out, _ := command(t, dir, "doctor")
	before := ""
	for line := range strings.Lines(out) {
		switch {
		case strings.Contains(before, "warned.md"):
			if !strings.Contains(line, "runs without that") {
				t.Errorf("of an agent that runs: %s", line)
			}
		case strings.Contains(before, "broke.md"):
			if !strings.Contains(line, "it is no agent until then") {
				t.Errorf("of a file that is none: %s", line)
			}
		}
		before = line
	}
	for _, file := range []string{"warned.md:", "broke.md:"} {
		if !strings.Contains(out, file) {
			t.Errorf("%s is not named:\n%s", file, out)
		}
	}
}
