package session

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/compression"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/internal/fault"
)

// speaker takes turns in a session.
type speaker struct {
	s *Session
	o activity.Origin
}

func (a speaker) say(bodies ...activity.Body) (last uint64) {
	for _, b := range bodies {
		last = a.s.Log.Append(a.o, b, 0)
	}
	return last
}

func replies(words string) activity.ModelContent {
	return activity.ModelContent{Content: []model.Part{{Text: words}}}
}

// turn is a turn that calls one tool, and its last event.
func (a speaker) turn(n int, result string) uint64 {
	id := fmt.Sprintf("%s#%d-0", a.o.Run, n)
	return a.say(activity.TurnStarted{Turn: n}, activity.ModelFinished{Usage: model.Usage{InputTokens: 10 * n, TotalTokens: 10 * n}},
		calls(id), ended(id, result), activity.TurnFinished{Turn: n, ToolCalls: 1})
}

func back(t *testing.T, s *Session, to uint64) uint64 {
	t.Helper()
	seq, err := s.Rewind(to, nil, nil, nil)
	if err != nil || seq != s.Log.Last() {
		t.Fatalf("back to %d: %d, %v", to, seq, err)
	}
	return seq
}

// Spec 3.7: a rewind makes each context what it was at the last boundary of a
// turn, what was used stays used, and it can be undone; live and after a restart.
func TestRewindBringsContextsBack(t *testing.T) {
	for _, kept := range []bool{true, false} {
		t.Run(fmt.Sprint("on disk ", kept), func(t *testing.T) {
			cfg := Config{Now: clock}
			if kept {
				cfg.Dir = t.TempDir()
			}
			store := New(cfg)
			s := open(t, store, "x")
			a := speaker{s, activity.Origin{Run: "r", Agent: "a"}}
			b := speaker{s, activity.Origin{Run: "q", Agent: "b"}}
			a.say(activity.RunStarted{Input: text("hi")})
			first := a.turn(1, "one")
			b.say(activity.RunStarted{Input: text("ask b")}, replies("b says"))
			whole := b.say(activity.RunFinished{Reason: activity.Goal})
			second := a.turn(2, "two")
			a.say(activity.TurnStarted{Turn: 3}, replies("done"))
			if _, err := s.Rewind(first, nil, nil, nil); fault.KindOf(err) != fault.Unavailable {
				t.Errorf("while a run goes on: %v", err)
			} else if reason, data := fault.ReasonOf(err); reason != fault.Busy || data["run"] != "r" {
				t.Errorf("while a run goes on: %v", err)
			}
			end := a.say(activity.RunFinished{Reason: activity.Goal})
			for _, to := range []uint64{0, end + 1} {
				if _, err := s.Rewind(to, nil, nil, nil); fault.KindOf(err) != fault.Invalid {
					t.Errorf("to %d: %v", to, err)
				}
			}
			began, one, two := "user: hi", "model: call r#1-0", "user: r#1-0=one"
			full := []string{began, one, two, "model: call r#2-0", "user: r#2-0=two", "model: done"}
			ofB := []string{"user: ask b", "model: b says"}
			var undo uint64
			check := func(what string, wantA, wantB []string) {
				t.Helper()
				if diff := cmp.Diff(wantA, says(s.Context("a"))); diff != "" {
					t.Errorf("%s, a: %s", what, diff)
				}
				if diff := cmp.Diff(wantB, says(s.Context("b"))); diff != "" {
					t.Errorf("%s, b: %s", what, diff)
				}
			}
			for _, step := range []struct {
				what         string
				to           uint64
				wantA, wantB []string
			}{
				{"to the first turn's end", first, []string{began, one, two}, []string{}},
				{"to a place in the second turn", second - 1, []string{began, one, two}, ofB},
				{"to before everything", 1, []string{}, []string{}},
				{"to the second turn's end", second, full[:5], ofB},
				{"to b's end", whole, []string{began, one, two}, ofB},
				{"to where it is", 0, []string{began, one, two}, ofB},
				{"undone", end, full, ofB},
			} {
				to := step.to
				if to == 0 {
					to = s.Log.Last()
				}
				undo = back(t, s, to)
				check(step.what, step.wantA, step.wantB)
			}
			back(t, s, first)
			// What goes on from there changes nothing of what was there.
			again := speaker{s, activity.Origin{Run: "again", Agent: "a"}}
			again.say(activity.Input{Input: text("lost")}, activity.RunStarted{Input: text("go on")}, replies("other"), activity.RunFinished{Reason: activity.Goal})
			other := []string{began, one, two + " go on", "model: other"}
			check("goes on", other, []string{})
			took := s.Log.Last()
			back(t, s, undo)
			check("the rewind before undone", full, ofB)
			back(t, s, took)
			check("and that undone", other, []string{})
			if info := s.Info(); info.Runs != 3 || info.Usage.InputTokens != 30 {
				t.Errorf("what was used: %+v", info)
			}
			if err := s.Log.Commit(t.Context(), s.Log.Last()); err != nil {
				t.Fatal(err)
			}
			if !kept {
				return
			}
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			store = New(cfg)
			s = open(t, store, "x")
			check("loaded", other, []string{})
			back(t, s, second)
			check("and back", full[:5], ofB)
			store.Close()
		})
	}
}

