package agents

import (
	"context"
	"errors"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/internal/fault"
)

// await waits until the runs before this one have ended, and reports whether it
// may begin: a run that is cancelled while it waits does not. It must be called once,
// by the run's own goroutine.
func (l *Live) await(ctx context.Context) bool {
	for _, earlier := range l.behind {
		select {
		case <-earlier:
		case <-ctx.Done():
			return false
		}
	}
	l.behind = nil
	return ctx.Err() == nil
}

// leave ends a run that never began. Its input stays in the log. One that was cancelled is
// finished, and no model is told its input; one that an end of the daemon cut off stays in
// the log as interrupted, and the agent's next run is told it (REL-128). It is not ended
// for those behind it before those before it are: they look at these themselves.
func (s *Service) leave(conv *conversation, live *Live, ctx context.Context) activity.RunFinished {
	result := activity.RunFinished{
		Reason: activity.Aborted, Chain: []activity.Link{{Run: live.ID, Agent: live.Agent}},
		Guardrails: []activity.Guard{}, Changes: []activity.Change{}, Problems: []definition.Problem{},
	}
	if errors.Is(context.Cause(ctx), run.ErrInterrupted) {
		conv.Append(live.about, activity.RunState{To: activity.Interrupted,
			Why: "the daemon ended while the run waited for its turn"}, 0)
		return result
	}
	conv.Append(live.about, activity.RunState{To: activity.Finished, Why: string(activity.Aborted)}, 0)
	conv.Append(live.about, result, 0)
	return result
}

// Said is words that a run has taken. Its words are in the log, though perhaps not on
// disk yet ([Said.Commit]).
type Said struct {
	Position int // how many wait before them
	log      *activity.Log
	seq      uint64
}

// Commit waits until the words are on stable storage. The error is Unavailable.
func (s *Said) Commit(ctx context.Context) error {
	if err := s.log.Commit(ctx, s.seq); err != nil {
		return fault.New(fault.Unavailable, "agents.steer", "the session's log cannot be written: %w", err)
	}
	return nil
}

// Steer adds a person's words to a run that goes on. It does not wait. The error
// has the reason unknownRun, or busy for a run that waits for its turn; it is a
// [BadParam] for a run of a graph. A run of a chain that passed control on takes no
// words: the one that has control does, and is found under the same id.
func (s *Service) Steer(id string, input []activity.ContentBlock) (*Said, error) {
	live, err := s.Find(id)
	if err != nil {
		return nil, err
	}
	if live.def.Graph != nil {
		return nil, badParam("run",
			"is of %s, which has a graph: it asks what it needs to know, and its nodes' runs (agents/session/get has them) take words", live.Agent)
	}
	position, seq, ok := live.run.Steer(input)
	switch {
	case ok:
		return &Said{Position: position, log: live.log, seq: seq}, nil
	case !live.run.Begun():
		return nil, fault.New(fault.Unavailable, "agents.steer",
			"the run %s waits for its turn; say it when it has begun", id).Because(fault.Busy, "run", id)
	}
	return nil, unknownRun(id)
}

// Find returns a run that goes on: of one that passed control on, the run that has it
// now. The error has the reason unknownRun.
func (s *Service) Find(id string) (*Live, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if live := s.runs[id]; live != nil {
		return live.last(), nil
	}
	return nil, unknownRun(id)
}

// unknownRun is the error for a run that does not go on.
func unknownRun(id string) error {
	return fault.New(fault.NotFound, "agents.run", "no run %s goes on; agents/run starts one",
		id).Because(fault.UnknownRun, "run", id)
}

// repeats is where a session keeps whether loops are looked for. It implements
// run.Repeats, and may be used by several runs of the session at once.
type repeats struct {
	conv *conversation
	off  bool // by the person's settings
}

// On implements run.Repeats.
func (r *repeats) On() bool {
	r.conv.mu.Lock()
	defer r.conv.mu.Unlock()
	return !r.off && !r.conv.loops
}

// Off implements run.Repeats.
func (r *repeats) Off() {
	r.conv.mu.Lock()
	defer r.conv.mu.Unlock()
	r.conv.loops = true
}
