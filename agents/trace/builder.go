package trace

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/activity"
)

// Moment is the beginning or the end of a span. Span is the builder's: its fields
// change until it has ended.
type Moment struct {
	*Span
	Begins bool
}

// Builder makes spans of a session's events. Its zero value has seen none. It keeps
// what is open only, and serves one goroutine.
// Events must be those of one session, in the order of the log. It never fails: events
// that do not fit, as of a log that was cut off, make spans that are open or without a
// parent.
type Builder struct {
	runs  map[string]*openRun // that have not ended
	calls map[string]*Span    // open tool calls, by id
	asked map[string]*Span    // open questions, by id
	after map[string]uint64   // the handoff that leads to a run which has not begun
	// Of the newest event.
	now time.Time
	seq uint64 // its number
	// What Add returns. The next call uses it again.
	out []Moment
}

// openRun is a run that has not ended.
// What it holds is open; the builder lets go of it when the run ends.
type openRun struct {
	// turn and model are nil where none is open.
	span, turn, model *Span
	asides            []aside
	children          []*Span  // open ones, in the order of their begin
	told              []string // what the model has been told since its last answer
}

// aside is a question to a model that is no turn of the agent's: of a tool, or a summary.
type aside struct {
	*Span
	purpose string
}

// Build returns the spans of a whole log, in the order of their begin. Those that have
// not ended are open.
// An open span ends at the newest event. The caller owns the result.
func Build(events []activity.Event) []*Span {
	var b Builder
	var spans []*Span
	for _, e := range events {
		for _, m := range b.Add(e) {
			if m.Begins {
				spans = append(spans, m.Span)
			}
		}
	}
	for _, s := range spans {
		if s.Open {
			s.End = b.now
		}
	}
	// A run whose beginning was not seen comes before what its first event began.
	slices.SortFunc(spans, func(a, b *Span) int { return cmp.Compare(a.ID, b.ID) })
	return spans
}

// Add takes the next event and returns the spans that begin and end with it. The
// result is good until the next call.
// Deltas are ignored: their text comes again as a whole. A span that began with an
// earlier event may get more details until it has ended; the pointer stays the same. A
// span that begins and ends at once is there twice.
func (b *Builder) Add(e activity.Event) []Moment {
	b.out, b.seq = b.out[:0], e.Seq
	switch e.Body.(type) {
	case activity.ContentDelta, activity.ThoughtDelta, activity.ToolDelta:
		return nil
	}
	if e.Run == "" {
		b.now = e.Time
		return nil
	}
	if b.runs == nil {
		b.runs, b.calls, b.asked, b.after = make(map[string]*openRun), make(map[string]*Span), make(map[string]*Span),
			make(map[string]uint64)
	}
	// While an event is taken, now is the time of the one before it.
	b.take(b.run(e), e)
	b.now = e.Time
	return b.out
}

// Awaits reports whether control has passed to a run that has not begun.
// Whoever lets a builder go when nothing is open keeps it then: the run that begins next
// belongs to the same trace.
func (b *Builder) Awaits() bool { return len(b.after) > 0 }

// Skip tells the builder that a run has begun whose events it will not be given.
// Else [Builder.Awaits] would stay true.
func (b *Builder) Skip(run string) { delete(b.after, run) }

// run returns the open run of an event. One whose beginning was not seen, as after a
// restart, begins with it. A span has the id 2·seq+1, so that the one before it, which
// is even, is free for a run that begins with another event's span.
func (b *Builder) run(e activity.Event) *openRun {
	if r := b.runs[e.Run]; r != nil {
		return r
	}
	r := new(openRun)
	b.runs[e.Run] = r
	r.span = b.begin(r, e, Run, e.Agent)
	// endAll ends the children, of which the run's own span is none.
	r.children = nil
	if _, first := e.Body.(activity.RunStarted); !first {
		r.span.ID-- // the event may begin a span of its own
	}
	if r.span.After = b.after[e.Run]; r.span.After != 0 {
		delete(b.after, e.Run)
	}
	if parent := b.runs[e.ParentRun]; parent != nil {
		r.span.Parent = parent.span.ID
	}
	return r
}

