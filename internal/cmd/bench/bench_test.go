package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	r := report{Rows: []result{
		{What: "met", Unit: "ms", Agentls: new(17.25), Limit: new(3.0), Goal: 20, Times: 6.5},
		{What: "by ratio", Unit: "ms", Agentls: new(40.0), Limit: new(8.0), Goal: 20, Times: 6.5},
		{What: "neither", Unit: "s", Agentls: new(0.512), Limit: new(0.0701), Goal: 0.25, Times: 3.6},
		{What: "ratio alone", Unit: "ms", Agentls: new(180.0), Limit: new(147.0), Times: 1.3},
		{What: "ratio missed", Unit: "ms", Agentls: new(200.0), Limit: new(147.0), Times: 1.3},
		{What: "no limit", Unit: "ms", Agentls: new(1.5), Goal: 1},
		{What: "no goal", Unit: "ms", Agentls: new(1234.5)},
		{What: "not there", Unit: "ms", Limit: new(0.04), Goal: 1},
	}}
	for i := range r.Rows {
		r.Rows[i].judge()
	}
	want := `| what             | agentls |  limit |    × |         goal | met          |
|------------------|--------:|-------:|-----:|-------------:|--------------|
| met, ms          |    17.2 |   3.00 | 5.75 |   20 (6.5 ×) | yes          |
| by ratio, ms     |    40.0 |   8.00 | 5.00 |   20 (6.5 ×) | by the ratio |
| neither, s       |   0.512 | 0.0701 | 7.30 | 0.25 (3.6 ×) | NO           |
| ratio alone, ms  |     180 |    147 | 1.22 |        1.3 × | yes          |
| ratio missed, ms |     200 |    147 | 1.36 |        1.3 × | NO           |
| no limit, ms     |    1.50 |      – |    – |            1 | NO           |
| no goal, ms      |    1234 |      – |    – |            – |              |
| not there, ms    |       – | 0.0400 |    – |            1 | not measured |
`
	if got := r.table(); got != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
}

func TestTheTableIsWrittenIntoADocument(t *testing.T) {
	file := filepath.Join(t.TempDir(), "performance.md")
	if err := os.WriteFile(file, []byte("before\n"+tableBegin+"\nold\n"+tableEnd+"\nafter\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := report{Go: "go1", Rows: []result{{What: "new", Unit: "ms", Agentls: new(1.0)}}}
	for range 2 { // again it is the same
		if err := r.writeTo(file); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file)
		if want := "before\n" + tableBegin + "\n" + r.String() + tableEnd + "\nafter\n"; err != nil || string(got) != want {
			t.Errorf("%v, the document is\n%s", err, got)
		}
	}
	if err := os.WriteFile(file, []byte("no table"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.writeTo(file); err == nil || !strings.Contains(err.Error(), tableBegin) {
		t.Errorf("a document without a place for it: %v", err)
	}
}

func TestPercentiles(t *testing.T) {
	var samples []float64
	for i := range 200 {
		samples = append(samples, float64(199-i))
	}
	if m, p := median(samples), p99(samples); m != 100 || p != 198 {
		t.Errorf("median %v, p99 %v", m, p)
	}
	if m, p := median([]float64{7}), p99([]float64{7}); m != 7 || p != 7 {
		t.Errorf("of one: median %v, p99 %v", m, p)
	}
}

func TestChunksAreCheckedForOrder(t *testing.T) {
	for name, tt := range map[string]struct {
		pieces []string
		n      int
		ok     bool
	}{
		"one by one":        {[]string{"w1ae0 @1 ", "w2bf1 @2 ", "wffz2 @3 "}, 3, true},
		"joined":            {[]string{"w1ae0 @1 w2bf1 @2 wffz2 @3 "}, 3, true},
		"cut anywhere":      {[]string{"w1", "ae0 @", "1 w2bf1 @2", " wffz2 @3 "}, 3, true},
		"out of order":      {[]string{"w2bf1 @2 ", "w1ae0 @1 "}, 2, false},
		"one is lost":       {[]string{"w1ae0 @1 ", "wffz2 @3 "}, 3, false},
		"the end is lost":   {[]string{"w1ae0 @1 ", "w2bf1 "}, 2, false},
		"twice":             {[]string{"w1ae0 @1 ", "w1ae0 @1 "}, 2, false},
		"something between": {[]string{"w1ae0 @1 x", "w2bf1 @2 "}, 2, false},
	} {
		var c chunks
		for _, p := range tt.pieces {
			c.take(p)
		}
		if err := c.all(tt.n); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
		if tt.ok && len(c.lag) != tt.n {
			t.Errorf("%s: %d times", name, len(c.lag))
		}
	}
}

func TestProbesAreNamedOnce(t *testing.T) {
	names := probeNames()
	if slices.Sort(names); len(slices.Compact(names)) != len(probes(options{})) {
		t.Errorf("%q", names)
	}
	var out strings.Builder
	if code, err := run(t.Context(), options{only: "nothing"}, &out); code != exitCannot || err == nil || !strings.Contains(err.Error(), "load-memory") {
		t.Errorf("%d, %v", code, err)
	}
}

func TestWithoutItsKitItSaysSo(t *testing.T) {
	if supported() != nil {
		t.Skip(supported())
	}
	var out strings.Builder
	code, err := run(t.Context(), options{bench: filepath.Join(t.TempDir(), "none")}, &out)
	if code != exitCannot || err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "-bench") || out.Len() > 0 {
		t.Errorf("%d, %v, %q", code, err, &out)
	}
}

// TestQuick measures some rows for real, where there is what to measure with.
func TestQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds three programs")
	}
	if supported() != nil {
		t.Skip(supported())
	}
	kit, err := filepath.Abs("../../../../shared/bench")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kit); err != nil {
		t.Skip("there is no ../shared/bench beside the module")
	}
	for _, probe := range []string{"parallel", "lag"} {
		file := filepath.Join(t.TempDir(), "out.json")
		var out strings.Builder
		code, err := run(t.Context(), options{quick: true, only: probe, bench: kit, json: file}, &out)
		if err != nil || code != exitOK {
			t.Fatalf("%s: %d, %v", probe, code, err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r report
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		if len(r.Rows) == 0 || r.Cores != runtime.NumCPU() || !r.Quick || r.String() != out.String() {
			t.Errorf("%s\n%s", text, &out)
		}
		for _, row := range r.Rows {
			if row.Agentls == nil || row.Limit == nil || *row.Agentls <= 0 || *row.Limit <= 0 || row.Ratio == nil || row.Samples == 0 || row.Met == "" {
				t.Errorf("%s: %+v", probe, row)
			}
		}
	}
}
