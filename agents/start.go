package agents

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// Start asks for a run. It is copied; slices and values in it must not be changed
// afterwards.
type Start struct {
	Agent      string                  // "" = main, or who the settings have it routed to; auto = it is routed
	Strategy   string                  // of routing; "" = the settings'
	Folder     string                  // of the document that the run is about; "" = the first
	Input      []activity.ContentBlock // none = the agent's own query
	Shell      []string                // commands whose output Input needs, run before the model is asked
	Inputs     json.RawMessage         // an object: values of the agent's inputs; nil = none
	Context    *activity.EditorContext // what the person has in the editor; may be nil
	Mode       definition.Mode         // "" = the agent's
	Queue      bool                    // wait in order where the agent has a run in the session
	Session    string                  // "" = main
	Run        string                  // "" = one is made
	Approval   Approval                // "" = the session's
	Model      string                  // "" = the agent's
	Definition *definition.Definition  // instead of the saved file's: a buffer's; may be nil
	Trace      *bool                   // whether it is traced, with the runs that it leads to; nil = as settings and agents say
	Taint      tool.Taint              // of what Input and Context bring of files: the worst
	// The client's side: who is asked, and who has the files; must not be nil.
	Frontend Frontend
	Client   context.Context // the connection's: when it ends, the run is interrupted

	atMost  guard.Approval         // of a run that is taken up again: the mode that it began with; "" = any
	decided *activity.RouteDecided // why the agent is who it is; nil = it was named
	from    origin                 // what leads to a run that no person started
}

// origin is what leads to a run that another run starts, in the same session. The
// zero origin is a person's request. It is set by this package alone: a person's
// request cannot claim to come from an agent.
type origin struct {
	parent        *Live             // that waits for its result; nil for none
	call          string            // of the parent
	tree          *tree             // that the run is part of; nil = one begins with it
	depth         int               // below the run that a person started
	within        context.Context   // its end ends the run, for the same cause; nil for none
	contextID     string            // of a context that is the run's own; "" = the agent's
	chain         []string          // the agents before it
	correlationID string            // of the run that began the chain; "" = its own id
	require       []string          // tools that ask besides those of its own file (globs)
	past          *session.Progress // of a run that is taken up again; nil for none
	project       string            // the folder that an agent before it comes with; "" for none
	handed        *handover         // by which control passed to it; nil where it was asked
	stateRun      string            // whose temp: keys of the state it shares; "" = it has its own
}

// byAgent reports whether another agent leads to the run, and not a person.
func (o origin) byAgent() bool { return len(o.chain) > 0 }

// Start sets a run going. It returns as soon as the run's first event is on stable storage. Errors
// by reason: noAgent, config where routing is off, unknownAgent, invalidAgent, untrusted, busy,
// overloaded, authRequired, unknownSession; fault.Invalid, which wraps a [BadParam], for a run id
// that is in use, and for inputs that are missing or do not fit.
//
// With an error there is no run. ctx is the request's: routing by a model or the person, servers
// that start and the disk are waited for with it; once the run is there ctx does not end it, Client
// does.
func (s *Service) Start(ctx context.Context, p Start) (*Live, error) {
	// First, before anything is read or asked: a daemon that is short of memory takes no new
	// work.
	if s.Admit != nil {
		if err := s.Admit(); err != nil {
			return nil, err
		}
	}
	if p.Run == "" {
		p.Run = uuid.Must(uuid.NewV7()).String()
	}
	if err := s.routeStart(ctx, &p); err != nil {
		return nil, err
	}
	plan, err := s.plan(p)
	if err != nil {
		return nil, err
	}
	conv, note, err := s.open(p.Session)
	if err != nil {
		return nil, err
	}
	if conv.HasRun(p.Run) {
		return nil, badParam("run", "is %q, which was in session %s already; choose another id", p.Run, conv.ID)
	}
	live, err := s.begin(ctx, conv, plan, p, func(live *Live) (uint64, error) {
		conv.CloseCalls(live.about.ContextID()) // calls that an interrupted run left open
		first := live.run.Begin(plan.task.input)
		// run.started is the run's first event, so what led to it is told after it.
		if p.decided != nil {
			conv.Append(activity.Origin{Run: p.Run, Agent: plan.def.Name, CorrelationID: p.Run}, *p.decided, 0)
			live.run.Charge(p.decided.Model)
		}
		return first, nil
	})
	if err == nil {
		live.Note = note
		if p.decided != nil {
			live.Routed = p.decided.Text
		}
	}
	return live, err
}

