package session

import (
	"maps"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/activity"
)

// TestSEC107And135TaintOutlivesTheDaemon: what a model read of others stays known
// when the session is opened again, rewound or forked; answers of a person do not
// lie in the log at all.
func TestSEC107And135TaintOutlivesTheDaemon(t *testing.T) {
	dir := t.TempDir()
	fresh := func() *Store { return New(Config{Folder: "/w", Dir: dir, Now: time.Now}) }
	store := fresh()
	s, err := store.New("", "")
	if err != nil {
		t.Fatal(err)
	}
	reads := func(run, taint string) {
		a := speaker{s, activity.Origin{Run: run, Agent: run, CorrelationID: run}}
		a.say(activity.RunStarted{Input: text("hi")}, activity.TurnStarted{Turn: 1}, calls(run+"#1-0"))
		a.say(activity.ToolState{Call: run + "#1-0", State: activity.Failed, Error: &activity.ToolError{Message: "c"}, Taint: taint})
		a.say(activity.RunFinished{Reason: activity.Goal})
	}
	reads("clean", "")
	before := s.Log.Last()
	reads("strange", "foreign")
	reads("web", "web")
	reads("both", "web")
	speaker{s, activity.Origin{Run: "given", Agent: "given", CorrelationID: "given"}}.say(
		activity.RunStarted{Input: text("hi"), Taint: "foreign"}, activity.RunFinished{Reason: activity.Goal})
	want := map[string]string{"strange": "foreign", "web": "web", "both": "web", "given": "foreign"}
	check := func(what string, s *Session) {
		t.Helper()
		if got := s.Taints(); !maps.Equal(got, want) {
			t.Errorf("%s: %v", what, got)
		}
	}
	check("live", s)
	back(t, s, before)
	check("rewound", s)
	f, err := store.Fork(t.Context(), s, s.Log.Last())
	if err != nil {
		t.Fatal(err)
	}
	check("forked", f)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	store = fresh()
	check("opened again", open(t, store, s.ID))
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}
