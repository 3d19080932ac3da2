package agents

import (
	"context"
	"sync"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/settings"
)

// tree is what all runs of a tree share: the first one, which a person started, and
// those that were delegated to, directly or by others (spec 3.3). Limits are those of
// the settings when the first run began. A tree that is taken up again after a restart
// counts the runs that it had.
type tree struct {
	limits settings.Limits
	trace  *bool // whether its runs are traced, where the person said so

	mu   sync.Mutex
	live int            // delegated runs that go on
	runs int            // delegated runs in all
	lent map[*Live]bool // runs whose own place a run has that they wait for
	left chan struct{}  // closed when a run leaves; nil = nobody waits
}

// enter takes one more delegated run in. The error is for the model. leave is called at
// the run's end. It does not wait: a model that gets the error goes on with what it
// has.
func (t *tree) enter() (leave func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.enterLocked()
}

// enterLocked is enter; mu is held.
func (t *tree) enterLocked() (leave func(), err error) {
	switch {
	case t.live >= t.limits.Live:
		return nil, tool.Errorf(tool.CodeFailed,
			"Nothing was delegated: %d agents are at work for this request, which is the limit (agents.limits.live). Wait for their results, or do it yourself.", t.live)
	case t.runs >= t.limits.Runs:
		return nil, tool.Errorf(tool.CodeFailed,
			"Nothing was delegated: this request has started %d agents, which is the limit (agents.limits.runs). Go on with what you have.", t.runs)
	}
	t.live++
	t.runs++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.live--
		t.wake()
	}, nil
}

// enterFor is enter for a run that the caller only waits for, a node of its graph or its
// judge: one such run has the caller's own place, so that there is always one that can go
// on, and others wait for places until ctx ends. Without the place that is lent, a graph
// in a tree that is full would wait for itself.
func (t *tree) enterFor(ctx context.Context, caller *Live) (leave func(), err error) {
	for {
		t.mu.Lock()
		// The caller's place is counted as live already, so this run is not counted once more.
		if !t.lent[caller] && t.runs < t.limits.Runs {
			if t.lent == nil {
				t.lent = make(map[*Live]bool)
			}
			t.lent[caller] = true
			t.runs++
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				defer t.mu.Unlock()
				delete(t.lent, caller)
				t.wake()
			}, nil
		}
		full := t.live >= t.limits.Live && t.runs < t.limits.Runs
		if full && t.left == nil {
			t.left = make(chan struct{})
		}
		if !full {
			defer t.mu.Unlock()
			return t.enterLocked()
		}
		left := t.left
		t.mu.Unlock()
		select {
		case <-left:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// wake tells those that wait that a run has left; mu is held.
func (t *tree) wake() {
	if t.left != nil {
		close(t.left)
		t.left = nil
	}
}

// treeOf returns the tree that a run is part of, a new one for a run that a person starts.
func (o origin) treeOf(set *Settings) *tree {
	if o.tree != nil {
		return o.tree
	}
	t := &tree{limits: set.Limits}
	if o.past != nil {
		t.runs = o.past.Delegated.Runs
	}
	return t
}
