package session

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/compression"
	"github.com/agentls/agentls/agents/model"
)

// REL-123: what a run has used is known after a restart: turns, requests, calls,
// tokens of each model and its time, in which neither a person's nor the time
// after the daemon's end counts.
func TestREL123WhatARunUsedSurvivesARestart(t *testing.T) {
	now := clock()
	cfg := Config{Dir: t.TempDir(), Now: func() time.Time { return now }}
	store := New(cfg)
	s := open(t, store, "x")
	o := activity.Origin{Run: "r", Agent: "a", CorrelationID: "r"}
	say := func(after time.Duration, bodies ...activity.Body) {
		now = now.Add(after)
		for _, b := range bodies {
			s.Log.Append(o, b, 0)
		}
	}
	changed := activity.FileChanged{Call: "r#1-0", Before: "1", After: "2"}
	changed.Change = activity.Change{URI: "file:///w/a", Kind: "edit", Hunks: []activity.Hunk{}}
	say(0, activity.RunStarted{Input: text("hi"), Model: "m", Definition: "d"}, activity.TurnStarted{Turn: 1}, activity.ModelStarted{Model: "m", Attempt: 1})
	say(time.Second, activity.ModelStarted{Model: "m", Attempt: 2, Tokens: 70})
	say(time.Second, activity.ModelFinished{Model: "m", Finish: model.Stop, Usage: model.Usage{InputTokens: 100, OutputTokens: 5, TotalTokens: 105}}, calls("r#1-0", "r#1-1"), changed)
	say(time.Second, activity.RunState{From: activity.Running, To: activity.Waiting})
	say(time.Hour, activity.RunState{From: activity.Waiting, To: activity.Running})
	say(time.Second, ended("r#1-0", "a"), ended("r#1-1", "b"), activity.TurnFinished{Turn: 1}, activity.TurnStarted{Turn: 2}, activity.ModelStarted{Model: "n", Tokens: 40})
	say(time.Second, activity.ModelFinished{Model: "n", Finish: model.Length, Usage: model.Usage{InputTokens: -1}}, activity.ModelContent{Content: []model.Part{{Text: "four char"}}, Invalid: true})
	want := Progress{
		Origin: o, Started: activity.RunStarted{Input: text("hi"), Model: "m", Definition: "d"}, Turn: 2, ModelCalls: 3, ToolCalls: 2,
		Usage: map[string]model.Usage{"m": {InputTokens: 100, OutputTokens: 5, TotalTokens: 105},
			"n": {InputTokens: 40, OutputTokens: model.EstimateTokens("four char"), TotalTokens: 40 + model.EstimateTokens("four char")}},
		Active: 5 * time.Second, Finish: model.Stop, Changes: []activity.Change{changed.Change},
	}
	check := func(state activity.State) {
		t.Helper()
		got, ok := s.Progress("r")
		want.Run = Run{Run: "r", Agent: "a", State: state}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Run{}), cmpopts.IgnoreFields(Run{}, "Began", "Ended", "Used"), cmpopts.EquateEmpty()); diff != "" || !ok {
			t.Error(diff)
		}
	}
	check(activity.Running)
	for range 2 {
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		now = now.Add(24 * time.Hour)
		store = New(cfg)
		s = open(t, store, "x")
		check(activity.Interrupted)
	}
	say(time.Hour, activity.RunState{From: activity.Interrupted, To: activity.Running})
	say(time.Second, activity.TurnStarted{Turn: 3})
	want.Turn, want.Active = 3, 6*time.Second
	check(activity.Running)
	say(0, activity.RunFinished{Reason: activity.Goal})
	if _, ok := s.Progress("r"); ok || len(s.progress) != 0 {
		t.Error("a run that has finished is kept")
	}
	store.Close()
}

