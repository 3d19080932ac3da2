package activity

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// inBubble runs f where time is virtual.
func inBubble(t *testing.T, f func(*testing.T)) { synctest.Test(t, f) }

// The file is what spec 3.1 says: a header, then one event a line, its checksum
// last, session left out.
func TestFileIsAsSpecified(t *testing.T) {
	path := filepath.Join(t.TempDir(), "main.jsonl")
	l, _ := must(t, Config{Path: path, Session: "main", Workspace: "0123456789abcdef", Version: "1.2", Now: clock})
	l.Append(Origin{Run: "r", Turn: 1, Agent: "a", CorrelationID: "c"}, TurnFinished{Turn: 1, ToolCalls: 2}, 1500*time.Millisecond)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"format":1,"session":"main","workspace":"0123456789abcdef","created":"2026-11-20T12:00:00.123Z","agentls":"1.2"}
{"seq":1,"time":"2026-11-20T12:00:00.123Z","run":"r","turn":1,"agent":"a","correlationId":"c","type":"turn.finished","data":{"turn":1,"usage":{"inputTokens":0,"outputTokens":0,"cachedTokens":0,"thoughtTokens":0,"totalTokens":0},"toolCalls":2},"durationMs":1500,"crc":"`
	if got := string(data); !strings.HasPrefix(got, want) || len(got) != len(want)+8+len("\"}\n") {
		t.Errorf("got %s", got)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if l.Append(Origin{}, Note{}, 0) != 0 {
		t.Error("a closed log took an event")
	}
}

// Written before it is announced, synced where it must be, and no later event
// before an earlier one: checked at every announcement, with a disk that is
// slow by chance.
func TestAnnouncedOnlyWhenSafe(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		m := newMemFS()
		r := rand.New(rand.NewPCG(1, 2))
		var mu sync.Mutex
		slow := &slowFS{memFS: m, wait: func() {
			mu.Lock()
			d := time.Duration(r.IntN(5)) * time.Millisecond
			mu.Unlock()
			time.Sleep(d)
		}}
		cfg := memConfig(m)
		cfg.start, cfg.Files, cfg.Now = nil, slow, time.Now
		l, _ := must(t, cfg)
		var wg sync.WaitGroup
		wg.Go(func() {
			f := l.Follow(0)
			after := uint64(0)
			for {
				batch, ok := f.Next(t.Context())
				if !ok {
					return
				}
				now, safe, named := m.state("d/s.jsonl")
				after = checkStream(t, batch, after)
				for _, e := range batch {
					event, err := e.Event("s")
					line := fmt.Sprintf(`{"seq":%d,`, e.Seq)
					if err != nil || !strings.Contains(now, line) {
						t.Errorf("%d was announced before it was written; %v", e.Seq, err)
					}
					if Synced(event.Body) && (!strings.Contains(safe, line) || !named) {
						t.Errorf("%d (%s) was announced before it was synced", e.Seq, e.Type)
					}
				}
			}
		})
		var writers sync.WaitGroup
		for range 4 {
			writers.Go(func() {
				for _, b := range script(100) {
					seq := l.Append(Origin{Run: "r"}, b, 0)
					if Synced(b) {
						if err := l.Commit(t.Context(), seq); err != nil {
							t.Error(err)
						}
						if l.LastAnnounced() < seq {
							t.Error("committed and not announced")
						}
					}
				}
			})
		}
		writers.Wait()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
}

// slowFS waits before each sync and write.
type slowFS struct {
	*memFS
	wait func()
}

func (s *slowFS) Open(name string, flag int, perm os.FileMode) (File, error) {
	f, err := s.memFS.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &slowFile{f.(*memFile), s.wait}, nil
}

type slowFile struct {
	*memFile
	wait func()
}

func (f *slowFile) Sync() error                 { f.wait(); return f.memFile.Sync() }
func (f *slowFile) Write(b []byte) (int, error) { f.wait(); return f.memFile.Write(b) }

// Append does not wait for a disk that hangs, and Commit ends with its context.
func TestREL37AppendNeverWaitsForTheDisk(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		m := newMemFS()
		cfg := memConfig(m)
		hang := make(chan struct{})
		cfg.start, cfg.Files = nil, &slowFS{memFS: m, wait: func() {}}
		l, _ := must(t, cfg)
		l.seg.file.(*slowFile).wait = func() { <-hang }
		begin := time.Now()
		var seq uint64
		for range 1000 {
			seq = l.Append(Origin{Run: "r"}, ContentDelta{Text: "x"}, 0)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := l.Commit(ctx, seq); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if got := time.Since(begin); got != time.Minute || l.LastAnnounced() != 0 {
			t.Errorf("took %v, announced %d", got, l.LastAnnounced())
		}
		close(hang)
		if err := l.Commit(t.Context(), seq); err != nil {
			t.Error(err)
		}
		l.Close()
	})
}

