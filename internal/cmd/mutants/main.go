// Mutants proves that tests see: it makes one mistake at a time in the source and
// expects the test that guards against it to fail.
//
//	go run ./internal/cmd/mutants            # all of testdata/mutants
//	go run ./internal/cmd/mutants -run lock  # those whose name has it
//
// Each file of testdata/mutants is a unified diff whose head says what it is for:
//
//	# test: ./agents/activity TestREL93CrashAtEveryCall
//	# proves: REL-93
//
// The change is laid over the source (go's -overlay, for the programs too that
// the test builds) and applied by content: the lines that it takes must be there
// once, wherever they are now. The test must pass without the change and fail
// with it; that it does not compile, or is skipped, is no proof. The exit code is
// 0 when all tests did, and 1 when a mutant survived, did not apply or proves
// nothing.
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
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/sourcegraph/conc"
)

func main() {
	var o options
	flag.StringVar(&o.only, "run", "", "a part of the names of those that are run")
	flag.IntVar(&o.parallel, "p", 2, "how many at once")
	flag.BoolVar(&o.passed, "passed", false,
		"the tests are known to pass without a change: do not run them without one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// options are the flags; root is where the module is, "" to look for it.
type options struct {
	only     string
	parallel int
	passed   bool
	root     string
}

// run tries the mutants and prints the table. The error says what survived.
func run(ctx context.Context, o options, out io.Writer) error {
	if o.root == "" {
		mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
		if err != nil {
			return fmt.Errorf("go env: %w", err)
		}
		o.root = filepath.Dir(strings.TrimSpace(string(mod)))
	}
	all, err := load(o.root, o.only)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // a temporary folder
	lab := &lab{root: o.root, tmp: tmp, passed: o.passed}
	verdicts := make([]verdict, len(all))
	slots := make(chan struct{}, max(o.parallel, 1))
	var work conc.WaitGroup
	for i, m := range all {
		work.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			verdicts[i] = lab.try(ctx, m)
		})
	}
	work.Wait()
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return tell(all, verdicts, out)
}

// tell prints the table, and what the tests said where one did not do as it
// should.
func tell(all []mutant, verdicts []verdict, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "mutant\tproves\ttest\tit")
	bad := 0
	for i, m := range all {
		fmt.Fprintf(w, "%s\t%s\t%s %s\t%s\n", m.name, m.proves, m.pkg, m.test, verdicts[i].is)
		if !verdicts[i].red {
			bad++
		}
	}
	_ = w.Flush() // its errors are out's, and the next one's
	for i, m := range all {
		if v := verdicts[i]; !v.red && v.said != "" {
			fmt.Fprintf(out, "\n%s: %s\n%s\n", m.name, v.is, v.said)
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d mutants prove nothing", bad, len(all))
	}
	_, err := fmt.Fprintf(out, "%d mutants, each turns its test red\n", len(all))
	return err
}
