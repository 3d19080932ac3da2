package agents

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// Resume asks for a run to go on. Client ends the run as in [Service.Start].
type Resume struct {
	Run      string
	Session  string // where a run is looked for that an earlier daemon left; "" = wherever it is
	More     run.Extension
	Frontend Frontend
	Client   context.Context // as in Start
}

// Resume lets a run go on, with more of what was used up: one that is paused, one
// that an earlier daemon left interrupted or paused, or one that ended at its limit of
// turns or time and whose agent has begun no other since. The last two go on from
// their last checkpoint (spec 3.5). It returns as soon as that is on stable storage.
// What the run used before counts on.
//
// The error has the reason unknownRun, or busy: its agent has another run in the
// session, or another daemon has the session. It is fault.Invalid for a run that
// goes on or has finished. Otherwise the errors are those of [Service.Start]:
// the agent's file may have changed or be gone. It may read many sessions where none is
// named. ctx bounds the request, not the run.
func (s *Service) Resume(ctx context.Context, p Resume) (*Live, error) {
	// A run of this daemon is paused, or goes on, or is just ending: the last one is looked
	// for in the log once it has been written to its end.
	if live, err := s.Find(p.Run); err == nil {
		switch {
		case live.run.Resume(p.More):
			return live, nil
		case !live.run.Ended():
			return nil, fault.New(fault.Invalid, "agents.resume",
				"the run %s is not paused, so there is nothing to resume", p.Run)
		}
		<-live.done // its last events are being written
	}
	if s.Admit != nil {
		if err := s.Admit(); err != nil {
			return nil, err
		}
	}
	conv, r, err := s.openLeft(p.Session, p.Run)
	if err != nil {
		return nil, err
	}
	// A delegated run alone would have nobody to give its result to.
	if first := conv.Caller(r.Run); first != r.Run {
		return nil, fault.New(fault.Invalid, "agents.resume",
			"the run %s was started by another agent; resume %s, which goes on with it", r.Run, first)
	}
	r, pending := holds(conv.Runs(), r) // control may have passed on
	if pending {
		return s.resumeHandoff(conv, r, Start{Frontend: p.Frontend, Client: p.Client})
	}
	return s.takeUp(ctx, conv, Start{Run: r.Run, Frontend: p.Frontend, Client: p.Client}, p.More)
}

// takeUp lets a run of a session go on that is left interrupted or paused, or that ended
// at a limit. start says which, and for whom. The run's first event of this daemon is
// written when nobody else can take it up any more, so the log is read again then. It
// gets no more power than it had: atMost is the mode that it began with.
func (s *Service) takeUp(ctx context.Context, conv *conversation, start Start, more run.Extension) (*Live, error) {
	past, err := loadUnfinished(conv, start.Run)
	if err != nil {
		return nil, err
	}
	start.Agent, start.Folder, start.Session = past.Origin.Agent, tool.PathOf(past.Started.Folder), conv.ID
	start.Input, start.Inputs, start.Context = past.Started.Input, past.Started.Inputs, past.Started.Context
	start.Shell = past.Started.Shell
	start.Mode, start.Model = definition.Mode(past.Started.Mode), past.Started.Asked
	start.atMost, start.from.past = guard.Approval(past.Started.Approval), &past
	// A run that control had passed to gets what its system instruction had: who handed over,
	// why, and what of the limits was used before it.
	if before, ok := predecessor(conv.Runs(), start.Run); ok {
		chain := before.Passed.Chain
		start.from.chain, start.from.contextID, start.from.correlationID = slices.Clone(chain[:len(chain)-1]),
			past.Origin.Context, past.Origin.CorrelationID
		start.from.handed = s.newHanded(conv, *before.Passed, before.Chain)
		start.from.project = cmp.Or(start.from.project, before.Passed.Project)
	}
	plan, err := s.plan(start)
	if err != nil {
		return nil, err
	}
	return s.begin(ctx, conv, plan, start, func(live *Live) (uint64, error) {
		past, err := loadUnfinished(conv, start.Run) // somebody may have been quicker
		if err != nil {
			return 0, err
		}
		// Delegated runs whose call is made once more go on with that call; the others end here,
		// since nobody waits for them.
		conv.AbandonDelegated(start.Run, func(call string) bool {
			return live.run.GoesOn(call) || slices.ContainsFunc(past.Open,
				func(c session.OpenCall) bool { return c.Call.ID == call })
		})
		past, err = loadUnfinished(conv, start.Run) // with what these had used
		if err != nil {
			return 0, err
		}
		if start.from.parent != nil {
			past.Limit = "" // a person gives more, nobody else does
		}
		if plan.def.Digest != past.Started.Definition {
			conv.Append(past.Origin, activity.Note{Level: "info", Message: fmt.Sprintf(
				"The file of %s has changed since the run began; it goes on as the file says now.", plan.def.Name)}, 0)
		}
		conv.gate.Taint(start.Run, tool.TaintOf(conv.Taint(start.Run))) // the gate forgets a run that ends
		return live.run.Continue(run.Past{
			State: past.Run.State, Turn: past.Turn, ModelCalls: past.ModelCalls, ToolCalls: past.ToolCalls,
			Usage: past.Usage, Delegated: past.Delegated,
			Active: past.Active, Changes: past.Changes, Open: openOf(past.Open), Executed: past.Executed,
			TurnOver: past.TurnOver, Limit: past.Limit, Extended: past.Extended,
			Moved: past.Moved, Finish: past.Finish, Guards: past.Guards, Repairs: past.Repairs,
			Repairing: past.Repairing, Input: past.Started.Input, More: more,
		}), nil
	})
}

