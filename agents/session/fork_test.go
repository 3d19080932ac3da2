package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/internal/fault"
)

// lines returns the lines of a session's only file, without the header.
func lines(t *testing.T, dir, id string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, id+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.SplitAfter(string(data), "\n")[1:]
}

// Spec 3.7: a fork has the events up to a place as they were, and goes on by
// itself; what had not finished there ended, and can be taken up here only.
func TestFork(t *testing.T) {
	for _, kept := range []bool{true, false} {
		t.Run(fmt.Sprint("on disk ", kept), func(t *testing.T) {
			now := clock()
			cfg := Config{Folder: "/w", Now: func() time.Time { now = now.Add(time.Second); return now }}
			if kept {
				cfg.Dir = t.TempDir()
			}
			store := New(cfg)
			s, err := store.New("The title", "")
			if err != nil {
				t.Fatal(err)
			}
			a := speaker{s, activity.Origin{Run: "r", Agent: "a", CorrelationID: "r"}}
			a.say(activity.RunStarted{Input: text("hi")})
			long := activity.ToolResult{Content: strings.Repeat("long ", maxInline)}
			if err := s.Spill(&long); err != nil {
				t.Fatal(err)
			}
			a.say(activity.TurnStarted{Turn: 1}, activity.ContentDelta{Text: "delta"}, activity.ModelFinished{Model: "m", Usage: model.Usage{InputTokens: 9}}, calls("r#1-0"),
				activity.ToolState{Call: "r#1-0", State: activity.Success, Result: &long}, activity.ApprovalChanged{To: "edits"})
			first := a.say(activity.TurnFinished{Turn: 1})
			ofFirst := s.Context("a")
			a.say(activity.TurnStarted{Turn: 2}, calls("r#2-0"))
			speaker{s, activity.Origin{Run: "w", Agent: "a"}}.say(activity.Input{Input: text("waits"), Position: 1})
			open2 := a.say(activity.ToolState{Call: "r#2-0", State: activity.Executing, Risk: "high"})

			f1, err := store.Fork(t.Context(), s, first)
			if err != nil {
				t.Fatal(err)
			}
			f2, err := store.Fork(t.Context(), s, open2)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(ofFirst, f1.Context("a")); diff != "" {
				t.Error(diff)
			}
			if err := Check(f2.Context("a")); err != nil || !strings.Contains(fmt.Sprint(says(f2.Context("a"))), interrupted) || strings.Contains(fmt.Sprint(says(f2.Context("a"))), "waits") {
				t.Errorf("%v in %.300q", err, says(f2.Context("a")))
			}
			check := func(f *Session, at uint64) {
				t.Helper()
				info := f.Info()
				if info.Title != "The title (fork)" || info.State != Idle || info.Usage.InputTokens != 0 || info.Cost != nil || info.Runs != 1 || !info.CreatedAt.After(s.Info().CreatedAt) {
					t.Errorf("info %+v", info)
				}
				if runs := f.Runs(); len(runs) != 1 || runs[0].Reason != activity.Aborted || !runs[0].Inherited {
					t.Errorf("runs %+v", runs)
				}
				if _, ok := f.Progress("r"); ok || f.Approval() != "edits" {
					t.Errorf("progress %v, approval %s", ok, f.Approval())
				}
				old, copied := mustRead(t, s)[:at], mustRead(t, f)
				for i, e := range old {
					if got, want := string(copied[i].Wire("", nil)), string(e.Wire("", nil)); got != want {
						t.Errorf("event %d is\n%.300s, was\n%.300s", i+1, got, want)
					}
				}
				e, err := copied[at].Event("")
				if b, ok := e.Body.(activity.Forked); err != nil || !ok || b != (activity.Forked{Session: s.ID, AtSeq: at, From: true}) || e.Seq != at+1 {
					t.Errorf("%+v, %v", e, err)
				}
				speaker{f, activity.Origin{Run: "own", Agent: "a"}}.say(activity.RunStarted{Input: text("own")}, activity.ModelFinished{Usage: model.Usage{InputTokens: 3}},
					replies("ho"), activity.RunFinished{Reason: activity.Goal, Cost: &activity.Cost{Amount: 2, Currency: "USD"}})
				if info := f.Info(); info.Usage.InputTokens != 3 || info.Cost == nil || info.Cost.Amount != 2 {
					t.Errorf("what it used itself: %+v", info)
				}
			}
			check(f1, first)
			check(f2, open2)
			// Here it goes on, and says where to.
			if p, ok := s.Progress("r"); !ok || len(p.Open) != 1 || s.Info().State != Running || s.Info().Usage.InputTokens != 9 {
				t.Errorf("the old one: %+v, %v", p, ok)
			}
			var told []activity.Forked
			for _, e := range mustRead(t, s) {
				if event, _ := e.Event(""); e.Type == "forked" {
					told = append(told, event.Body.(activity.Forked))
				}
			}
			if diff := cmp.Diff([]activity.Forked{{Session: f1.ID, AtSeq: first}, {Session: f2.ID, AtSeq: open2}}, told); diff != "" {
				t.Error(diff)
			}
			for _, at := range []uint64{0, s.Log.Last() + 1} {
				if _, err := store.Fork(t.Context(), s, at); fault.KindOf(err) != fault.Invalid {
					t.Errorf("at %d: %v", at, err)
				}
			}
			// A fork goes back as what it comes from would, and can be forked.
			if _, err := f2.Rewind(first, nil, nil, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(ofFirst, f2.Context("a")); diff != "" {
				t.Error(diff)
			}
			f3, err := store.Fork(t.Context(), f2, f2.Log.Last())
			if err != nil || f3.Info().Usage.InputTokens != 0 || f3.Info().Title != "The title (fork) (fork)" {
				t.Errorf("%v; %+v", err, f3.Info())
			}
			if !kept {
				return
			}
			for i, line := range lines(t, cfg.Dir, s.ID)[:first] {
				if got := lines(t, cfg.Dir, f1.ID)[i]; got != line {
					t.Errorf("line %d is %s, was %s", i+1, got, line)
				}
			}
			was, info := says(f2.Context("a")), f2.Info()
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			store = New(cfg)
			f2 = open(t, store, f2.ID)
			if diff := cmp.Diff(was, says(f2.Context("a"))); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(info, f2.Info(), cmpopts.IgnoreFields(Info{}, "UpdatedAt")); diff != "" {
				t.Error(diff)
			}
			store.Close()
		})
	}
}

// A fork is made while a run goes on, and has all that was announced; a context
// that is done ends it.
func TestForkWhileARunGoesOn(t *testing.T) {
	store := New(Config{Dir: t.TempDir(), Now: clock})
	s := open(t, store, "x")
	a := speaker{s, activity.Origin{Run: "r", Agent: "a"}}
	a.say(activity.RunStarted{Input: text("hi")})
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := range 1_000 {
			a.turn(n+1, strings.Repeat("result ", 50))
		}
	})
	for range 10 {
		at := s.Log.Last()
		f, err := store.Fork(t.Context(), s, at)
		if err != nil {
			t.Error(err)
			break
		}
		if err := Check(append(f.Context("a"), model.Message{Role: model.User})); err != nil && Check(f.Context("a")) != nil {
			t.Errorf("at %d: %v in %s", at, err, says(f.Context("a")))
		}
		if f.Log.Last() < at+3 {
			t.Errorf("at %d: %d events", at, f.Log.Last())
		}
	}
	wg.Wait()
	gone, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the client went")
	cancel(why)
	if _, err := store.Fork(gone, s, s.Log.Last()); err != nil && !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	store.Close()
}

