package main

// What a timeline does while a question is on the screen.

import (
	"context"
	"time"
)

// inTurn shows something, at once or when no question is on the screen any more: other
// runs go on while one asks. Their events wait in memory until then.
func (t *timeline) inTurn(show func()) {
	t.turn.Lock()
	defer t.turn.Unlock()
	if t.questions > 0 {
		t.waiting = append(t.waiting, show)
		return
	}
	show()
}

// hold leaves the screen to a question until the function that it returns is called. The
// last question that ends shows what has waited, in its order.
func (t *timeline) hold() (release func()) {
	t.turn.Lock()
	t.questions++
	t.turn.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.newLineLocked()
	if t.status != nil {
		t.status.clear(time.Now())
		t.status.held++
	}
	return func() {
		t.mu.Lock()
		if t.status != nil {
			t.status.held--
			t.status.quiet = time.Now()
		}
		t.mu.Unlock()
		t.turn.Lock()
		defer t.turn.Unlock()
		if t.questions--; t.questions > 0 {
			return
		}
		// turn is still locked, so no newer event is shown in between.
		for _, show := range t.waiting {
			show()
		}
		t.waiting = nil
	}
}

// question returns the channel of a question's event. t.mu is held.
func (t *timeline) question(id string) chan struct{} {
	if t.asked[id] == nil {
		t.asked[id] = make(chan struct{})
	}
	return t.asked[id]
}

// awaitEvent waits until what came before a question was shown: a question overtakes the
// stream of events on its way here. It waits a second at most: better asked out of order
// than not.
func (t *timeline) awaitEvent(ctx context.Context, id string) {
	t.mu.Lock()
	seen := t.question(id)
	t.mu.Unlock()
	select {
	case <-seen:
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
}
