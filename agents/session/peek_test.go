package session

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/fault"
)

// TestPeek: a session is looked at without being opened, and tells what it
// would tell when it is; also while another daemon has it, and with no file made.
func TestPeek(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b") // a pattern, if one takes it for that
	one := New(Config{Dir: dir, Folder: "/w", Now: clock})
	s, err := one.New("Mend the lexer", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{"a", "b"} {
		o := activity.Origin{Run: run, Agent: "fixer"}
		s.Log.Append(o, activity.RunStarted{Input: text("go")}, 0)
		s.Log.Append(o, activity.RunState{To: activity.Running}, 0)
		if run == "a" {
			s.Log.Append(o, activity.RunState{From: activity.Running, To: activity.Finished}, 0)
			s.Log.Append(o, activity.RunFinished{Reason: activity.Goal}, 0)
		}
	}
	if err := s.Log.Commit(t.Context(), s.Log.Last()); err != nil {
		t.Fatal(err)
	}
	check := func(when string, store *Store, state State, last activity.State, locked bool) {
		t.Helper()
		info, runs, err := store.Peek(s.ID)
		if err != nil || info.Title != "Mend the lexer" || info.Runs != 2 || info.State != state || info.Locked != locked || info.Folder != "/w" {
			t.Errorf("%s: %+v, %v", when, info, err)
		}
		if len(runs) != 2 || runs[0].Reason != activity.Goal || runs[0].State != activity.Finished || runs[1].State != last {
			t.Errorf("%s: %+v", when, runs)
		}
	}
	two := New(Config{Dir: dir, Folder: "/w", Now: clock})
	check("open", one, Running, activity.Running, false)
	check("of another daemon", two, Running, activity.Running, true)
	if err := two.RunElsewhere("b"); err == nil || !busy(err) {
		t.Errorf("where the run is: %v", err)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	check("closed", two, Interrupted, activity.Interrupted, false)
	if len(two.Live()) != 0 {
		t.Error("it was opened")
	}
	info, runs, _ := two.Peek(s.ID)
	opened := open(t, two, s.ID)
	if now := opened.Info(); now.State != info.State || now.Usage != info.Usage || now.Title != info.Title || !slices.EqualFunc(opened.Runs(), runs, func(a, b Run) bool { return a.Run == b.Run && a.State == b.State && a.Reason == b.Reason }) {
		t.Errorf("opened it is %+v %+v, looked at it was %+v %+v", now, opened.Runs(), info, runs)
	}
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadDir(dir)
	if _, _, err := two.Peek("nobody"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("nobody: %v", err)
	}
	if _, _, err := two.Peek("../x"); fault.KindOf(err) != fault.Invalid {
		t.Errorf("../x: %v", err)
	}
	if after, _ := os.ReadDir(dir); len(after) != len(before) {
		t.Errorf("a file was made: %v", after)
	}
	if _, _, err := New(Config{Dir: filepath.Join(dir, "none"), Now: clock}).Peek("main"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("no folder: %v", err)
	}
	memory := New(Config{Now: clock})
	if _, _, err := memory.Peek("main"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("in memory: %v", err)
	}
	open(t, memory, "main")
	if _, _, err := memory.Peek("main"); err != nil {
		t.Errorf("in memory: %v", err)
	}
}
