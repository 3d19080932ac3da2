package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestExplainFitsTheTerminal: as wide as the terminal is, and 100 columns in a pipe.
func TestExplainFitsTheTerminal(t *testing.T) {
	_, screen := seat(t)
	defer screen.Close()
	if n := columnsFor(screen); n != 80 {
		t.Errorf("%d columns on a terminal of 80", n)
	}
	if n := columnsFor(new(bytes.Buffer)); n != 100 {
		t.Errorf("%d columns in a pipe", n)
	}
}

// TestPipesAreNotRead: what a shell's <(…) is said not to be.
func TestPipesAreNotRead(t *testing.T) {
	dir := folderWith(t, map[string]string{".gemini/agents/fixer.md": ourAgent})
	for _, args := range []string{"diff-authority /dev/null fixer", "diff-authority fixer /dev/null", "validate /dev/null"} {
		if code, out, errs := command(t, dir, strings.Fields(args)...); code != exitFailed || out != "" || !strings.Contains(errs, "/dev/null is a pipe or a device, which is not read\n  Write its text to a file first") {
			t.Errorf("%s: exit %d\n%s%s", args, code, out, errs)
		}
	}
}