// Two ways on from one place do not write into each other, and a place is one also
// when something that is nobody's happened after it.
func TestRewindKeepsWaysApart(t *testing.T) {
	store := New(Config{Now: clock})
	defer store.Close()
	s := open(t, store, "x")
	fails := func(run, words string) uint64 {
		return speaker{s, activity.Origin{Run: run, Agent: "a"}}.say(activity.RunStarted{Input: text(words)}, activity.RunFinished{Reason: activity.Errored})
	}
	at := uint64(0)
	for _, words := range []string{"one", "two", "three"} { // one message, with room for a fourth part
		at = fails(words, words)
	}
	left := fails("left", "left")
	first := back(t, s, at)
	s.Log.Append(activity.Origin{}, activity.Note{Message: "of nobody"}, 0)
	right := fails("right", "right")
	for _, c := range []struct {
		to   uint64
		want string
	}{{left, "user: one two three left"}, {right, "user: one two three right"}, {first, "user: one two three"}, {left, "user: one two three left"}, {first + 1, "user: one two three"}} {
		back(t, s, c.to)
		if got := says(s.Context("a")); len(got) != 1 || got[0] != c.want {
			t.Errorf("back to %d: %q, want %q", c.to, got, c.want)
		}
	}
}

// Runs that began after the place end; those that began before can be taken up,
// and know whether their context is still theirs.
func TestREL103RewindEndsTheRunsThatBeganSince(t *testing.T) {
	store := New(Config{Dir: t.TempDir(), Now: clock})
	s := open(t, store, "x")
	a := speaker{s, activity.Origin{Run: "r", Agent: "a", CorrelationID: "r"}}
	b := speaker{s, activity.Origin{Run: "q", Agent: "b", CorrelationID: "q"}}
	a.say(activity.RunStarted{Input: text("hi")})
	first := a.turn(1, "one")
	last := a.turn(2, "two")
	b.say(activity.RunStarted{Input: text("later")}, activity.TurnStarted{Turn: 1}, calls("q#1-0"))
	a.say(activity.RunState{From: activity.Running, To: activity.Paused})
	b.say(activity.RunState{From: activity.Running, To: activity.Interrupted})
	moved := func() bool {
		t.Helper()
		p, ok := s.Progress("r")
		if !ok {
			t.Fatal("the run is not there")
		}
		return p.Moved
	}
	if moved() {
		t.Error("moved before anything happened")
	}
	seq := back(t, s, last)
	runs := s.Runs()
	if runs[0].State != activity.Paused || runs[1].Reason != activity.Aborted {
		t.Errorf("runs %+v", runs)
	}
	if _, ok := s.Progress("q"); ok || moved() {
		t.Error("the one is not over, or the other's context moved")
	}
	back(t, s, first)
	if !moved() {
		t.Error("its last turn is gone, and it does not know")
	}
	back(t, s, seq)
	if moved() {
		t.Error("its last turn is back, and it does not know")
	}
	// Resumed, the context is its own again.
	back(t, s, first)
	a.say(activity.RunState{From: activity.Paused, To: activity.Running}, activity.TurnStarted{Turn: 3})
	if moved() {
		t.Error("it goes on, and is not where it is")
	}
	store.Close()
}

// What was purged does not come back by a rewind to before it.
func TestRewindDoesNotBringBackWhatWasPurged(t *testing.T) {
	dir := t.TempDir()
	store := New(Config{Dir: dir, Now: clock})
	s := open(t, store, "x")
	const secret = "swordfish"
	a := speaker{s, activity.Origin{Run: "r", Agent: "a"}}
	a.say(activity.RunStarted{Input: text(secret)})
	said := a.turn(1, secret)
	end := a.say(activity.RunFinished{Reason: activity.Goal})
	back(t, s, said)
	speaker{s, activity.Origin{Run: "b", Agent: "b"}}.say(activity.RunStarted{Input: text("of b")}, replies("ho"), activity.RunFinished{Reason: activity.Goal})
	if _, err := s.Clear("a", true); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		for to := uint64(1); to <= end+3; to++ {
			back(t, s, to)
			if got := s.Context("a"); len(got) != 0 {
				t.Fatalf("back to %d: %s", to, says(got))
			}
		}
		if found := below(t, dir, secret); len(found) != 0 {
			t.Errorf("still in %v", found)
		}
	}
	check()
	store.Close()
	store = New(Config{Dir: dir, Now: clock})
	s = open(t, store, "x")
	check()
	back(t, s, s.Log.Last())
	store.Close()
}