// planned is what a run is made of, before it is in a session. It is not changed once
// the run is begun.
type planned struct {
	agent    *effective
	def      *definition.Definition
	folder   string
	settings *Settings
	task     *assignment
	name     string       // of the model
	choices  []run.Choice // nil for a model that is chosen by what the context holds
	memory   string       // what memory files say; "" = nothing
}

// plan finds everything that a run needs but its session: none is begun for a
// run that nobody can answer. The order of the checks is that of the errors that a
// person is told first: who, with what, by which model.
func (s *Service) plan(p Start) (*planned, error) {
	agent, folder, err := s.find(p)
	if err != nil {
		return nil, err
	}
	r := &planned{agent: agent, def: agent.Definition, folder: folder, settings: s.Settings(folder)}
	if r.task, err = fillIn(r.def, p, s.Now()); err != nil {
		return nil, err
	}
	if err := s.checkGraph(r.def, folder); err != nil {
		return nil, err
	}
	if r.def.Graph != nil {
		if err := s.checkModels(r.def, folder, p.Model, r.settings); err != nil {
			return nil, err
		}
	}
	// After fillIn, whose limits it lowers.
	if s.unreviewed(r.def) {
		r.task.clamp(r.def.Name)
	}
	if r.name = s.ModelOf(r.def, p.Model, r.settings); r.name != model.Auto {
		if r.choices, err = s.choose(r.def, r.name, r.settings); err != nil {
			return nil, err
		}
	}
	return r, s.instruct(r, p)
}

// mainAgent is who answers when nobody is named (spec 1.1).
const mainAgent = "main"

// enlist makes a run known, if its id is free. Where the agent has a run in the
// session already, this one waits for its turn, if it may; position is how many
// are before it. It also starts the run's goroutine, which waits for live.begun. All of
// it is under mu, so that of two runs of one agent one is before the other, and Close
// misses none.
func (s *Service) enlist(live *Live, queue bool) (position int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, fault.New(fault.Unavailable, "agents.start", "the daemon is ending")
	}
	if _, taken := s.runs[live.ID]; taken {
		return 0, badParam("run", "is %q, which goes on already; choose another id", live.ID)
	}
	if err := s.present(live.Session, live.log); err != nil {
		return 0, err
	}
	// Either this context is being changed, or the whole session is.
	over := cmp.Or(s.excluded[[2]string{live.Session, live.about.ContextID()}], s.excluded[[2]string{live.Session, ""}])
	if over != nil && !queue {
		return 0, fault.New(fault.Unavailable, "agents.start",
			"the context of %s in session %s is being changed; try again", live.Agent, live.Session).Because(fault.Busy)
	}
	if over != nil {
		live.behind = append(live.behind, over)
	}
	for _, other := range s.runs {
		// A run that passed control on is known until its chain ends, and uses its context no
		// more.
		if other.next != nil || other.Session != live.Session || other.about.ContextID() != live.about.ContextID() {
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
	// From here on who steers or cancels the run that handed over means this one.
	if h := live.start.from.handed; h != nil && h.by != nil {
		h.by.next = live
	}
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

// problemsToTell returns the problems of an agent that a person is told with the
// result: what does not keep it from running but from doing all it says.
// Hints of the file are left out. What settings say of the agent and does not count is a
// warning.
func problemsToTell(agent *effective) []definition.Problem {
	var list []definition.Problem
	for _, p := range agent.Definition.Problems {
		if p.Severity == definition.Error || p.Severity == definition.Warning {
			list = append(list, p)
		}
	}
	for _, message := range agent.Problems {
		list = append(list, definition.Problem{Code: "settings/override",
			Severity: definition.Warning, Message: message})
	}
	return list
}
