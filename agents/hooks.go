package agents

import (
	"context"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/run"
)

// endHooksIn is how long hooks of a session's end have: nobody who ends the daemon waits
// for more.
const endHooksIn = 1500 * time.Millisecond

// startHooks returns why the session begins for hooks with the run that asks; "" where
// it has begun. It is told from which folder its end is. It says so once: the run that
// gets the reason runs the hooks.
func (c *conversation) startHooks(folder string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	source := c.starts
	if source != "" {
		c.starts, c.started, c.hookFolder = "", true, folder
	}
	return source
}

// endHooks runs the hooks of a session's end, if those of its start were run. The next
// run begins the session again, with source. It waits for them, endHooksIn at most,
// whatever becomes of ctx. What they say is told in the log and changes nothing.
func (s *Service) endHooks(ctx context.Context, c *conversation, reason, source string) {
	c.mu.Lock()
	started, folder := c.started, c.hookFolder
	// Set whether or not there are hooks now: settings may bring some before the next run.
	c.started, c.starts = false, source
	c.mu.Unlock()
	if s.Hooks == nil || !started || !s.Hooks.Has(folder, "SessionEnd") {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endHooksIn)
	defer cancel()
	answer := s.Hooks.Fire(ctx, run.HookEvent{
		Name: "SessionEnd", Folder: folder, Session: c.ID, Transcript: c.File(), Match: []string{reason},
		Fields: map[string]any{"reason": reason},
	})
	run.TellHooks(answer, func(b activity.Body, took time.Duration) uint64 {
		return c.Append(activity.Origin{}, b,
			took)
	})
}

// endAllHooks runs the hooks of the end of all sessions, at the same time. It is called
// when the daemon ends, after the runs.
func (s *Service) endAllHooks() {
	// Side by side, so that all of them together have endHooksIn.
	s.mu.Lock()
	var all conc.WaitGroup
	for _, c := range s.sessions {
		all.Go(func() { s.endHooks(s.ctx, c, "exit", "") })
	}
	s.mu.Unlock()
	all.Wait()
}