// What is deleted is gone from disk, but for data that another session refers to;
// what somebody uses stays.
func TestDelete(t *testing.T) {
	const secret = "swordfish"
	dir := t.TempDir()
	cfg := Config{Dir: dir, Now: clock, Owner: "me"}
	store := New(cfg)
	say := func(s *Session, contents ...string) {
		a := speaker{s, activity.Origin{Run: "r" + s.ID, Agent: "a"}}
		a.say(activity.RunStarted{Input: text(secret)})
		for _, content := range contents {
			r := &activity.ToolResult{Content: content}
			if err := s.Spill(r); err != nil {
				t.Fatal(err)
			}
			a.say(calls("1"), activity.ToolState{Call: "1", State: activity.Success, Result: r})
		}
	}
	own, shared := secret+strings.Repeat(" own", maxInline), strings.Repeat("shared ", maxInline)
	s, other := open(t, store, "x"), open(t, store, "other")
	say(s, own, shared)
	speaker{other, activity.Origin{Run: "o", Agent: "a"}}.say(activity.RunStarted{Input: text("mine")}, calls("1"))
	r := &activity.ToolResult{Content: shared}
	if err := other.Spill(r); err != nil {
		t.Fatal(err)
	}
	speaker{other, activity.Origin{Run: "o", Agent: "a"}}.say(activity.ToolState{Call: "1", State: activity.Success, Result: r})
	if err := other.Log.Commit(t.Context(), other.Log.Last()); err != nil {
		t.Fatal(err)
	}
	err := store.Delete("x")
	if reason, data := fault.ReasonOf(err); reason != fault.Busy || data["run"] != "rx" {
		t.Errorf("while a run goes on: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// A session of several files, with lines that were set aside.
	data, err := os.ReadFile(filepath.Join(dir, "x.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := bytes.Cut(data, []byte("\n"))
	for name, content := range map[string]string{"x.2.jsonl": string(head) + "\n", "x.3.jsonl": string(head) + "\n", "x.bad": secret, "x.2.jsonl.tmp": secret} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	two := New(Config{Dir: dir, Now: clock, Owner: "another"})
	open(t, two, "x")
	if reason, data := fault.ReasonOf(store.Delete("x")); reason != fault.Busy || !strings.Contains(fmt.Sprint(data["holder"]), "another") {
		t.Errorf("another daemon has it: %s, %v", reason, data)
	}
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, store, "x") // interrupted, and open
	if err := store.Delete("x"); err != nil {
		t.Fatal(err)
	}
	if seq := s.Log.Append(activity.Origin{}, activity.Note{}, 0); seq != 0 || s.Close() != nil {
		t.Error("it is not closed")
	}
	if found := below(t, dir, secret); len(found) != 0 {
		t.Errorf("still in %v", found)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*x*")); len(names) != 0 {
		t.Errorf("files %v", names)
	}
	if got := other.Context("a")[2].Parts[0].Result.Content; got != shared {
		t.Errorf("the other lost %.30q", got)
	}
	for _, id := range []string{"x", "never"} {
		if reason, _ := fault.ReasonOf(store.Delete(id)); reason != fault.UnknownSession {
			t.Errorf("%s: %s", id, reason)
		}
	}
	if fault.KindOf(store.Delete("../x")) != fault.Invalid {
		t.Error("a path was deleted")
	}
	if s := open(t, store, "x"); s.Log.Last() != 0 {
		t.Errorf("it is back with %d events", s.Log.Last())
	}
	store.Close()

	memory := New(Config{Now: clock})
	s = open(t, memory, "x")
	say(s, own)
	lone, err := s.PutBlob([]byte(own))
	if err != nil {
		t.Fatal(err)
	}
	both, err := s.PutBlob([]byte(shared))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Session{s, open(t, memory, "y")} {
		speaker{s, activity.Origin{}}.say(activity.Note{Message: both})
	}
	speaker{s, activity.Origin{Run: "rx", Agent: "a"}}.say(activity.Note{Message: lone}, activity.RunFinished{})
	if err := memory.Delete("x"); err != nil || len(memory.Live()) != 1 {
		t.Errorf("%v, %d sessions", err, len(memory.Live()))
	}
	y := open(t, memory, "y")
	if _, err := y.GetBlob(lone); fault.KindOf(err) != fault.NotFound {
		t.Errorf("its own data: %v", err)
	}
	if _, err := y.GetBlob(both); err != nil {
		t.Errorf("data of both: %v", err)
	}
	if reason, _ := fault.ReasonOf(memory.Delete("x")); reason != fault.UnknownSession {
		t.Errorf("again: %s", reason)
	}
	memory.Close()
}

// Opening and deleting at once leaves a session that works, or none.
func TestREL104DeletedAndOpenedAtOnce(t *testing.T) {
	dir := t.TempDir()
	stores := []*Store{New(Config{Dir: dir, Now: clock}), New(Config{Dir: dir, Now: clock})}
	var wg sync.WaitGroup
	for i := range 40 {
		store := stores[i%2]
		wg.Go(func() {
			if i%4 < 2 {
				if err := store.Delete("x"); err != nil && fault.KindOf(err) != fault.NotFound && !busy(err) {
					t.Error(err)
				}
				return
			}
			s, err := store.Open("x")
			if err != nil {
				if !busy(err) {
					t.Error(err)
				}
				return
			}
			if seq := s.Log.Append(activity.Origin{}, activity.Note{Message: "n"}, 0); seq != 0 {
				// Recorded, or deleted with its session.
				if err := s.Log.Commit(t.Context(), seq); err != nil && s.Log.Append(activity.Origin{}, activity.Note{}, 0) != 0 {
					t.Error(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, store := range stores {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
	s := open(t, stores[0], "x")
	last := s.Log.Last()
	if len(mustRead(t, s)) != int(last) {
		t.Error("the log is not whole")
	}
	stores[0].Close()
}

// REL-107: what need not be kept goes, and never what somebody has open, has
// pinned, has not seen the end of, or what cannot be read.
func TestREL107Retention(t *testing.T) {
	dir := t.TempDir()
	day := clock()
	var log bytes.Buffer
	cfg := Config{Dir: dir, Now: func() time.Time { return day }, Log: debugLog(&log)}
	store, other := New(cfg), New(Config{Dir: dir, Now: func() time.Time { return day }})
	begin := func(store *Store, id string) *Session {
		t.Helper()
		day = day.Add(time.Hour)
		s := open(t, store, id)
		conversation(t, s, "a request")
		return s
	}
	state := func(s *Session, to activity.State) {
		o := activity.Origin{Run: "on", Agent: "b"}
		speaker{s, o}.say(activity.RunStarted{Input: text("on")}, activity.RunState{From: activity.Running, To: to})
		// The agent's newer run hides it from the session's state.
		speaker{s, activity.Origin{Run: "later", Agent: "b"}}.say(activity.RunStarted{Input: text("later")}, activity.RunFinished{Reason: activity.Goal})
	}
	for _, id := range []string{"old1", "old2", "pinned", "paused", "interrupted", "waiting", "corrupt", "future"} {
		s := begin(store, id)
		switch id {
		case "paused", "interrupted", "waiting":
			state(s, activity.State(id))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	begin(store, "open")
	begin(other, "elsewhere")
	day = day.Add(30 * 24 * time.Hour)
	for _, id := range []string{"new1", "new2"} {
		if err := begin(store, id).Close(); err != nil {
			t.Fatal(err)
		}
	}
	spoil := func(id, from, to string) {
		t.Helper()
		path := filepath.Join(dir, id+".jsonl")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.Replace(data, []byte(from), []byte(to), 1), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spoil("corrupt", `"type":"turn.started"`, `"type":"turn.begun  "`)
	spoil("future", `{"format":1,`, `{"format":2,`)
	before := below(t, dir, "")
	for _, c := range []struct {
		name string
		rule Retention
		want string
	}{
		{"no rule", Retention{}, ""},
		{"dry", Retention{Days: 7, Pinned: []string{"pinned"}, Dry: true}, "old2 old1"},
		{"by number, dry", Retention{MaxSessions: 1, Pinned: []string{"pinned"}, Dry: true}, "new1 old2 old1"},
		{"by both, dry", Retention{Days: 7, MaxSessions: 1, Pinned: []string{"pinned", "old1"}, Dry: true}, "new1 old2"},
		{"by age", Retention{Days: 7, Pinned: []string{"pinned"}}, "old2 old1"},
		{"again", Retention{Days: 7, Pinned: []string{"pinned"}}, ""},
		{"by number", Retention{MaxSessions: 3, Pinned: []string{"pinned"}}, ""},
	} {
		log.Reset()
		got, err := store.Retain(c.rule)
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
		for _, id := range got {
			if !strings.Contains(log.String(), "session="+id) || !strings.Contains(log.String(), fmt.Sprint("dry=", c.rule.Dry)) || !strings.Contains(log.String(), "level=INFO") {
				t.Errorf("%s: the log says of %s:\n%s", c.name, id, log.String())
			}
		}
		if c.rule.Dry {
			after := below(t, dir, "")
			if diff := cmp.Diff(before, after, cmpopts.SortSlices(strings.Compare)); diff != "" {
				t.Errorf("%s: %s", c.name, diff)
			}
		}
	}
	left := listed(t, store)
	for _, id := range []string{"pinned", "paused", "interrupted", "waiting", "corrupt", "future", "open", "elsewhere", "new1", "new2"} {
		if _, ok := left[id]; !ok {
			t.Errorf("%s is gone", id)
		}
	}
	if len(left) != 10 {
		t.Errorf("left %d", len(left))
	}
	if !left["elsewhere"].Locked || left["corrupt"].Problem == "" || left["future"].Problem == "" {
		t.Errorf("%+v", left)
	}
	// In the log of a long one, the ends say nothing of a run in its middle.
	day = day.Add(time.Hour)
	s := open(t, store, "long")
	conversation(t, s, "first")
	pad := activity.Note{Message: strings.Repeat("x", 1<<20)}
	speaker{s, activity.Origin{Run: "mid", Agent: "c"}}.say(pad, activity.RunStarted{Input: text("mid")}, activity.RunState{From: activity.Running, To: activity.Paused}, pad, pad)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "long"+infoSuffix)); err != nil {
		t.Fatal(err)
	}
	day = day.Add(90 * 24 * time.Hour)
	if got, err := store.Retain(Retention{Days: 7, Pinned: []string{"pinned"}}); err != nil || strings.Join(got, " ") != "new2 new1" {
		t.Errorf("%v, %v", got, err)
	}
	store.Close()
	other.Close()
}
