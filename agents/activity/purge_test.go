package activity

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentls/agentls/agents/model"
)

const secret = "the password is swordfish"

// said is what an agent says and does in an event of each kind that holds text.
func said(i int) Body {
	sha := strings.Repeat(fmt.Sprintf("%02x", i%256), 32)
	switch i % 6 {
	case 0:
		return RunStarted{Input: []ContentBlock{{Type: "text", Text: secret}}, Mode: "chat"}
	case 1:
		return ContentDelta{Text: secret}
	case 2:
		return ModelContent{Content: []model.Part{{Text: secret}}, Raw: json.RawMessage(`{"p":"` + secret + `"}`)}
	case 3:
		return ToolState{Call: fmt.Sprint(i), Name: "bash", Args: json.RawMessage(`{"c":"` + secret + `"}`), State: Success, Risk: "high", Result: &ToolResult{Content: secret, Blob: sha, Bytes: 3}}
	case 4:
		return Unknown{Name: "later", Data: json.RawMessage(`{"x":"` + secret + `"}`)}
	default:
		return RunFinished{Reason: Goal, Text: secret, Turns: i}
	}
}

// outline is what a purge leaves alone.
func outline(t tester, entries []Entry) []string {
	t.Helper()
	var out []string
	for _, e := range entries {
		event, err := e.Event("s")
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintln(e.FromSeq, e.Seq, e.Type, event.Time, event.Origin, event.DurationMs)
		if event.Agent != "a" {
			line += string(e.Wire("s", nil))
		}
		out = append(out, line)
	}
	return out
}