// resumeHandoff begins the run to which a run passed control right before a daemon
// ended. start says for whom. It has the id that the handoff gave it, so it is begun
// once.
func (s *Service) resumeHandoff(conv *conversation, r session.Run, start Start) (*Live, error) {
	past, ok := conv.Progress(r.Run)
	if !ok {
		return nil, fault.New(fault.Invalid, "agents.resume",
			"the run %s has passed control to %s, which did not begin, and %s has gone on since; run %s", r.Run,
			r.Passed.To, r.Agent, r.Passed.To)
	}
	folder := tool.PathOf(past.Started.Folder)
	// The file of the agent that handed over may be gone: then the target is looked for by
	// its name alone.
	from := &definition.Definition{}
	if entry, err := s.Agents().Lookup(folder, r.Agent); err == nil {
		from = entry.Definition
	}
	start.Folder, start.Session, start.Input, start.Context = folder, conv.ID, past.Started.Input, past.Started.Context
	start.atMost = guard.Approval(past.Started.Approval)
	start.from.correlationID, start.from.handed = past.Origin.CorrelationID, s.newHanded(conv, *r.Passed, r.Chain)
	start.from.project = cmp.Or(start.from.project, projectOf(from))
	return s.passOn(conv, from, start)
}

// loadUnfinished returns how far a run came that was left interrupted or paused, or ended
// at a limit. Its errors are Invalid and say what to do instead.
func loadUnfinished(conv *conversation, id string) (session.Progress, error) {
	r, _ := conv.Run(id)
	past, ok := conv.Progress(id)
	switch {
	case r.State == activity.Finished && ok:
	case r.State == activity.Finished && (r.Reason == activity.Timeout || r.Reason == activity.MaxTurns):
		return past, fault.New(fault.Invalid, "agents.resume",
			"the run %s has finished (%s), and %s has gone on since; start another, which goes on in its context",
			id, r.Reason, r.Agent)
	case r.State == activity.Finished:
		return past, fault.New(fault.Invalid, "agents.resume",
			"the run %s has finished (%s); start another, which goes on in its context", id, r.Reason)
	case !ok:
		return past, fault.New(fault.Invalid, "agents.resume",
			"the run %s had not begun; ask again, its agent remembers what was said", id)
	case r.State != activity.Interrupted && r.State != activity.Paused:
		return past, fault.New(fault.Invalid, "agents.resume", "the run %s goes on already", id)
	}
	return past, nil
}

