package handlers

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/settings"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// route serves agents/route.
// It starts no run.
func (h *Handlers) route(ctx context.Context, s *workspace.Snapshot, p *wire.RouteParams) (*wire.RouteResult, error) {
	if _, err := h.catalog(ctx); err != nil {
		return nil, err
	}
	folder := ""
	if path, ok := workspace.FilePath(p.URI); ok {
		if f, _, ok := workspace.Within(s.Folders(), path); ok {
			folder = f.Canonical
		}
	}
	decided, err := h.daemon.Agents.Route(ctx, agents.RoutingRequest{Input: p.Input,
		Strategy: p.Strategy, Folder: folder})
	if err != nil {
		return nil, err
	}
	return &wire.RouteResult{RouteDecided: decided}, nil
}

// getConfig serves agents/config/get.
// Values and problems are shown without credentials. An unknown key is fault.NotFound.
func (h *Handlers) getConfig(ctx context.Context, _ struct{}, p *wire.ConfigGetParams) (*wire.ConfigGetResult, error) {
	if _, err := h.catalog(ctx); err != nil { // what was saved before counts
		return nil, err
	}
	settings := h.daemon.Values(h.Workspace.Snapshot().FirstFolder())
	key, found := settings.Find(p.Key)
	if len(found) == 0 {
		return nil, noSetting(p.Key)
	}
	r := &wire.ConfigGetResult{Values: []wire.ConfigValue{}, Problems: []string{}}
	for _, e := range found {
		r.Values = append(r.Values, h.configValue(e))
	}
	for _, problem := range settings.Problems {
		if key == "" || problem.Key == key || strings.HasPrefix(problem.Key, key+".") {
			r.Problems = append(r.Problems, string(h.daemon.MaskText([]byte(problem.String()))))
		}
	}
	return r, nil
}

// setConfig serves agents/config/set.
// A value that does not fit is bad params, and nothing is written then. The answer has
// what holds afterwards, which may be another scope's value.
func (h *Handlers) setConfig(ctx context.Context, _ struct{}, p *wire.ConfigSetParams) (*wire.ConfigSetResult, error) {
	if _, err := h.catalog(ctx); err != nil {
		return nil, err
	}
	folder, scope := h.Workspace.Snapshot().FirstFolder(), settings.ProjectScope
	if p.Scope == "global" {
		scope = settings.UserScope
	}
	key, found := h.daemon.Values(folder).Find(p.Key)
	// Only a single key can be set, not a section.
	if len(found) != 1 || found[0].Key != key {
		return nil, noSetting(p.Key)
	}
	file, err := h.daemon.SetValue(ctx, folder, scope, key, p.Value)
	if fault.KindOf(err) == fault.Invalid {
		return nil, server.BadParams(wire.MethodConfigSet, "value", "does not fit: %s", fault.Message(err))
	}
	if err != nil {
		return nil, err
	}
	_, found = h.daemon.Values(folder).Find(key)
	return &wire.ConfigSetResult{URI: tool.URI(file), Value: h.configValue(found[0])}, nil
}

// noSetting is the error for a key that names no setting.
func noSetting(key string) error {
	return fault.New(fault.NotFound, "handlers.config",
		"there is no setting %s; `agentls config` lists those that there are", tool.Escape(key))
}

// configValue returns a setting as a client is sent it, with where it comes from: a
// file and a line, or a variable of the environment.
//
// Passwords in addresses are taken out before credentials are looked for, since a plain
// word is none to the mask.
func (h *Handlers) configValue(e workspace.Effective) wire.ConfigValue {
	if text, ok := e.Value.(string); ok {
		if u, err := url.Parse(text); err == nil && u.User != nil {
			e.Value = u.Redacted() // also a password that is a plain word
		}
	}
	value, _ := json.Marshal(e.Value) // a string, a number, a bool or strings
	if list, ok := e.Value.([]string); ok && list == nil {
		value = []byte("[]")
	}
	v := wire.ConfigValue{Key: e.Key, Value: h.daemon.MaskText(value), Scope: e.Origin.Scope.String(), Doc: e.Doc}
	switch e.Origin.Scope {
	case settings.UserScope, settings.ProjectScope:
		v.URI, v.Line = tool.URI(e.Origin.File), e.Origin.Line
	case settings.EnvironmentScope:
		v.Variable = e.Origin.File
	}
	return v
}

// prepareRouting has the rules of routing compiled for the newest catalog, and findings
// about overlapping agents made, beside everything else. It never waits.
//
// routing holds one value at most.
func (h *Handlers) prepareRouting() {
	select {
	case h.routing <- struct{}{}:
	default: // it is due already
	}
}

// followRouting compiles whenever it is due, until the connection ends.
//
// One goroutine does it, so that two catalogs are not compiled at once.
func (h *Handlers) followRouting() {
	for {
		select {
		case <-h.routing:
		case <-h.ctx.Done():
			return
		}
		if _, err := h.catalog(h.ctx); err == nil && h.daemon.Agents.PrepareRouting(h.ctx) {
			h.language.Refresh()
		}
	}
}
