package scenario_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/trace"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/mask"
	"github.com/agentls/agentls/internal/verify"
)

// verified counts the sessions that came out the same, and the stories that were looked at.
var verified struct {
	sync.Mutex
	sessions, stories int
}

// otherwise are the stories of which something else comes when their sessions are run
// again, with the reason.
var otherwise = map[string]string{
	"create-lines": "changes the agent", "hidden": "changes the agent", "review": "changes the agent", "trust-replaced": "changes the agent",
	"rename-moved": "renames the agent", "rename-background": "renames the agent", "rename-approved": "renames the agent",
	"reload": "removes the agent", "parse": "has an agent in a folder of its own", "folders": "removes the folder", "extensions-project": "removes the extension",
	"untrusted": "trusts the folder", "mcp-trust": "has an MCP server", "explain": "has an MCP server", "hosts": "asks while a command runs",
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
		events, err := trace.Read(kept.Log, id, mask.New(nil).Shown)
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
			verified.sessions++
			verified.Unlock()
		}
	}
	verified.Lock()
	defer verified.Unlock()
	verified.stories++
}
