package agents

import (
	"context"
	"sync"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// conversation is a session with what its runs share. There is one for each session
// that is in use, made when it is opened and dropped when it is closed. changes is
// taken before mu, and the service's mu is never taken while mu is held.
type conversation struct {
	*session.Session
	// Keeps the answers of the session, and what its runs have read.
	gate *guard.Gate

	changes sync.Mutex // held while files are brought back, kept or undone; taken before mu

	mu            sync.Mutex
	seen          map[string]*tool.Seen // by context, as [activity.Origin.ContextID] has it
	toldOfServers map[string]bool       // why tools of servers are left out, as the person was told; guarded by mu
	starts        string                // why it begins for hooks with the next run; "" = it has begun; guarded by mu
	started       bool                  // hooks of its start were run, and none of its end since; guarded by mu
	hookFolder    string                // whose hooks these were; guarded by mu
	loops         bool                  // the person does not want loops looked for; guarded by mu
}

// open returns a session, from disk when it is not in use yet. "" is the
// default one. note is for the person: it is not the session that they asked
// for. A session that is just being closed is waited for, and opened again. What the
// log has of taint is given to the gate before anything runs.
func (s *Service) open(id string) (conv *conversation, note string, err error) {
	opened, err := s.Sessions.Open(id)
	if err != nil {
		return nil, "", err
	}
	// The store and s.sessions have locks of their own. The session that was opened may have
	// been closed before this lock was taken: then it is opened once more.
	s.mu.Lock()
	for conv := s.sessions[opened.ID]; conv == nil || conv.Session != opened; conv = s.sessions[opened.ID] {
		leaving := s.leaving[opened.ID]
		if leaving == nil && conv == nil && s.Sessions.Holds(opened) {
			break
		}
		s.mu.Unlock() // it was closed since
		if leaving != nil {
			<-leaving
		}
		if opened, err = s.Sessions.Open(id); err != nil {
			return nil, "", err
		}
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	if s.closed {
		return nil, "", fault.New(fault.Unavailable, "agents.open", "the daemon is ending")
	}
	if id == "" {
		s.standard = opened.ID
	}
	if conv := s.sessions[opened.ID]; conv != nil {
		return conv, "", nil
	}
	conv = &conversation{Session: opened, gate: guard.NewKeeping(s.Grants),
		seen: make(map[string]*tool.Seen), starts: "startup"}
	if opened.Log.Last() > 1 { // there is more than a note that it is another one than was asked for
		conv.starts = "resume"
	}
	for run, taint := range opened.Taints() { // grants are never restored (SEC-135), what they must not hide is
		conv.gate.Taint(run, tool.TaintOf(taint))
	}
	s.sessions[opened.ID] = conv
	return conv, opened.Note, nil
}

// approval is the mode that a run asked for, else its session's.
func (s *Service) approval(c *conversation, own Approval) Approval {
	if own != "" {
		return own
	}
	return s.approvalOf(c)
}

// lookupSeen returns which files the agent of a context has read, and as what; made when it is
// first asked for.
func (c *conversation) lookupSeen(contextID string) *tool.Seen {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen[contextID] == nil {
		c.seen[contextID] = tool.NewSeen()
	}
	return c.seen[contextID]
}

// forget drops what is kept of a context that goes with its run.
func (c *conversation) forget(about activity.Origin) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if about.Context != "" {
		delete(c.seen, about.Context)
	}
}

// Append implements run.Session.
func (c *conversation) Append(o activity.Origin, b activity.Body, d time.Duration) uint64 {
	return c.Log.Append(o, b, d)
}

// WaitWritable implements run.Session.
func (c *conversation) WaitWritable(ctx context.Context) error { return c.Log.WaitWritable(ctx) }

// GoUnsaved implements run.Session.
func (c *conversation) GoUnsaved() { c.Log.GoUnsaved() }

// Err implements run.Session.
func (c *conversation) Err() error { return c.Log.Err() }

// Commit implements run.Session.
func (c *conversation) Commit(ctx context.Context, seq uint64) error { return c.Log.Commit(ctx, seq) }