// begin begins a span of a run.
// Its parent is the turn that goes on, or the run; callers that know better set it. Its
// number is odd, so that the one below is free for a run whose first event was not seen.
func (b *Builder) begin(r *openRun, e activity.Event, kind Kind, name string, details ...Field) *Span {
	s := &Span{
		ID: 2*e.Seq + 1, Seq: e.Seq, Kind: kind, Name: name, Agent: e.Agent, Run: e.Run, CorrelationID: e.CorrelationID,
		Start: e.Time, End: e.Time, Open: true, Details: details,
	}
	switch {
	case kind == Run:
	case kind != Turn && r.turn != nil:
		s.Parent = r.turn.ID
	default:
		s.Parent = r.span.ID
	}
	r.children = append(r.children, s)
	b.out = append(b.out, Moment{s, true})
	return s
}

// end ends a span, once.
// nil and a span that has ended are ignored. An answer of a model ended when it was
// whole, whatever ends the span.
func (b *Builder) end(r *openRun, s *Span, at time.Time, failure string) {
	if s == nil || !s.Open {
		return
	}
	if s.Kind == Model && s.Finish != "" { // it has answered, and that was its end
		failure, at = "", s.End
	}
	s.Open, s.Until, s.Error = false, b.seq, cmp.Or(s.Error, failure)
	if at.After(s.End) {
		s.End = at
	}
	r.children = slices.DeleteFunc(r.children, func(c *Span) bool { return c == s })
	switch s.Kind {
	case Tool:
		delete(b.calls, s.Call)
	case Model:
		r.asides = slices.DeleteFunc(r.asides, func(a aside) bool { return a.Span == s })
		if r.model == s {
			r.model = nil
		}
	case Turn:
		r.turn = nil
	}
	b.out = append(b.out, Moment{s, false})
}

// endAll ends what is open in a run, the innermost first, but for the run itself.
// Questions of the run are forgotten with it.
func (b *Builder) endAll(r *openRun, at time.Time, failure string) {
	for _, s := range slices.Backward(slices.Clone(r.children)) {
		why := failure
		if s.Kind == Turn {
			why = ""
		}
		b.end(r, s, at, why)
	}
	for id, s := range b.asked {
		if s.Run == r.span.Run {
			delete(b.asked, id)
		}
	}
}

// instant adds a span that ends as it begins; took is how long before it began.
func (b *Builder) instant(r *openRun, e activity.Event, kind Kind, name, failure string, took time.Duration,
	details ...Field) *Span {
	s := b.begin(r, e, kind, name, details...)
	s.Start = e.Time.Add(-took)
	b.end(r, s, e.Time, failure)
	return s
}

// take does what an event says. One of a type that is not named here changes no span.
// It is called in the log's order. What was begun and never ended, as when a daemon
// died, is ended with a failure by whatever comes next that rules it out.
func (b *Builder) take(r *openRun, e activity.Event) {
	switch body := e.Body.(type) {
	case activity.RunStarted:
		b.start(r, e, body)
	case activity.Input:
		r.hear("user", activity.TextOf(body.Input))
	case activity.Note:
		if body.ToModel {
			r.hear("user", body.Message)
		}
	case activity.RouteDecided:
		b.route(r, e, body)
	case activity.TurnStarted:
		b.end(r, r.turn, e.Time, "")
		r.turn = b.begin(r, e, Turn, "turn", Field{Name: "turn", Value: body.Turn})
	case activity.TurnFinished:
		b.end(r, r.model, e.Time, "no answer")
		b.end(r, r.turn, e.Time, "")
	case activity.ModelStarted:
		b.startModel(r, e, body)
	case activity.ModelFinished:
		b.endAnswer(r, e, body)
	case activity.ModelContent:
		b.addContent(r, body)
	case activity.Retry:
		if body.Of == "model" {
			failed := r.model
			// With several open it is not known which of them is tried again.
			if failed == nil && len(r.asides) == 1 {
				failed = r.asides[0].Span
			}
			b.end(r, failed, e.Time, cmp.Or(body.Cause, "tried again"))
		}
	case activity.ToolState:
		b.tool(r, e, body)
	case activity.ConfirmationAsked:
		b.ask(r, e, body)
	case activity.ConfirmationAnswered:
		if s := b.asked[body.ID]; s != nil {
			delete(b.asked, body.ID)
			s.Details = append(s.Details, Field{Name: "approved", Value: approves(body.Outcome)},
				Field{Name: "outcome", Value: body.Outcome}, Field{Name: "by", Value: body.By})
			b.end(r, s, e.Time, "")
		}
	case activity.HandoffStarted:
		s := b.instant(r, e, Handoff, body.From+" → "+body.To, "", 0, handoffDetails(body)...)
		if body.Run != "" {
			b.after[body.Run] = s.ID
		}
	case activity.HandoffRejected:
		b.instant(r, e, Handoff, body.From+" → "+body.To, body.Code+": "+body.Message, 0,
			Field{Name: "from_agent", Value: body.From}, Field{Name: "to_agent", Value: body.To})
	case activity.HookRan:
		failure := ""
		if body.Decision == "failed" {
			failure = cmp.Or(body.Reason, "failed")
		}
		s := b.instant(r, e, Hook, body.Name, failure, time.Duration(e.DurationMs)*time.Millisecond,
			Field{Name: "event", Value: body.Event}, Field{Name: "decision", Value: body.Decision},
			Field{"reason", body.Reason, true})
		if call := b.calls[body.Call]; call != nil {
			s.Parent = call.ID
		}
	case activity.RunState:
		// The next daemon may be the one that tells it, so the run ended with the event
		// before.
		if body.To == activity.Interrupted {
			b.endAll(r, b.now, "interrupted")
		}
	case activity.RunFinished:
		b.finish(r, e, body)
	case activity.GuardrailChecked:
		b.guardrail(r, e, body)
	}
}

