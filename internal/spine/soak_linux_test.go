package spine_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/wire"
)

// soaked says how many runs TestREL46Soak has at least, and for how long.
func soaked(t *testing.T) (runs int, last time.Duration) {
	if s := os.Getenv("AGENTLS_SOAK"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatalf("AGENTLS_SOAK: %v", err)
		}
		return 40, d
	}
	if testing.Short() {
		return 40, 0
	}
	return 100, 0
}

// daily is what a run of the soak does: it streams, reads, has a process, writes.
const daily = "<repeat 30 w{} \n<call read_file {\"path\":\"notes.txt\"}\n<call bash {\"command\":\"echo hello\"}\n\n<repeat 30 x{} \n\n"

// TestREL46Soak has one scripted run after the other, each in a session of its
// own that is closed then: what the daemon holds, memory, descriptors and
// threads, does not grow with them. AGENTLS_SOAK=60s makes it the short form of
// the spec, 8h the long one.
func TestREL46Soak(t *testing.T) {
	runs, last := soaked(t)
	w := newWorld(t, strings.Repeat(daily, runs+200*int(last.Seconds())))
	p := w.spawn("AGENTLS_DUMPABLE=1")
	e := p.connect(w)
	began := time.Now()
	var pss, fds, threads []int
	for i := 0; i < runs || time.Since(began) < last; i++ {
		session := fmt.Sprintf("soak-%d", i)
		e.finish(e.start(session, "go"))
		if err := e.Call(context.Background(), wire.MethodSessionClose, &wire.SessionParams{Session: session}, new(wire.Empty)); err != nil {
			t.Fatal(err)
		}
		m, f, n := holds(t, p.cmd.Process.Pid)
		pss, fds, threads = append(pss, m), append(fds, f), append(threads, n)
	}
	// The first half is where caches fill.
	half := len(pss) / 2
	for _, held := range []struct {
		what    string
		samples []int
		slack   float64
	}{
		// What is held at rest is the least of many samples; memory is a
		// collector's, whose middle counts.
		{"descriptors", []int{slices.Min(fds[half/2 : half]), slices.Min(fds[half+half/2:])}, 1},
		{"threads", []int{slices.Min(threads[half/2 : half]), slices.Min(threads[half+half/2:])}, 1.25},
		{"KiB of memory", []int{middle(pss[half/2 : half]), middle(pss[half+half/2:])}, 1.15},
	} {
		before, after := held.samples[0], held.samples[1]
		t.Logf("%d %s after %d runs, %d after %d", before, held.what, half, after, len(pss))
		if float64(after) > float64(before)*held.slack {
			t.Errorf("%d %s after half of the runs became %d", before, held.what, after)
		}
	}
	if err := e.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if code := p.exits(); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.said.String())
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func middle(samples []int) int {
	samples = slices.Sorted(slices.Values(samples))
	return samples[len(samples)/2]
}

// holds returns a process's memory (PSS, in KiB), descriptors and threads.
func holds(t *testing.T, pid int) (pss, fds, threads int) {
	t.Helper()
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	number := func(file, key string) int {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
			if value, ok := strings.CutPrefix(s.Text(), key+":"); ok {
				n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(value, "kB")))
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
		}
		t.Fatalf("%s has no %s", file, key)
		return 0
	}
	open, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		t.Fatal(err)
	}
	return number("smaps_rollup", "Pss"), len(open), number("status", "Threads")
}

// TestREL46SoakLeavesNoGoroutine is the soak in this process, whose goroutines
// can be counted.
func TestREL46SoakLeavesNoGoroutine(t *testing.T) {
	leaks(t)
	const runs = 30
	w := newWorld(t, strings.Repeat(daily, 2*runs))
	h, e := w.open()
	some := func(from int) int {
		for i := range runs {
			session := fmt.Sprintf("soak-%d", from+i)
			e.finish(e.start(session, "go"))
			if err := e.Call(context.Background(), wire.MethodSessionClose, &wire.SessionParams{Session: session}, new(wire.Empty)); err != nil {
				t.Fatal(err)
			}
		}
		return settled(0)
	}
	before := some(0)
	if after := some(runs); after > before+2 {
		t.Errorf("%d goroutines after %d runs became %d after %d", before, runs, after, 2*runs)
	}
	if err := e.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	h.wait()
}

// TestREL48StarvedDaemon: four loops take the processors from the daemon. It
// asks, is answered and goes on all the same, and its watchdog does not take it
// for hung.
func TestREL48StarvedDaemon(t *testing.T) {
	for range 4 {
		loop := exec.Command("sh", "-c", "while :; do :; done")
		if err := loop.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = loop.Process.Kill() // it does not end by itself
			_ = loop.Wait()         // killed
		})
	}
	// The watchdog looks every five seconds: twelve have it look twice.
	last := 12 * time.Second
	if testing.Short() {
		last = 0
	}
	const call = "<call bash {\"command\":\"touch asked\"}\n\n< Done.\n\n"
	w := newWorld(t, strings.Repeat(call, 3000))
	p := w.spawn("AGENTLS_DUMPABLE=1")
	e := p.connect(w)
	began := time.Now()
	var waits []int
	for runs := 0; runs < 20 || time.Since(began) < last; runs++ {
		asked := time.Now()
		e.Answer(editortest.Reply{Choice: "once"})
		e.finish(e.start("", "go"))
		waits = append(waits, int(time.Since(asked).Milliseconds()))
	}
	t.Logf("%d runs with a question each took %d ms in the middle, %d at most", len(waits), middle(waits), slices.Max(waits))
	if n := len(e.Seen().Questions); n != len(waits) {
		t.Errorf("%d questions in %d runs", n, len(waits))
	}
	if dumps, err := filepath.Glob(filepath.Join(w.home, "agentls", "hang-*")); err != nil || len(dumps) > 0 {
		t.Errorf("the watchdog has bitten: %v, %v\n%s", dumps, err, p.said.String())
	}
	if err := e.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if code := p.exits(); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.said.String())
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
