package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// clock returns a clock that goes on by a second each time it is read.
func clock() func() time.Time {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return func() time.Time {
		at = at.Add(time.Second)
		return at
	}
}

// TestReport holds the lines that a person and a machine read.
func TestReport(t *testing.T) {
	var out strings.Builder
	r := &report{out: &out, now: clock(), width: 12}
	for _, s := range []step{
		{"gofmt", func() outcome { return outcome{note: "2 files", output: "not shown"} }},
		{"go vet", func() outcome { return passed("x.go:1: no\n", errors.New("exit status 1")) }},
		{"staticcheck", func() outcome { return skip("staticcheck", "it is not installed", "go install it") }},
		{"go test", func() outcome { return outcome{left: []leftOut{{"-race", "there is no C compiler", "install gcc"}}} }},
		{"binary", func() outcome { panic("no") }},
	} {
		r.do(s)
	}
	r.verdict()
	want := `gofmt, 2 files  ok        1.0 s
go vet        FAILED    1.0 s
x.go:1: no
go vet: exit status 1

left out: staticcheck: it is not installed, go install it
left out: -race: there is no C compiler, install gcc
go test       ok        1.0 s
binary        FAILED    1.0 s
binary: a bug of check: no

NOT well: go vet; binary failed; 2 steps ok, 2 left out, 9 s (9s)
`
	if out.String() != want {
		t.Errorf("the report is\n%s\nwant\n%s", &out, want)
	}
}

// TestStepsAtOnce holds that the steps of a group go on together, and that each
// has its line.
func TestStepsAtOnce(t *testing.T) {
	var out strings.Builder
	r := &report{out: &out, now: time.Now}
	met := make(chan struct{})
	r.do(step{"first", func() outcome { met <- struct{}{}; return outcome{} }},
		step{"second", func() outcome { <-met; return failed("", "no") }},
		step{"third", func() outcome { panic("no") }})
	if r.ok != 1 || r.failed != 2 || !strings.Contains(out.String(), "first  ok") {
		t.Errorf("%d ok, %d failed:\n%s", r.ok, r.failed, &out)
	}
}

func TestVerdictOfSuccess(t *testing.T) {
	var out strings.Builder
	r := &report{out: &out, now: clock()}
	r.do(step{"a", func() outcome { return outcome{} }})
	out.Reset()
	r.verdict()
	if want := "all is well: 1 steps ok, 0 left out, 2 s (2s)\n"; out.String() != want {
		t.Errorf("the verdict is %q, want %q", &out, want)
	}
}

func TestClosingLines(t *testing.T) {
	got := closingLines(strings.Join([]string{
		"-test.shuffle 17", "ok  \tm/a\t1.2s", "okay is no closing line", "?   \tm/b\t[no test files]",
		"--- FAIL: TestX (0.00s)", "    --- FAIL: TestX/y (0.00s)", "    x_test.go:1: no", "FAIL", "FAIL\tm/c\t0.1s", "ok  \tm/d\t(cached)", "FAIL",
	}, "\n"))
	want := []string{"ok  \tm/a\t1.2s", "--- FAIL: TestX (0.00s)", "FAIL", "FAIL\tm/c\t0.1s", "ok  \tm/d\t(cached)", "FAIL"}
	if !slices.Equal(got, want) {
		t.Errorf("closing lines\n%q, want\n%q", got, want)
	}
}

func TestWithoutPassed(t *testing.T) {
	got := withoutPassed("?   \tm/b\t[no test files]\nFuzzA\nok  \tm/a\t1.2s\n--- FAIL: FuzzB (0s)\n    ok  \tno\nFAIL\tm/c\t0.1s\nFAIL\n")
	if want := "--- FAIL: FuzzB (0s)\n    ok  \tno\nFAIL\tm/c\t0.1s\nFAIL\n"; got != want {
		t.Errorf("what failed is %q, want %q", got, want)
	}
}

func TestTargets(t *testing.T) {
	got := targets("ok  \tm/a\t0.01s\nFuzzB\nFuzzA\nok  \tm/b\t0.02s\n?   \tm/c\t[no test files]\nFuzzC\nok  \tm/d\t0.02s\n")
	if want := []target{{"m/b", "FuzzB"}, {"m/b", "FuzzA"}, {"m/d", "FuzzC"}}; !slices.Equal(got, want) {
		t.Errorf("targets %v, want %v", got, want)
	}
}

func TestLateStop(t *testing.T) {
	const head = "fuzz: elapsed: 20s, execs: 100 (0/sec), new interesting: 3 (total: 9)\n"
	for _, c := range []struct {
		name, out string
		late      bool
	}{
		{"time is up", head + "--- FAIL: FuzzX (20.05s)\n    context deadline exceeded\nFAIL\nexit status 1\nFAIL\tm/a\t20.1s\n", true},
		{"an input", head + "--- FAIL: FuzzX (1.05s)\n    --- FAIL: FuzzX (0.00s)\n        x_test.go:3: no\n\n    Failing input written to testdata/fuzz/FuzzX/0a\nFAIL\n", false},
		{"an input that runs too long", head + "--- FAIL: FuzzX (1.05s)\n    context deadline exceeded\n    Failing input written to testdata/fuzz/FuzzX/0a\nFAIL\n", false},
		{"a panic", "panic: no\n--- FAIL: FuzzX (1.05s)\n    context deadline exceeded\nFAIL\n", false},
		{"it does not compile", "x.go:1: no\nFAIL\tm/a [build failed]\n", false},
	} {
		if got := lateStop(c.out); got != c.late {
			t.Errorf("%s: lateStop = %t", c.name, got)
		}
	}
}

