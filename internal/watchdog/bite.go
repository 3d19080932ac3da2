package watchdog

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/internal/folder"
)

// Code is the exit code of a process that was ended because it hung (EX_SOFTWARE
// of sysexits.h).
const Code = 70

// spacing is the least time between two restarts of our own making: an editor
// gives up on a server that ends too often.
const spacing = time.Minute

const (
	keptDumps = 5               // how many dumps of goroutines stay
	logWithin = time.Second     // how long the log, which may hang as well, is waited for
	dumps     = "hang-*.txt"    // their names
	stampName = "restarted.txt" // says when a process was ended last
)

// Bite is what happens to a process that hangs: the first time its goroutines
// are dumped to a file, and it ends with [Code] unless a process of the same
// person was ended so less than a minute ago; then that is only logged, and
// looked at again the next time. It is for one goroutine. All fields but Version are
// required.
type Bite struct {
	Dir     string    // where dumps and the time of the last restart are kept; made when needed
	Version string    // of the program, for the dump
	Started time.Time // of the process: what counts where Dir cannot be written
	Now     func() time.Time
	Log     *slog.Logger
	Exit    func(code int) // ends the process

	dumped bool
}

// Hung is told the names of what hangs, for [Watch]. Nothing that it does may wait for
// what hangs: the log is waited for a second, and files are written without any lock of
// the process. Exit ends the process without deferred calls; if it returns, as in
// tests, so does Hung.
func (b *Bite) Hung(names []string) {
	what := strings.Join(names, ", ")
	if !b.dumped {
		b.dumped = true
		b.tell("agentls hangs", "in", what, "goroutines", b.dump(what))
	}
	if wait := b.tooSoon(); wait > 0 {
		b.tell("agentls hangs, and was restarted a moment ago: it stays", "in", what, "for",
			wait.Round(time.Second).String())
		return
	}
	b.tell("agentls hangs: it ends, so that the editor starts it again", "in", what, "code", Code)
	b.Exit(Code)
}

// tell logs something. Its handler may be part of what hangs.
func (b *Bite) tell(text string, args ...any) {
	done := make(chan struct{})
	var work conc.WaitGroup // not waited for: it may hang
	work.Go(func() {
		defer close(done)
		b.Log.Error(text, args...)
	})
	timer := time.NewTimer(logWithin)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// dump writes the stacks of all goroutines to a file and returns its path, or
// the stacks where there can be no file.
func (b *Bite) dump(what string) string {
	var stacks bytes.Buffer
	now := b.Now()
	fmt.Fprintf(&stacks, "agentls %s, process %d, hung on %s in: %s\n\n", b.Version, os.Getpid(),
		now.UTC().Format(time.RFC3339), what)
	_ = pprof.Lookup("goroutine").WriteTo(&stacks, 2) // a buffer takes all
	path := filepath.Join(b.Dir, strings.Replace(dumps, "*", fmt.Sprintf("%s-%d",
		now.UTC().Format("20060102T150405"), os.Getpid()), 1))
	err := os.MkdirAll(b.Dir, 0o700)
	if err == nil {
		err = os.WriteFile(path, stacks.Bytes(), 0o600)
	}
	if err != nil {
		return err.Error() + "\n" + stacks.String()
	}
	if all, err := filepath.Glob(filepath.Join(b.Dir, dumps)); err == nil {
		slices.Sort(all) // by time
		for _, old := range all[:max(0, len(all)-keptDumps)] {
			_ = os.Remove(old) // one more does no harm
		}
	}
	return path
}

// tooSoon returns how long the process must not be ended yet, and otherwise
// records that it is.
func (b *Bite) tooSoon() time.Duration {
	now := b.Now()
	path := filepath.Join(b.Dir, stampName)
	last, err := readStamp(path)
	if err == nil {
		// A time to come is a clock that was put back, and no reason.
		if since := now.Sub(last); since >= 0 && since < spacing {
			return spacing - since
		}
	}
	if writeErr := os.WriteFile(path, []byte(now.UTC().Format(time.RFC3339Nano)+"\n"), 0o600); writeErr == nil {
		return 0
	}
	// Nothing can be recorded: a process that has lived that long is proof.
	return max(0, spacing-now.Sub(b.Started))
}

// maxStamp bounds what is read of a stamp, in bytes.
const maxStamp = 64

// readStamp returns when a process was ended last. A link or another thing in its place is an
// error.
func readStamp(path string) (time.Time, error) {
	text, _, err := folder.ReadPlain(path, maxStamp)
	if err != nil {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339Nano, strings.TrimSpace(string(text)))
}
