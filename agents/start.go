package agents

import (
	"context"

	"github.com/google/uuid"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// Start asks for a run.
type Start struct {
	Agent      string // "" = main
	Folder     string // of the document that the run is about; "" = the first
	Input      []activity.ContentBlock
	Session    string                 // "" = main
	Run        string                 // "" = one is made
	Approval   Approval               // "" = the session's
	Model      string                 // "" = the agent's
	Definition *definition.Definition // instead of the saved file's: a buffer's; may be nil
	Desk       Desk
	Client     context.Context // the connection's: when it ends, the run is interrupted
}

// Start sets a run going. It returns as soon as the run's first event is on
// stable storage. Errors by reason: unknownAgent, invalidAgent, untrusted,
// busy, authRequired, unknownSession; fault.Invalid for a run id that is in
// use.
func (s *Service) Start(ctx context.Context, p Start) (*Live, error) {
	def, folder, err := s.find(p)
	if err != nil {
		return nil, err
	}
	settings := s.Settings(folder)
	choices, err := s.choose(def, p.Model, settings)
	if err != nil {
		return nil, err
	}
	conv, note, err := s.open(p.Session)
	if err != nil {
		return nil, err
	}
	runCtx, cancel := context.WithCancelCause(s.ctx)
	live := &Live{
		Session: conv.ID, ID: p.Run, Agent: def.Name, Note: note, log: conv.Log,
		cancel: cancel, begun: make(chan func(), 1), done: make(chan struct{}),
	}
	if live.ID == "" {
		live.ID = uuid.Must(uuid.NewV7()).String()
	}
	set := s.toolSet(def, settings)
	live.MaxTurns = def.MaxTurns
	if live.MaxTurns == 0 {
		live.MaxTurns = maxChatTurns
	}
	live.run = run.New(run.Config{
		ID: live.ID, CorrelationID: live.ID, Chain: []string{def.Name},
		Definition: def, System: systemPrompt(def, folder, s.Now()), Models: choices,
		Approval: func() guard.Approval { return s.approval(conv, p.Approval) },
		Session:  conv, Tools: set, Gate: conv.gate, Critical: settings.Critical, Person: p.Desk,
		Env: tool.Env{
			Session: conv.ID, Folder: folder, Folders: append(s.Folders(), settings.AdditionalFolders...),
			Trusted: s.Trusted(folder), Blobs: conv.Blobs(), Files: p.Desk, Edits: p.Desk.Edits(live.ID),
			Ask: p.Desk.Ask(conv.ID, live.ID, def.Name), Seen: conv.seenBy(def.Name), Now: s.Now,
			Environ: s.Environ, Slots: s.slots, Home: s.Home, State: s.State,
		},
		MaxTurns: live.MaxTurns, MaxTime: def.MaxTime, MaxTokens: def.MaxTokens, Waits: s.observe, Timeout: settings.ConfirmationTimeout,
		Problems: leftOut(def), Leftovers: &s.tools, Now: s.Now, Log: s.Log,
	})
	// From here on others see it: it is whole.
	if conv.HasRun(live.ID) {
		cancel(nil)
		return nil, fault.New(fault.Invalid, "agents.start", "run %q was in session %s already; choose another id", live.ID, live.Session)
	}
	if err := s.enlist(live); err != nil {
		cancel(nil)
		return nil, err
	}
	defer close(live.begun)
	release := context.AfterFunc(p.Client, func() { cancel(run.ErrInterrupted) })
	conv.Mend(def.Name) // calls that an interrupted run left open
	live.First = live.run.Begin(p.Input)
	live.begun <- func() {
		defer release()
		defer cancel(nil)
		s.observe()
		live.result = live.run.Do(runCtx)
		s.settle(live)
	}
	// Not ctx: a request that is cancelled now has a run, which is its answer.
	if err := conv.Commit(s.ctx, live.First); err != nil && s.ctx.Err() == nil {
		cancel(run.ErrCancelled)
		return nil, fault.New(fault.Unavailable, "agents.start", "the session's log cannot be written: %w", err)
	}
	return live, nil
}

// mainAgent is who answers when nobody is named (spec 1.1).
const mainAgent = "main"

// maxChatTurns is the default of run.max_turns in chat mode (spec 1.2).
const maxChatTurns = 100

// enlist makes a run known, if its id is free and nobody else runs the agent in
// its session.
func (s *Service) enlist(live *Live) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fault.New(fault.Unavailable, "agents.start", "the daemon is ending")
	}
	if _, taken := s.runs[live.ID]; taken {
		return fault.New(fault.Invalid, "agents.start", "run %q goes on already; choose another id", live.ID)
	}
	for _, other := range s.runs {
		if other.Session == live.Session && other.Agent == live.Agent {
			return fault.New(fault.Unavailable, "agents.start",
				"%s has a run in session %s already (%s): wait for it, cancel it, or use another session", live.Agent, live.Session, other.ID).
				Because(fault.Busy, "run", other.ID)
		}
	}
	s.runs[live.ID] = live
	if r := s.reserved[live.ID]; r != nil && r.cancelled {
		live.cancel(run.ErrCancelled)
	}
	// Under the lock: Close waits for all that were enlisted before it.
	s.work.Go(func() {
		if do, ok := <-live.begun; ok {
			do()
		}
	})
	return nil
}

