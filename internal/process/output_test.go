package process

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestREL75PromptDetector: a command that is silent for half a minute is said to
// be, once until it says something.
func TestREL75PromptDetector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		o := newOutput(t.TempDir(), time.Now)
		ctx, cancel := context.WithCancel(t.Context())
		var told []string
		var telling sync.WaitGroup
		telling.Go(func() {
			o.report(ctx, func(text string) {
				if strings.Contains(text, "it may wait for input") {
					text = "silent"
				}
				told = append(told, fmt.Sprintf("%v %s", time.Since(began).Round(time.Second), text))
			})
		})
		fmt.Fprint(o.Stdout, "Password: ")
		time.Sleep(100 * time.Second)
		fmt.Fprint(o.Stderr, "well?")
		time.Sleep(29 * time.Second)
		fmt.Fprint(o.Stdout, "x")
		time.Sleep(31 * time.Second)
		cancel()
		telling.Wait()
		if got, want := strings.Join(told, "; "), "0s Password: ; 30s silent; 1m40s well?; 2m9s x; 2m39s silent"; got != want {
			t.Errorf("told %s\nwant %s", got, want)
		}
	})
}

// TestREL40OutputWaitsForWhoIsTold: what is not told yet is bounded, and nothing
// of it is dropped below what is told at all.
func TestREL40OutputWaitsForWhoIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutput(t.TempDir(), time.Now)
		ctx, cancel := context.WithCancel(t.Context())
		taken := make(chan struct{})
		told := 0
		var telling, writing sync.WaitGroup
		telling.Go(func() {
			o.report(ctx, func(text string) {
				<-taken
				told += len(text)
			})
		})
		written := 0
		writing.Go(func() {
			for range 30 {
				n, _ := o.Stdout.Write(bytes.Repeat([]byte{'x'}, 32<<10))
				written += n
			}
		})
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if written > 3*maxPending {
			t.Errorf("%d bytes were taken from a command that nobody is told of", written)
		}
		close(taken)
		writing.Wait()
		cancel()
		telling.Wait()
		if told != 30*32<<10 {
			t.Errorf("%d bytes were told", told)
		}
		o.Stdout.Write(bytes.Repeat([]byte{'x'}, 2*maxProgress)) // nobody is told any more, and nobody waits
		o.Close()
	})
}

// TestREL40OutputInMemory: whatever comes, on both streams, a megabyte is kept
// of it in memory and 64 on disk.
func TestREL40OutputInMemory(t *testing.T) {
	chunk := make([]byte, 32<<10)
	for i := range chunk {
		chunk[i] = byte(i*i>>3 | 1)
	}
	o := newOutput(t.TempDir(), time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	var telling sync.WaitGroup
	telling.Go(func() { o.report(ctx, func(string) {}) })
	before, most := heap(), int64(0)
	for n := range 34 << 20 / len(chunk) {
		o.Stdout.Write(chunk)
		o.Stderr.Write(bytes.ToLower(chunk))
		if (n < 100 && n%5 == 0) || n%400 == 0 {
			most = max(most, heap()-before)
		}
	}
	cancel()
	telling.Wait()
	if most > 1<<20 {
		t.Errorf("%d bytes are held of 68 MB", most)
	}
	t.Logf("%d bytes are held of 68 MB", most)
	info, err := o.spool.Stat()
	if err != nil || info.Size() != MaxSpool {
		t.Errorf("%d bytes are on disk, %v", info.Size(), err)
	}
	if text := o.Stdout.Text(); len(text) > 2*(maxHead+maxTail) || !strings.Contains(text, "bytes are left out here") {
		t.Errorf("the text has %d bytes", len(text))
	}
	o.Close()
}

// heap returns how much is held, in bytes.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what pools hold goes with the second one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestNoRoomForOutput(t *testing.T) {
	o := newOutput(t.TempDir(), time.Now)
	defer o.Close()
	if _, err := o.Stdout.Write([]byte("text")); err != nil {
		t.Fatal(err)
	}
	if got := o.Stdout.TextTo(-5); !strings.Contains(got, "4 of 4 bytes are left out") {
		t.Errorf("%q", got)
	}
}
