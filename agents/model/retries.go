package model

import (
	"math/rand/v2"
	"sync"
	"time"
)

// RetryWithin bounds all attempts of one call of a model together, waits
// included (spec 12.2). What a provider asks to wait for longer is not waited
// for.
const RetryWithin = 3 * time.Minute

// The budget of retries of one key.
const (
	burst  = 30                     // tokens that are there at first, and at most
	refill = 5 * time.Second        // after which one comes back
	gap    = 200 * time.Millisecond // between two who waited for the same moment, on average
	spread = 10 * time.Second       // in which all of them have asked again
)

const tooManyRequests = 429 // HTTP

// Retries is what all runs that ask with one key share (REL-54): a budget of
// further attempts, so that together they do not hammer a provider that is
// down, and the time until which the provider wants to hear nobody. It is safe
// for concurrent use. Nil bounds nothing.
//
// A further attempt takes a token, and each answer brings one back, as does
// every five seconds. A run that gets none asks its next model, and then a
// person.
type Retries struct {
	now func() time.Time

	mu    sync.Mutex
	left  time.Duration // tokens, each as the time that brings it back
	since time.Time     // of left
	holds map[string]*hold
}

// hold is a time before which nobody asks; those who wait for it ask one after
// the other from then on.
type hold struct {
	until time.Time
	last  time.Time // when the last of those who wait asks
}

// NewRetries returns the whole budget of a key that nobody has asked with.
//
// now must be safe for concurrent use. There is one for each key, for the life of the
// daemon.
func NewRetries(now func() time.Time) *Retries {
	return &Retries{now: now, left: burst * refill, since: now(), holds: make(map[string]*hold)}
}

// Take reports whether another attempt may be made, and counts it.
// It does not wait; a nil Retries permits all.
func (r *Retries) Take() bool {
	if r == nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fillLocked(0)
	if r.left < refill {
		return false
	}
	r.left -= refill
	return true
}

// RecordAnswer says that a model has answered: the provider is there.
// Called once for each answer, whatever attempt it came of.
func (r *Retries) RecordAnswer() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fillLocked(refill)
}

// RecordRefusal takes in why a model did not answer: where the provider says how long
// to wait, nobody asks it before. That is about every model of the key if it
// says so of the key (429), and else about this one. What is longer than
// [RetryWithin] is for who was told it only: nobody waits so long.
func (r *Retries) RecordRefusal(model string, e *Error) {
	if r == nil || e.Class != Busy || e.RetryAfter <= 0 || e.RetryAfter > RetryWithin {
		return
	}
	if e.Status == tooManyRequests && !e.PerModel {
		model = "" // whoever asks
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.holds[model]
	if h == nil {
		h = new(hold)
		r.holds[model] = h
	}
	if until := r.now().Add(e.RetryAfter); until.After(h.until) {
		h.until = until
	}
}

// Turn returns how long to wait before a model is asked, 0 for not at all. Who
// waits asks again afterwards: meanwhile the provider may have said more.
func (r *Retries) Turn(model string) time.Duration {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	var wait time.Duration
	for _, of := range []string{"", model} {
		h := r.holds[of]
		if h == nil {
			continue
		}
		if !h.until.After(now) {
			delete(r.holds, of)
			continue
		}
		if h.last.Before(h.until) {
			h.last = h.until
		}
		h.last = h.last.Add(rand.N(2 * gap))
		if h.last.After(h.until.Add(spread)) { // they are many
			h.last = h.until.Add(rand.N(spread))
		}
		wait = max(wait, h.last.Sub(now))
	}
	return wait
}

// fillLocked adds what has come back: more, and what time has brought.
func (r *Retries) fillLocked(more time.Duration) {
	now := r.now()
	more += max(now.Sub(r.since), 0)
	r.since = now
	r.left = min(r.left+more, burst*refill)
}
