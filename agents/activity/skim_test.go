package activity

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A result that lies in a blob is short in the file and whole for who follows,
// from memory and from the file; one that is lost is empty.
func TestResultsInBlobsAreToldWhole(t *testing.T) {
	sha := strings.Repeat("ab", 32)
	content := "a \"long\" result\n<&>\u2028" + strings.Repeat("x", 20_000)
	blobs := map[string][]byte{sha: []byte(content)}
	path := filepath.Join(t.TempDir(), "s.jsonl")
	cfg := Config{Path: path, Session: "s", Now: clock, Blob: func(sha string) ([]byte, error) {
		if data, ok := blobs[sha]; ok {
			return data, nil
		}
		return nil, os.ErrNotExist
	}}
	l, _ := must(t, cfg)
	result := func(content, blob string) {
		l.Append(Origin{Agent: "a"}, ToolState{Call: "1", Name: "ls", Args: json.RawMessage(`{"content":"","blob":"x"}`), State: Success, Risk: "safe",
			Result: &ToolResult{Content: content, Display: "d", Blob: blob, Bytes: len(content)}}, time.Second)
	}
	result("", sha)
	result("cut", sha)
	result("", strings.Repeat("cd", 32))
	result("", "")
	check := func() {
		t.Helper()
		entries := mustRead(t, l, 0)
		checkStream(t, entries, 0)
		for i, want := range []string{content, "cut", "", ""} {
			event, err := entries[i].Event("s")
			if err != nil {
				t.Fatal(err)
			}
			b := event.Body.(ToolState)
			if b.Result.Content != want || b.Result.Display != "d" || event.Agent != "a" || event.DurationMs != 1_000 {
				t.Errorf("event %d: %.80q, %+v", i+1, b.Result.Content, event.Origin)
			}
			var wire struct {
				Data struct{ Output string } `json:"data"`
			}
			if err := json.Unmarshal(entries[i].Wire("s", nil), &wire); err != nil || wire.Data.Output != want {
				t.Errorf("event %d says %.80q, %v", i+1, wire.Data.Output, err)
			}
		}
	}
	if err := l.Commit(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	check()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 3_000 {
		t.Errorf("the file: %v, %v", info, err)
	}
	l, _ = must(t, cfg)
	check()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// What a log tells without being opened: a short one all, a long one its ends,
// and what is wrong with it.
func TestSkim(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.jsonl")
	now := clock()
	l, _ := must(t, Config{Path: path, Session: "s", Title: "T", Version: "9", Now: func() time.Time { now = now.Add(time.Second); return now }})
	for i := range 3_000 {
		l.Append(Origin{Run: fmt.Sprint(i)}, TurnStarted{Turn: i}, 0)
		l.Append(Origin{Run: fmt.Sprint(i)}, Note{Message: "n"}, 0)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	skim := func(max int64) (Skimmed, []int) {
		t.Helper()
		var turns []int
		k := Skimmer{Max: max, Types: []string{TurnStarted{}.Type()}}
		var got Skimmed
		for range 2 { // its buffer is used again
			turns = nil
			got, err = k.Skim(path, func(e Event) { turns = append(turns, e.Body.(TurnStarted).Turn) })
			if err != nil {
				t.Fatal(err)
			}
		}
		return got, turns
	}
	got, turns := skim(1 << 30)
	want := Skimmed{Session: "s", Format: 1, Title: "T", Agentls: "9", Created: l.CreationTime(), Updated: now, Last: 6_000, Whole: true}
	if diff := cmp.Diff(want, got); diff != "" || len(turns) != 3_000 {
		t.Errorf("%d turns, %s", len(turns), diff)
	}
	got, turns = skim(1_000)
	want.Whole = false
	if diff := cmp.Diff(want, got); diff != "" || len(turns) > 1_500 || turns[0] != 0 || turns[len(turns)-1] != 2_999 || !slices.IsSorted(turns) {
		t.Errorf("%d turns, %s", len(turns), diff)
	}
	for name, c := range map[string]struct {
		data string
		bad  int
		has  bool
	}{
		"torn":         {string(data) + `{"seq":6001,"ti`, 0, true},
		"a bad line":   {strings.Replace(string(data), `{"turn":17}`, `{"turn":18}`, 1), 1, true},
		"no header":    {"\x00\x01\x02", 0, false},
		"empty":        {"", 0, false},
		"bad and long": {"x\n" + strings.Repeat("y\n", 10), 10, false},
	} {
		if err := os.WriteFile(path, []byte(c.data), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, _ := skim(1 << 30); got.Bad != c.bad || (got.Session != "") != c.has {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, err := (&Skimmer{}).Skim(filepath.Join(dir, "none.jsonl"), nil); err == nil {
		t.Error("a log that is not there was read")
	}
}

// FuzzSkim: no bytes make Skim panic, and what it tells is in order.
func FuzzSkim(f *testing.F) {
	m, lines := saved(f, 9)
	f.Add(m.names["d/s.jsonl"].now, []byte{}, int64(1<<20))
	f.Add(lines[0], lines[1], int64(0))
	f.Fuzz(func(t *testing.T, one, two []byte, max int64) {
		m := newMemFS()
		m.names["d/s.jsonl"] = &memData{now: one}
		if len(two) > 0 {
			m.names["d/s.2.jsonl"] = &memData{now: two}
		}
		last := uint64(0)
		k := Skimmer{Files: m, Max: max, Types: []string{"run.started", "note"}}
		got, err := k.Skim("d/s.jsonl", func(e Event) {
			if e.Seq <= last {
				t.Fatalf("%d follows %d", e.Seq, last)
			}
			last = e.Seq
		})
		if err != nil || last > got.Last {
			t.Fatalf("%+v, %v", got, err)
		}
	})
}
