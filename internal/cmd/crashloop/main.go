// Crashloop kills agentls, as it is built, with SIGKILL at random moments of
// runs, and proves from outside what is left: that every event which a client had
// received is in the log once and in order, that the next daemon has every
// session, that each run which was under way is interrupted and comes to its end
// when it is resumed, and that no process of the dead one is alive (spec 12,
// REL-30).
//
//	go run ./internal/cmd/crashloop -n 200       # rounds
//	go run ./internal/cmd/crashloop -seed 7      # other moments
//	go run ./internal/cmd/crashloop -binary OLD  # another build
//	go run ./internal/cmd/crashloop -unsafe      # a build that must lose something
//
// The client is what checks: what the daemon says of itself counts for nothing,
// and the log is read by the rules of spec 3.1, without the code that wrote it.
// Where a kill fell is what the log and the client show, not what was aimed at,
// and rounds are added until each of the four phases has a tenth of n:
//
//   - streaming: a model's answer was under way;
//   - executing: a tool call was, a shell command or the writing of a file;
//   - waiting: a question to the person was open;
//   - committing: an event that must be on stable storage was written, or a file
//     of the session was being put in its place, and the client had not been told.
//
// With -unsafe the source is built with the changes of unsafe.patch: the log is
// told of before it is written and never synced, and sessions have no lock. The
// same checks must then find losses.
//
// A seed fixes what is aimed at; when the kernel gets there is its own. The exit
// code is 0 when nothing was lost, with -unsafe when something was, else 1; it is
// 2 when it cannot run here: it needs Linux's /proc.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/agentls/agentls/internal/faults"
)

func main() {
	var o options
	flag.IntVar(&o.rounds, "n", 200, "how often to kill")
	flag.Uint64Var(&o.seed, "seed", 1, "what chance begins from")
	flag.StringVar(&o.binary, "binary", "", "a built agentls; without it, this checkout's")
	flag.BoolVar(&o.unsafe, "unsafe", false, "build one without syncs and locks, which must be found out")
	flag.BoolVar(&o.verbose, "v", false, "tell of each kill")
	flag.StringVar(&o.dir, "dir", "", "where the temporary folders are made")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "crashloop:", err)
	}
	os.Exit(code)
}

// options are the flags.
type options struct {
	rounds          int
	seed            uint64
	binary, dir     string
	unsafe, verbose bool
}

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitCannot = 2
)

// run kills, prints the table and returns the exit code.
func run(ctx context.Context, o options, out io.Writer) (int, error) {
	switch {
	case runtime.GOOS != "linux":
		return exitCannot, errors.New("it looks for processes in Linux's /proc; run it there")
	case o.rounds < 1:
		return exitCannot, errors.New("-n is how often to kill, 1 or more")
	case o.unsafe && o.binary != "":
		return exitCannot, errors.New("-unsafe builds its own: leave -binary out")
	}
	tmp, err := os.MkdirTemp(o.dir, "crashloop")
	if err != nil {
		return exitFailed, err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // a temporary folder
	// As the kernel names it: processes are found by it.
	if tmp, err = filepath.EvalSymlinks(tmp); err != nil {
		return exitFailed, err
	}
	if o.binary == "" {
		o.binary, err = build(ctx, tmp, o.unsafe)
	} else {
		o.binary, err = filepath.Abs(o.binary)
	}
	if err != nil {
		return exitFailed, err
	}
	r := report{least: max(o.rounds/10, 1), seed: o.seed}
	for n := 0; n < o.rounds || (!r.enough() && n < 3*o.rounds && !o.unsafe); n++ {
		aim := phases[n%len(phases)]
		if n >= o.rounds {
			aim = r.rarest()
		}
		k, err := kill(ctx, o, filepath.Join(tmp, fmt.Sprintf("round%04d", n)), n, aim)
		if ctx.Err() != nil {
			return exitFailed, errors.New("interrupted")
		}
		if err != nil {
			return exitFailed, fmt.Errorf("round %d, which aimed at %s: %w", n, aim, err)
		}
		r.add(k)
		for _, w := range k.wrong {
			fmt.Fprintf(out, "round %d, %s: %s\n", n, k.fell, w)
		}
		if o.verbose {
			fmt.Fprintf(out, "round %d: aimed at %s, fell into %s after %s\n", n, aim, k.fell, k.last)
		}
		if o.unsafe && r.lost() >= proof && r.shared() > 0 {
			break
		}
	}
	fmt.Fprint(out, r.table())
	return r.verdict(o.unsafe, out)
}

// proof is how many losses prove that the checks see.
const proof = 3

// build builds agentls; unsafe with the changes of unsafe.patch, which are laid
// over the source and change no file of it.
func build(ctx context.Context, tmp string, unsafe bool) (string, error) {
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w", err)
	}
	root := filepath.Dir(strings.TrimSpace(string(mod)))
	binary := filepath.Join(tmp, "agentls")
	args := []string{"build", "-buildvcs=false", "-ldflags=-w", "-o", binary}
	if unsafe {
		text, err := os.ReadFile(filepath.Join(root, "internal", "cmd", "crashloop", "unsafe.patch"))
		if err != nil {
			return "", err
		}
		patch, err := faults.ParsePatch(string(text))
		if err != nil {
			return "", fmt.Errorf("unsafe.patch: %w", err)
		}
		overlay, err := patch.Overlay(root, filepath.Join(tmp, "overlay"))
		if err != nil {
			return "", fmt.Errorf("unsafe.patch: %w", err)
		}
		args = append(args, "-overlay", overlay)
	}
	c := exec.CommandContext(ctx, "go", append(args, "./cmd/agentls")...)
	c.Dir = root
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
}
