package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// initialize shakes hands. It does not wait for the catalog of agents, which is
// read meanwhile.
// After an error the connection has no daemon, and the client may send another
// initialize.
// The order matters: the encoding must be set before anything has positions, and the daemon is built for folders
// that are known.
func (h *Handlers) initialize(_ context.Context, p *protocol.InitializeParams) (*protocol.InitializeResult, error) {
	if err := h.takeCapabilities(p); err != nil {
		return nil, err
	}
	folders, err := h.foldersOf(p)
	if err != nil {
		return nil, err
	}
	var offered []string
	if g := p.Capabilities.General; g != nil {
		for _, e := range g.PositionEncodings {
			offered = append(offered, string(e))
		}
	}
	encoding := workspace.Negotiate(offered)
	for _, change := range []workspace.Change{workspace.Negotiated{Encoding: encoding},
		workspace.FoldersSet{Folders: folders}} {
		if _, err := h.Workspace.Apply(change); err != nil {
			return nil, err
		}
	}
	daemon, err := h.Build(h.ctx, Site{
		Folders: folders, Workspace: h.Workspace, Changed: h.catalogChanged, Trusted: h.trustRead, Notice: h.notice,
		Problems: h.setProblems, Health: h.sessionHealth,
	})
	if err != nil {
		return nil, err
	}
	h.setDaemon(daemon)
	h.mu.Lock()
	h.problems = h.daemon.Notes // told once the client is ready
	h.mu.Unlock()
	h.daemon.Agents.Observe(h.observeRuns)
	if p.ProcessID != nil {
		h.Peer.WatchParent(int(*p.ProcessID))
	}
	result := &protocol.InitializeResult{ServerInfo: protocol.ServerInfo{Name: "agentls",
		Version: protocol.NewOptional(h.Version)}}
	result.Capabilities.PositionEncoding = protocol.PositionEncodingKind(encoding.String())
	for _, r := range h.Routes() {
		if r.Grant != nil {
			r.Grant(&result.Capabilities)
		}
	}
	ours, err := json.Marshal(map[string]any{"agents": wire.ServerCapabilities{
		Version: wire.Version, Modes: []string{string(guard.Plan), string(guard.Asks),
			string(guard.Edits), string(guard.Free)},
		Sessions: true, Steer: true, Changes: true, Checkpoints: true, Memory: true, Graph: true,
		Tests: h.daemon.RunTest != nil,
	}})
	if err != nil {
		return nil, err
	}
	result.Capabilities.Experimental = ours
	return result, nil
}

// takeCapabilities reads what the client can do. Ours may come in
// capabilities.experimental.agents or in initializationOptions.agents.
// plain is a client that knows only LSP: it has our capabilities in neither place. The
// error is bad params with the path.
func (h *Handlers) takeCapabilities(p *protocol.InitializeParams) error {
	h.plain, h.writes = true, p.Capabilities.TextDocument != nil
	h.language.SetClient(p.ClientInfo, p.Capabilities)
	for _, place := range []struct {
		path string
		raw  protocol.LSPAny
	}{{"capabilities.experimental", p.Capabilities.Experimental}, {"initializationOptions", p.InitializationOptions}} {
		var holder struct {
			Agents *wire.ClientCapabilities `json:"agents"`
		}
		// An editor may send anything there, which is no error where it is not meant for us.
		if len(place.raw) == 0 || place.raw[0] != '{' {
			continue
		}
		if err := (wire.Codec{}).Unmarshal(place.raw, &holder); err != nil {
			return server.BadParams(protocol.MethodInitialize, place.path+".agents", "cannot be read: %v", err)
		}
		if holder.Agents != nil {
			h.caps, h.plain = *holder.Agents, false
			break
		}
	}
	if w := p.Capabilities.Window; w != nil {
		h.shows = w.ShowDocument != nil && w.ShowDocument.Support
		h.edits.progress = w.WorkDoneProgress != nil && *w.WorkDoneProgress
	}
	h.edits.applies, h.edits.versions = h.language.AppliesEdits(), h.language.VersionsEdits()
	return nil
}

