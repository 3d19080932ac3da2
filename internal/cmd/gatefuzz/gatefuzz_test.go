package main

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestSEC46GatefuzzTellsItsNumbers(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash here")
	}
	var out strings.Builder
	if err := run(t.Context(), options{n: 600, seed: 3, workers: 2}, &out); err != nil {
		t.Fatal(err, out.String())
	}
	if said := out.String(); !strings.HasPrefix(said, "600 commands, ") || !strings.Contains(said, ": 0 violations") || strings.Contains(said, " 0 different") {
		t.Errorf("it says %q", said)
	}
	out.Reset()
	if err := run(t.Context(), options{limit: 300 * time.Millisecond, workers: 1}, &out); err != nil || !strings.Contains(out.String(), ": 0 violations") {
		t.Errorf("for a time: %q, %v", out.String(), err)
	}
	if err := run(t.Context(), options{}, &out); err == nil {
		t.Error("without an end it began")
	}
}
