// Check is the project's test command: everything that must hold before a
// change is done, in one call.
//
//	go run ./internal/cmd/check                    # gives the same answer each time
//	go run ./internal/cmd/check -long              # explores as well, before an issue is done
//	go run ./internal/cmd/check -long -fuzztime 2m # with longer fuzzing
//
// It covers gofmt, vet, go mod tidy, staticcheck, the tests under the race
// detector (layering, goroutine leaks and the seeds of the fuzz targets are among
// them; a few loads and tests of programs, as a short crash loop, run without it),
// the scenarios while recycled requests are
// poisoned, generated documents and expected timelines without a difference, the
// size of the binary, mutants that a test must find, and clients that others
// wrote. Nothing in it is left to chance: the tests run in the order of their
// source, and properties draw from a fixed seed, a part of their samples (go test's
// -short).
//
// With -long chance takes part: the tests run whole, in a random order with random
// seeds, soak and kill for longer, macOS and Windows are vetted, a daemon is killed in 200 moments, and new inputs are
// looked for with each fuzz target. A failure that it finds is committed with its
// fix: an input of a fuzz target as the file that go test wrote to testdata/fuzz, a
// seed as a case of a test.
//
// A step that passes is one line. A step that fails shows its output, and the
// others go on. A step that this machine cannot do is left out and said in one
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
	long := flag.Bool("long", false, "explore: new fuzzing, random order and seeds, long crash loops and soaks")
	fuzztime := flag.Duration("fuzztime", 20*time.Second, "how long each fuzz target runs; needs -long")
	flag.Parse()
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "fuzztime" && !*long {
			fmt.Fprintln(os.Stderr, "check: -fuzztime needs -long: nothing is fuzzed without it")
			os.Exit(2)
		}
	})
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "check: takes no arguments, got %q\n", flag.Args())
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := run(ctx, *long, *fuzztime)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
}

// run does all steps and reports whether none failed.
func run(ctx context.Context, long bool, fuzztime time.Duration) (bool, error) {
	m, err := newMachine(ctx)
	if err != nil {
		return false, err
	}
	c := &checks{machine: m, long: long, fuzztime: fuzztime}
	r := &report{out: os.Stdout, now: time.Now, width: 34}
	for _, group := range c.steps() {
		if ctx.Err() != nil {
			return false, errors.New("interrupted")
		}
		r.do(group...)
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
