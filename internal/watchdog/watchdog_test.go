package watchdog

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sourcegraph/conc"
)

// TestREL32WhatDoesNotComeRoundIsTold: after its time, and again as long as it
// lasts; what comes round, however it ends, is left alone.
func TestREL32WhatDoesNotComeRoundIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		hang := make(chan struct{}, 1) // full: it hangs
		told := make(chan string, 64)
		var good atomic.Int64
		var work conc.WaitGroup
		work.Go(func() {
			Watch(ctx, []Check{
				{Name: "good", Ping: func() { good.Add(1); time.Sleep(Every - time.Second) }},
				{Name: "bad", Ping: func() { hang <- struct{}{}; <-hang }},
				{Name: "broken", Ping: func() { panic("a check's own") }},
			}, func(names []string) { told <- strings.Join(names, "+") })
		})
		pass := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		pass(time.Minute)
		if len(told) > 0 || good.Load() < 3 {
			t.Errorf("told of %d hangs after %d rounds in which nothing hung", len(told), good.Load())
		}
		hang <- struct{}{}
		pass(3*Every + time.Second) // the rest of a round, and the next one
		if len(told) != 1 {
			t.Errorf("told %d times", len(told))
		}
		pass(2 * Every)
		if len(told) != 3 {
			t.Errorf("told %d times while it lasts", len(told))
		}
		before := good.Load()
		<-hang
		pass(time.Minute)
		if len(told) != 3 || good.Load() < before+3 {
			t.Errorf("it came back: told %d times, %d rounds", len(told), good.Load()-before)
		}
		for range 3 {
			if name := <-told; name != "bad" {
				t.Errorf("told of %s", name)
			}
		}
		hang <- struct{}{}
		pass(2 * Every) // a check is out
		end()
		work.Wait()
		<-hang
		pass(Every) // the checks end
	})
}

// TestREL48LateBeatsCountOnce: the clock of a process that was stopped jumps.
func TestREL48LateBeatsCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		var late atomic.Int64
		after := func(d time.Duration) <-chan time.Time {
			if d < Every && late.Load() < beats-1 {
				late.Add(1)
				return time.After(d + time.Hour)
			}
			return time.After(d)
		}
		answer := make(chan struct{})
		var told atomic.Int64
		var work conc.WaitGroup
		work.Go(func() {
			watch(ctx, []Check{{Name: "slow", Ping: func() { <-answer }}}, func([]string) { told.Add(1) }, Every, after)
		})
		time.Sleep(Every + (beats-1)*(time.Hour+Every/beats) + time.Millisecond)
		synctest.Wait()
		if late.Load() != beats-1 || told.Load() != 0 {
			t.Errorf("after %d beats that came an hour late %d hangs are told", late.Load(), told.Load())
		}
		time.Sleep(Every / beats)
		synctest.Wait()
		if told.Load() != 1 {
			t.Errorf("its time is over, and %d hangs are told", told.Load())
		}
		end()
		work.Wait()
		close(answer)
	})
}

// TestREL48BusyLoops: four loops on two processors are no hang, for a watchdog
// that is a hundred times as impatient.
func TestREL48BusyLoops(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	ctx, end := context.WithCancel(t.Context())
	var work conc.WaitGroup
	for range 4 {
		work.Go(func() {
			for ctx.Err() == nil {
			}
		})
	}
	rounds := 0
	watch(ctx, []Check{{Name: "loop", Ping: func() {
		for range 3 { // locks and other goroutines
			came := make(chan struct{})
			var other conc.WaitGroup
			other.Go(func() { close(came) })
			<-came
			other.Wait()
		}
		if rounds++; rounds == 20 {
			end()
		}
	}}}, func(names []string) {
		t.Errorf("a false alarm: %q", names)
		end()
	}, Every/100, time.After)
	work.Wait()
}

// dog is a bite whose process does not end.
func dog(dir string, now func() time.Time) (*Bite, *bytes.Buffer, *[]int) {
	var log bytes.Buffer
	var codes []int
	return &Bite{
		Dir: dir, Version: "1.2", Started: now(), Now: now, Log: slog.New(slog.NewTextHandler(&log, nil)), Exit: func(code int) { codes = append(codes, code) },
	}, &log, &codes
}

