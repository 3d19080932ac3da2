package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/compression"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/faults"
)

// story is a session's life, from outside: what a client was told of it.
type story struct {
	acked   map[string]uint64 // the newest event that was acknowledged, by session
	shown   map[string]uint64 // and the newest that a client could see
	forked  string            // the fork, once it was told
	begins  uint64            // the fork's events when it was told
	delete  bool              // it was asked for
	deleted bool              // it was acknowledged
}

// crashConfig gives ids that are the same in every play.
func crashConfig(dir string, files activity.Files) Config {
	n := 0
	return Config{Dir: dir, Folder: "/w", Now: clock, Files: files, NewID: func() string { n++; return "id" + strconv.Itoa(n) }}
}

// onlyFork is what only the fork refers to.
const onlyFork = "of the fork only"

// tell plays the story until something fails: runs with calls, long results,
// checkpoints and changes of files, a compression, a rewind, a fork that goes on,
// and the fork's end.
func tell(ctx context.Context, store *Store) (st story, err error) {
	st.acked, st.shown = map[string]uint64{}, map[string]uint64{}
	defer func() {
		if closed := store.Close(); err == nil {
			err = closed
		}
	}()
	s, err := store.Open("main")
	if err != nil {
		return st, err
	}
	commit := func(s *Session) error {
		last := s.Log.Last()
		if err := s.Log.Commit(ctx, last); err != nil {
			return err
		}
		st.shown[s.ID] = last
		return s.Log.Replay(last, func(e activity.Event) {
			if activity.Synced(e.Body) {
				st.acked[s.ID] = e.Seq
			}
		})
	}
	// work is a turn that writes a file and has a long result.
	work := func(a speaker, n int, content string) error {
		call := fmt.Sprintf("%s#%d-0", a.o.Run, n)
		a.say(activity.TurnStarted{Turn: n}, activity.ContentDelta{Text: "I write"}, activity.ModelFinished{Model: "m", Usage: model.Usage{InputTokens: 5}}, calls(call))
		before, err := a.s.PutBlob([]byte("before " + content))
		if err != nil {
			return err
		}
		kept := activity.Kept{URI: "file:///w/a", Before: before}
		a.say(activity.ToolState{Call: call, Name: "write_file", State: activity.Executing, Risk: "high"}, activity.Checkpoint{Files: []string{kept.URI}, Kept: []activity.Kept{kept}})
		if err := commit(a.s); err != nil {
			return err
		}
		after, err := a.s.PutBlob([]byte("after " + content))
		if err != nil {
			return err
		}
		changed := activity.FileChanged{Call: call, Before: before, After: after}
		changed.Change = activity.Change{URI: kept.URI, Kind: "edit", Hunks: []activity.Hunk{}}
		result := &activity.ToolResult{Content: strings.Repeat(content+" ", maxInline)}
		if err := a.s.Spill(result); err != nil {
			return err
		}
		a.say(changed, activity.ToolState{Call: call, Name: "write_file", State: activity.Success, Risk: "high", Result: result}, activity.TurnFinished{Turn: n, ToolCalls: 1})
		return commit(a.s)
	}
	a := speaker{s, activity.Origin{Run: "r1", Agent: "a"}}
	a.say(activity.RunStarted{Input: text("hi")})
	if err := work(a, 1, "one"); err != nil {
		return st, err
	}
	turn := s.Log.Last()
	if err := work(a, 2, "two"); err != nil {
		return st, err
	}
	a.say(activity.RunFinished{Reason: activity.Goal, Chain: []activity.Link{}, Guardrails: []activity.Guard{}, Changes: []activity.Change{}})
	if err := commit(s); err != nil {
		return st, err
	}
	s.Log.Append(activity.Origin{Agent: "a"}, activity.ContextCompressed{Agent: "a", Status: compression.Compressed, Cut: 3, Snapshot: "S"}, 0)
	if _, err := s.Rewind(turn, []string{"file:///w/a"}, nil, nil); err != nil {
		return st, err
	}
	if err := commit(s); err != nil {
		return st, err
	}
	a.o.Run = "r2"
	a.say(activity.RunStarted{Input: text("again")}, activity.TurnStarted{Turn: 1}, calls("r2#1-0"))
	if err := commit(s); err != nil {
		return st, err
	}
	f, err := store.Fork(ctx, s, s.Log.Last())
	if err != nil {
		return st, err
	}
	st.forked, st.begins = f.ID, f.Log.Last()
	st.acked[f.ID], st.shown[f.ID] = st.begins, st.begins
	if err := work(speaker{f, activity.Origin{Run: "r3", Agent: "b"}}, 1, onlyFork); err != nil {
		return st, err
	}
	a.say(ended("r2#1-0", "x"), activity.TurnFinished{Turn: 1}, activity.RunFinished{Reason: activity.Goal, Chain: []activity.Link{}, Guardrails: []activity.Guard{}, Changes: []activity.Change{}})
	if err := commit(s); err != nil {
		return st, err
	}
	speaker{f, activity.Origin{Run: "r3", Agent: "b"}}.say(activity.RunFinished{Reason: activity.Goal})
	st.delete = true
	if err := store.Delete(f.ID); err != nil {
		return st, err
	}
	st.deleted = true
	return st, nil
}

