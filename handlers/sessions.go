package handlers

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
)

// pageOfSessions is how many sessions a page has where nobody says (spec 2.2).
const pageOfSessions = 100

// listSessions serves agents/session/list. No session is opened for it.
//
// A cursor of another list, or one that is no cursor, is bad params.
func (h *Handlers) listSessions(_ context.Context, _ struct{},
	p *wire.SessionListParams) (*wire.SessionListResult, error) {
	limit := p.Limit
	if limit == 0 {
		limit = pageOfSessions
	}
	list, next, err := h.daemon.Agents.ListSessions(p.Cursor, limit)
	if fault.KindOf(err) == fault.Invalid {
		return nil, server.BadParams(wire.MethodSessionList, "cursor", "cannot be used: %s", fault.Message(err))
	}
	if err != nil {
		return nil, err
	}
	result := &wire.SessionListResult{Sessions: []wire.Session{}, Cursor: next}
	for _, info := range list {
		result.Sessions = append(result.Sessions, sessionOut(info))
	}
	return result, nil
}

// getSession serves agents/session/get.
// The session is not opened for it, so another daemon's can be looked at. The error has
// the reason unknownSession.
func (h *Handlers) getSession(_ context.Context, _ struct{}, p *wire.SessionParams) (*wire.SessionGetResult, error) {
	info, runs, err := h.daemon.Agents.Session(p.Session)
	if err != nil {
		return nil, err
	}
	result := &wire.SessionGetResult{Session: sessionOut(info), Runs: []wire.SessionRun{}}
	for _, r := range runs {
		result.Runs = append(result.Runs, wire.SessionRun{Run: r.Run, Agent: r.Agent, State: string(r.State),
			Reason: string(r.Reason)})
	}
	return result, nil
}

// sessionOut returns what is known of a session as the wire has it: no list of
// it is null.
func sessionOut(info session.Info) wire.Session {
	s := wire.Session{
		Session: info.Session, Title: info.Title, Agent: info.Agent, CreatedAt: stamp(info.CreatedAt),
		UpdatedAt: stamp(info.UpdatedAt),
		Agents:    list(info.Agents), AgentChain: list(info.AgentChain),
		HandoffCount: info.HandoffCount, Runs: info.Runs,
		State: string(info.State), Usage: info.Usage, Cost: info.Cost, Locked: info.Locked, Problem: info.Problem,
	}
	if info.Folder != "" {
		s.Folder = tool.URI(info.Folder)
	}
	return s
}

// newSession serves agents/session/new.
// An agent that is not for people is bad params, one that there is not
// fault.NotFound.
func (h *Handlers) newSession(ctx context.Context, _ struct{},
	p *wire.SessionNewParams) (*wire.SessionNewResult, error) {
	catalog, err := h.catalog(ctx)
	if err != nil {
		return nil, err
	}
	if p.Agent != "" {
		entry, err := catalog.Lookup("", p.Agent)
		if err != nil {
			return nil, h.language.EncodeError(err)
		}
		if !entry.Definition.UserInvocable {
			return nil, server.BadParams(wire.MethodSessionNew, "agent",
				"is %s, which is not meant to be talked to by a person (user_invocable: false)", p.Agent)
		}
	}
	id, err := h.daemon.Agents.NewSession(strings.Clone(p.Title), strings.Clone(p.Agent))
	if err != nil {
		return nil, err
	}
	return &wire.SessionNewResult{Session: id}, nil
}

// closeSession serves agents/session/close. Nothing more of the session is sent
// after the answer, until the client subscribes again or runs something there.
// The error has the reason unknownSession, or busy while a run goes on or waits there.
func (h *Handlers) closeSession(ctx context.Context, _ struct{}, p *wire.SessionParams) (*wire.Empty, error) {
	id := strings.Clone(h.daemon.Agents.SessionID(p.Session))
	return &wire.Empty{}, h.daemon.Agents.CloseSession(id, func() { h.dismiss(ctx, id) })
}

