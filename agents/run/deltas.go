package run

import (
	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/mask"
)

// deltas tells what a model writes as it comes, without what the daemon holds,
// also where a chunk ends in the middle of it. What may be the beginning of such
// a value is told with the next chunk, or by flush.
type deltas struct {
	r             *runner
	text, thought *mask.Stream
	subject       string // the newest
}

// deltas returns the teller of one answer; each attempt has its own.
func (r *runner) deltas() *deltas {
	return &deltas{r: r, text: r.Mask.Stream(), thought: r.Mask.Stream()}
}

// take tells a chunk, and reports whether there is something in it to be shown.
func (d *deltas) take(subject, thought, text string) bool {
	if thought != "" {
		d.subject = subject
		if said := d.thought.Write(thought); said != "" {
			d.r.say(activity.ThoughtDelta{Subject: subject, Text: said})
		}
	}
	if text != "" {
		d.flushThought() // it came before
		if said := d.text.Write(text); said != "" {
			d.r.say(activity.ContentDelta{Text: said})
		}
	}
	return thought != "" || text != ""
}

// flush tells what was kept back.
// It is called at the end of each attempt, also of one that failed: what was told of it
// is withdrawn as a whole, by the event retry.
func (d *deltas) flush() {
	d.flushThought()
	if said := d.text.Flush(); said != "" {
		d.r.say(activity.ContentDelta{Text: said})
	}
}

// flushThought tells what was kept back of the thoughts.
func (d *deltas) flushThought() {
	if said := d.thought.Flush(); said != "" {
		d.r.say(activity.ThoughtDelta{Subject: d.subject, Text: said})
	}
}