// startModel begins a request to a model. One without an answer ended with the event before
// this one, at the latest.
func (b *Builder) startModel(r *openRun, e activity.Event, body activity.ModelStarted) {
	if body.Purpose != "" {
		b.startAside(r, e, body)
		return
	}
	b.end(r, r.model, b.now, "no answer")
	r.model = b.begin(r, e, Model, body.Model, Field{Name: "model", Value: body.Model})
	if len(r.told) > 0 {
		r.model.Details = append(r.model.Details, Field{"prompt", strings.Join(r.told, "\n"), true})
	}
}

// start completes a run's span with what its first event says. A run that a tool started
// is a part of that call.
func (b *Builder) start(r *openRun, e activity.Event, body activity.RunStarted) {
	s := r.span
	s.Name, s.Details = e.Agent, Details{
		{Name: "run", Value: e.Run}, {Name: "model", Value: body.Model}, {Name: "mode", Value: body.Mode},
		{Name: "approval", Value: body.Approval},
	}
	if text := activity.TextOf(body.Input); text != "" {
		s.Details = append(s.Details, Field{"input", text, true})
		r.hear("user", text)
	}
	if call := b.calls[body.Call]; call != nil && body.Call != "" {
		s.Parent = call.ID
	}
}

// finish ends a run.
// What is still open in it failed with it. The run is forgotten.
func (b *Builder) finish(r *openRun, e activity.Event, body activity.RunFinished) {
	b.endAll(r, e.Time, "the run ended: "+string(body.Reason))
	s := r.span
	s.Usage, s.Finish = body.Usage, string(body.Reason)
	s.Details = append(s.Details, Field{Name: "reason", Value: body.Reason}, Field{Name: "turns", Value: body.Turns},
		Field{Name: "tool_calls", Value: body.ToolCalls}, tokens(body.Usage))
	if body.Text != "" {
		s.Details = append(s.Details, Field{"text", body.Text, true})
	}
	failure := ""
	switch {
	case body.Error != nil:
		failure = body.Error.Message
	case body.Reason != activity.Goal && body.Reason != activity.HandedOff:
		failure = string(body.Reason)
	}
	b.end(r, s, e.Time, failure)
	delete(b.runs, e.Run)
}

// guardrail adds the outcome of a check. What was wrong is content, since it may quote
// the output.
func (b *Builder) guardrail(r *openRun, e activity.Event, body activity.GuardrailChecked) {
	details := Details{{Name: "guardrail_type", Value: "output_validation"},
		{Name: "guardrail_result", Value: body.Outcome}, {Name: "policy", Value: body.Policy}}
	failure := ""
	if len(body.Errors) > 0 {
		details = append(details, Field{"errors", body.Errors, true})
	}
	if body.Outcome == "failed" {
		failure = "the check failed"
	}
	b.instant(r, e, Guardrail, body.Name, failure, time.Duration(e.DurationMs)*time.Millisecond, details...)
}