// holds returns the files below a folder that hold the secret.
func holds(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), secret) {
			out = append(out, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A purge takes an agent's words from the disk and from memory and leaves the
// rest as it was; the open log, its readers and a log that is opened again go
// on.
func TestPurge(t *testing.T) {
	for _, kept := range []bool{true, false} {
		t.Run(fmt.Sprint("file ", kept), func(t *testing.T) {
			dir := t.TempDir()
			cfg := Config{Session: "s", Title: "the title", Now: clock}
			if kept {
				cfg.Path = filepath.Join(dir, "s.jsonl")
			}
			l, _ := must(t, cfg)
			ids := map[string]string{}
			for i := range 2_000 {
				o := Origin{Run: fmt.Sprint("r", i%7), ParentRun: "p", Turn: i, Agent: []string{"a", `b"`}[i%2], CorrelationID: "c"}
				b := said(i / 2)
				if o.Agent != "a" {
					b = Note{Message: fmt.Sprint("of b ", i, strings.Repeat(" long", 20))}
				}
				l.Append(o, b, time.Duration(i)*time.Millisecond)
				ids[o.Agent] = o.Run
			}
			until := l.Last()
			after := l.Append(Origin{Agent: "a"}, ContentDelta{Text: "after it"}, 0)
			early := l.Follow(0)
			first, ok := early.Next(t.Context())
			if !ok {
				t.Fatal(early.Err())
			}
			seen := checkStream(t, slices.Clone(first), 0)
			if err := l.Commit(t.Context(), after); err != nil {
				t.Fatal(err)
			}
			before, err := l.Read(0, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			want := outline(t, before)
			if kept {
				// A crash of an earlier process left its bad lines.
				if err := os.WriteFile(filepath.Join(dir, "s.bad"), []byte(secret), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			blobs, err := l.Purge("a", until)
			if err != nil {
				t.Fatal(err)
			}
			if len(blobs) != 128 { // each sixth event has one, an odd number in a byte
				t.Errorf("%d blobs", len(blobs))
			}
			if found := holds(t, dir); len(found) > 0 && kept {
				t.Errorf("still in %v", found)
			}
			check := func(l *Log) {
				t.Helper()
				entries, err := l.Read(0, 1<<20)
				if err != nil {
					t.Fatal(err)
				}
				checkStream(t, entries, 0)
				if diff := cmp.Diff(want, outline(t, entries)); diff != "" {
					t.Error(diff)
				}
				for _, e := range entries {
					wire := string(e.Wire("s", nil))
					if strings.Contains(wire, secret) {
						t.Fatalf("still in %s", wire)
					}
					if e.Seq == after && !strings.Contains(wire, "after it") {
						t.Errorf("too much is gone: %s", wire)
					}
				}
			}
			check(l)
			for seen < after {
				batch, ok := early.Next(t.Context())
				if !ok {
					t.Fatal(early.Err())
				}
				seen = checkStream(t, batch, seen)
			}
			// Lines that went bad since are left, but for the agent's.
			bad := filepath.Join(dir, "s.bad")
			for _, c := range []struct {
				line string
				left bool
			}{{"a bad line", true}, {`x"agent":"ab"x`, true}, {`x"agent":"a",x`, false}} {
				if err := os.WriteFile(bad, []byte("y\n"+c.line), 0o600); err != nil {
					t.Fatal(err)
				}
				if again, err := l.Purge("a", until); err != nil || len(again) > 0 {
					t.Errorf("purged again: %v, %v", again, err)
				}
				if _, err := os.Stat(bad); (err == nil) != c.left && kept {
					t.Errorf("%s: %v", c.line, err)
				}
			}
			last := l.Append(Origin{Agent: "b"}, Note{Message: "on"}, 0)
			if err := l.Commit(t.Context(), last); err != nil {
				t.Fatal(err)
			}
			if batch, ok := early.Next(t.Context()); !ok || batch[len(batch)-1].Seq != last {
				t.Errorf("the follower got %v", batch)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Purge("a", until); err == nil {
				t.Error("a closed log was purged")
			}
			if kept {
				l, found := must(t, cfg)
				want = append(want, outline(t, mustRead(t, l, last-1))...)
				if found.Damaged() || found.Cut > 0 || l.Title() != "the title" {
					t.Errorf("found %+v, title %q", found, l.Title())
				}
				check(l)
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func mustRead(t tester, l *Log, after uint64) []Entry {
	t.Helper()
	entries, err := l.Read(after, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// Whatever call of the disk is the last one, an event is there as it was or
// purged, the others as they were, and purging again ends it. The log's segments
// repeat each other, since a sync failed.
func TestPurgeCrashAtEveryCall(t *testing.T) {
	make := func() *memFS {
		m := newMemFS()
		l, _ := must(t, memConfig(m))
		for i := range 40 {
			if i == 20 {
				m.fault = failing("sync", 1, 1, errIO)
			}
			if agent := []string{"a", "b"}[i%2]; agent == "a" {
				l.Append(Origin{Agent: agent}, said(i/2), 0)
			} else {
				l.Append(Origin{Agent: agent}, Note{Message: fmt.Sprint(i)}, 0)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if len(m.names) != 2 {
			t.Fatalf("%d files", len(m.names))
		}
		m.fault = nil
		bad := []byte(`{"seq":1,"agent":"a",` + secret)
		m.names["d/s.bad"] = &memData{now: bad, safe: bad}
		m.safe["d/s.bad"] = m.names["d/s.bad"]
		return m
	}
	whole := make()
	l, _ := must(t, memConfig(whole))
	want := outline(t, mustRead(t, l, 0))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	crashes := 0
	for k := 1; ; k++ {
		m := make()
		l, _ := must(t, memConfig(m))
		m.ops = 0
		m.fault = func(op int, _, _ string) error {
			if op == k {
				return errDead
			}
			return nil
		}
		_, err := l.Purge("a", l.Last())
		if err == nil {
			if left := secrets(m); len(left) > 0 {
				t.Errorf("still in %v", left)
			}
			break
		}
		crashes++
		_ = l.Close() // the machine has ended
		for _, power := range []bool{false, true} {
			next := m.crash(power, rand.New(rand.NewPCG(uint64(k), 1)))
			l, found := must(t, memConfig(next))
			if found.Damaged() || found.Cut > 0 {
				t.Errorf("crash at %d: %+v", k, found)
			}
			if diff := cmp.Diff(want, outline(t, mustRead(t, l, 0))); diff != "" {
				t.Fatalf("crash at %d:\n%s", k, diff)
			}
			if _, err := l.Purge("a", l.Last()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, outline(t, mustRead(t, l, 0))); diff != "" {
				t.Fatalf("crash at %d, purged again:\n%s", k, diff)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			for name := range next.names {
				if strings.HasSuffix(name, ".tmp") {
					delete(next.names, name) // not read by anybody; the next purge writes over it
				}
			}
			if left := secrets(next); len(left) > 0 {
				t.Errorf("crash at %d: still in %v", k, left)
			}
		}
	}
	if crashes < 8 {
		t.Errorf("only %d calls", crashes)
	}
}

// secrets returns the files that hold the secret.
func secrets(m *memFS) (out []string) {
	for name, d := range m.names {
		if strings.Contains(string(d.now), secret) {
			out = append(out, name)
		}
	}
	return out
}

// A disk that fails during a purge is told, and the log goes on with all that
// it had.
func TestPurgeOnAFailingDisk(t *testing.T) {
	for _, kind := range []string{"open", "write", "sync", "rename", "syncdir"} {
		m := newMemFS()
		l, _ := must(t, memConfig(m))
		for i := range 60 {
			l.Append(Origin{Agent: "a"}, said(i), 0)
		}
		want := outline(t, mustRead(t, l, 0))
		m.fault = failing(kind, 1, 1, errIO)
		if _, err := l.Purge("a", l.Last()); err == nil {
			t.Errorf("%s: no error", kind)
		}
		if diff := cmp.Diff(want, outline(t, mustRead(t, l, 0))); diff != "" {
			t.Errorf("%s:\n%s", kind, diff)
		}
		l.Append(Origin{Agent: "a"}, RunStarted{}, 0)
		if err := l.Commit(t.Context(), l.Last()); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if _, err := l.Purge("a", l.Last()); err != nil || len(secrets(m)) > 0 {
			t.Errorf("%s: %v, still in %v", kind, err, secrets(m))
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		l, found := must(t, memConfig(m))
		if found.Damaged() || found.Cut > 0 || l.Last() != 61 {
			t.Errorf("%s: %+v, %d events", kind, found, l.Last())
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// While agents talk and readers are behind, purges lose nothing: each reader
// gets every event of the other agent once and whole.
func TestPurgeWhileTheLogGrows(t *testing.T) {
	l, _ := must(t, Config{Path: filepath.Join(t.TempDir(), "s.jsonl"), Session: "s", Now: time.Now})
	const each = 3_000
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var readers, writers sync.WaitGroup
	for n := range 3 {
		readers.Go(func() {
			f := l.Follow(0)
			after, count := uint64(0), 0
			for after < 2*each {
				batch, ok := f.Next(ctx)
				if !ok {
					t.Error("the follower ended:", f.Err())
					return
				}
				for _, e := range batch {
					if e.FromSeq != after+1 {
						t.Errorf("%d–%d follows %d", e.FromSeq, e.Seq, after)
					}
					after = e.Seq
					if e.FromSeq != e.Seq {
						t.Errorf("%d covers %d", e.Seq, e.FromSeq)
					}
					if event, err := e.Event("s"); err != nil {
						t.Error(err)
					} else if event.Agent == "b" {
						if note := event.Body.(Note); !strings.HasPrefix(note.Message, "of b") {
							t.Errorf("%d is %+v", e.Seq, note)
						}
						count++
					}
				}
				if n > 0 {
					f = l.Follow(after) // one that finds its place anew
				}
			}
			if count != each {
				t.Errorf("%d events of %d", count, each)
			}
		})
	}
	for _, agent := range []string{"a", "b"} {
		writers.Go(func() {
			for i := range each {
				if agent == "a" {
					l.Append(Origin{Agent: agent}, said(i), 0)
				} else {
					l.Append(Origin{Agent: agent}, Note{Message: "of b" + strings.Repeat(" and more", i%40)}, 0)
				}
			}
		})
	}
	for range 2 {
		writers.Go(func() {
			for l.LastAnnounced() < 2*each && !t.Failed() {
				if _, err := l.Purge("a", l.Last()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	if err := l.Commit(ctx, 2*each); err != nil {
		t.Error(err)
	}
	readers.Wait()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// hookFS runs a function before the next file is opened for reading.
type hookFS struct {
	*memFS
	hook func()
}

func (h *hookFS) Open(name string, flag int, perm os.FileMode) (File, error) {
	if f := h.hook; f != nil && flag == os.O_RDONLY {
		h.hook = nil
		f()
	}
	return h.memFS.Open(name, flag, perm)
}

// A reader that looked up its place before a purge and opens the file after it
// still misses nothing.
func TestPurgeBetweenLookingUpAndOpening(t *testing.T) {
	m := &hookFS{memFS: newMemFS()}
	cfg := memConfig(m.memFS)
	cfg.Files = m
	l, _ := must(t, cfg)
	for i := range 4_000 {
		if i%2 == 0 {
			l.Append(Origin{Agent: "a"}, ModelContent{Content: []model.Part{{Text: strings.Repeat(secret, 20)}}}, 0)
		} else {
			l.Append(Origin{Agent: "b"}, Note{Message: fmt.Sprint(i)}, 0)
		}
	}
	l.Append(Origin{Agent: "b"}, RunStarted{}, 0) // synced, so the tail is let go
	after := uint64(2_000)
	f := l.Follow(after)
	m.hook = func() {
		if _, err := l.Purge("a", l.Last()); err != nil {
			t.Error(err)
		}
	}
	for after < l.Last() {
		batch, ok := f.Next(t.Context())
		if !ok {
			t.Fatal(f.Err())
		}
		for _, e := range batch {
			if e.FromSeq != e.Seq || e.Seq != after+1 {
				t.Fatalf("%d–%d follows %d", e.FromSeq, e.Seq, after)
			}
			after = e.Seq
		}
	}
	if m.hook != nil {
		t.Error("nothing was read from the file")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// BenchmarkPurge is a log of 30 MB, of which half goes.
func BenchmarkPurge(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		l := benchLog(b, false)
		for i := range 100_000 {
			if i%2 == 0 {
				l.Append(Origin{Run: "r", Agent: "a"}, said(i/2), 0)
			} else {
				l.Append(Origin{Run: "r", Agent: "b"}, Note{Message: strings.Repeat("of b ", 40)}, 0)
			}
		}
		b.StartTimer()
		if _, err := l.Purge("a", l.Last()); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		l.Close()
		b.StartTimer()
	}
}