// find returns the agent that a run is of, and its folder.
func (s *Service) find(p Start) (*definition.Definition, string, error) {
	name := p.Agent
	if name == "" {
		name = mainAgent
	}
	folder := p.Folder
	if folders := s.Folders(); folder == "" && len(folders) > 0 {
		folder = folders[0]
	}
	def := p.Definition
	if def == nil {
		entry, err := s.Agents().Lookup(folder, name)
		if err != nil {
			return nil, "", err
		}
		def = entry.Definition
	} else if ok, why := def.Usable(); !ok {
		return nil, "", fault.New(fault.Invalid, "agents.start", "%s cannot run: %s", def.Name, why.Message).
			Because(fault.InvalidAgent, "problems", def.Problems)
	}
	if def.Scope == definition.Project && !s.Trusted(def.Folder) {
		// Nothing of an untrusted folder takes effect, so it does not hide the
		// person's own agent of that name either.
		if own := s.hidden(name); own != nil {
			def = own
		}
	}
	if def.Scope == definition.Project {
		folder = def.Folder
		if !s.Trusted(folder) {
			return nil, "", fault.New(fault.Denied, "agents.start",
				"%s comes with the folder %s, which is not trusted: look at its agents, then trust it with `agentls trust %s`", def.Name, folder, folder).
				Because(fault.Untrusted, "folder", tool.URI(folder))
		}
	}
	if len(def.Authority) > 0 {
		return nil, "", fault.New(fault.Denied, "agents.start",
			"%s restricts itself in a way that cannot be kept here (%s): say it with tools.allow and tools.deny", def.Name, def.Authority[0]).
			Because(fault.InvalidAgent, "problems", def.Problems)
	}
	if err := unbuilt(def); err != nil {
		return nil, "", err
	}
	return def, folder, nil
}

// hidden returns the agent that a project's agent of the same name hides, nil
// for none.
func (s *Service) hidden(name string) *definition.Definition {
	for _, e := range s.Agents().Entries() { // by scope: the first is the one that would count
		if d := e.Definition; e.State == registry.Shadowed && d.Name == name && d.Scope != definition.Project {
			if ok, _ := d.Usable(); ok {
				return d
			}
		}
	}
	return nil
}

// unbuilt refuses an agent that needs what this version does not have: to run
// it without would be to do something else than its file says.
func unbuilt(def *definition.Definition) error {
	lacks := ""
	switch {
	case !def.UserInvocable:
		return fault.New(fault.Denied, "agents.start", "%s is not meant to be run by a person (user_invocable: false)", def.Name).Because(fault.Refused)
	case def.Output != nil:
		lacks = "an output with a schema"
	case def.Inputs != nil:
		lacks = "inputs"
	case def.MaxCost > 0:
		lacks = "run.max_cost"
	case def.Mode == definition.Task:
		lacks = "run.mode: task"
	default:
		return nil
	}
	return fault.New(fault.Invalid, "agents.start", "%s has %s, which this version of agentls cannot run yet", def.Name, lacks).Because(fault.Config)
}

// leftOut returns the problems of an agent that a person is told with the
// result: what does not keep it from running but from doing all it says.
func leftOut(def *definition.Definition) []definition.Problem {
	var list []definition.Problem
	for _, p := range def.Problems {
		if p.Severity == definition.Error || p.Severity == definition.Warning {
			list = append(list, p)
		}
	}
	return list
}
