package run

import (
	"context"
	"time"

	"github.com/sourcegraph/conc/panics"

	"github.com/agentls/agentls/internal/fault"
)

// maxEnding is how long a run waits for what it started in the background to end. A
// command is asked, and then killed, within that.
const maxEnding = 15 * time.Second

// startBackground starts a task that outlives its call.
// ctx ends with the run, however it ends. The notes are for the person, ten at most; what comes
// after the run's last event is dropped. A panic is logged and ends nothing but the task.
func (r *runner) startBackground(ctx context.Context, task func(context.Context) []string) {
	done := make(chan struct{})
	r.mu.Lock()
	r.lasting = append(r.lasting, done)
	r.mu.Unlock()
	r.Leftovers.Go(func() {
		defer close(done)
		var notes []string
		var caught panics.Catcher
		caught.Try(func() { notes = task(ctx) })
		if p := caught.Recovered(); p != nil && r.Log != nil {
			r.Log.Error("panic in the background of a run", "run", r.ID, "stack", fault.PanicText(p.Value, p.Stack))
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.quiet { // else the run's last event may be written
			r.note(notes[:min(len(notes), maxNotes)])
		}
	})
}

// awaitBackground waits until what was started in the background has ended.
//
// What has not ended within maxEnding goes on alone: Leftovers waits for it, and the run does not.
func (r *runner) awaitBackground() {
	timer := time.NewTimer(maxEnding)
	defer timer.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for late := false; len(r.lasting) > 0 && !late; {
		next := r.lasting[0]
		r.lasting = r.lasting[1:]
		r.mu.Unlock()
		select {
		case <-next:
		case <-timer.C:
			late = true
		}
		r.mu.Lock()
	}
}

// silenceBackground has what ends later say nothing: the run's last event is written.
func (r *runner) silenceBackground() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quiet = true
}