// REL-103: however the last daemon ended, the run is interrupted and can be taken
// up, its calls are told with where they stood, and nothing waits for ever.
func TestREL103SessionsThatEndInTheMiddle(t *testing.T) {
	o := activity.Origin{Run: "r", Agent: "a", Turn: 1}
	begin := []activity.Body{activity.RunStarted{Input: text("hi")}, activity.TurnStarted{Turn: 1}}
	state := func(id string, s activity.CallState) activity.ToolState {
		return activity.ToolState{Call: id, Name: "bash", State: s, Risk: "high", Args: json.RawMessage(`{"a":1}`)}
	}
	for _, c := range []struct {
		name   string
		events []activity.Body
		open   map[string]activity.CallState
		state  State // before the end
	}{
		{"an open function call", []activity.Body{calls("1", "2"), ended("1", "a")}, map[string]activity.CallState{"2": ""}, Running},
		{"a pending approval", []activity.Body{calls("1", "2"), state("1", activity.AwaitingApproval), activity.ConfirmationAsked{ID: "q", Call: "1"},
			activity.RunState{From: activity.Running, To: activity.Waiting}, ended("2", "b")},
			map[string]activity.CallState{"1": activity.AwaitingApproval}, Waiting},
		{"a running shell", []activity.Body{calls("1"), state("1", activity.Scheduled), state("1", activity.Executing)}, map[string]activity.CallState{"1": activity.Executing}, Running},
		{"half a compaction", []activity.Body{calls("1"), ended("1", "a"), activity.TurnFinished{Turn: 1}, activity.ModelStarted{Model: "m"},
			activity.ModelFinished{Model: "m", Usage: model.Usage{InputTokens: 5}}}, nil, Running},
		{"a request that was sent", []activity.Body{activity.ModelStarted{Model: "m"}}, nil, Running},
		{"an end that is half written", []activity.Body{replies("done"), activity.TurnFinished{Turn: 1}, activity.RunState{From: activity.Running, To: activity.Finished}}, nil, Running},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := Config{Dir: t.TempDir(), Now: clock}
			store := New(cfg)
			s := open(t, store, "x")
			for _, b := range append(begin[:2:2], c.events...) {
				s.Log.Append(o, b, 0)
			}
			if got := s.Info().State; got != c.state {
				t.Errorf("it was %s", got)
			}
			store.Close()
			store = New(cfg)
			for _, info := range listed(t, store) {
				if info.State != Interrupted {
					t.Errorf("listed as %s", info.State)
				}
			}
			if _, runs, err := store.Peek("x"); err != nil || runs[0].State != activity.Interrupted {
				t.Errorf("looked at: %+v, %v", runs, err)
			}
			s = open(t, store, "x")
			if runs := s.Runs(); runs[0].State != activity.Interrupted || s.Info().State != Interrupted {
				t.Errorf("runs %+v", runs)
			}
			p, ok := s.Progress("r")
			got := map[string]activity.CallState{}
			for _, call := range p.Open {
				got[call.Call.ID] = call.State
			}
			if diff := cmp.Diff(c.open, got, cmpopts.EquateEmpty()); diff != "" || !ok || p.Moved {
				t.Errorf("%v, moved %v: %s", ok, p.Moved, diff)
			}
			for _, e := range mustRead(t, s) {
				if e.Type == "confirmation.answered" {
					t.Error("a question was answered")
				}
			}
			s.CloseCalls("a")
			if p, ok := s.Progress("r"); len(p.Open) != 0 || !ok {
				t.Errorf("after mending %+v, %v", p.Open, ok)
			}
			if seq := s.Abandon("r"); seq != s.Log.Last() || s.Runs()[0].Reason != activity.Aborted || s.Abandon("r") != 0 {
				t.Errorf("%d; %+v", seq, s.Runs())
			}
			s.Log.Append(activity.Origin{Run: "next", Agent: "a"}, activity.RunStarted{Input: text("on")}, 0)
			if err := Check(s.Context("a")); err != nil {
				t.Errorf("%v in %s", err, says(s.Context("a")))
			}
			store.Close()
		})
	}
}

