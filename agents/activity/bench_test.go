package activity

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// benchLog returns a log on the disk of the test's folder.
func benchLog(b *testing.B, combine bool) *Log {
	cfg := Config{Path: filepath.Join(b.TempDir(), "s.jsonl"), Session: "s", Workspace: "w", Now: time.Now}
	if combine {
		cfg.start = func(f func()) { f() }
	}
	l, _, err := Open(cfg)
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// modes are the two writers that were compared; docs/architecture.md has the
// outcome.
var modes = []struct {
	name    string
	combine bool
}{{"background", false}, {"combining", true}}

// BenchmarkStream is the way of a delta from Append through the file to the
// bytes that a client is sent (spec 13: at least 100,000 events a second).
func BenchmarkStream(b *testing.B) {
	for _, m := range modes {
		b.Run(m.name, func(b *testing.B) {
			l := benchLog(b, m.combine)
			o := Origin{Run: "0199-run", Turn: 1, Agent: "debugger", CorrelationID: "0199-run"}
			f := l.Follow(0)
			var wg sync.WaitGroup
			wg.Go(func() {
				var buf []byte
				for seen := 0; seen < b.N; {
					batch, ok := f.Next(b.Context())
					if !ok {
						b.Error("the follower ended:", f.Err())
						return
					}
					for _, e := range batch {
						buf = e.Wire("s", buf[:0])
					}
					seen = int(batch[len(batch)-1].Seq)
				}
			})
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				l.Append(o, ContentDelta{Text: "a dozen or so characters "}, 0)
			}
			wg.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
			if err := l.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkChunk is one delta at a time: from Append until a follower has it.
func BenchmarkChunk(b *testing.B) {
	for _, m := range modes {
		b.Run(m.name, func(b *testing.B) {
			l := benchLog(b, m.combine)
			f := l.Follow(0)
			got := make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() {
				for range b.N {
					if _, ok := f.Next(b.Context()); !ok {
						b.Error("the follower ended:", f.Err())
						return
					}
					got <- struct{}{}
				}
			})
			b.ResetTimer()
			for range b.N {
				l.Append(Origin{Run: "r"}, ContentDelta{Text: "word "}, 0)
				<-got
			}
			wg.Wait()
			b.StopTimer()
			if err := l.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkAppend is what Append costs who calls it, at a pace at which the
// writer keeps up.
func BenchmarkAppend(b *testing.B) {
	for _, m := range modes {
		b.Run(m.name, func(b *testing.B) {
			l := benchLog(b, m.combine)
			b.ReportAllocs()
			for b.Loop() {
				l.Append(Origin{Run: "r", Agent: "a"}, ContentDelta{Text: "a dozen or so characters "}, 0)
			}
			if err := l.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkCommit is a synced event, waited for, by 1, 8 and 64 at once: the
// last two share syncs.
func BenchmarkCommit(b *testing.B) {
	for _, m := range modes {
		for _, n := range []int{1, 8, 64} {
			b.Run(m.name+"/"+strconv.Itoa(n), func(b *testing.B) {
				l := benchLog(b, m.combine)
				b.SetParallelism((n + 1) / 2)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						seq := l.Append(Origin{Run: "r"}, ConfirmationAnswered{ID: "1", Outcome: "once", By: "user"}, 0)
						if err := l.Commit(b.Context(), seq); err != nil {
							b.Error(err)
						}
					}
				})
				if err := l.Close(); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

// BenchmarkHundred is 100 logs that each take a burst of a turn: 200 deltas and
// four synced events, committed at the end.
func BenchmarkHundred(b *testing.B) {
	for _, m := range modes {
		b.Run(m.name, func(b *testing.B) {
			logs := make([]*Log, 100)
			for i := range logs {
				logs[i] = benchLog(b, m.combine)
			}
			for b.Loop() {
				var wg sync.WaitGroup
				for _, l := range logs {
					wg.Go(func() {
						for i := range 200 {
							if i%50 == 0 {
								l.Append(Origin{Run: "r"}, RunState{From: Running, To: Waiting}, 0)
							}
							l.Append(Origin{Run: "r"}, ContentDelta{Text: "a dozen or so characters "}, 0)
						}
						if err := l.Commit(context.Background(), l.Last()); err != nil {
							b.Error(err)
						}
					})
				}
				wg.Wait()
			}
			for _, l := range logs {
				if err := l.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEncode compares the way of a delta with that of other bodies.
func BenchmarkEncode(b *testing.B) {
	o := Origin{Run: "0199-run", Turn: 1, Agent: "debugger"}
	now := time.Now()
	for _, body := range []Body{
		ContentDelta{Text: "a dozen or so characters "},
		ToolState{Call: "r#1-0", Name: "read_file", Args: []byte(`{"file_path":"a.go"}`), State: Executing, Risk: "safe"},
	} {
		b.Run(body.Type(), func(b *testing.B) {
			var enc encoder
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				var data []byte
				if !isDelta(body) {
					data, _ = encodeBody(body)
				}
				dst = enc.line(dst[:0], 12345, now, o, body, data, 0)
			}
		})
	}
}

// BenchmarkOpen is the load of a log of 10 MiB, mostly deltas.
func BenchmarkOpen(b *testing.B) {
	l := benchLog(b, false)
	path := l.cfg.Path
	size := int64(0)
	for i := 0; size < 10<<20; i++ {
		l.Append(Origin{Run: "r", Agent: "a"}, ContentDelta{Text: "a dozen or so characters "}, 0)
		if i%20 == 0 {
			l.Append(Origin{Run: "r", Agent: "a"}, ToolState{Call: fmt.Sprintf("r#%d-0", i), Name: "read_file", Args: []byte(`{}`), State: Success, Risk: "safe",
				Result: &ToolResult{Content: "package main\n\nfunc main() {}\n", Bytes: 29}}, 0)
		}
		size += 150
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	for b.Loop() {
		l, _, err := Open(Config{Path: path, Session: "s", Now: time.Now, Fold: func(Event) {}})
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
