package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/faults"
)

// loop runs the program.
func loop(t *testing.T, o options) (code int, out string, err error) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("it looks for processes as Linux shows them")
	}
	var text strings.Builder
	code, err = run(t.Context(), o, &text)
	return code, text.String(), err
}

// TestREL30CrashLoop is the loop in little: kills in each phase lose nothing.
func TestREL30CrashLoop(t *testing.T) {
	code, out, err := loop(t, options{rounds: 12, seed: 1, dir: t.TempDir()})
	if err != nil || code != exitOK || !strings.Contains(out, "nothing lost") {
		t.Errorf("%d, %v\n%s", code, err, out)
	}
}

// TestREL30AndREL99UnsafeIsFoundOut: the same checks find the losses of a build
// that tells before it writes, and the session that two daemons have at once.
func TestREL30AndREL99UnsafeIsFoundOut(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a second program and kills it up to 100 times")
	}
	code, out, err := loop(t, options{rounds: 100, seed: 1, unsafe: true, dir: t.TempDir()})
	if err != nil || code != exitOK || !strings.Contains(out, "was found out") {
		t.Errorf("%d, %v\n%s", code, err, out)
	}
}

func TestWhatItCannotDo(t *testing.T) {
	for _, o := range []options{{rounds: 0}, {rounds: 1, unsafe: true, binary: "agentls"}} {
		if code, err := run(t.Context(), o, new(strings.Builder)); code != exitCannot || err == nil {
			t.Errorf("%+v: %d, %v", o, code, err)
		}
	}
	if code, err := run(t.Context(), options{rounds: 1, binary: filepath.Join(t.TempDir(), "none")}, new(strings.Builder)); code == exitOK || err == nil {
		t.Errorf("a binary that is not there: %d, %v", code, err)
	}
}

func line(seq uint64, kind, data string) faults.Line {
	return faults.Line{Seq: seq, Type: kind, Data: []byte(data)}
}

func TestWhereAKillFell(t *testing.T) {
	for name, c := range map[string]struct {
		told, log []faults.Line
		halfway   bool
		want      phase
	}{
		"an answer is under way":   {nil, []faults.Line{line(1, "model.started", "{}"), line(2, "content.delta", "{}")}, false, streaming},
		"the answer is over":       {nil, []faults.Line{line(1, "model.started", "{}"), line(2, "model.finished", "{}")}, false, between},
		"a command runs":           {[]faults.Line{{Seq: 1}}, []faults.Line{line(1, "tool.state", `{"call":"1","state":"executing","risk":"high"}`)}, false, executing},
		"it has ended":             {[]faults.Line{{Seq: 2}}, []faults.Line{line(1, "tool.state", `{"call":"1","state":"executing","risk":"high"}`), line(2, "tool.state", `{"call":"1","state":"success","risk":"high"}`)}, false, between},
		"a file is read":           {nil, []faults.Line{line(1, "tool.state", `{"call":"1","state":"executing","risk":"safe"}`)}, false, between},
		"a question is open":       {nil, []faults.Line{line(1, "confirmation.asked", `{"id":"q"}`)}, false, waiting},
		"it was answered":          {[]faults.Line{{Seq: 2}}, []faults.Line{line(1, "confirmation.asked", `{"id":"q"}`), line(2, "confirmation.answered", `{"id":"q"}`)}, false, between},
		"the client was not told":  {nil, []faults.Line{line(1, "confirmation.asked", `{"id":"q"}`), line(2, "confirmation.answered", `{"id":"q"}`)}, false, committing},
		"the end was not told":     {[]faults.Line{{Seq: 1}}, []faults.Line{line(1, "note", "{}"), line(2, "run.finished", "{}")}, false, committing},
		"a file is halfway":        {nil, []faults.Line{line(1, "model.started", "{}")}, true, committing},
		"nothing has begun":        {nil, nil, false, between},
		"a delta was not told yet": {nil, []faults.Line{line(1, "content.delta", "{}")}, false, between},
	} {
		of := func(l []faults.Line) map[string][]faults.Line { return map[string][]faults.Line{"main": l} }
		if got := fell([]string{"main"}, of(c.told), of(c.log), c.halfway); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestVerdict(t *testing.T) {
	each := func(change func(*killed)) *report {
		r := &report{least: 1}
		for _, p := range phases {
			r.add(killed{fell: p, told: 10, logged: 12, runs: 1, resumed: 1})
		}
		change(&r.kills[0])
		return r
	}
	few := each(func(*killed) {})
	few.kills = few.kills[1:]
	for name, c := range map[string]struct {
		report *report
		unsafe bool
		code   int
	}{
		"nothing":                     {each(func(*killed) {}), false, exitOK},
		"a loss":                      {each(func(k *killed) { k.fails(&k.lost, "gone") }), false, exitFailed},
		"a run that is stuck":         {each(func(k *killed) { k.fails(&k.stuck, "stuck") }), false, exitFailed},
		"an orphan":                   {each(func(k *killed) { k.fails(&k.orphans, "left") }), false, exitFailed},
		"two daemons in one":          {each(func(k *killed) { k.fails(&k.shared, "shared") }), false, exitFailed},
		"a phase that nothing met":    {few, false, exitFailed},
		"unsafe, nothing found":       {each(func(*killed) {}), true, exitFailed},
		"unsafe, only losses found":   {each(func(k *killed) { k.lost = 3 }), true, exitFailed},
		"unsafe, losses and a shared": {each(func(k *killed) { k.lost, k.shared = 3, 1 }), true, exitOK},
	} {
		var out strings.Builder
		code, err := c.report.verdict(c.unsafe, &out)
		if code != c.code || (err == nil) != (code == exitOK) {
			t.Errorf("%s: %d, %v", name, code, err)
		}
	}
	if table := few.table(); !strings.Contains(table, "streaming") || !slices.Contains(strings.Fields(table), "36") { // received in all: 3 × 12 in the logs
		t.Errorf("the table is\n%s", table)
	}
}

// TestProcessesAreFound: by the folder they are in, their environment, or what
// they were called with.
func TestProcessesAreFound(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it looks for processes as Linux shows them")
	}
	w := &world{base: t.TempDir()}
	if left := w.processes(); len(left) > 0 {
		t.Fatalf("found %v", left)
	}
	for name, p := range map[string]*os.ProcAttr{
		"folder":      {Dir: w.base, Env: []string{"A=b"}},
		"environment": {Env: []string{"HOME=" + w.base}},
	} {
		child, err := os.StartProcess("/bin/sleep", []string{"sleep", "1000"}, p)
		if err != nil {
			t.Skip(err)
		}
		if found := w.processes(); len(found) != 1 || found[child.Pid] == "" {
			t.Errorf("by %s: found %v", name, found)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // at once: it is left
		if left := w.orphans(ctx); len(left) != 1 {
			t.Errorf("by %s: left %v", name, left)
		}
		if s, err := child.Wait(); err != nil || s.Success() {
			t.Errorf("by %s: it was not killed: %v, %v", name, s, err)
		}
	}
}
