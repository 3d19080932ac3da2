package run

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/tool"
)

// How often a run asks in vain before it is paused (SEC-82).
const (
	maxUnanswered = 10 // questions in a row that nobody answered
	maxDenied     = 3  // refusals of calls of one shape, without a word why
	maxRefused    = 10 // refusals in a row, and questions of its own that were declined
)

// flood counts the questions that were asked in vain.
type flood struct {
	unanswered int
	refused    int
	denied     map[string]int // by tool and shape
	why        string         // the run has asked too often; "" = it has not
}

// recordAnswer counts an answer of the person.
//
// Only refusals without a word count as asked in vain: a person who writes why
// is working with the agent. A time-out says nothing about what the person
// wants, so it counts by itself.
func (r *runner) recordAnswer(p *tool.Plan, a Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := &r.flood
	shape := p.Tool + "\x00" + cmp.Or(p.Path, strings.Join(p.Names, " "), p.Shape, string(p.Args))
	switch {
	case a.By == "timeout":
		if f.unanswered++; f.unanswered >= maxUnanswered {
			f.why = fmt.Sprintf("%s has asked %d times, and nobody has answered.", r.Definition.Name, f.unanswered)
		}
		return
	case a.By != "user":
		return // the client cannot be asked
	}
	f.unanswered = 0
	if a.Outcome != guard.Reject || a.Feedback != "" { // who says why is at work with the model
		f.refused = 0
		delete(f.denied, shape)
		return
	}
	f.refuse(r.Definition.Name)
	if f.denied == nil {
		f.denied = make(map[string]int)
	}
	if f.denied[shape]++; f.denied[shape] >= maxDenied {
		f.why = fmt.Sprintf("%s goes on to ask for what was refused %d times: %s.", r.Definition.Name,
			f.denied[shape], tool.Escape(p.Title))
	}
}

// refuse counts a refusal of any kind. r.mu is held.
// Refusals of calls and of the agent's own questions are counted together.
func (f *flood) refuse(agent string) {
	if f.refused++; f.refused >= maxRefused {
		f.why = fmt.Sprintf("%s has asked %d times, and each was refused.", agent, f.refused)
	}
}

// recordReply takes the answer to a question of the agent's own in.
// action is that of [tool.Answer]; everything but accept is a refusal.
func (r *runner) recordReply(action string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if action == "accept" {
		r.flood.refused, r.flood.unanswered = 0, 0
		return
	}
	r.flood.refuse(r.Definition.Name)
}

// whyFlooded returns why nothing is asked any more in this turn; "" where it is.
func (r *runner) whyFlooded() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.flood.why
}

// calm pauses a run that has asked in vain too often, until the person lets it
// go on. It never goes on without asking instead.
func (r *runner) calm(ctx context.Context) (ending, bool) {
	why := r.whyFlooded()
	if why == "" {
		return ending{}, false
	}
	if !r.pause(ctx, "", why, "Go on, and ask again") {
		if end, over := r.over(ctx); over {
			return end, true
		}
		return endFailed("denied", "The run ended. "+why), true
	}
	// The counts begin anew, also those of the shapes that were refused: the person has been
	// asked about them.
	r.mu.Lock()
	r.flood = flood{}
	r.mu.Unlock()
	return ending{}, false
}
