package gemini

import (
	"context"
	"sync"
	"time"
)

// watchdog ends a call when nothing comes for too long. Its timer runs a
// function of one line on a goroutine of the runtime's, and none after stop. The wait
// begins with arm, begins anew with each touch, and stands still while the loop's body
// runs (pause, resume). TestREL56WatchdogStops holds that nothing is left of it.
type watchdog struct {
	cancel context.CancelCauseFunc
	idle   time.Duration

	mu sync.Mutex // the round tripper may run on another goroutine
	// Nil until arm.
	timer  *time.Timer
	limit  time.Duration // how long it waits now
	cause  error         // with which it ends the call
	paused bool          // the loop's body runs
	ended  bool          // stop was called
}

// newWatchdog returns one that waits for nothing yet.
func newWatchdog(cancel context.CancelCauseFunc, idle time.Duration) *watchdog {
	return &watchdog{cancel: cancel, idle: idle, limit: idle, cause: errIdle}
}

// arm starts to wait for something that must come within d. It replaces what was waited
// for before; cause is why the call ends when it does not come.
func (w *watchdog) arm(d time.Duration, cause error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.limit, w.cause = d, cause
	if w.timer == nil {
		w.timer = time.AfterFunc(d, w.bite)
		return
	}
	w.timer.Reset(d)
}

// touch says that something came. It may be called from any goroutine, and before arm.
func (w *watchdog) touch() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended && !w.paused && w.timer != nil {
		w.timer.Reset(w.limit)
	}
}

// hurry shortens the wait from now on. It never makes it longer.
func (w *watchdog) hurry(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit = min(w.limit, d)
	if !w.ended && !w.paused && w.timer != nil {
		w.timer.Reset(w.limit)
	}
}

// pause stops the clock: the time that a slow reader takes is not the stream's.
func (w *watchdog) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused = true
	if w.timer != nil {
		w.timer.Stop()
	}
}

// resume begins the wait anew. The time before pause does not count.
func (w *watchdog) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused = false
	if !w.ended && w.timer != nil {
		w.timer.Reset(w.limit)
	}
}

// stop ends it for good; it may be called twice.
func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.timer != nil {
		w.timer.Stop()
	}
}

// bite ends the call. It may run as stop is called: cancelling a call that has ended does nothing.
func (w *watchdog) bite() {
	w.mu.Lock()
	cause := w.cause
	w.mu.Unlock()
	w.cancel(cause)
}
