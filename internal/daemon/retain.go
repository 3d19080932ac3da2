package daemon

import (
	"context"
	"time"

	"github.com/agentls/agentls/agents/session"
)

// When sessions are looked through that need not be kept: not while a person
// waits for the start, then as long as the daemon lives.
const (
	firstRetain = 10 * time.Second
	retainEvery = 24 * time.Hour
)

// retain removes, from time to time, the sessions that the person does not want
// to be kept (agents.retention), until ctx ends. Without the setting all are kept,
// and so they are while it has a problem.
func (b *daemon) retain(ctx context.Context, sessions *session.Store) {
	next := time.NewTimer(firstRetain)
	defer next.Stop()
	for {
		select {
		case <-next.C:
		case <-ctx.Done():
			return
		}
		b.retainNow(sessions)
		next.Reset(retainEvery)
	}
}

// retainNow tells the log what goes before it does (REL-107).
func (b *daemon) retainNow(sessions *session.Store) {
	rule := b.settingsOf(b.first).retention
	if rule.Days == 0 && rule.MaxSessions == 0 {
		return
	}
	rule.Dry = true
	going, err := sessions.Retain(rule)
	if err == nil && len(going) > 0 {
		b.Log.Info("sessions are removed, as agents.retention says", "sessions", going, "days", rule.Days,
			"maxSessions", rule.MaxSessions)
		rule.Dry = false
		_, err = sessions.Retain(rule)
	}
	if err != nil {
		b.Log.Warn("sessions that need not be kept could not all be removed", "err", err)
	}
}