// deleteSession serves agents/session/delete. Subscriptions to it end: what
// begins under its name later is another session.
// The errors are those of closeSession, and busy while another daemon has the session.
func (h *Handlers) deleteSession(ctx context.Context, _ struct{}, p *wire.SessionDeleteParams) (*wire.Empty, error) {
	id := strings.Clone(p.Session)
	return &wire.Empty{}, h.daemon.Agents.DeleteSession(id, func() { h.dismiss(ctx, id) })
}

// dismiss waits until all of a session whose log is closed has been sent, and
// forgets how far that was: what has its name later may count from 1.
// It runs between the closing of the log and the answer. If ctx ends before,
// what has not been sent is left out.
// Both streams of the session are waited for: the one that is sent, and the one for a
// client that is not sent any.
func (h *Handlers) dismiss(ctx context.Context, session string) {
	for _, told := range []bool{true, false} {
		name := stream{session, told}
		h.mu.Lock()
		f := cmp.Or(h.followers[name], h.past[name])
		h.mu.Unlock()
		if f == nil {
			continue
		}
		select {
		case <-f.gone:
		case <-ctx.Done():
			f.end() // nobody waits for the answer before which all was to be sent
			select {
			case <-f.gone:
			case <-h.ctx.Done(): // it may never have begun
			}
		}
		h.mu.Lock()
		delete(h.past, name)
		h.mu.Unlock()
	}
	// A closed session is no longer reported as one that cannot be written.
	h.sessionHealth(session, nil)
}

// forkSession serves agents/session/fork.
// Files stay as they are. An event that there is not is bad params.
func (h *Handlers) forkSession(ctx context.Context, _ struct{},
	p *wire.SessionForkParams) (*wire.SessionNewResult, error) {
	id, err := h.daemon.Agents.Fork(ctx, strings.Clone(p.Session), p.AtSeq)
	if fault.KindOf(err) == fault.Invalid {
		return nil, server.BadParams(wire.MethodSessionFork, "atSeq", "cannot be used: %s", fault.Message(err))
	}
	if err != nil {
		return nil, err
	}
	return &wire.SessionNewResult{Session: id}, nil
}

// setApproval serves agents/session/setApproval.
// The mode holds from the next call of its runs on. fault.Unavailable says that it could
// not be recorded: then it holds until the daemon ends.
func (h *Handlers) setApproval(ctx context.Context, _ struct{},
	p *wire.SessionApprovalParams) (*wire.SessionApprovalResult, error) {
	now, err := h.daemon.Agents.SetApproval(ctx, strings.Clone(p.Session), agents.Approval(strings.Clone(p.Approval)))
	if err != nil {
		return nil, err
	}
	return &wire.SessionApprovalResult{Approval: string(now)}, nil
}

// compress serves agents/session/compress.
// It asks a model, so it takes as long as that.
// Where a folder's trust or a review keeps the agent from being used, the person is asked,
// and it is tried once more.
// A compression that failed is a status in the answer. The error has the reason
// unknownAgent, unknownSession, authRequired, or busy while the agent has a run there.
func (h *Handlers) compress(ctx context.Context, _ struct{},
	p *wire.SessionCompressParams) (*wire.SessionCompressResult, error) {
	if _, err := h.catalog(ctx); err != nil {
		return nil, err
	}
	session, agent := strings.Clone(p.Session), strings.Clone(p.Agent)
	event, err := withReview(ctx, h, func() (activity.ContextCompressed, error) {
		return h.daemon.Agents.Compress(ctx, session, agent, p.Force)
	})
	if err != nil {
		return nil, h.language.EncodeError(err)
	}
	return &wire.SessionCompressResult{Status: event.Status, Before: event.Before, After: event.After}, nil
}

