package agents

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/trace/export"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/settings"
)

// beginning is a run on its way from its plan to its first turn. It belongs to the
// goroutine that begins the run, and then to the one that performs it. Fields are set
// in the order in which they stand: prepare sets the later ones.
type beginning struct {
	*planned
	conv     *conversation
	start    Start
	first    func(*Live) (uint64, error) // writes the first event
	offered  ServerTools
	tools    *tool.Set
	choices  []run.Choice
	tree     *tree
	stateRun string // whose temp: keys of the state it shares
	ctx      context.Context
	live     *Live
	position int    // how many runs it waits for
	untrace  func() // ends its tracing
}

// begin sets a run going in a session. first writes its first event, when nothing
// else can change the agent's context any more; on its error there is no run.
//
// The order matters. The run is made before anybody knows of it; enlist makes it known,
// and from there on it can be cancelled. Its first event is on stable storage before
// begin returns, so a run whose id a client has is in the log. On an error nothing of
// it goes on. Questions about changed servers that did not come to the run are asked by
// the next one.
//
// ctx is the request's: it bounds what is asked of servers, and not the run, which
// lives below the service's context and ends with p.Client.
func (s *Service) begin(ctx context.Context, conv *conversation, r *planned, p Start,
	first func(*Live) (uint64, error)) (*Live, error) {
	offered := s.serversOf(ctx, r)
	unasked := offered.Changes
	defer func() {
		for _, change := range unasked {
			change.Again() // it does not come to the run
		}
	}()
	b := &beginning{planned: r, conv: conv, start: p, first: conv.beginWith(offered, first), offered: offered,
		choices: r.choices, tree: p.from.treeOf(r.settings), stateRun: cmp.Or(p.from.stateRun, p.Run)}
	// prepare knows nothing of other runs: two runs of one context may both come here, and
	// enlist lets one of them through.
	err := s.prepare(b)
	if err != nil {
		return nil, err
	}
	live, cancel := b.live, b.live.cancel
	// From here on others see it: it is whole.
	if b.position, err = s.enlist(live, p.Queue); err != nil {
		cancel(nil)
		return nil, err
	}
	// Closed without a function in it, begun tells the run's goroutine, which enlist started,
	// that the run does not begin.
	defer close(live.begun)
	release := end(cancel, p.Client, p.from)
	b.untrace = s.Traces.Begin(conv.Log, conv.ID, live.ID, export.Options(r.settings.Tracing).Over(r.def.Tracing).For(b.tree.trace))
	// The first event of a run that waits is its input: what the person said must not be
	// lost with the run that it waits for.
	if b.position > 0 {
		// What a person said is kept from now on, whatever becomes of the run.
		live.First = conv.Append(live.about, activity.Input{Input: r.task.input, Position: b.position}, 0)
	} else if live.First, err = b.first(live); err != nil {
		b.untrace()
		release()
		cancel(nil)
		return nil, err
	}
	// Only now: an error before this line has the next run ask.
	s.askAboutServers(b.ctx, p.Frontend.Ask(conv.ID, live.ID, r.def.Name), offered.Changes) // while the run holds s.work
	unasked = nil
	// Its first event may not come to be recorded before the run is over: then its
	// result is the answer, and who cancelled it does not wait for the disk.
	recording, over := context.WithCancel(s.ctx)
	live.begun <- func() {
		defer over()
		defer release()
		defer cancel(nil)
		s.perform(b)
	}
	// Not ctx: a request that is cancelled now has a run, which is its answer.
	if err := conv.Commit(recording, live.First); err != nil && recording.Err() == nil {
		cause := run.ErrCancelled
		if p.atMost != "" {
			cause = run.ErrInterrupted // it can be resumed once more
		}
		cancel(cause)
		return nil, fault.New(fault.Unavailable, "agents.start", "the session's log cannot be written: %w", err)
	}
	return live, nil
}