// compressedTwice is a context that was made shorter, with the events before each
// time.
func compressedTwice(s *Session) (before [2]uint64) {
	a := speaker{s, activity.Origin{Run: "r", Agent: "a"}}
	a.say(activity.RunStarted{Input: text("hi")})
	for i := range before {
		for n := range 3 {
			before[i] = a.turn(4*i+n+1, strings.Repeat("long ", 1_000))
		}
		a.say(replies("ho"))
		a.s.Log.Append(a.o, activity.RunFinished{Reason: activity.Goal}, 0)
		s.Log.Append(activity.Origin{Agent: "a"}, activity.ContextCompressed{Agent: "a", Status: compression.Compressed, Cut: len(s.Context("a")), Snapshot: fmt.Sprint("S", i)}, 0)
		a.o.Run += "x"
		a.say(activity.RunStarted{Input: text("on")})
	}
	a.say(replies("end"), activity.RunFinished{Reason: activity.Goal})
	return before
}

// What a compression took out of memory comes back from the log, and where that
// cannot be read nothing changes.
func TestRewindReadsWhatMemoryDoesNotHave(t *testing.T) {
	dir := t.TempDir()
	store := New(Config{Dir: dir, Now: clock})
	s := open(t, store, "x")
	defer store.Close()
	before := compressedTwice(s)
	if err := s.Log.Commit(t.Context(), s.Log.Last()); err != nil {
		t.Fatal(err)
	}
	for _, m := range s.marks["a"] {
		if m.seq <= before[1] && m.messages != nil {
			t.Errorf("the mark of %d keeps %d messages", m.seq, len(m.messages))
		}
	}
	end := s.Log.Last()
	back(t, s, before[0])
	if got := says(s.Context("a")); len(got) != 7 || got[0] != "user: hi" || !strings.Contains(got[6], "long") {
		t.Errorf("before all: %d messages", len(got))
	}
	back(t, s, before[1])
	if got := says(s.Context("a")); len(got) != 9 || got[0] != "user: "+snapshotText("S0") {
		t.Errorf("between: %d messages", len(got))
	}
	back(t, s, end)
	if got := says(s.Context("a")); len(got) != 4 || got[0] != "user: "+snapshotText("S1") || got[3] != "model: end" {
		t.Errorf("at the end: %s", got)
	}
	if err := os.Rename(filepath.Join(dir, "x.jsonl"), filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	last := s.Log.Last()
	s.Log.Append(activity.Origin{}, activity.Note{Message: strings.Repeat("x", 1<<20)}, 0) // memory lets go of the rest
	if err := s.Log.Commit(t.Context(), last+1); err != nil {
		t.Fatal(err)
	}
	s.Log.Append(activity.Origin{}, activity.Note{Message: "x"}, 0)
	if _, err := s.Rewind(before[0], nil, nil, nil); fault.KindOf(err) != fault.Unavailable || s.Log.Last() != last+2 {
		t.Errorf("%v, and %d events of %d", err, s.Log.Last(), last+2)
	}
	if err := os.Rename(filepath.Join(dir, "away"), filepath.Join(dir, "x.jsonl")); err != nil {
		t.Fatal(err)
	}
}

// A mark costs less than 300 bytes.
func TestMarksAreSmall(t *testing.T) {
	if size := unsafe.Sizeof(mark{}); size >= 300 {
		t.Errorf("a mark has %d bytes", size)
	}
}

// BenchmarkMarks is what 10,000 marks of a context keep in memory beyond the
// context: B/mark.
func BenchmarkMarks(b *testing.B) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	store := New(Config{Now: clock})
	s, err := store.Open("x")
	if err != nil {
		b.Fatal(err)
	}
	const n = 10_000
	for b.Loop() {
		v := &view{}
		for range n {
			v.messages = append(v.messages, model.Message{Role: model.User})
		}
		before := heap()
		for i := range n {
			v.marked = false
			s.mark("a", v, uint64(i))
		}
		b.ReportMetric(float64(heap()-before)/n, "B/mark")
		runtime.KeepAlive(v)
		delete(s.marks, "a")
	}
	store.Close()
}