// onInitialized tells what the person should know from the start, and begins to
// report the status.
// A second one only reports the status again.
func (h *Handlers) onInitialized(context.Context, *protocol.InitializedParams) error {
	h.ready.Do(func() {
		for _, note := range h.daemon.Notes {
			h.tell(protocol.MessageTypeWarning, note)
		}
		if h.caps.Status {
			h.work.Go(h.reportStatus)
		}
		if h.writes { // who edits no files can wait for a route
			h.prepareRouting()
			h.work.Go(h.followRouting)
		}
		h.language.Begin()
	})
	h.observe()
	return nil
}

// shutdown leaves what runs interrupted: a window that reloads must not abort
// it (REL-25). What is written stays.
// It does not end the daemon, which Close does.
func (h *Handlers) shutdown(context.Context, *struct{}) (any, error) {
	h.left.Store(true)
	live := h.daemon.Agents.Live()
	h.daemon.Agents.Interrupt()
	h.flush(live)
	return nil, nil
}

// leaving reports whether the client has gone, or is about to: what is open then
// is asked anew when it is resumed.
func (h *Handlers) leaving() bool { return h.left.Load() || h.ctx.Err() != nil }

// observe has the status reported soon; it never waits.
func (h *Handlers) observe() {
	select {
	case h.status <- struct{}{}:
	default: // a report is due already
	}
}

// sessionHealth is told that a session's log cannot be written any more, and
// with nil that it can again. The person hears of the first.
// unhealthy has a sentence for each session that cannot be written. A session that fails
// in another way is not told again.
func (h *Handlers) sessionHealth(session string, err error) {
	h.mu.Lock()
	before, now := h.unhealthy[session], ""
	delete(h.unhealthy, session)
	if err != nil {
		now = fmt.Sprintf("Session %s cannot be written: %s", session, fault.Message(err))
		h.unhealthy[session] = now
	}
	h.mu.Unlock()
	if before == "" && now != "" {
		h.tell(errorMessage, now)
	}
	h.observe()
}

// trustRead is told that the records of trust may be others than before.
//
// Which folders they are about is not known, so every agent that comes with one is told as
// changed.
func (h *Handlers) trustRead(catalog *registry.Snapshot) {
	var changed []string
	for _, e := range catalog.Entries() {
		if e.Definition.Folder != "" {
			changed = append(changed, e.Definition.Name)
		}
	}
	h.tellChanged(catalog, changed, nil)
}

// reportStatus sends agents/status whenever it is another than before, until
// the connection ends.
// What comes in quick succession is one report. The health names the worst thing
// only: sessions that cannot be written before settings and trust, those before
// notices.
func (h *Handlers) reportStatus() {
	// No status has fewer than 0 runs, so the first one is sent.
	last := wire.StatusParams{ActiveRuns: -1}
	for {
		select {
		case <-h.status:
		case <-h.ctx.Done():
			return
		}
		now := wire.StatusParams{Health: "ok", ActiveRuns: len(h.daemon.Agents.Live()),
			Waiting: h.daemon.Agents.Waiting()}
		h.mu.Lock()
		switch {
		case len(h.unhealthy) > 0:
			now.Health, now.Message = "error", h.unhealthy[slices.Min(slices.Collect(maps.Keys(h.unhealthy)))]
		case len(h.problems) > 0:
			now.Health, now.Message = "warning", h.problems[0]
		case len(h.notices) > 0:
			now.Health, now.Message = "warning", h.notices[len(h.notices)-1]
		}
		h.mu.Unlock()
		if now != last {
			h.notify(wire.MethodStatus, &now)
			last = now
		}
	}
}

// observeRuns is told that a run has begun, waits or has ended. It never waits.
func (h *Handlers) observeRuns() {
	h.observe()
	h.language.ObserveRuns()
}
