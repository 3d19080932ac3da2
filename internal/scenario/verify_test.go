package scenario_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/trace"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/mask"
	"github.com/agentls/agentls/internal/verify"
)

// verified counts the sessions that came out the same, by what is in them, and the stories
// that were looked at.
var verified struct {
	sync.Mutex
	sessions  int
	stories   map[string]bool
	kinds, of map[string]int // of: by story
}

// wantVerified is how many sessions of all stories are to come out the same, and of those
// how many have what makes them hard.
const wantVerified = 90

var wantKinds = map[string]int{
	"tree": 4, "handoff": 1, "compression": 2, "guardrail": 1, "graph": 2, "hook": 3, "mcp": 1, "steering": 2, "question": 15, "route": 6,
}

// checkVerified holds the counts to what is wanted, where all stories were played.
func checkVerified(t *testing.T) {
	const whole = 140
	verified.Lock()
	defer verified.Unlock()
	if len(verified.stories) < whole {
		return
	}
	if verified.sessions < wantVerified {
		t.Errorf("%d sessions of %d stories come out the same when they are run again, want %d", verified.sessions,
			len(verified.stories), wantVerified)
	}
	for kind, want := range wantKinds {
		if got := verified.kinds[kind]; got < want {
			t.Errorf("%d sessions with a %s come out the same when they are run again, want %d", got, kind, want)
		}
	}
}

// kindsOf is what a session has.
func kindsOf(events []activity.Event) map[string]bool {
	kinds := make(map[string]bool)
	began := make(map[string]bool)
	for _, e := range events {
		switch b := e.Body.(type) {
		case activity.RunStarted:
			began[e.Run] = true
			kinds["tree"] = kinds["tree"] || e.ParentRun != ""
		case activity.HandoffStarted:
			kinds["handoff"] = true
		case activity.ContextCompressed:
			kinds["compression"] = true
		case activity.GuardrailChecked:
			kinds["guardrail"] = true
		case activity.GraphNode:
			kinds["graph"] = true
		case activity.HookRan:
			kinds["hook"] = true
		case activity.Input:
			kinds["steering"] = kinds["steering"] || began[e.Run]
		case activity.ConfirmationAnswered:
			kinds["question"] = true
		case activity.RouteDecided:
			kinds["route"] = true
		case activity.ToolState:
			kinds["mcp"] = kinds["mcp"] || strings.HasPrefix(b.Name, "mcp.")
		}
	}
	return kinds
}

// otherwise are the stories of which something else comes when their sessions are run
// again, with the reason.
var otherwise = map[string]string{
	"create-lines": "changes the agent", "namesakes": "renames the agent", "delete": "removes the agent", "extensions": "removes the extension", "hidden": "changes the agent", "review": "changes the agent", "trust-replaced": "changes the agent",
	"rename-moved": "renames the agent", "rename-background": "renames the agent", "rename-approved": "renames the agent",
	"reload": "removes the agent", "parse": "has an agent in a folder of its own", "folders": "removes the folder", "extensions-project": "removes the extension",
	"untrusted": "trusts the folder", "hosts": "asks while a command runs",
	"mask-commands": "masks what is masked", "remember": "remembers answers by files that are there by now", "patch": "remembers answers by files that are there by now",
}

// verify runs the sessions that a story left again, from what was recorded of them: the same
// must come of each (spec 7.3), but where the story changed what they were made with.
func (s *story) verify(config daemon.Config) {
	logs, err := filepath.Glob(filepath.Join(s.dir, "home/agentls/sessions/*/*.jsonl"))
	if err != nil {
		s.wrong(err)
	}
	if s.over {
		return
	}
	s.over = true
	config.Transport, config.Trust = nil, true
	for _, path := range logs {
		id := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		if session.CheckID(id) != nil {
			continue // a later part of a log
		}
		store := session.New(session.Config{Dir: filepath.Dir(path), Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		kept, err := store.Watch(id)
		if err != nil {
			continue // the story damaged it
		}
		events, err := trace.Read(kept.Log, id, mask.New(nil).MaskAll)
		_ = kept.Log.Close() // nothing was written
		if err != nil {
			s.wrong(err)
			continue
		}
		report, err := verify.Session(context.Background(), config, filepath.Join(s.dir, "work"), id, events)
		if err != nil {
			s.wrong(err)
			continue
		}
		switch name := strings.TrimPrefix(filepath.Base(s.dir), "script-"); {
		case report.Difference != nil && otherwise[name] == "":
			s.wrong(fmt.Errorf("session %s, run again: %s", id, report))
		case report.Difference == nil && report.Unable == "":
			verified.Lock()
			if verified.kinds == nil {
				verified.kinds, verified.of = make(map[string]int), make(map[string]int)
			}
			if verified.of[name]++; name == "pairs" {
				verified.Unlock()
				break // of another test, which may be run before or after
			}
			verified.sessions++
			for kind, is := range kindsOf(events) {
				if is {
					verified.kinds[kind]++
				}
			}
			verified.Unlock()
		}
	}
	verified.Lock()
	defer verified.Unlock()
	if verified.stories == nil {
		verified.stories = make(map[string]bool)
	}
	verified.stories[filepath.Base(s.dir)] = true
}
