package agents

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// Start asks for a run.
type Start struct {
	Agent      string                  // "" = main
	Folder     string                  // of the document that the run is about; "" = the first
	Input      []activity.ContentBlock // none = the agent's own query
	Inputs     json.RawMessage         // an object: values of the agent's inputs; nil = none
	Context    *activity.EditorContext // what the person has in the editor; may be nil
	Mode       definition.Mode         // "" = the agent's
	Queue      bool                    // wait in order where the agent has a run in the session
	Session    string                  // "" = main
	Run        string                  // "" = one is made
	Approval   Approval                // "" = the session's
	Model      string                  // "" = the agent's
	Definition *definition.Definition  // instead of the saved file's: a buffer's; may be nil
	Desk       Desk
	Client     context.Context // the connection's: when it ends, the run is interrupted
}

// Start sets a run going. It returns as soon as the run's first event is on
// stable storage. Errors by reason: unknownAgent, invalidAgent, untrusted,
// busy, authRequired, unknownSession; fault.Invalid, which wraps a [BadParam],
// for a run id that is in use, and for inputs that are missing or do not fit.
func (s *Service) Start(ctx context.Context, p Start) (*Live, error) {
	agent, folder, err := s.find(p)
	if err != nil {
		return nil, err
	}
	def, settings := agent.Definition, s.Settings(folder)
	task, err := fillIn(def, p, s.Now())
	if err != nil {
		return nil, err
	}
	name := s.ModelOf(def, p.Model, settings)
	var choices []run.Choice
	if name != model.Auto { // no session is begun for a run that nobody can answer
		if choices, err = s.choose(def, name, settings); err != nil {
			return nil, err
		}
	}
	conv, note, err := s.open(p.Session)
	if err != nil {
		return nil, err
	}
	tools := s.toolSet(agent, settings)
	if name == model.Auto {
		if choices, err = s.choose(def, route(conv, def, task, tools, settings), settings); err != nil {
			return nil, err
		}
	}
	runCtx, cancel := context.WithCancelCause(s.ctx)
	live := &Live{
		Session: conv.ID, ID: p.Run, Agent: def.Name, Note: note, log: conv.Log,
		cancel: cancel, begun: make(chan func(), 1), done: make(chan struct{}), ended: make(chan struct{}),
	}
	if live.ID == "" {
		live.ID = uuid.Must(uuid.NewV7()).String()
	}
	live.MaxTurns = task.maxTurns
	live.run = run.New(run.Config{
		ID: live.ID, CorrelationID: live.ID, Chain: []string{def.Name},
		Definition: def, Mode: task.mode, System: systemPrompt(task.prompt, folder, s.Now()), Examples: task.examples, Context: p.Context,
		Models:   choices,
		Approval: func() guard.Approval { return s.approval(conv, p.Approval) },
		Session:  conv, Tools: tools, Gate: conv.gate, Critical: settings.Critical, Person: p.Desk,
		Env: tool.Env{
			Session: conv.ID, Folder: folder, Folders: append(s.Folders(), settings.AdditionalFolders...),
			Trusted: s.Trusted(folder), Blobs: conv.Blobs(), Files: p.Desk, Edits: p.Desk.Edits(live.ID),
			Ask: p.Desk.Ask(conv.ID, live.ID, def.Name), Seen: conv.seenBy(def.Name), Now: s.Now,
			Environ: s.Environ, Slots: s.slots, Home: s.Home, State: s.State,
		},
		MaxTurns: task.maxTurns, MaxTime: task.maxTime, Waits: s.observe, Timeout: settings.ConfirmationTimeout,
		Limits: run.Limits{
			ModelCalls: settings.Limits.ModelCalls, InputTokens: settings.Limits.InputTokens, Tokens: def.MaxTokens, USD: def.MaxCost,
		},
		Compression: s.summarizer(settings, choices[0]), Repeats: &repeats{conv, settings.DisableLoopDetection},
		Problems: leftOut(agent), Leftovers: &s.tools, Now: s.Now, Log: s.Log,
	})
	// From here on others see it: it is whole.
	if conv.HasRun(live.ID) {
		cancel(nil)
		return nil, badParam("run", "is %q, which was in session %s already; choose another id", live.ID, live.Session)
	}
	position, err := s.enlist(live, p.Queue)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	defer close(live.begun)
	release := context.AfterFunc(p.Client, func() { cancel(run.ErrInterrupted) })
	begin := func() uint64 {
		conv.Mend(def.Name) // calls that an interrupted run left open
		return live.run.Begin(task.input)
	}
	if position > 0 {
		// What a person said is kept from now on, whatever becomes of the run.
		live.First = conv.Append(activity.Origin{Run: live.ID, Agent: def.Name, CorrelationID: live.ID},
			activity.Input{Input: task.input, Position: position}, 0)
	} else {
		live.First = begin()
	}
	live.begun <- func() {
		defer release()
		defer cancel(nil)
		defer close(live.ended)
		if position > 0 {
			// What ends the run before this one may end this one too, and be a moment
			// late here: no model is asked for a client that has gone.
			if !live.await(runCtx) || p.Client.Err() != nil || s.ctx.Err() != nil {
				cancel(run.ErrInterrupted) // it keeps an earlier cause
				live.result = s.leave(conv, live, runCtx)
				s.settle(live)
				return
			}
			begin()
		}
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

// enlist makes a run known, if its id is free. Where the agent has a run in the
// session already, this one waits for its turn, if it may; position is how many
// are before it.
func (s *Service) enlist(live *Live, queue bool) (position int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, fault.New(fault.Unavailable, "agents.start", "the daemon is ending")
	}
	if _, taken := s.runs[live.ID]; taken {
		return 0, badParam("run", "is %q, which goes on already; choose another id", live.ID)
	}
	over := s.excluded[[2]string{live.Session, live.Agent}]
	if over != nil && !queue {
		return 0, fault.New(fault.Unavailable, "agents.start", "the context of %s in session %s is being changed; try again", live.Agent, live.Session).Because(fault.Busy)
	}
	if over != nil {
		live.behind = append(live.behind, over)
	}
	for _, other := range s.runs {
		if other.Session != live.Session || other.Agent != live.Agent {
			continue
		}
		if !queue {
			return 0, fault.New(fault.Unavailable, "agents.start",
				"%s has a run in session %s already (%s): wait for it, cancel it, queue this one, or use another session", live.Agent, live.Session, other.ID).
				Because(fault.Busy, "run", other.ID)
		}
		live.behind = append(live.behind, other.ended)
	}
	s.runs[live.ID] = live
	if r := s.reserved[live.ID]; r != nil && r.cancelled {
		live.cancel(run.ErrCancelled)
	}
	// Under the lock: Close waits for all that were enlisted before it.
	s.work.Go(func() {
		do, ok := <-live.begun
		if !ok { // it did not come to begin: nobody is to wait for it
			close(live.ended)
			s.forget(live)
			return
		}
		do()
	})
	return len(live.behind), nil
}

// find returns the agent that a run is of, as the settings have it, and its
// folder.
func (s *Service) find(p Start) (*tuned, string, error) {
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
	if !def.UserInvocable {
		return nil, "", fault.New(fault.Denied, "agents.start", "%s is not meant to be run by a person (user_invocable: false)", def.Name).Because(fault.Refused)
	}
	agent := override(def, s.Settings(folder).Overrides[def.Name])
	if agent.Off != "" {
		return nil, "", fault.New(fault.Denied, "agents.start", "%s is switched off by the setting agents.overrides.%s.enabled (%s)", def.Name, def.Name, agent.Off).Because(fault.Refused)
	}
	return &agent, folder, nil
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

// leftOut returns the problems of an agent that a person is told with the
// result: what does not keep it from running but from doing all it says.
func leftOut(agent *tuned) []definition.Problem {
	var list []definition.Problem
	for _, p := range agent.Definition.Problems {
		if p.Severity == definition.Error || p.Severity == definition.Warning {
			list = append(list, p)
		}
	}
	for _, message := range agent.Problems {
		list = append(list, definition.Problem{Code: "settings/override", Severity: definition.Warning, Message: message})
	}
	return list
}
