package model

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func on(day string) func() time.Time {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		panic(err)
	}
	return func() time.Time { return t }
}

func TestTableOfTheBinary(t *testing.T) {
	table := NewTable(on("2026-11-20"))
	table.load()
	if table.err != nil {
		t.Fatal(table.err)
	}
	aliases := make(map[string]string)
	for _, e := range table.rows {
		if err := e.Check(); err != nil {
			t.Error(err)
		}
		if _, err := time.Parse(time.DateOnly, e.Checked); err != nil {
			t.Errorf("%s: checked: %v", e.ID, err)
		}
		if e.Window <= 0 {
			t.Errorf("%s: no window", e.ID)
		}
		for _, a := range e.Aliases {
			if other, ok := aliases[a]; ok {
				t.Errorf("alias %s leads to %s and %s", a, other, e.ID)
			}
			aliases[a] = e.ID
		}
		if e.Successor != "" {
			if _, ok := table.Lookup(e.Successor); !ok {
				t.Errorf("%s: successor %s is not in the table", e.ID, e.Successor)
			}
		}
		if (e.Retired == "") != (e.Successor == "") {
			t.Errorf("%s: a retired model has a successor, and no other has", e.ID)
		}
		if e.Thinking == Level && len(e.Levels) == 0 {
			t.Errorf("%s: no levels", e.ID)
		}
	}
	for _, a := range []string{"flash", "flash-lite", "pro", "embedding"} {
		e, ok := table.Lookup(a)
		if !ok {
			t.Errorf("alias %s leads nowhere", a)
			continue
		}
		if _, retired := table.Successor(a); retired {
			t.Errorf("alias %s leads to %s, which is retired", a, e.ID)
		}
	}
}

func TestResolve(t *testing.T) {
	extra := Entry{ID: "local-x", Aliases: []string{"mine", "flash"}, Window: 4096}
	tests := []struct {
		name, fallback, day string
		extra               []Entry
		id                  string
		known               bool
		window              int
	}{
		{name: "flash", id: "gemini-3.8-flash", known: true, window: 1048576},
		{name: "inherit", fallback: "pro", id: "gemini-3.1-pro-preview", known: true, window: 1048576},
		{name: "", fallback: "flash-lite", id: "gemini-3.5-flash-lite", known: true, window: 1048576},
		{name: "gemini/flash", id: "gemini-3.8-flash", known: true, window: 1048576},
		{name: "models/gemini-3.8-flash", id: "gemini-3.8-flash", known: true, window: 1048576},
		{name: "gemini-9-ultra", id: "gemini-9-ultra", window: 1048576},
		{name: "gemini-2.5-flash-preview-05-20", id: "gemini-2.5-flash-preview-05-20", window: 1048576},
		{name: "llama3", id: "llama3"},
		{name: "gemini-*", id: "gemini-*", window: 1048576},
		{name: "gemini-2.0-flash", id: "gemini-3.5-flash-lite", known: true, window: 1048576},
		{name: "gemini-2.5-pro", id: "gemini-2.5-pro", known: true, window: 1048576},
		{name: "gemini-2.5-pro", day: "2026-12-01", id: "gemini-3.8-flash", known: true, window: 1048576},
		{name: "mine", extra: []Entry{extra}, id: "local-x", known: true, window: 4096},
		{name: "flash", extra: []Entry{extra}, id: "local-x", known: true, window: 4096},
	}
	for _, tt := range tests {
		day := tt.day
		if day == "" {
			day = "2026-11-20"
		}
		id, e, known := NewTable(on(day), tt.extra...).Resolve(tt.name, tt.fallback)
		if id != tt.id || known != tt.known || e.Window != tt.window || e.ID != tt.id {
			t.Errorf("Resolve(%q, %q) on %s = %q, window %d, known %v; want %q, %d, %v",
				tt.name, tt.fallback, day, id, e.Window, known, tt.id, tt.window, tt.known)
		}
	}
}

func TestRetired(t *testing.T) {
	table := NewTable(on("2026-11-20"), Entry{ID: "a", Retired: "2020-01-01", Successor: "b"},
		Entry{ID: "b", Retired: "2020-01-01", Successor: "a"}, Entry{ID: "c", Retired: "2020-01-01"})
	if e, ok := table.Successor("gemini-2.0-flash"); !ok || e.ID != "gemini-3.5-flash-lite" {
		t.Errorf("got %q, %v", e.ID, ok)
	}
	if _, ok := table.Successor("flash"); ok {
		t.Error("flash is not retired")
	}
	if e, ok := table.Successor("c"); !ok || e.ID != "" {
		t.Errorf("c has no successor, got %q, %v", e.ID, ok)
	}
	// A circle of successors ends.
	if id, _, _ := table.Resolve("a", ""); id != "a" && id != "b" {
		t.Errorf("got %q", id)
	}
	if _, ok := NewTable(nil).Successor("gemini-2.0-flash"); ok {
		t.Error("without a clock nothing is retired")
	}
}

