package daemon

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/sourcegraph/conc/panics"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/watchdog"
	"github.com/agentls/agentls/server"
)

// parts are those of a daemon that have to come round (REL-32).
// It outlives each of them, since the watchdog begins before there is a workspace
// and ends after it.
type parts struct {
	loop   server.Pulse
	daemon atomic.Pointer[working] // nil until initialize made it
}

// working is what a daemon works with.
type working struct {
	service  *agents.Service
	sessions *session.Store
}

// checks are what the watchdog does with them: each waits for what it asks.
// A check that does not come back means that a goroutine hangs which all others
// wait for.
func (p *parts) checks() []watchdog.Check {
	return []watchdog.Check{
		{Name: "the connection's read loop", Ping: p.loop.Ping},
		{Name: "the runs", Ping: func() {
			if w := p.daemon.Load(); w != nil {
				w.service.Waiting()
			}
		}},
		{Name: "the sessions' logs", Ping: func() {
			if w := p.daemon.Load(); w != nil {
				for _, s := range w.sessions.Live() {
					s.Log.LastAnnounced()
				}
			}
		}},
	}
}

// watchdog ends the process when one of the parts hangs, until ctx ends.
// Without Exit it is not started (Serve).
func (c Config) watchdog(ctx context.Context, p *parts) {
	bite := watchdog.Bite{Dir: c.state(), Version: c.Version, Started: c.Now(), Now: c.Now, Log: c.Log, Exit: c.Exit}
	watchdog.Watch(ctx, p.checks(), bite.Hung)
}

// restarts is how often work of the daemon's own is begun anew after a bug in it.
const restarts = 3

// guardWork does work of the daemon's own. A panic in it is told, with an id under
// which its stack is in the log, and the work is begun anew; the rest of the
// daemon goes on (REL-20, REL-31).
// It returns when do has, or after the last of these times. what completes
// "agentls does not … any more".
func (b *daemon) guardWork(what string, do func(context.Context)) {
	for n := 0; ; n++ {
		caught := panics.Try(func() { do(b.ctx) })
		if caught == nil {
			return
		}
		bug := fault.BugID(caught.Callers)
		b.Log.Error("panic", "in", what, "bug", bug, "stack", fault.PanicText(caught.Value, caught.Stack))
		if n == restarts {
			b.notice(fmt.Sprintf("agentls does not %s any more because of a bug; report it with the id %s, under which the log has the details, and start agentls again", what, bug))
			return
		}
		if b.ctx.Err() != nil {
			return
		}
	}
}