func TestClientsOutcome(t *testing.T) {
	missing := []leftOut{{"Neovim", "there is no nvim", "install it"}}
	out := "=== RUN   TestA\n    a_test.go:3: measured: 2 ms\n--- PASS: TestA (1.00s)\n=== RUN   TestN\n    n_test.go:1: nvim is not installed\n--- SKIP: TestN (0.00s)\nok\n"
	o := clientsOutcome(out, nil, missing)
	if o.none || o.note != "1 tests" || len(o.left) != 1 || !slices.Equal(o.measured, []string{"2 ms"}) {
		t.Errorf("one ran, one lacks nvim: %+v", o)
	}
	o = clientsOutcome("=== RUN   TestB\n    b_test.go:9: run npm ci there\n--- SKIP: TestB (0.00s)\nPASS\n", nil, nil)
	if !o.none || len(o.left) != 1 || o.left[0] != (leftOut{"TestB", "run npm ci there", ""}) {
		t.Errorf("none ran: %+v", o)
	}
	if o := clientsOutcome("--- FAIL: TestC (0.00s)\n", errors.New("exit status 1"), nil); o.none || o.err == nil {
		t.Errorf("one failed: %+v", o)
	}
}

// TestRestore holds that check leaves a checkout as it was.
func TestRestore(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("same", "1")
	write("changed", "1")
	write("gone", "1")
	before, err := readAll(dir)
	if err != nil || len(before) != 3 {
		t.Fatal(before, err)
	}
	write("changed", "2")
	write("new", "2")
	if err := os.Remove(filepath.Join(dir, "gone")); err != nil {
		t.Fatal(err)
	}
	after, err := readAll(dir)
	if err != nil {
		t.Fatal(err)
	}
	changed, err := restore(dir, before, after)
	if err != nil || !slices.Equal(changed, []string{"changed", "gone", "new"}) {
		t.Errorf("restore: %v, %v", changed, err)
	}
	now, err := readAll(dir)
	if err != nil || len(now) != 3 || string(now[filepath.Join(dir, "changed")]) != "1" || string(now[filepath.Join(dir, "gone")]) != "1" {
		t.Errorf("after restore: %q, %v", now, err)
	}
	if none, err := readAll(filepath.Join(dir, "nowhere")); err != nil || len(none) != 0 {
		t.Errorf("a folder that is not there: %v, %v", none, err)
	}
}

// TestChanceIsForLong holds that check without -long explores nothing, and that
// -long does all that check does.
func TestChanceIsForLong(t *testing.T) {
	names := func(c *checks) (all []string) {
		for _, s := range slices.Concat(c.steps()...) {
			all = append(all, s.name)
		}
		return all
	}
	fixed, long := &checks{machine: &machine{}}, &checks{machine: &machine{}, long: true}
	if got, want := names(long), append(names(fixed), "go vet, macOS and Windows", "crash loop", "the wall", "fuzzing"); !slices.Equal(got, want) {
		t.Errorf("the steps of -long are %q, want %q", got, want)
	}
	if args, env := fixed.testing(); slices.Contains(args, "-shuffle=on") || !slices.Contains(args, "-short") || !slices.Contains(env, "RAPID_SEED=1") {
		t.Errorf("check leaves something to chance: %q, %q", args, env)
	}
	if args, env := long.testing(); !slices.Contains(args, "-shuffle=on") || slices.Contains(args, "-short") || slices.Contains(env, "RAPID_SEED=1") {
		t.Errorf("-long leaves nothing to chance: %q, %q", args, env)
	}
}

// TestLoadsAreThere holds that each test which the race detector leaves out is one
// that the other step runs.
func TestLoadsAreThere(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	for folder, tests := range loads {
		files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(data)
		}
		for _, name := range tests {
			if !strings.Contains(text.String(), "\nfunc "+name+"(") {
				t.Errorf("%s has no %s", folder, name)
			}
		}
	}
	for _, folder := range programs {
		if _, err := os.Stat(filepath.Join(root, folder)); err != nil {
			t.Error(err)
		}
	}
}

func TestWhatTookTheLongestIsNamed(t *testing.T) {
	const output = "ok  \texample.com/agentls/agents/run\t5.25s\n?   \texample.com/agentls/x\t[no test files]\nok  \texample.com/agentls/internal/canary\t61.049s\nFAIL\texample.com/agentls/y\t90s\n"
	if got := longest(output); got != ", canary 61 s, run 5 s" {
		t.Errorf("%q", got)
	}
}