func TestThink(t *testing.T) {
	level := Entry{Thinking: Level, Levels: []string{"low", "medium", "high"}}
	full := Entry{Thinking: Level, Levels: levels()}
	budget := Entry{Thinking: Budget, MinBudget: 128, MaxBudget: 32768}
	open := Entry{Thinking: Budget}
	b := func(n int) Options { return Options{ThinkingBudget: &n} }
	l := func(s string) Options { return Options{ThinkingLevel: s} }
	n := func(n int) *int { return &n }
	tests := []struct {
		e     Entry
		o     Options
		n     *int
		level string
	}{
		{full, b(0), nil, "minimal"}, {full, b(1), nil, "low"}, {full, b(1024), nil, "low"},
		{full, b(1025), nil, "medium"}, {full, b(8192), nil, "medium"}, {full, b(8193), nil, "high"},
		{full, b(-1), nil, ""}, {full, Options{}, nil, ""}, {full, l("high"), nil, "high"},
		{level, b(0), nil, "low"}, {level, l("minimal"), nil, "low"},
		{Entry{Thinking: Level, Levels: []string{"low"}}, l("high"), nil, "low"},
		{budget, b(0), n(128), ""}, {budget, b(500), n(500), ""}, {budget, b(1 << 20), n(32768), ""},
		{budget, b(-1), n(-1), ""}, {budget, l("low"), n(1024), ""}, {budget, l("high"), n(32768), ""},
		{budget, Options{}, nil, ""}, {budget, l("huge"), nil, ""},
		{open, l("high"), n(-1), ""}, {open, b(0), n(0), ""}, {open, l("minimal"), n(0), ""},
		{Entry{}, b(5), nil, ""}, {Entry{}, l("high"), nil, ""},
	}
	for i, tt := range tests {
		got, level := tt.e.Think(tt.o)
		if diff := cmp.Diff(tt.n, got); diff != "" || level != tt.level {
			t.Errorf("%d: level %q, want %q; budget %s", i, level, tt.level, diff)
		}
	}
}

func TestREL69Cost(t *testing.T) {
	table := NewTable(nil)
	pro, _ := table.Lookup("gemini-2.5-pro")
	tests := []struct {
		e     Entry
		u     Usage
		usd   float64
		known bool
	}{
		{pro, Usage{InputTokens: 100_000, OutputTokens: 40_000, ThoughtTokens: 10_000}, 0.625, true},
		{pro, Usage{InputTokens: 300_000}, 0.75, true},
		{pro, Usage{InputTokens: 200_000, CachedTokens: 200_000}, 0.025, true},
		{pro, Usage{InputTokens: 10, CachedTokens: 20}, 10 * 0.125 / 1e6, true},
		{pro, Usage{InputTokens: -1}, 0, false},
		{Entry{}, Usage{InputTokens: 1}, 0, false},
		{Entry{Prices: []Price{{Input: 1, Output: 2}}}, Usage{InputTokens: 1e6, CachedTokens: 5e5}, 1, true},
	}
	for i, tt := range tests {
		usd, known := Cost(tt.e, tt.u)
		if math.Abs(usd-tt.usd) > 1e-9 || known != tt.known {
			t.Errorf("%d: %g, %v; want %g, %v", i, usd, known, tt.usd, tt.known)
		}
	}
}

func TestEstimateTokens(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "a": 1, "abcd": 1, "abcde": 2, strings.Repeat("x", 400): 100, "这个错误": 4, "ab性能": 3,
	} {
		if got := EstimateTokens(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestEntryCheck(t *testing.T) {
	for _, e := range []Entry{
		{}, {ID: "x", Window: -1}, {ID: "x", Thinking: "hard"}, {ID: "x", Levels: []string{"extreme"}},
		{ID: "x", Retired: "soon"}, {ID: "x", Prices: []Price{{Input: -1}}},
	} {
		if e.Check() == nil {
			t.Errorf("%+v passes", e)
		}
	}
}

func BenchmarkNewTable(b *testing.B) {
	for b.Loop() {
		NewTable(nil)
	}
}

func BenchmarkFirstLookup(b *testing.B) {
	for b.Loop() {
		if _, ok := NewTable(nil).Lookup("flash"); !ok {
			b.Fatal("no flash")
		}
	}
}