// openOf returns calls that have no result yet, as package run takes them.
func openOf(calls []session.OpenCall) []run.Open {
	var open []run.Open
	for _, c := range calls {
		open = append(open, run.Open{Call: c.Call, State: c.State, Risk: c.Risk})
	}
	return open
}

// stricter returns the mode that asks more, b where a is none: a run that goes on
// later gets no more than it had, and no more than its session has now.
func stricter(a, b guard.Approval) guard.Approval {
	order := []guard.Approval{guard.Plan, guard.Asks, guard.Edits, guard.Free}
	if i, j := slices.Index(order, a), slices.Index(order, b); i >= 0 && i < j {
		return a
	}
	return b
}

// openLeft returns a run that an earlier daemon left, and its session, which is
// opened: in the session that is named, else in one that is open, or in
// one that is listed as left with such a run. The error has the reason
// unknownRun, or busy where another daemon has the session.
func (s *Service) openLeft(id, runID string) (*conversation, session.Run, error) {
	if id != "" {
		conv, err := s.openKept(id)
		if err != nil {
			return nil, session.Run{}, err
		}
		if r, ok := conv.Run(runID); ok {
			return conv, r, nil
		}
		return nil, session.Run{}, unknownRun(runID)
	}
	s.mu.Lock()
	open := slices.Collect(maps.Values(s.sessions))
	s.mu.Unlock()
	for _, conv := range open {
		if r, ok := conv.Run(runID); ok {
			return conv, r, nil
		}
	}
	all, err := s.Sessions.List()
	if err != nil {
		return nil, session.Run{}, err
	}
	// Sessions that were left with such a run first; then main and some others in
	// which it may have finished, so that the answer says so. None is opened that
	// does not have the run: that waits for the disk, and so would who cancels.
	slices.SortStableFunc(all, func(a, b session.Info) int {
		return cmp.Or(cmp.Compare(btoi(a.State == session.Idle), btoi(b.State == session.Idle)),
			cmp.Compare(btoi(a.Session != session.Default), btoi(b.Session != session.Default)))
	})
	for i, info := range all {
		if info.Problem != "" {
			continue
		}
		if i >= maxLooked && info.State == session.Idle {
			break
		}
		if _, runs, err := s.Sessions.Peek(info.Session); err != nil {
			continue // gone or damaged meanwhile: it is not there
		} else if _, ok := runIn(runs, runID); !ok {
			continue
		}
		conv, err := s.openKept(info.Session)
		if err != nil {
			return nil, session.Run{}, err
		}
		if r, ok := conv.Run(runID); ok {
			return conv, r, nil
		}
	}
	return nil, session.Run{}, unknownRun(runID)
}

// maxLooked bounds how many sessions are read for a run that may have finished.
const maxLooked = 100

// btoi is 1 for true, to sort by.
func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// runIn returns a run of a session's own; a fork's copy of one is none.
func runIn(runs []session.Run, id string) (session.Run, bool) {
	i := slices.IndexFunc(runs, func(r session.Run) bool { return r.Run == id && !r.Inherited })
	if i < 0 {
		return session.Run{}, false
	}
	return runs[i], true
}

// abandon ends a run that an earlier daemon left, and reports whether there was
// one (spec 3.5: in any state). It opens the session, and waits settleIn at most for
// the disk.
func (s *Service) abandon(id string) bool {
	conv, r, err := s.openLeft("", id)
	if err != nil {
		return false
	}
	// To cancel any run of a chain cancels the one that has control.
	r, _ = holds(conv.Runs(), r)
	id = r.Run
	s.mu.Lock()
	live := s.runs[id]
	if live == nil { // under the lock: nobody takes it up meanwhile
		seq := conv.Abandon(id)
		s.mu.Unlock()
		if seq > 0 {
			ctx, cancel := context.WithTimeout(s.ctx, settleIn)
			defer cancel()
			if err := conv.Commit(ctx, seq); err != nil {
				s.Log.Error("the end of a run could not be written", "run", id, "err", err)
			}
		}
		return seq > 0
	}
	s.mu.Unlock()
	live.cancel(run.ErrCancelled)
	return true
}
