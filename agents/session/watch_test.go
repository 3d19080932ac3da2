package session

import (
	"context"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/fault"
)

// TestWatch: a session that another daemon has is read and followed without its lock:
// what was written is there, what comes is told, and its own log is left as it is.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	one := New(Config{Dir: dir, Folder: "/w", Now: clock})
	s, err := one.New("Mend the lexer", "")
	if err != nil {
		t.Fatal(err)
	}
	o := activity.Origin{Run: "a", Agent: "fixer"}
	say := func(bodies ...activity.Body) {
		t.Helper()
		var last uint64
		for _, b := range bodies {
			last = s.Log.Append(o, b, 0)
		}
		if err := s.Log.Commit(t.Context(), last); err != nil {
			t.Error(err)
		}
	}
	say(activity.RunStarted{Input: text("go")}, activity.Note{Message: "begun"})

	two := New(Config{Dir: dir, Folder: "/w", Now: clock})
	watched, err := two.Watch(s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if m := watched.Context("fixer"); len(m) != 1 || watched.Log.Last() != s.Log.Last() || watched.Log.Title() != "Mend the lexer" {
		t.Errorf("%+v, %d of %d", m, watched.Log.Last(), s.Log.Last())
	}
	if watched.Log.Append(o, activity.Note{Message: "not ours"}, 0) != 0 {
		t.Error("it can be written")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	follower := watched.Log.Follow(0)
	var seen uint64
	follow := func(until uint64) {
		t.Helper()
		for seen < until {
			batch, ok := follower.Next(ctx)
			if !ok {
				t.Fatalf("ended after %d: %v", seen, follower.Err())
			}
			for _, e := range batch {
				if e.FromSeq != seen+1 {
					t.Fatalf("%d after %d", e.FromSeq, seen)
				}
				seen = e.Seq
			}
		}
	}
	follow(s.Log.Last())
	go say(activity.Note{Message: "more"}, activity.ContextCleared{Agent: "fixer"})
	follow(4)
	if m := watched.Context("fixer"); len(m) != 0 {
		t.Errorf("cleared it has %+v", m)
	}
	if err := watched.Log.Close(); err != nil {
		t.Error(err)
	}
	if _, ok := follower.Next(ctx); ok {
		t.Error("it goes on after it was closed")
	}
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	if _, err := two.Watch("gone"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
}
