package agents

import (
	"context"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/prompt"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/internal/fault"
)

// Context is what an agent has seen and said in a session, as its model is sent
// it. It is a view of one moment.
type Context struct {
	Messages  []model.Message // must not be modified
	Tokens    int
	Estimated bool      // Tokens are not the provider's count
	Window    int       // of the agent's model, in tokens; 0 = not known
	Started   time.Time // zero for an agent that has not run
	// When it last said or was told something.
	Active time.Time
	// Memory are the memory files that its next run is told, as they are now.
	Memory prompt.Memory
}

// Context returns an agent's context in a session, empty for one that has not
// run there; "" is the default session. An agent whose file is gone still has
// the contexts that it had. A session that another daemon has is read as well. The errors
// have the reason unknownSession or, for an agent that is neither known nor has run
// there, unknownAgent.
func (s *Service) Context(id, agent string) (*Context, error) {
	conv, err := s.read(id)
	if err != nil {
		return nil, err
	}
	name, window, err := s.contextOf(conv, agent)
	if err != nil {
		return nil, err
	}
	c := &Context{Messages: conv.Context(name), Window: window}
	c.Tokens, c.Estimated = conv.Tokens(name)
	c.Started, c.Active = conv.ActiveAt(name)
	c.Memory = s.memoryOf(name)
	return c, nil
}

// memoryOf returns the memory files that an agent's next run is told, none for one
// that is not there any more. It reads the files.
func (s *Service) memoryOf(agent string) prompt.Memory {
	entry, err := s.Agents().Lookup("", agent)
	if err != nil || s.Memory == nil || !entry.Definition.MemoryFiles {
		return prompt.Memory{}
	}
	return s.Memory(s.homeOf(entry.Definition), "")
}

// ClearContext ends an agent's context in a session: its next run begins a new one, and has to read
// again what it writes, and the keys of the state that its file names (memory.session) are removed.
// With purge, what the context held is erased from disk as well. The errors are those of
// [Service.Context], and busy while the agent has a run there, or another daemon the session. All
// is on stable storage when it returns; an error of a purge may leave the context cleared and not
// all erased.
func (s *Service) ClearContext(ctx context.Context, id, agent string, purge bool) error {
	conv, err := s.openKept(id)
	if err != nil {
		return err
	}
	name, _, err := s.contextOf(conv.Session, agent)
	if err != nil {
		return err
	}
	release, err := s.exclude(conv.ID, name)
	if err != nil {
		return err
	}
	defer release()
	// No run of the agent goes on: what is open was left by one that ended, and gets its end in
	// the log.
	conv.CloseCalls(name)
	// Before the context is cleared, so that hooks can still read the transcript. A purge
	// rewrites it.
	s.endHooks(ctx, conv, "clear", "clear")
	seq, err := conv.Clear(name, purge)
	if seq > 0 { // also where not all could be erased
		conv.mu.Lock()
		delete(conv.seen, name)
		conv.mu.Unlock()
	}
	if err != nil {
		return err
	}
	if entry, err := s.Agents().Lookup("", name); err == nil && len(entry.Definition.StateKeys) > 0 {
		last, err := conv.ClearState(activity.Origin{Agent: name}, entry.Definition.StateKeys)
		if err != nil {
			return err
		}
		seq = max(seq, last)
	}
	return conv.Commit(ctx, seq)
}

// contextOf returns the name under which a session knows an agent, and the
// window of its model. It is the name of the file where that is known, else the one
// that the session has a context of. window is 0 where the model is not known.
func (s *Service) contextOf(conv *session.Session, agent string) (name string, window int, err error) {
	entry, err := s.Agents().Lookup("", agent)
	if err == nil {
		def := entry.Definition
		name := s.nameOf(def)
		if name == model.Auto {
			name = defaultModel // each run has its own; this one is the likeliest
		}
		_, row, _ := s.Table.Resolve(name, defaultModel)
		return def.Name, row.Window, nil
	}
	if started, _ := conv.ActiveAt(agent); !started.IsZero() {
		return agent, 0, nil
	}
	return "", 0, err
}

// exclude keeps runs of an agent from beginning in a session until release is
// called. The error has the reason busy: one goes on. It waits for nothing. release
// must be called; runs that begin meanwhile wait for it where they may.
func (s *Service) exclude(id, agent string) (release func(), err error) {
	key := [2]string{id, agent}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, live := range s.runs {
		if live.Session == id && live.Agent == agent {
			return nil, fault.New(fault.Unavailable, "agents.context",
				"%s has a run in session %s (%s): wait for it or cancel it", agent, id,
				live.ID).Because(fault.Busy, "run", live.ID)
		}
	}
	if s.leaving[id] != nil {
		return nil, departing(id)
	}
	// Without an agent the key stands for the whole session.
	if s.excluded[key] != nil || s.excluded[[2]string{id, ""}] != nil {
		return nil, fault.New(fault.Unavailable, "agents.context",
			"the context of %s in session %s is being cleared or compressed; ask again when that is done", agent,
			id).Because(fault.Busy)
	}
	return s.keepOut(key), nil
}

// keepOut excludes a context, or all of a session, until release is called; mu is held.
// Runs that may wait do so for the channel; the others are refused with busy.
func (s *Service) keepOut(key [2]string) (release func()) {
	over := make(chan struct{})
	s.excluded[key] = over
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.excluded, key)
		close(over)
	}
}
