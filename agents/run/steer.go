package run

import (
	"github.com/agentls/agentls/agents/activity"
)

// Steer adds a person's words to the run: its model is told them before the
// next turn. position is how many wait before them; seq is the event's number,
// which the caller commits before it tells the person. ok is false when the run
// has not begun, has ended or is about to, and nothing was taken.
//
// Words that a run's end leaves untold begin the agent's next run (REL-128).
//
// It does not wait, and may be called at any time, also while the run waits for
// a person. The whole of what was said until a turn begins goes into that turn.
func (run *Run) Steer(input []activity.ContentBlock) (position int, seq uint64, ok bool) {
	r := run.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.begun || r.closing || r.ended() {
		return 0, 0, false
	}
	position = r.steered
	seq = r.say(activity.Input{Input: input, Position: position})
	r.steered++
	return position, seq, true
}

// Begun reports whether the run's first event is written.
func (run *Run) Begun() bool {
	run.r.mu.Lock()
	defer run.r.mu.Unlock()
	return run.r.begun
}

// beginTurn begins the next turn, with what the person has said meanwhile.
func (r *runner) beginTurn() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	turn := int(r.turn.Add(1))
	// Words before this event are in the turn, words after it wait for the next: both are
	// appended under mu.
	r.say(activity.TurnStarted{Turn: turn})
	if r.steered > 0 {
		r.detector.Reset() // what the person wants again is no loop
		r.failures = failures{}
	}
	r.steered = 0
	return turn
}

// spoken reports whether a person has said something that no turn has taken.
func (r *runner) spoken() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.steered > 0
}

// closed ends the taking of words, unless some wait: then the run goes on. Both
// are decided under the lock that Steer takes, so no words fall between the
// last look and the end.
func (r *runner) closed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closing = r.steered == 0
	return r.closing
}

// untold closes the run for words and reports whether some were not told.
func (r *runner) untold() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closing = true
	return r.steered > 0
}
