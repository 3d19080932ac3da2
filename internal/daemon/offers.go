package daemon

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/workspace"
)

// Offer is something that can be typed, with what it is. What a shell completes is read
// without a daemon, since a person waits for each key: to start one takes a quarter more.
type Offer struct{ Value, About string }

// OfferAgents returns the agents of a folder, "" for none, and the person's own, main
// first. What cannot be read offers nothing, here and below. folder is canonical.
func (c Config) OfferAgents(ctx context.Context, folder string) []Offer {
	places := []registry.Place{{Scope: definition.Global, Dir: filepath.Join(c.Home, "agents")}}
	if folder != "" {
		places = append(places, registry.Place{Scope: definition.Project,
			Dir: filepath.Join(folder, ".gemini", "agents"), Folder: folder})
	}
	snapshot, err := registry.New(registry.Config{Places: places}).Load(ctx)
	if err != nil {
		return nil
	}
	offered, seen := []Offer{{Value: "main"}}, map[string]bool{"main": true}
	for _, e := range snapshot.Entries() {
		if d := e.Definition; !seen[d.Name] && language.CheckName(d.Name) == nil {
			seen[d.Name] = true
			offered = append(offered, Offer{d.Name, d.Title})
		}
	}
	return offered
}

// OfferAnswers returns what is allowed always in a folder, by its id.
func (c Config) OfferAnswers(_ context.Context, folder string) (offered []Offer) {
	all, _ := workspace.NewPermissions(c.permissionsFile(), c.Now).Of(folder)
	for _, p := range all {
		offered = append(offered, Offer{p.ID, p.Agent + ": " + p.Covers})
	}
	return offered
}

// OfferSessions returns the names of a folder's sessions, from the files of their logs:
// to read those would take longer than a shell should wait.
func (c Config) OfferSessions(_ context.Context, folder string) (offered []Offer) {
	logs, _ := filepath.Glob(filepath.Join(c.SessionsOf(folder), "*.jsonl")) // a pattern of ours is none that is bad
	for _, log := range logs {
		name := strings.TrimSuffix(filepath.Base(log), ".jsonl")
		if session.CheckID(name) == nil { // what ends in a number is a later part of a log
			offered = append(offered, Offer{Value: name})
		}
	}
	return offered
}

// SessionsOf returns where the sessions of a folder are kept.
func (c Config) SessionsOf(folder string) string {
	return filepath.Join(c.state(), "sessions", session.Key(folder))
}
