// Gatefuzz holds the shell gate against a real bash (SEC-46): it makes commands
// of the words of part C of spec 11.2, and runs those that the gate lets run by
// themselves in a folder of canaries. One that changes something there is a
// violation.
//
//	go run ./internal/cmd/gatefuzz                  # a million
//	go run ./internal/cmd/gatefuzz -for 60s -seed 7 # for a minute
//
// The exit code is 0 when there was none, and 1 when there was, or when bash is
// not installed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sourcegraph/conc/pool"

	"github.com/agentls/agentls/agents/tool/command/commandtest"
)

func main() {
	var o options
	flag.Int64Var(&o.n, "n", 1_000_000, "how many commands; 0 = as many as -for allows")
	flag.Uint64Var(&o.seed, "seed", 1, "the same seed, the same commands")
	flag.DurationVar(&o.limit, "for", 0, "how long at most; 0 = until -n are done")
	flag.IntVar(&o.workers, "p", runtime.GOMAXPROCS(0), "how many at once")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gatefuzz:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	n       int64
	seed    uint64
	limit   time.Duration
	workers int
}

// tally is what all workers found.
type tally struct {
	made, auto, ran atomic.Int64
	mu              sync.Mutex
	found           []commandtest.Violation
}

// run fuzzes and prints the numbers. The error says that there were violations,
// or what kept it from trying.
func run(ctx context.Context, o options, out io.Writer) error {
	if o.n == 0 && o.limit == 0 {
		return errors.New("give -n or -for")
	}
	if o.n == 0 {
		o.n = math.MaxInt64
	}
	if o.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.limit)
		defer cancel()
	}
	tmp, err := os.MkdirTemp("", "gatefuzz")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // a temporary folder
	if tmp, err = filepath.EvalSymlinks(tmp); err != nil {
		return err
	}
	began := time.Now()
	var t tally
	workers := pool.New().WithErrors()
	for i := range max(o.workers, 1) {
		workers.Go(func() error { return t.work(ctx, o, filepath.Join(tmp, fmt.Sprint(i)), uint64(i)) })
	}
	err = workers.Wait()
	for _, v := range t.found {
		fmt.Fprintf(out, "VIOLATION: %q was called auto\nbefore:\n%s\nafter:\n%s\n", v.Text, v.Before, v.After)
	}
	fmt.Fprintf(out, "%d commands, %d of them auto, %d different ones ran in bash: %d violations (seed %d, %s)\n",
		t.made.Load(), t.auto.Load(), t.ran.Load(), len(t.found), o.seed, time.Since(began).Round(time.Second))
	if len(t.found) > 0 {
		err = errors.Join(err, fmt.Errorf("%d violations", len(t.found)))
	}
	return err
}

// work tries commands until there are enough, or the time is over.
func (t *tally) work(ctx context.Context, o options, base string, nth uint64) error {
	if err := os.Mkdir(base, 0o755); err != nil {
		return err
	}
	lab, err := commandtest.NewLab(base)
	if err != nil {
		return err
	}
	defer func() { t.ran.Add(int64(lab.Ran)) }()
	maker := commandtest.NewMaker(o.seed<<16 + nth)
	first := commandtest.Texts() // each worker begins with the corpus
	for i := 0; ctx.Err() == nil && t.made.Add(1) <= o.n; i++ {
		text := ""
		if i < len(first) {
			text = first[i]
		} else {
			text = maker.Next()
		}
		auto, found, err := lab.Try(ctx, text)
		if auto {
			t.auto.Add(1)
		}
		if done, err := t.add(ctx, found, err); done {
			return err
		}
	}
	if t.made.Load() > o.n {
		t.made.Store(o.n)
	}
	found, err := lab.Flush(ctx)
	_, err = t.add(ctx, found, err)
	return err
}

// add keeps what was found, and reports whether this is the end.
func (t *tally) add(ctx context.Context, found []commandtest.Violation, err error) (done bool, failed error) {
	t.mu.Lock()
	t.found = append(t.found, found...)
	t.mu.Unlock()
	if ctx.Err() != nil {
		return true, nil // what was under way when the time was over says nothing
	}
	return err != nil, err
}
