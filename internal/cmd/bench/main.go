// Bench measures agentls beside the least program that does the same work, in
// one run on one machine, and prints the table of spec 13: what each of them
// takes, the ratio, the goal and whether it is met.
//
//	go run ./internal/cmd/bench                # all of it, three minutes on a quiet machine
//	go run ./internal/cmd/bench -quick         # fewer repetitions
//	go run ./internal/cmd/bench -only turn     # one of its probes
//	go run ./internal/cmd/bench -json out.json # the numbers as well
//	go run ./internal/cmd/bench -write docs/performance.md # the table, into that file
//
// It builds the binary as it is shipped, and the scripted model and the least
// program (the limit) from the folder that -bench names. The two take turns, so
// what else the machine does strikes both alike; numbers are medians, and a
// ratio says more than they do.
//
// The exit code is 0 when all was measured, whether goals are met or not, 1 when
// something failed, and 2 when it cannot measure here: without that folder, or
// on another system than Linux, whose /proc it reads.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.BoolVar(&o.quick, "quick", false, "fewer repetitions")
	flag.StringVar(&o.only, "only", "", "one probe: "+strings.Join(probeNames(), ", "))
	flag.IntVar(&o.streams, "streams", 100, "how many sessions stream at once in the probe streams")
	flag.IntVar(&o.seconds, "seconds", 20, "how long they stream; a sixth of it with -quick")
	flag.StringVar(&o.json, "json", "", "a file for the numbers")
	flag.StringVar(&o.write, "write", "",
		"a document whose table is replaced, between the lines "+tableBegin+" and "+tableEnd)
	flag.StringVar(&o.bench, "bench", "../shared/bench",
		"the folder of the scripted model and the limit, from the module's")
	flag.StringVar(&o.dir, "dir", "", "where the temporary folders are made; /dev/shm leaves the disk out")
	flag.StringVar(&o.binary, "binary", "", "a built agentls to measure; without it, this checkout's")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	os.Exit(code)
}

// options are the flags.
type options struct {
	quick                                 bool
	only, json, write, bench, dir, binary string
	streams, seconds                      int
}

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitCannot = 2
)

// run measures, prints the table and returns the exit code.
func run(ctx context.Context, o options, out io.Writer) (int, error) {
	chosen := probes(o)
	if o.only != "" {
		chosen = slices.DeleteFunc(chosen, func(p probe) bool { return p.name != o.only })
		if len(chosen) == 0 {
			return exitCannot, fmt.Errorf("-only %s: there are %s", o.only, strings.Join(probeNames(), ", "))
		}
	}
	if err := supported(); err != nil {
		return exitCannot, err
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return exitCannot, err
	}
	kit := o.bench
	if !filepath.IsAbs(kit) {
		kit = filepath.Join(root, kit)
	}
	if _, err := os.Stat(filepath.Join(kit, "limit")); err != nil {
		return exitCannot, fmt.Errorf("%s has no scripted model and no limit to compare with; name their folder with -bench", kit)
	}
	tmp, err := os.MkdirTemp(o.dir, "bench")
	if err != nil {
		return exitFailed, err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // a temporary folder
	b, err := prepare(ctx, tmp, root, kit, o)
	if err != nil {
		return exitFailed, err
	}
	defer b.model.stop()
	var report report
	report.Go, report.Cores, report.Quick = runtime.Version(), runtime.NumCPU(), o.quick
	if report.Disk, err = disk(tmp); err != nil {
		return exitFailed, err
	}
	var failed error
	for _, p := range chosen {
		rows, err := p.measure(ctx, b)
		failed = errors.Join(failed, err)
		if ctx.Err() != nil {
			return exitFailed, errors.New("interrupted")
		}
		report.Rows = append(report.Rows, rows...)
		for _, r := range rows {
			fmt.Fprintln(os.Stderr, "bench:", r)
		}
	}
	fmt.Fprint(out, report)
	if o.json != "" {
		text, err := json.MarshalIndent(report, "", "  ")
		if err == nil {
			err = os.WriteFile(o.json, append(text, '\n'), 0o644)
		}
		failed = errors.Join(failed, err)
	}
	if o.write != "" && failed == nil {
		failed = report.writeTo(o.write)
	}
	if failed != nil {
		return exitFailed, failed
	}
	return exitOK, nil
}

// moduleRoot finds the module that the working directory is in.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w", err)
	}
	mod := strings.TrimSpace(string(out))
	if filepath.Base(mod) != "go.mod" {
		return "", errors.New("this is no folder of the module: go to its checkout first")
	}
	return filepath.Dir(mod), nil
}

// bench is what the probes measure with.
type bench struct {
	options
	tmp    string
	binary string // agentls
	limit  string
	llm    string // the scripted model
	work   *world // with a hundred agents
	large  *world // with ten thousand; nil until it is wanted
	model  *fake
	labels int // how many were given
}

// peers are who is measured, by turns.
func (b *bench) peers() []peer { return []peer{agentls{b}, limit{b}} }

// prepare builds the programs and starts the scripted model.
func prepare(ctx context.Context, tmp, root, kit string, o options) (*bench, error) {
	b := &bench{options: o, tmp: tmp, binary: o.binary, limit: filepath.Join(tmp, "limit"),
		llm: filepath.Join(tmp, "fakellm")}
	build := func(dir, target, pkg string) error {
		c := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath", "-ldflags",
			"-s -w", "-o", target, pkg)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
		}
		return nil
	}
	var err error
	if b.binary == "" {
		b.binary = filepath.Join(tmp, "agentls")
		err = build(root, b.binary, "./cmd/agentls")
	} else if b.binary, err = filepath.Abs(b.binary); err == nil {
		_, err = os.Stat(b.binary)
	}
	if err = errors.Join(err, build(kit, b.llm, "./fakellm"), build(kit, b.limit, "./limit")); err != nil {
		return nil, err
	}
	if b.work, err = newWorld(filepath.Join(tmp, "work"), 100); err != nil {
		return nil, err
	}
	b.model, err = startFake(ctx, b.llm, tmp, b.work.dir)
	return b, err
}

// disk returns how long the disk takes to make a file, and to sync what was
// written to it, in milliseconds: a session costs two of the first, a run some
// of the second.
func disk(dir string) (diskTimes, error) {
	var made, synced []float64
	for i := range 50 {
		began := time.Now()
		f, err := os.OpenFile(filepath.Join(dir, fmt.Sprint("disk", i)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return diskTimes{}, err
		}
		made = append(made, ms(time.Since(began)))
		began = time.Now()
		_, err = f.WriteString("a line\n")
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			return diskTimes{}, err
		}
		synced = append(synced, ms(time.Since(began)))
	}
	return diskTimes{median(made), median(synced)}, nil
}

// largeWorld returns the workspace with ten thousand agents.
func (b *bench) largeWorld() (*world, error) {
	if b.large == nil {
		var err error
		if b.large, err = newWorld(filepath.Join(b.tmp, "large"), 10_000); err != nil {
			return nil, err
		}
	}
	return b.large, nil
}