func mustRead(t *testing.T, s *Session) []activity.Entry {
	t.Helper()
	entries, err := read(t, s, 0)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// A later run of the agent, or clearing its context, moves it; one of another
// agent does not. Compressing it does not: it is the same conversation.
func TestProgressKnowsWhetherTheContextMoved(t *testing.T) {
	store := New(Config{Now: clock})
	defer store.Close()
	for name, c := range map[string]struct {
		agent string
		after []activity.Body
		moved bool
	}{
		"nothing":          {"a", nil, false},
		"a later run":      {"a", []activity.Body{activity.RunStarted{}, activity.RunFinished{}}, true},
		"of another agent": {"b", []activity.Body{activity.RunStarted{}, activity.RunFinished{}}, false},
		"cleared":          {"a", []activity.Body{activity.ContextCleared{Agent: "a"}}, true},
		"compressed":       {"a", []activity.Body{activity.ContextCompressed{Agent: "a", Status: compression.Compressed, Cut: 1, Snapshot: "S"}}, false},
	} {
		s := open(t, store, "s-"+string(bytes.ReplaceAll([]byte(name), []byte(" "), nil)))
		speaker{s, activity.Origin{Run: "r", Agent: "a"}}.say(activity.RunStarted{Input: text("hi")}, activity.TurnStarted{Turn: 1}, replies("ho"),
			activity.TurnFinished{Turn: 1}, activity.RunState{From: activity.Running, To: activity.Paused})
		speaker{s, activity.Origin{Run: "later", Agent: c.agent}}.say(c.after...)
		if p, ok := s.Progress("r"); p.Moved != c.moved || !ok {
			t.Errorf("%s: moved %v, %v", name, p.Moved, ok)
		}
	}
}

// What was done to files, from what was kept before and after.
func TestFilesOfASession(t *testing.T) {
	cfg := Config{Dir: t.TempDir(), Now: clock}
	store := New(cfg)
	s := open(t, store, "x")
	a := speaker{s, activity.Origin{Run: "r", Agent: "a"}}
	const one, two = "file:///w/1", "file:///w/2"
	change := func(uri, kind, call, before, after string) activity.FileChanged {
		b := activity.FileChanged{Call: call, Before: before, After: after}
		b.URI, b.Kind = uri, kind
		return b
	}
	a.say(activity.RunStarted{Input: text("hi")},
		activity.Checkpoint{Files: []string{two}, Kept: []activity.Kept{{URI: two, Buffer: true}}},
		change(two, "create", "c1", "", "B"),
		activity.Checkpoint{Files: []string{one}, Kept: []activity.Kept{{URI: one, Before: "A"}}},
		change(one, "edit", "c2", "", ""), // a command's: nobody kept it
		change(one, "delete", "c3", "A", ""),
		activity.Checkpoint{Files: []string{one}, Kept: []activity.Kept{{URI: one}}}, // and the daemon ended
		activity.ChangeResolved{URI: two, Action: "keep", Baseline: "B"},
		activity.ChangeResolved{URI: one, Action: "undo", Kept: &activity.Kept{URI: one, After: "A"}},
		activity.RunFinished{})
	if _, err := s.Rewind(1, []string{two}, []string{one}, []activity.Kept{{URI: two, Before: "B"}}); err != nil {
		t.Fatal(err)
	}
	want := []FileHistory{
		{URI: one, Steps: []FileStep{
			{Seq: 4, Run: "r", Agent: "a", Call: "c3", Kept: activity.Kept{URI: one, Before: "A"}, By: "call", Complete: true},
			{Seq: 7, Run: "r", Agent: "a", Kept: activity.Kept{URI: one}, By: "call"},
			{Seq: 9, Run: "r", Agent: "a", Kept: activity.Kept{URI: one, After: "A"}, By: "undo", Complete: true},
		}},
		{URI: two, Baseline: "B", BaselineSeq: 8, HasBaseline: true, Steps: []FileStep{
			{Seq: 2, Run: "r", Agent: "a", Call: "c1", Kept: activity.Kept{URI: two, After: "B"}, By: "call", Complete: true},
			{Seq: 11, Kept: activity.Kept{URI: two, Before: "B"}, By: "rewind", Complete: true},
		}},
	}
	if diff := cmp.Diff(want, s.Files(), cmpopts.IgnoreUnexported(FileHistory{})); diff != "" {
		t.Error(diff)
	}
	for _, h := range want {
		one, ok := s.FileHistory(h.URI)
		if diff := cmp.Diff(h, one, cmpopts.IgnoreUnexported(FileHistory{})); diff != "" || !ok {
			t.Error(diff)
		}
	}
	if h, ok := s.FileHistory("file:///nothing"); ok {
		t.Errorf("of a file that nobody wrote: %+v", h)
	}
	if n := s.Boundary("a", 9); n != 0 {
		t.Errorf("the boundary before 9 is %d", n)
	}
	if n := s.Boundary("a", 10); n != 10 {
		t.Errorf("the boundary before 10 is %d", n)
	}
	store.Close()
	store = New(cfg)
	if diff := cmp.Diff(want, open(t, store, "x").Files(), cmpopts.IgnoreUnexported(FileHistory{})); diff != "" {
		t.Errorf("loaded: %s", diff)
	}
	store.Close()
}

// A session is opened while another process that crashed left rests of what it
// was writing: they are in nobody's way, and go.
func TestRestsOfACrashGo(t *testing.T) {
	dir := t.TempDir()
	store := New(Config{Dir: dir, Now: clock})
	s := open(t, store, "x")
	conversation(t, s, "hi")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	rests := []string{".fork-f1.jsonl", ".fork-f1.2.jsonl", ".gone-g1.jsonl", "x.info.json.tmp-0"}
	for _, name := range rests {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := listed(t, store); len(got) != 1 || got["x"].Problem != "" {
		t.Errorf("listed %+v", got)
	}
	if _, err := store.Retain(Retention{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range rests {
		if _, err := os.Stat(filepath.Join(dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := listed(t, store); len(got) != 1 {
		t.Errorf("listed %+v", got)
	}
}