// recoveries are the events that opening a session adds.
func recovery(b activity.Body) bool {
	switch b := b.(type) {
	case activity.RunState:
		return b.To == activity.Interrupted
	case activity.Note:
		return b.Level == "warning"
	}
	return false
}

// events returns all events of a session, decoded.
func events(t *testing.T, s *Session) (out []activity.Event) {
	t.Helper()
	if err := s.Log.Replay(s.Log.Last(), func(e activity.Event) { out = append(out, e) }); err != nil {
		t.Fatal(err)
	}
	return out
}

// checkStory checks what the next daemon finds. want are the sessions' events in a
// play in which nothing failed.
func checkStory(t *testing.T, what string, cfg Config, st story, want map[string][]activity.Event, begins uint64, power bool) {
	t.Helper()
	store := New(cfg)
	if _, err := store.Retain(Retention{}); err != nil { // takes rests away
		t.Fatalf("%s: %v", what, err)
	}
	found := listed(t, store)
	for id, acked := range st.acked {
		if _, ok := found[id]; !ok && (id == "main" || !st.delete) && acked > 0 {
			t.Fatalf("%s: %s is not there, of which %d events were acknowledged", what, id, acked)
		}
	}
	for id := range found {
		if want[id] == nil || (st.deleted && id != "main") {
			t.Fatalf("%s: there is a session %s", what, id)
		}
		s, err := store.Get(id)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		got := events(t, s)
		n := 0
		for n < len(got) && n < len(want[id]) && cmp.Equal(got[n], want[id][n], cmpopts.EquateEmpty()) {
			n++
		}
		for _, e := range got[n:] {
			if !recovery(e.Body) {
				t.Fatalf("%s: %s has %d of %d events and then %+v, want %+v", what, id, n, len(want[id]), e, want[id][min(n, len(want[id])-1)])
			}
		}
		last := uint64(0)
		if n > 0 {
			last = got[n-1].Seq
		}
		told := st.acked[id]
		if !power {
			told = st.shown[id]
		}
		if last < told && !(id != "main" && st.delete) {
			t.Fatalf("%s: %s has events to %d, and those to %d were told", what, id, last, told)
		}
		if id != "main" && !st.delete && last < begins {
			t.Fatalf("%s: half a fork: %d of %d events", what, last, begins)
		}
		// Its views are those of what it has, as a session that saw that happen.
		scratch := store.blank(id)
		for _, e := range slices.Concat(want[id][:n], got[n:]) {
			scratch.fold(e)
		}
		for _, agent := range []string{"a", "b"} {
			context := s.Context(agent)
			if diff := cmp.Diff(scratch.Context(agent), context, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s: the context of %s in %s:\n%s", what, agent, id, diff)
			}
			if strings.Contains(fmt.Sprint(says(context)), "was lost") {
				t.Fatalf("%s: a result is lost: %.300s", what, says(context))
			}
		}
		if diff := cmp.Diff(scratch.Files(), s.Files(), cmpopts.IgnoreUnexported(FileHistory{})); diff != "" {
			t.Fatalf("%s: the files of %s:\n%s", what, id, diff)
		}
		for _, f := range s.Files() {
			for _, step := range f.Steps {
				for _, sha := range []string{step.Before, step.After} {
					if _, err := s.GetBlob(sha); sha != "" && err != nil {
						t.Fatalf("%s: what a file was is lost: %v", what, err)
					}
				}
			}
		}
		for _, r := range s.Runs() {
			if r.live() {
				t.Fatalf("%s: %s goes on", what, r.Run)
			}
		}
		// It goes on.
		s.CloseCalls("a")
		s.Log.Append(activity.Origin{Run: "next", Agent: "a"}, activity.RunStarted{Input: text("on")}, 0)
		if err := Check(s.Context("a")); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if err := s.Log.Commit(t.Context(), s.Log.Last()); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	names, _ := filepath.Glob(filepath.Join(cfg.Dir, ".*"))
	if len(names) > 0 {
		t.Fatalf("%s: rests: %v", what, names)
	}
	if found[st.forked].Session == "" && st.delete {
		if left := below(t, cfg.Dir, onlyFork); slices.ContainsFunc(left, func(name string) bool { return !strings.Contains(name, newPrefix) }) {
			t.Fatalf("%s: what was deleted is in %v", what, left)
		}
	}
}

// whole plays the story with nothing failing and returns the events of its
// sessions.
func whole(t *testing.T) (want map[string][]activity.Event, begins uint64, ops int) {
	t.Helper()
	dir := t.TempDir()
	disk := faults.Folder(t)
	cfg := crashConfig(dir, disk)
	want = map[string][]activity.Event{}
	// The fork's events are read before it is deleted: from what another store
	// sees when the deletion fails.
	disk.Fail(func(c faults.Call) error {
		if c.Op == faults.Rename && strings.Contains(c.Name, gonePrefix) {
			return faults.ErrIO
		}
		return nil
	})
	if _, err := tell(t.Context(), New(cfg)); !errors.Is(err, faults.ErrIO) {
		t.Fatal(err)
	}
	disk.Fail(nil)
	store := New(cfg)
	for _, id := range []string{"main", "id1"} {
		s, err := store.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		want[id] = events(t, s)
	}
	store.Close()
	disk = faults.Folder(t)
	st, err := tell(t.Context(), New(crashConfig(t.TempDir(), disk)))
	if err != nil || !st.deleted {
		t.Fatalf("%+v, %v", st, err)
	}
	return want, st.begins, len(disk.Calls())
}

// REL-93: whatever call of the disk is the last one of a session's life, by the
// process's death or a power cut, what is found is the beginning of what happened,
// with all that was acknowledged, and its contexts are those of this beginning.
func TestREL93CrashAtEveryCallOfASession(t *testing.T) {
	want, begins, ops := whole(t)
	if ops < 60 {
		t.Errorf("the story has only %d calls of the disk", ops)
	}
	step := 1
	if testing.Short() {
		step = 3
	}
	crashes := 0
	for k := 1; ; k += step {
		ended := false
		for how := range 4 {
			dir := filepath.Join(t.TempDir(), "w")
			disk := faults.Folder(t)
			disk.Fail(faults.EndAt(k))
			if how == 3 {
				disk.Fail(faults.Tearing(faults.EndAt(k)))
			}
			st, _ := tell(t.Context(), New(crashConfig(dir, disk)))
			if !disk.Ended() {
				ended = true
				break
			}
			crashes++
			what := fmt.Sprintf("call %d, way %d (%s)", k, how, disk.Calls()[k-1])
			var next *faults.Disk
			switch how {
			case 0, 3:
				next = disk.Kill()
			case 1:
				next = disk.Cut(nil)
			default:
				next = disk.Cut(rand.New(rand.NewPCG(uint64(k), 1)))
			}
			checkStory(t, what, crashConfig(dir, next), st, want, begins, how == 1 || how == 2)
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
		if ended {
			break
		}
	}
	t.Logf("%d crashes at %d calls", crashes, ops)
	if crashes < 3*60/step {
		t.Errorf("only %d crashes were tried", crashes)
	}
}

// REL-96, REL-97: a disk that is full, or that fails a sync, at any one call: what
// was acknowledged is there, who must know is told once of each failure, and the
// session goes on where it can and says so where not.
func TestREL96And97OneFailureAtEveryCallOfASession(t *testing.T) {
	want, begins, ops := whole(t)
	step := 1
	if testing.Short() {
		step = 3
	}
	for _, err := range []error{faults.ErrSpace, faults.ErrIO} {
		for k := 1; k <= ops; k += step {
			dir := filepath.Join(t.TempDir(), "w")
			disk := faults.Folder(t)
			disk.Fail(faults.Tearing(faults.At(k, err)))
			cfg := crashConfig(dir, disk)
			var mu sync.Mutex
			told := 0 // how often it was told that a session cannot be written
			cfg.Health = func(_ string, err error) {
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					told++
				}
			}
			st, failed := tell(t.Context(), New(cfg))
			if told > 1 {
				t.Errorf("call %d: told %d times", k, told)
			}
			if failed != nil && fault.KindOf(failed) != fault.Unavailable {
				t.Errorf("call %d: %v", k, failed)
			}
			disk.Fail(nil)
			calls := disk.Calls()
			what := fmt.Sprintf("%v at call %d (%v)", err, k, calls[min(k, len(calls))-1])
			checkStory(t, what, crashConfig(dir, disk.Kill()), st, want, begins, false)
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// REL-93: a session of several files that is being deleted is a shorter one at any
// time, or none, and no file of it is left that is in no session.
func TestREL93DeletedFromItsEnd(t *testing.T) {
	for k := 1; ; k++ {
		dir := filepath.Join(t.TempDir(), "w")
		disk := faults.Folder(t)
		cfg := crashConfig(dir, disk)
		store := New(cfg)
		s := open(t, store, "x")
		bad := false
		disk.Fail(func(c faults.Call) error {
			if c.Op == faults.Sync && bad {
				bad = false
				return faults.ErrIO
			}
			return nil
		})
		var events []string
		for i := range 6 {
			bad = i%3 == 2
			seq := s.Log.Append(activity.Origin{Run: "r", Agent: "a"}, activity.Input{Input: text(fmt.Sprint(i))}, 0)
			if err := s.Log.Commit(t.Context(), seq); err != nil {
				t.Fatal(err)
			}
			events = append(events, fmt.Sprint(i))
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		if n := len(store.segmentsOf("x")); n != 3 {
			t.Fatalf("%d segments", n)
		}
		disk.Fail(faults.EndAt(len(disk.Calls()) + k))
		err := New(cfg).Delete("x")
		if !disk.Ended() {
			if err != nil || k < 8 {
				t.Errorf("deleted with %d calls, %v", k, err)
			}
			return
		}
		store = New(crashConfig(dir, disk.Kill()))
		files, err := filepath.Glob(filepath.Join(dir, "x*.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		found := listed(t, store)
		if len(found) != min(len(files), 1) {
			t.Fatalf("call %d: %d sessions, files %v", k, len(found), files)
		}
		if len(files) > 0 {
			s := open(t, store, "x")
			n := 0
			for _, e := range mustRead(t, s) {
				if e.Type == "input" {
					if !strings.Contains(string(e.Wire("", nil)), `"text":"`+events[n]+`"`) {
						t.Fatalf("call %d: event %d is %s", k, n+1, e.Wire("", nil))
					}
					n++
				}
			}
			if err := store.Delete("x"); err != nil {
				t.Fatalf("call %d: deleted again: %v", k, err)
			}
		} else if _, err := store.Retain(Retention{}); err != nil {
			t.Fatal(err)
		}
		if rests, _ := filepath.Glob(filepath.Join(dir, "*")); len(rests) > 1 || (len(rests) == 1 && !strings.HasSuffix(rests[0], ".lock")) {
			t.Fatalf("call %d: rests %v", k, rests)
		}
	}
}