// TestREL32OneRestartAMinute: the goroutines are dumped, the process ends with
// code 70, and the next one within a minute only says so.
func TestREL32OneRestartAMinute(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "agentls")
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := func() time.Time { return now }
	hung := make(chan struct{})
	var work conc.WaitGroup
	work.Go(func() { hereItHangs(hung) })
	hung <- struct{}{} // it is there
	defer work.Wait()
	defer close(hung)

	first, log, codes := dog(dir, clock)
	first.Hung([]string{"loop", "log"})
	if !slices.Equal(*codes, []int{70}) || !strings.Contains(log.String(), "loop, log") {
		t.Errorf("codes %v, log %s", *codes, log)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "hang-*.txt"))
	if len(files) != 1 {
		t.Fatalf("dumps: %q", files)
	}
	if text, err := os.ReadFile(files[0]); err != nil || !strings.Contains(string(text), "hereItHangs") || !strings.Contains(string(text), "in: loop, log") {
		t.Errorf("the dump: %v\n%s", err, text)
	}

	now = now.Add(59 * time.Second)
	second, log, codes := dog(dir, clock)
	second.Hung([]string{"loop"})
	if len(*codes) > 0 || !strings.Contains(log.String(), "goroutines=") || !strings.Contains(log.String(), "a moment ago") {
		t.Errorf("codes %v, log %s", *codes, log)
	}
	now = now.Add(time.Second)
	second.Hung([]string{"loop"})
	if !slices.Equal(*codes, []int{70}) {
		t.Errorf("after a minute: %v", *codes)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "hang-*.txt")); len(files) != 2 {
		t.Errorf("one hang is dumped once: %q", files)
	}
}

// TestREL32WhateverLiesThere: a stamp of another day, of tomorrow, or none at all.
func TestREL32WhateverLiesThere(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := func() time.Time { return now }
	for name, stamp := range map[string]string{"garbage": "}{", "empty": "", "tomorrow": now.Add(24 * time.Hour).Format(time.RFC3339Nano), "long": strings.Repeat("9", 1000)} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, stampName), []byte(stamp), 0o600); err != nil {
			t.Fatal(err)
		}
		b, _, codes := dog(dir, clock)
		if b.Hung(nil); !slices.Equal(*codes, []int{70}) {
			t.Errorf("%s: %v", name, *codes)
		}
	}
	none := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(none, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b, log, codes := dog(filepath.Join(none, "agentls"), clock)
	if b.Hung([]string{"loop"}); len(*codes) > 0 || !strings.Contains(log.String(), "goroutine ") {
		t.Errorf("without a folder, just started: %v\n%.300s", *codes, log)
	}
	b.Started = now.Add(-time.Minute)
	if b.Hung([]string{"loop"}); !slices.Equal(*codes, []int{70}) {
		t.Errorf("without a folder, a minute old: %v", *codes)
	}
}

// TestREL32OldDumpsGo: five stay, the newest.
func TestREL32OldDumpsGo(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range 8 {
		b, _, _ := dog(dir, func() time.Time { return now.Add(time.Duration(i) * time.Hour) })
		b.Hung(nil)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "hang-*.txt"))
	if len(files) != 5 || !strings.Contains(files[4], "T100405-"+strconv.Itoa(os.Getpid())) {
		t.Errorf("left: %q", files)
	}
}

// TestREL32ALogThatHangs: what hangs may be the log.
func TestREL32ALogThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		var codes []int
		b := &Bite{
			Dir: t.TempDir(), Now: time.Now, Log: slog.New(stuckHandler{slog.DiscardHandler, stuck}),
			Exit: func(code int) { codes = append(codes, code) },
		}
		b.Hung([]string{"log"})
		if !slices.Equal(codes, []int{70}) {
			t.Errorf("codes %v", codes)
		}
		close(stuck)
	})
}

type stuckHandler struct {
	slog.Handler
	until chan struct{}
}

func (h stuckHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h stuckHandler) Handle(context.Context, slog.Record) error { <-h.until; return nil }

//go:noinline
func hereItHangs(c chan struct{}) {
	<-c
	<-c
}
