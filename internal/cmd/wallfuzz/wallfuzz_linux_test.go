package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/sandbox"
)

// asWallfuzz makes the test binary the program, so that it can become another
// user.
const asWallfuzz = "AGENTLS_TEST_AS_WALLFUZZ"

func TestMain(m *testing.M) {
	if os.Getenv(asWallfuzz) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestSEC46And108NothingGetsThrough: a little of what the program does, the same
// each time, behind each wall. The program itself proves that it would see harm.
func TestSEC46And108NothingGetsThrough(t *testing.T) {
	n, programs := "120", "40"
	if testing.Short() {
		n, programs = "40", "20"
	}
	for _, wall := range []sandbox.Wall{sandbox.Bubblewrap, sandbox.Landlock} {
		t.Run(string(wall), func(t *testing.T) { fuzz(t, wall, n, programs) })
	}
}

// TestSEC108TheKnownHarmIsHeld: what does harm without a wall does none behind it.
func TestSEC108TheKnownHarmIsHeld(t *testing.T) {
	for _, wall := range []sandbox.Wall{sandbox.Bubblewrap, sandbox.Landlock} {
		t.Run(string(wall), func(t *testing.T) { fuzz(t, wall, "1", "1") })
	}
}

func fuzz(t *testing.T, wall sandbox.Wall, n, programs string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], "-n", n, "-programs", programs, "-wall", string(wall), "-seed", "46")
	c.Env = append(os.Environ(), asWallfuzz+"=1")
	out, err := c.CombinedOutput()
	if strings.Contains(string(out), "there is no wall "+string(wall)) && os.Getenv("CI") == "" {
		t.Skipf("%s", out)
	}
	if err != nil || !strings.Contains(string(out), n+" commands of "+programs+" programs: 0 violations") {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