// prepare makes the run, which nobody else knows yet. Errors are faults, and leave
// nothing behind.
func (s *Service) prepare(b *beginning) error {
	var delegate *delegation
	b.tools, delegate = s.toolsOfRun(b.planned, b.start.from, b.tree, b.offered.Tools)
	if b.start.Trace != nil {
		b.tree.trace = b.start.Trace
	}
	// The model "auto" is chosen here, since it goes by the session's context and the tools.
	if b.choices == nil {
		var err error
		name := modelFor(b.conv, cmp.Or(b.start.from.contextID, b.def.Name), b.task, b.tools, b.settings)
		if b.choices, err = s.choose(b.def, name, b.settings); err != nil {
			return err
		}
	}
	// The graph asks for the run when a node begins; it is made only below.
	steps, err := s.graphOf(b.conv, b.planned, b.start, b.stateRun, func() *Live { return b.live })
	if err != nil {
		return err
	}
	s.newLive(b)
	var usable run.Tools = b.tools
	if delegate != nil {
		delegate.caller = b.live
		usable = &delegating{b.tools, delegate}
	}
	config := s.runConfig(b, usable)
	config.Graph = steps
	b.live.run = run.New(config)
	return nil
}

// newLive gives b the run as others will know it. Its approval is asked anew at each
// call, for the person may change it while the run goes on; the strictest of all
// callers holds.
func (s *Service) newLive(b *beginning) {
	p := b.start
	about := activity.Origin{Run: p.Run, Agent: b.def.Name, CorrelationID: cmp.Or(p.from.correlationID, p.Run),
		Context: p.from.contextID}
	if p.from.parent != nil {
		about.ParentRun = p.from.parent.ID
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	b.ctx = ctx
	b.live = &Live{
		Session: b.conv.ID, ID: p.Run, Agent: b.def.Name, log: b.conv.Log, MaxTurns: b.task.maxTurns, about: about,
		start: p, folder: b.folder, asks: b.task.input, by: about,
		conv: b.conv, def: b.def, tree: b.tree, tools: b.tools.Names(),
		cancel: cancel, begun: make(chan func(), 1), done: make(chan struct{}), ended: make(chan struct{}),
		servers: serversIn(b.tools),
	}
	b.live.approval = func() guard.Approval {
		own := stricter(p.atMost, s.approval(b.conv, p.Approval))
		if parent := p.from.parent; parent != nil { // also where the parent's is changed meanwhile
			own = stricter(parent.approval(), own)
		}
		return own
	}
}

// runConfig is what the run consists of, but for the steps of a graph. Functions in it
// are called while the run goes on, and read what holds then.
func (s *Service) runConfig(b *beginning, usable run.Tools) run.Config {
	p, conv, live, about := b.start, b.conv, b.live, b.live.about
	var under *run.Run
	if parent := p.from.parent; parent != nil {
		under = parent.run
	}
	variables := &variables{conv: conv, about: about, run: b.stateRun, keys: b.def.StateKeys}
	return run.Config{
		ID: live.ID, Parent: about.ParentRun, Call: p.from.call, Under: under, ContextID: about.Context,
		CorrelationID: about.CorrelationID, Chain: append(slices.Clone(p.from.chain), b.def.Name),
		Require: p.from.require, Project: p.from.project,
		Definition: b.def, Mode: b.task.mode, System: systemPrompt(b.task.prompt, b.memory, b.folder, s.Now()) +
			p.from.handed.tell(), Examples: b.task.examples, Context: p.Context, Shell: p.Shell, Inputs: p.Inputs,
		Models:   b.choices,
		Approval: live.approval, Asked: p.Model,
		Session: conv, Tools: usable, Gate: conv.gate, Critical: b.settings.Security.Critical == settings.AskCritical, Person: p.Frontend,
		Rules:  func() (deny, allow []tool.Rule) { now := s.Settings(b.folder); return now.Deny, now.Allow },
		Locate: func(env *tool.Env) { s.locate(env, b.settings.AdditionalFolders) }, Taint: p.Taint,
		Env: tool.Env{
			Session: conv.ID, Folder: b.folder, Blobs: conv.Blobs(), Files: p.Frontend,
			Edits: p.Frontend.Edits(live.ID), Languages: p.Frontend.Languages(),
			Ask: p.Frontend.Ask(conv.ID, live.ID, b.def.Name), Seen: conv.lookupSeen(about.ContextID()), Now: s.Now,
			Environ: s.Environ, Slots: s.slots, Home: s.Home, State: s.State, Sandbox: b.settings.Sandbox,
			Survey: func(ctx context.Context, folder string) (tool.Places, error) {
				return s.survey.Look(ctx, folder, s.Settings(b.folder).Deny)
			},
			Reveal: b.settings.Reveal, Variables: variables,
		},
		State: variables.forConditions, Guards: s.guards(b.planned, live),
		Memory: s.memoryOfRun(b.def, b.folder), Embedding: s.embedding,
		Handoffs: s.handoffs(b.planned), Spent: p.from.handed.earlierSpent(), Link: p.from.handed.link(),
		Before:   p.from.handed.before(),
		MaxTurns: b.task.maxTurns, MaxTime: b.task.maxTime, Waits: s.observe, Timeout: b.settings.ConfirmationTimeout,
		Limits: run.Limits{
			ModelCalls: b.tree.limits.ModelCalls, InputTokens: b.tree.limits.InputTokens,
			Tokens: b.def.MaxTokens, USD: b.def.MaxCost,
		},
		Compression: s.summarizer(b.settings, b.choices[0]), Repeats: &repeats{conv, b.settings.Model.DisableLoopDetection},
		Problems: slices.Concat(problemsToTell(b.agent), b.task.lowered, b.offered.problems()), Mask: s.Mask,
		Output: s.credentials.Masker, Snapshots: s.Snapshots,
		Hooks: s.Hooks, Transcript: conv.File(), SessionStart: func() string { return conv.startHooks(b.folder) },
		Leftovers: &s.tools, Now: s.Now, Log: s.Log,
	}
}

// perform has the run answer, once it is its turn. It is on a goroutine of its own, and
// returns when the run, and those that control passed to, have ended.
func (s *Service) perform(b *beginning) {
	live, conv := b.live, b.conv
	ended := sync.OnceFunc(func() { close(live.ended) })
	defer ended()
	// The log has the words that began it; run.started is written when its turn comes.
	if b.position > 0 {
		if !s.awaitTurn(b) {
			b.untrace()
			live.cancel(run.ErrInterrupted) // it keeps an earlier cause
			live.result = s.leave(conv, live, b.ctx)
			s.settle(live)
			return
		}
		if _, err := b.first(live); err != nil {
			s.Log.Error("a run that waited did not begin", "run", live.ID, "err", err)
		}
	}
	s.observe()
	began := s.Now()
	live.result = live.run.Do(b.ctx)
	s.remember(b.def, live, s.Now().Sub(began))
	conv.forget(live.about)
	// Those behind it may begin now: who takes over has a context of its own.
	ended()
	s.followOn(b.ctx, conv, b.planned, live)
	s.settle(live)
}

// awaitTurn waits for the runs before this one, and reports whether it may begin. It
// may be false without an error: what ended the run is the cause of its context.
func (s *Service) awaitTurn(b *beginning) bool {
	// What ends the run before this one may end this one too, and be a moment
	// late here: no model is asked for a client that has gone.
	if !b.live.await(b.ctx) || b.start.Client.Err() != nil || s.ctx.Err() != nil {
		return false
	}
	// The person may have taken trust back, or the file may have changed, while it waited.
	if err := s.checkPermitted(b.def); err != nil { // no more, since it was asked for
		b.conv.Append(b.live.about, activity.Note{Level: "warning", Message: fault.Message(err)}, 0)
		b.live.cancel(run.ErrCancelled)
		return false
	}
	return true
}

// end cancels a run when its client goes, and when the run that waits for it is
// cancelled or interrupted itself, until release is called. A timeout of the one that
// waits suspends a node of a graph, which goes on later, and cancels any other. release
// is called when the run has ended, so that nothing is cancelled that another one of
// its id is by then.
func end(cancel context.CancelCauseFunc, client context.Context, from origin) (release func()) {
	gone := context.AfterFunc(client, func() { cancel(run.ErrInterrupted) })
	if from.within == nil {
		return func() { gone() }
	}
	over := context.AfterFunc(from.within, func() {
		switch cause := context.Cause(from.within); {
		case errors.Is(cause, run.ErrInterrupted):
			cancel(cause)
		case errors.Is(cause, run.ErrTimeout) && from.parent.goesOnLater():
			cancel(run.ErrSuspended)
		default:
			cancel(run.ErrCancelled)
		}
	})
	return func() { gone(); over() }
}

// goesOnLater reports whether the runs that a run waits for go on where they were when it
// is resumed after its time: nodes of a graph that a person started.
func (l *Live) goesOnLater() bool { return l.def.Graph != nil && l.start.from.parent == nil }
