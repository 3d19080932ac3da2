package session

import (
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
)

// A delegated run has a context of its own, also beside another of its agent, and
// none is kept in memory when it has ended.
func TestDelegatedRunsHaveContextsOfTheirOwn(t *testing.T) {
	store := New(Config{Dir: t.TempDir(), Now: clock})
	s := open(t, store, "")
	say := func(o activity.Origin, text string) {
		s.Log.Append(o, activity.RunStarted{Input: []activity.ContentBlock{{Type: "text", Text: text}}}, 0)
		s.Log.Append(o, activity.TurnStarted{Turn: 1}, 0)
		s.Log.Append(o, activity.ModelContent{Content: []model.Part{{Text: "re " + text}}}, 0)
	}
	own := activity.Origin{Run: "r0", Agent: "a"}
	one, two := activity.Origin{Run: "r1", ParentRun: "r0", Agent: "a", Context: "r1"}, activity.Origin{Run: "r2", ParentRun: "r0", Agent: "a", Context: "r2"}
	say(own, "own")
	say(one, "first")
	say(two, "second")
	check := func(s *Session) {
		t.Helper()
		for id, want := range map[string]string{"a": "own", "r1": "first", "r2": "second"} {
			got := s.Context(id)
			if len(got) != 2 || got[0].Parts[0].Text != want || got[1].Parts[0].Text != "re "+want {
				t.Errorf("the context %s is %v", id, got)
			}
		}
	}
	check(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, store, "")
	check(s)
	if p, ok := s.Progress("r1"); !ok || p.Moved || p.Origin != one {
		t.Errorf("the progress of a delegated run is %+v", p)
	}
	s.Log.Append(one, activity.RunFinished{Reason: activity.MaxTurns}, 0)
	if s.Context("r1") != nil || s.Context("r2") == nil || len(s.marks["r1"]) > 0 {
		t.Error("the context of a delegated run that ended is kept, or the other is not")
	}
	if _, ok := s.Progress("r1"); ok {
		t.Error("a delegated run can be taken up again, and its context is gone")
	}
}

// What the model used that picked a run's agent is the run's, also after a restart, and
// when what was said is erased. The same holds for what a person has added to its limits.
func TestRouterIsCounted(t *testing.T) {
	store := New(Config{Dir: t.TempDir(), Now: clock})
	s := open(t, store, "")
	o := activity.Origin{Run: "r", Agent: "a"}
	s.Log.Append(o, activity.RunStarted{}, 0)
	s.Log.Append(o, activity.RouteDecided{Agent: "a", Model: &activity.RouteModel{
		ID: "router", Usage: model.Usage{InputTokens: 7, TotalTokens: 9}, Cost: &activity.Cost{Amount: 0.5, Currency: "USD"},
	}}, 0)
	s.Log.Append(o, activity.RunState{From: activity.Running, To: activity.Running, Extended: &activity.Extended{Turns: 3}}, 0)
	s.Log.Append(activity.Origin{Run: "n", Agent: "n"}, activity.RunStarted{}, 0)
	s.Log.Append(activity.Origin{Run: "n", Agent: "n"}, activity.RouteDecided{Agent: "n", Model: &activity.RouteModel{ID: "router", Error: "it is late"}}, 0)
	for round := range 3 {
		p, _ := s.Progress("r")
		if p.Extended.Turns != 3 {
			t.Errorf("extended by %+v", p.Extended)
		}
		if d := p.Delegated; d.ModelCalls != 1 || d.Usage.InputTokens != 7 || d.USD != 0.5 || d.Unpriced || d.Runs != 0 {
			t.Errorf("%+v", d)
		}
		if p, _ := s.Progress("n"); p.Delegated != (Delegated{}) {
			t.Errorf("one that did not answer: %+v", p.Delegated)
		}
		if calls, _ := s.ModelCalls("r"); calls != 1 || s.Info().Usage.TotalTokens != 9 {
			t.Errorf("%d calls, %+v", calls, s.Info().Usage)
		}
		if round == 1 {
			if _, err := s.Clear("a", true); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, store, "")
	}
}

// A log that somebody wrote may have runs that delegated to each other in a circle.
func TestCircleOfDelegatedRuns(t *testing.T) {
	store := New(Config{Dir: t.TempDir(), Now: clock})
	s := open(t, store, "")
	for _, o := range []activity.Origin{{Run: "r1", ParentRun: "r2", Agent: "a", Context: "r1"}, {Run: "r2", ParentRun: "r1", Agent: "a", Context: "r2"}, {Run: "r3", ParentRun: "r3", Agent: "a", Context: "r3"}} {
		s.Log.Append(o, activity.RunStarted{}, 0)
		s.Log.Append(o, activity.TurnStarted{Turn: 1}, 0)
		s.Log.Append(o, activity.Checkpoint{Kept: []activity.Kept{{URI: "file:///x"}}}, 0)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, store, "")
	for _, run := range []string{"r1", "r3"} {
		s.Caller(run)
		if s.Abandon(run) == 0 {
			t.Errorf("%s is not abandoned", run)
		}
	}
	for _, r := range s.Runs() {
		if r.Reason != activity.Aborted {
			t.Errorf("%s is %s", r.Run, r.State)
		}
	}
}