// A second after a write that nobody waits for it is synced, and after another
// one at rest the log holds no lines, no timer and no goroutine; a follower
// then reads the file.
func TestIdleLogSyncsAndLetsGo(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		m := newMemFS()
		cfg := memConfig(m)
		cfg.start = nil
		l, _ := must(t, cfg)
		for range 50 {
			l.Append(Origin{Run: "r"}, ContentDelta{Text: "x"}, 0)
		}
		synctest.Wait()
		if _, safe, _ := m.state("d/s.jsonl"); l.LastAnnounced() != 50 || safe != "" {
			t.Errorf("announced %d, synced %s", l.LastAnnounced(), safe)
		}
		time.Sleep(restAfter + time.Millisecond)
		synctest.Wait()
		if now, safe, named := m.state("d/s.jsonl"); now != safe || !named {
			t.Error("not synced after a second")
		}
		time.Sleep(restAfter)
		synctest.Wait()
		l.mu.Lock()
		if len(l.tail.blocks) != 0 || l.tail.size != 0 || l.timer != nil || l.drainer {
			t.Errorf("%d blocks, timer %v", len(l.tail.blocks), l.timer)
		}
		l.mu.Unlock()
		entries, err := l.Read(0, 100)
		if err != nil || len(entries) != 50 {
			t.Errorf("%d entries, %v", len(entries), err)
		}
		l.Append(Origin{}, Note{Level: "info", Message: "again"}, 0)
		synctest.Wait()
		entries, err = l.Read(45, 100)
		if err != nil || checkStream(t, entries, 45) != 51 {
			t.Errorf("%d entries, %v", len(entries), err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// REL-37, REL-38: however slow readers are, and however appends, rests and
// failures of the disk interleave, each reader gets every event once, in order,
// and the log holds a bounded tail.
func TestREL37SlowReadersGetEverythingOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		inBubble(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			m := newMemFS()
			if r.IntN(2) == 0 {
				m.short = true
				m.fault = failing([]string{"sync", "write"}[r.IntN(2)], 2+r.IntN(8), 8+r.IntN(4), errIO)
			}
			cfg := memConfig(m)
			cfg.start = nil
			l, _ := must(t, cfg)
			const total = 400
			var readers sync.WaitGroup
			for i := range 3 {
				rr := rand.New(rand.NewPCG(seed, uint64(i)))
				readers.Go(func() {
					after := uint64(rr.IntN(3))
					f := l.Follow(after)
					filter := NewFilter(nil)
					size := 0
					for after < total {
						batch, ok := f.Next(t.Context())
						if !ok {
							t.Errorf("reader %d ended at %d: %v", i, after, f.Err())
							return
						}
						after = checkStream(t, Merge(filter.Apply(batch)), after)
						if size++; rr.IntN(4) == 0 {
							time.Sleep(time.Duration(rr.IntN(1500)) * time.Millisecond)
						}
					}
				})
			}
			big := strings.Repeat("0123456789", 100)
			for i := range total {
				var b Body = ContentDelta{Text: big[:r.IntN(len(big))]}
				if r.IntN(50) == 0 {
					b = ConfirmationAnswered{ID: fmt.Sprint(i)}
				}
				l.Append(Origin{Run: "r"}, b, 0)
				if r.IntN(60) == 0 {
					time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
					l.mu.Lock()
					if l.err == nil && l.tail.size > tailMax+unsafeMax+2*blockMax {
						t.Errorf("the tail holds %d bytes", l.tail.size)
					}
					l.mu.Unlock()
				}
			}
			readers.Wait()
			m.mu.Lock()
			m.fault = nil // Close would say that its own sync failed
			m.mu.Unlock()
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			l, found := must(t, memConfig(m))
			if l.Last() != total || found.Damaged() {
				t.Errorf("%d events, %+v", l.Last(), found)
			}
			f := l.Follow(0)
			after := uint64(0)
			for after < total {
				batch, ok := f.Next(t.Context())
				if !ok {
					t.Fatal(f.Err())
				}
				after = checkStream(t, batch, after)
			}
			l.Close()
		})
	})
}