// getContext serves agents/context/get.
// The tokens of files of instructions are estimates; what was left out of the
// instructions is listed with why.
// An agent that has not run there has an empty context. The error has the reason
// unknownSession, or unknownAgent for a name that no agent has or had there.
func (h *Handlers) getContext(ctx context.Context, _ struct{}, p *wire.ContextParams) (*wire.ContextGetResult, error) {
	if _, err := h.catalog(ctx); err != nil {
		return nil, err
	}
	c, err := h.daemon.Agents.Context(strings.Clone(p.Session), p.Agent)
	if err != nil {
		return nil, h.language.EncodeError(err)
	}
	result := &wire.ContextGetResult{
		Messages: []wire.Message{}, Tokens: c.Tokens, Window: c.Window, Estimated: c.Estimated,
		StartedAt: stamp(c.Started), LastActiveAt: stamp(c.Active),
	}
	for _, f := range c.Memory.Files {
		file := wire.MemoryFile{URI: tool.URI(f.Path), Scope: "project", Tokens: model.EstimateTokens(f.Text)}
		switch {
		case f.Bundle != "":
			file.Scope = "extension"
		case f.Global:
			file.Scope = "global"
		}
		for _, path := range f.Imports {
			file.Imports = append(file.Imports, tool.URI(path))
		}
		result.MemoryFiles = append(result.MemoryFiles, file)
	}
	for _, l := range c.Memory.LeftOut {
		result.MemoryFiles = append(result.MemoryFiles, wire.MemoryFile{URI: tool.URI(l.Path), LeftOut: l.Why})
	}
	for _, m := range c.Messages {
		result.Messages = append(result.Messages, wire.Message{Role: string(m.Role), Parts: m.Parts, Raw: m.Raw})
	}
	return result, nil
}

// clearContext serves agents/context/clear.
// It is on stable storage when it answers. The error has the reason unknownSession,
// unknownAgent, or busy while the agent has a run there. Where a purge fails the context
// may be cleared and not all of it erased.
func (h *Handlers) clearContext(ctx context.Context, _ struct{}, p *wire.ContextClearParams) (*wire.Empty, error) {
	if _, err := h.catalog(ctx); err != nil {
		return nil, err
	}
	if err := h.daemon.Agents.ClearContext(ctx, strings.Clone(p.Session), strings.Clone(p.Agent), p.Purge); err != nil {
		return nil, h.language.EncodeError(err)
	}
	return &wire.Empty{}, nil
}

// commandSessions answers as agents/session/list does.
// A client that knows only LSP is shown the newest page of them.
func (h *Handlers) commandSessions(ctx context.Context) (any, error) {
	result, err := h.listSessions(ctx, struct{}{}, &wire.SessionListParams{})
	if err != nil || !h.plain {
		return result, err
	}
	var b strings.Builder
	for _, s := range result.Sessions {
		fmt.Fprintf(&b, "%s · %s · %s", s.Session, s.State, tool.Count(s.Runs, "run", "runs"))
		if len(s.Agents) > 0 {
			fmt.Fprintf(&b, " · %s", strings.Join(s.Agents, ", "))
		}
		fmt.Fprintf(&b, " · %s", s.UpdatedAt)
		if s.Title != "" {
			fmt.Fprintf(&b, " · %s", tool.Escape(s.Title))
		}
		if s.Locked {
			b.WriteString(" (another agentls has it)")
		}
		if s.Problem != "" {
			fmt.Fprintf(&b, " (%s)", tool.Escape(s.Problem))
		}
		b.WriteString("\n")
	}
	if result.Cursor != "" {
		fmt.Fprintf(&b, "… and older ones\n")
	}
	if b.Len() == 0 {
		b.WriteString("There are no sessions yet.\n")
	}
	if _, shown := h.showText(ctx, "sessions.txt", b.String()); !shown {
		h.tell(infoMessage, strings.TrimSpace(b.String()))
	}
	return result, nil
}
