package run

import (
	"sync"
	"time"
)

// stopwatch calls over when a run has used its time. It stands still while a
// person is waited for (the two clocks of spec 3.3).
//
// Holds are counted: it goes on when everybody who paused it has resumed it. The zero stopwatch
// never rings, and all its methods may be called.
type stopwatch struct {
	mu    sync.Mutex
	timer *time.Timer
	since time.Time     // of the timer's start
	left  time.Duration // at since
	holds int           // how many want it to stand still
}

// startStopwatch returns a running stopwatch; limit 0 means that it never rings.
func startStopwatch(limit time.Duration, over func()) *stopwatch {
	if limit <= 0 {
		return &stopwatch{}
	}
	return &stopwatch{timer: time.AfterFunc(limit, over), since: time.Now(), left: limit}
}

// pause has it stand still; resume must follow. Where over was called already it changes nothing.
func (s *stopwatch) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds++; s.holds == 1 && s.timer != nil && s.timer.Stop() {
		s.left -= time.Since(s.since)
	}
}

// resume takes one hold back, and goes on with what was left at the last one.
func (s *stopwatch) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A clock that has run out meanwhile rings at once.
	if s.holds--; s.holds == 0 && s.timer != nil {
		s.since = time.Now()
		s.timer.Reset(max(s.left, 0))
	}
}

// stop ends it: over is not called any more, unless it has begun. It may be called twice.
func (s *stopwatch) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
}

// add gives a run more time, if it is bounded.
func (s *stopwatch) add(seconds int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer == nil || seconds <= 0 {
		return
	}
	s.left += time.Duration(seconds) * time.Second
	if s.timer.Stop() { // it runs: what has passed counts
		s.left -= time.Since(s.since)
		s.since = time.Now()
		s.timer.Reset(max(s.left, 0))
	}
}
