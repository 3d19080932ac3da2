package run

import (
	"slices"

	"github.com/agentls/agentls/agents/tool"
)

// awaitWriters waits for the calls that t is behind, and plans it again. It
// returns false if the batch ended meanwhile.
func (b *batch) awaitWriters(t *task) bool {
	for _, earlier := range t.behind {
		select {
		case <-earlier.done:
		case <-t.ctx.Done():
			return false
		}
	}
	if len(t.behind) > 0 && t.ctx.Err() == nil {
		b.makePlan(t)
	}
	return t.ctx.Err() == nil
}

// writers are the calls of a batch that others may have to wait for.
//
// Only calls before one are looked at, so there is no circle and no deadlock:
// the first call waits for nobody.
type writers struct {
	of   map[string][]*task // by the files that they write
	late []*task
}

// add enters a call, for those behind it.
func (w *writers) add(t *task) {
	switch {
	case t.late:
		w.late = append(w.late, t)
	case t.plan != nil:
		for _, path := range t.plan.Writes {
			if w.of == nil {
				w.of = make(map[string][]*task)
			}
			w.of[path] = append(w.of[path], t)
		}
	}
}

// conflicts returns which of the calls before t it has to wait for: they write
// the same file, or may bring about what t lacks. It goes by the plans of the
// validation; a call without one may write anything, unless its tool only reads.
func (w *writers) conflicts(before []*task, t *task) (behind []*task) {
	switch {
	case t.late:
		for _, earlier := range before {
			if earlier.tool != nil {
				behind = append(behind, earlier)
			}
		}
	case t.plan != nil:
		// What only reads does not wait: it reads what is there when its turn comes.
		if t.plan.Risk != tool.Safe {
			behind = slices.Clone(w.late)
		}
		for _, path := range t.plan.Writes {
			behind = append(behind, w.of[path]...)
		}
	}
	return behind
}
