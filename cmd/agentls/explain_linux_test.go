package main

import (
	"bytes"
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