// A log in memory keeps what is newest; what it has let go of is covered.
func TestMemoryLogIsBounded(t *testing.T) {
	l, _ := must(t, Config{Session: "s", Now: clock})
	text := strings.Repeat("x", 100_000)
	for range 300 {
		l.Append(Origin{Run: "r"}, ContentDelta{Text: text}, 0)
	}
	if l.tail.size > memoryMax+2*len(text) {
		t.Errorf("%d bytes are held", l.tail.size)
	}
	entries, err := l.Read(0, 1000)
	if err != nil || len(entries) < 100 || checkStream(t, entries, 0) != 300 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
	if err := l.Commit(t.Context(), 300); err != nil {
		t.Error(err)
	}
	l.Close()
	if err := l.Commit(t.Context(), 301); err == nil {
		t.Error("an event that was never recorded was committed")
	}
}

// A follower ends with its context, and with the log once it has had all.
func TestFollowerEnds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l, _ := must(t, Config{Session: "s", Now: clock})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			for range l.Follow(0).Entries(ctx) {
				t.Error("an entry of an empty log")
			}
		})
		synctest.Wait()
		cancel()
		wg.Wait()
		f := l.Follow(0)
		l.Append(Origin{}, Note{}, 0)
		l.Close()
		n := 0
		for range f.Entries(t.Context()) {
			n++
		}
		if n != 1 || f.Err() != nil {
			t.Errorf("%d entries, %v", n, f.Err())
		}
	})
}

// Lines that are damaged after the log was opened are covered by the next one
// that can be read, and end nobody.
func TestDamageWhileOpenIsCovered(t *testing.T) {
	m, lines := saved(t, 20)
	l, _ := must(t, memConfig(m))
	at := len(strings.Join(func() (s []string) {
		for _, b := range lines[:6] {
			s = append(s, string(b))
		}
		return
	}(), ""))
	m.names["d/s.jsonl"].now[at+20] ^= 1
	entries, err := l.Read(0, 100)
	if err != nil || len(entries) != 19 || checkStream(t, entries, 0) != 20 || entries[5].FromSeq != 6 || entries[5].Seq != 7 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
	copy(m.names["d/s.jsonl"].now[at:], make([]byte, 100_000))
	l.Append(Origin{}, Note{Level: "info", Message: "on"}, 0)
	entries, err = l.Read(0, 100)
	if err != nil || checkStream(t, entries, 0) != 21 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
	l.Close()
}

// A panic in the file system ends neither the process nor the log's readers.
func TestREL31PanicInTheWriter(t *testing.T) {
	m := newMemFS()
	m.fault = func(_ int, kind, name string) error {
		if kind == "write" && strings.Contains(name, ".") && m.ops > 2 {
			panic("disk")
		}
		return nil
	}
	cfg := memConfig(m)
	cfg.start = nil
	l, _ := must(t, cfg)
	seq := l.Append(Origin{}, RunState{}, 0)
	if err := l.Commit(t.Context(), seq); err == nil {
		t.Error("committed")
	}
	if err := l.Close(); err == nil {
		t.Error("closed without an error")
	}
}

// A real disk that is full refuses, and the log says so.
func TestREL96FullDevice(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	path := filepath.Join(t.TempDir(), "s.jsonl")
	l, _ := must(t, Config{Path: path, Session: "s", Now: clock})
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	l.seg.file.Close()
	l.seg.file = diskFile{full}
	if err := os.Mkdir(segmentPath(path, 2), 0o700); err != nil {
		t.Fatal(err) // nor can a new segment be made
	}
	seq := l.Append(Origin{}, RunState{}, 0)
	if err := l.Commit(t.Context(), seq); err == nil || l.LastAnnounced() != 0 {
		t.Errorf("committed: %v", err)
	}
	if err := os.Remove(segmentPath(path, 2)); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if err := l.WaitWritable(t.Context()); err != nil {
		t.Error(err)
	}
	if err := l.Commit(t.Context(), seq); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	l, found := must(t, Config{Path: path, Session: "s", Now: clock})
	if l.Last() != 1 || found.Damaged() {
		t.Errorf("%d events, %+v", l.Last(), found)
	}
	l.Close()
}
