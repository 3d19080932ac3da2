// Check is the project's test command: everything that must hold before a
// change is done, in one call.
//
//	go run ./internal/cmd/check              # all of it
//	go run ./internal/cmd/check -short       # no fuzzing, mutants, crash loop, real clients
//	go run ./internal/cmd/check -fuzztime 2m # longer fuzzing
//
// It covers gofmt, vet, go mod tidy, staticcheck, the tests under the race
// detector and in random order (layering, scenarios and goroutine leaks are
// among them), the tests that poison recycled requests, generated documents and
// expected timelines without a difference, mutants that a test must find, a daemon
// that is killed again and again, some seconds of each fuzz target, the
// size of the binary, and clients that others wrote.
//
// A step that passes is one line. A step that fails shows its output, and the
// others go on. What cannot be done on this machine is left out and said in one
// line with the reason and the way to get it: nothing but Go itself is needed.
// The end is a verdict and the closing lines of go test. The exit code is 1 when
// a step failed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	short := flag.Bool("short", false, "no fuzzing, mutants, crash loop and real clients")
	fuzztime := flag.Duration("fuzztime", 20*time.Second, "how long each fuzz target runs")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "check: takes no arguments, got %q\n", flag.Args())
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := run(ctx, *short, *fuzztime)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
}

// run does all steps and reports whether none failed.
func run(ctx context.Context, short bool, fuzztime time.Duration) (bool, error) {
	m, err := newMachine(ctx)
	if err != nil {
		return false, err
	}
	c := &checks{machine: m, fuzztime: fuzztime}
	r := &report{out: os.Stdout, now: time.Now, width: 34}
	for _, s := range c.steps(short) {
		if ctx.Err() != nil {
			return false, errors.New("interrupted")
		}
		r.do(s)
	}
	r.verdict()
	if len(c.closing) > 0 {
		fmt.Fprintln(r.out)
		for _, line := range c.closing {
			fmt.Fprintln(r.out, line)
		}
	}
	return r.failed == 0, nil
}

// machine is where the steps run.
type machine struct {
	ctx  context.Context
	root string // the module's folder
	env  []string
}

// newMachine finds the module that the working directory is in.
func newMachine(ctx context.Context) (*machine, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	mod := strings.TrimSpace(string(out))
	if filepath.Base(mod) != "go.mod" {
		return nil, errors.New("this is no folder of the module: go to its checkout first")
	}
	// A checkout that belongs to somebody else, or a machine without git, has no
	// version to stamp; nothing here needs one.
	flags := strings.TrimSpace(os.Getenv("GOFLAGS") + " -buildvcs=false")
	return &machine{ctx: ctx, root: filepath.Dir(mod), env: append(os.Environ(), "GOFLAGS="+flags)}, nil
}

// grace is how long a command may take to end after an interrupt.
const grace = 5 * time.Second

// command returns a command of the module's folder. env is added to the
// environment.
func (m *machine) command(env []string, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(m.ctx, name, args...)
	c.Dir, c.Env = m.root, append(m.env[:len(m.env):len(m.env)], env...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = grace
	return c
}

// run runs a command and returns all that it says.
func (m *machine) run(name string, args ...string) (string, error) {
	return m.runWith(nil, name, args...)
}

// runWith is run with more of an environment.
func (m *machine) runWith(env []string, name string, args ...string) (string, error) {
	out, err := m.command(env, name, args...).CombinedOutput()
	return string(out), err
}

// has reports whether a folder of the module exists.
func (m *machine) has(folder string) bool {
	info, err := os.Stat(filepath.Join(m.root, filepath.FromSlash(folder)))
	return err == nil && info.IsDir()
}
