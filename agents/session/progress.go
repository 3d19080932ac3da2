package session

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
)

// Progress is how far a run has come that has not finished, or that ended at its limit
// of turns or time and is its agent's newest: what taking it up again needs to know
// (REL-103, REL-123). It is folded from events.
type Progress struct {
	Run Run
	// Of the run's first event.
	Origin     activity.Origin     // of the run's first event
	Started    activity.RunStarted // must not be modified
	Turn       int                 // the newest; 0 = none has begun
	ModelCalls int                 // requests to models, also those that were tried again
	ToolCalls  int                 // that answers asked for
	// Usage is of the answers of each model. What its provider did not count is
	// estimated (REL-69).
	Usage map[string]model.Usage
	// Delegated is what the runs have used that it delegated to, and that have finished.
	Delegated Delegated
	Active    time.Duration // in the state running, up to the newest event that is not a delta
	Limit     string        // that a paused run would cross, or a finished one came to; "" for another reason
	// Extended is what persons have added to the run's limits.
	Extended  activity.Extended
	Guards    []activity.Guard             // that have judged
	Repairs   map[string][]activity.Repair // that were asked of the model, by guardrail, until it has judged
	Repairing bool                         // the model has not answered the newest of them
	Executed  bool                         // a command of the prompt had begun, before the first turn
	TurnOver  bool                         // the newest turn has finished
	Finish    model.Finish                 // of the newest answer that is in the context; "" for none
	// Moved says that the agent's context went on without the run: a later one of
	// it began, it was cleared, or the session went back to before the run's newest
	// turn.
	Moved   bool
	Open    []OpenCall        // of the run, in call order
	Changes []activity.Change // of files, in order
}

// Delegated is what the delegated runs of a run have used that have finished, and those
// that they delegated to, with what the model used that picked the run's agent.
type Delegated struct {
	Runs       int
	ModelCalls int
	Usage      model.Usage
	USD        float64
	Unpriced   bool // USD is not all of it
}

// add adds what a run has used that has finished.
func (d *Delegated) add(p Progress, b activity.RunFinished) {
	d.Runs += 1 + p.Delegated.Runs
	d.ModelCalls += p.ModelCalls + p.Delegated.ModelCalls
	d.Usage = d.Usage.Add(b.Usage)
	if b.Cost == nil {
		d.Unpriced = true
		return
	}
	d.USD += b.Cost.Amount
}

// OpenCall is a call of a context's last reply that has no result.
type OpenCall struct {
	Call  model.Call
	State activity.CallState // the newest that the log has; "" for none
	Risk  string             // as the log has it last; safe for a call that has no state
}

// progress folds a Progress.
//
// Whoever needs the numbers gets a copy from progressOf, which adds what the totals and the view have.
type progress struct {
	told   Progress // but for what the view and the totals have
	turn   uint64   // the event with which the newest turn began; 0 = none
	since  time.Time
	runs   bool // in the state running since then
	newest time.Time
	asked  int            // tokens of the newest request, estimated
	finish model.Finish   // of an answer whose content has not come yet
	rough  string         // the model whose answer was not counted, until its content has come
	guess  map[string]int // tokens of answers that were estimated from what they said
}

// foldProgress folds an event of a run. What a run has come to is kept until it
// has finished.
// s.mu is held. A run's progress is dropped at its end, unless it ended at a limit of turns or time, which
// more of it would lift, or has passed control to a run that has not begun.
func (s *Session) foldProgress(e activity.Event) {
	if b, clears := e.Body.(activity.ContextCleared); clears && b.Purged {
		for _, p := range s.progress {
			if p.told.Origin.Agent == valid(cmp.Or(b.Agent, e.Agent)) {
				p.purge()
			}
		}
	}
	p := s.progress[e.Run]
	if b, failed := e.Body.(activity.ErrorSeen); failed && b.Code == givenUp && p != nil && s.total.run(e.Run).over {
		delete(s.progress, e.Run)
		return
	}
	if _, begins := e.Body.(activity.RunStarted); begins {
		maps.DeleteFunc(s.progress, func(id string, _ *progress) bool { // control has passed on
			r := s.total.run(id)
			return r.over && r.Passed != nil && r.Passed.Run == e.Run
		})
	}
	if b, begins := e.Body.(activity.RunStarted); begins && p == nil && !s.total.run(e.Run).over {
		maps.DeleteFunc(s.progress, func(id string, other *progress) bool { // the agent goes on without it
			return other.told.Origin.ContextID() == e.ContextID() && s.total.run(id).over
		})
		p = &progress{since: e.Time, runs: true, newest: e.Time}
		p.told.Origin, p.told.Started = e.Origin, b
		s.progress[e.Run] = p
	}
	if p == nil {
		return
	}
	if b, over := e.Body.(activity.RunFinished); over {
		if caller := s.progress[e.ParentRun]; caller != nil {
			caller.told.Delegated.add(p.told, b)
			caller.told.Changes = append(caller.told.Changes, b.Changes...)
		}
		if p.told.Limit = limitOf(b.Reason); !s.passes(e.Run) &&
			(p.told.Limit == "" || e.Context != "") { // a context of its own goes with its run
			delete(s.progress, e.Run)
		}
		return
	}
	p.apply(e)
}

// passes reports whether a run has finished and its successor is yet to begin.
func (s *Session) passes(run string) bool {
	r := s.total.run(run)
	return r != nil && s.total.pending(r)
}

// limitOf returns the limit that ended a run which may be taken up again with more of
// it, "" for one that ended otherwise.
func limitOf(reason activity.Reason) string {
	switch reason {
	case activity.MaxTurns:
		return "turns"
	case activity.Timeout:
		return "time"
	}
	return ""
}

// apply folds an event of a run that has begun and not ended.
// s.mu is held. It is called in the log's order, for this run's events only.
func (p *progress) apply(e activity.Event) {
	t := &p.told
	switch b := e.Body.(type) {
	case activity.RunState:
		if p.move(b.To, e.Time); b.To != activity.Interrupted {
			t.Limit = b.Limit
		}
		if x := b.Extended; x != nil {
			t.Extended = t.Extended.Plus(*x)
		}
	case activity.TurnStarted:
		t.Turn, p.turn, t.TurnOver = b.Turn, e.Seq, false
	case activity.ToolState:
		t.Executed = t.Executed || (t.Turn == 0 && b.State == activity.Executing)
	case activity.TurnFinished:
		t.TurnOver = true
	case activity.ModelStarted:
		t.ModelCalls++
		p.asked = b.Tokens
	case activity.ModelFinished:
		p.countAnswer(b)
	case activity.ModelContent:
		p.recordContent(b)
	case activity.RouteDecided:
		if m := b.Model; m != nil && m.Answered() {
			t.Delegated.ModelCalls++
			t.Delegated.Usage = t.Delegated.Usage.Add(m.Usage)
			if m.Cost == nil {
				t.Delegated.Unpriced = true
			} else {
				t.Delegated.USD += m.Cost.Amount
			}
		}
	case activity.GuardrailChecked:
		t.Guards = append(t.Guards, b.Guard)
		delete(t.Repairs, b.Name)
	case activity.Retry:
		if b.Repair != nil {
			if t.Repairs == nil {
				t.Repairs = make(map[string][]activity.Repair)
			}
			t.Repairs[b.Repair.Guard] = append(t.Repairs[b.Repair.Guard], *b.Repair)
			t.Repairing = true
		}
	case activity.FileChanged:
		if b.URI != "" { // was not purged
			t.Changes = append(t.Changes, b.Change)
		}
	}
	p.newest = e.Time
}

// move takes a state. The time of a run that was interrupted is known up to the
// event before: the one that says so may be written long after.
func (p *progress) move(to activity.State, at time.Time) {
	if p.runs && to != activity.Running {
		if to == activity.Interrupted {
			at = p.newest
		}
		p.told.Active += max(at.Sub(p.since), 0)
		p.runs = false
	}
	if !p.runs && to == activity.Running {
		p.since, p.runs = at, true
	}
}

// countAnswer counts an answer.
func (p *progress) countAnswer(b activity.ModelFinished) {
	u := b.Usage
	p.finish, p.rough = b.Finish, ""
	// As a run counts it: what was not counted, or cannot be, is estimated.
	if u == (model.Usage{}) || u.InputTokens < 0 || u.OutputTokens < 0 || u.ThoughtTokens < 0 || u.CachedTokens < 0 {
		u = model.Usage{InputTokens: max(p.asked, 0), TotalTokens: max(p.asked, 0)}
		p.rough = b.Model
	}
	p.use(b.Model, u)
}

// use adds to what a model has used.
func (p *progress) use(id string, u model.Usage) {
	if p.told.Usage == nil {
		p.told.Usage = make(map[string]model.Usage)
	}
	p.told.Usage[id] = p.told.Usage[id].Add(u)
}

// recordContent takes an answer's content.
// Where the provider told no usage (p.rough), the tokens are estimated from the text, and what was
// estimated is noted apart: a purge takes the text out of the log, and the estimate with it.
func (p *progress) recordContent(b activity.ModelContent) {
	n := 0
	for _, part := range b.Content {
		n += model.EstimateTokens(part.Text)
		if part.Call != nil && !b.Invalid {
			p.told.ToolCalls++
		}
	}
	if p.rough != "" {
		p.use(p.rough, model.Usage{OutputTokens: n, TotalTokens: n})
		if p.guess == nil {
			p.guess = make(map[string]int)
		}
		p.guess[p.rough] += n
		p.rough = ""
	}
	if !b.Invalid {
		p.told.Finish = p.finish
		p.told.Repairing = false
	}
	p.finish = ""
}

// purge forgets what the log does not say any more.
func (p *progress) purge() {
	t := &p.told
	t.Started = activity.Purge(t.Started).(activity.RunStarted)
	t.ToolCalls, t.Changes, t.Guards, t.Repairs, t.Repairing = 0, nil, nil, nil, false
	for id, n := range p.guess {
		u := t.Usage[id]
		u.OutputTokens, u.TotalTokens = u.OutputTokens-n, u.TotalTokens-n
		t.Usage[id] = u
	}
	p.guess = nil
}

// Progress returns how far a run has come; false for one that has not begun, and for one that has finished,
// unless it ended at a limit and is its agent's newest. It has the open calls, so it is to be asked before
// CloseCalls ends them. The copy is the caller's, but for Started and Run, which must not be modified.
func (s *Session) Progress(run string) (Progress, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.progressOf(run)
}

// progressOf is Progress. s.mu is held.
// What it returns is a copy, apart from the events' own parts, which nobody changes.
func (s *Session) progressOf(run string) (Progress, bool) {
	p, r := s.progress[run], s.total.run(run)
	if p == nil || r == nil {
		return Progress{}, false
	}
	out := p.told
	out.Guards, out.Repairs = slices.Clone(p.told.Guards), maps.Clone(p.told.Repairs)
	out.Run, out.Usage, out.Changes = *r, maps.Clone(p.told.Usage), slices.Clone(p.told.Changes)
	if p.runs {
		out.Active += max(p.newest.Sub(p.since), 0)
	}
	v := s.views[p.told.Origin.ContextID()]
	out.Moved = v == nil || v.run != run || (p.turn != 0 && v.turn != p.turn)
	if v != nil {
		for _, c := range v.open() {
			if c.about.Run == run {
				out.Open = append(out.Open, OpenCall{Call: c.call, State: c.state, Risk: c.risk})
			}
		}
	}
	return out, true
}

// RunOfCall returns the run that a call of another run led to; false for none.
// It is the newest where a call led to several.
func (s *Session) RunOfCall(caller, call string) (Run, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.total.runs) - 1; i >= 0; i-- {
		if r := &s.total.runs[i]; r.about.ParentRun == caller && r.call == call && !r.Inherited {
			return *r, true
		}
	}
	return Run{}, false
}

// Caller returns the run that a person started and of whose tree a run is; its own id
// for one that a person started.
func (s *Session) Caller(run string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range s.total.runs { // a log that somebody wrote may have a circle
		r := s.total.run(run)
		if r == nil || r.about.ParentRun == "" {
			break
		}
		run = r.about.ParentRun
	}
	return run
}

// AbandonDelegated ends the runs that a run delegated to and left unfinished, but for
// those of the calls that are to go on.
// It appends events and returns before they are written; goOn is called without a lock.
func (s *Session) AbandonDelegated(run string, goOn func(call string) bool) {
	s.abandonDelegated(run, goOn, map[string]bool{run: true})
}

// abandonDelegated is AbandonDelegated, but for the runs seen: a log that somebody wrote
// may have a circle.
func (s *Session) abandonDelegated(run string, goOn func(call string) bool, seen map[string]bool) {
	for _, r := range s.Runs() {
		if r.about.ParentRun == run && !goOn(r.call) && !seen[r.Run] {
			s.abandon(r.Run, seen)
		}
	}
}

// GiveUpHandoff says that nobody takes over from a run which passed control to one that
// has not begun, and why. It returns the number of the event; 0 where there is no such run.
func (s *Session) GiveUpHandoff(run, why string) uint64 {
	s.mu.Lock()
	r := s.total.run(run)
	if r == nil || !s.total.pending(r) {
		s.mu.Unlock()
		return 0
	}
	about, to := r.about, r.Passed.To
	s.mu.Unlock()
	return s.Log.Append(about, activity.ErrorSeen{Code: givenUp, Message: why, Where: to}, 0)
}

// ModelCalls returns how often a run and those that it delegated to asked models, and what
// persons have added to its limits.
func (s *Session) ModelCalls(run string) (calls int, added activity.Extended) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := map[string]bool{run: true}
	for _, r := range s.total.runs { // who delegates begins before whom it delegates to
		if in[r.about.ParentRun] {
			in[r.Run] = true
		}
		if in[r.Run] {
			calls += r.calls
		}
	}
	if r := s.total.run(run); r != nil {
		added = r.added
	}
	return calls, added
}

// Abandon ends a run that nobody is going to take up again: one that is interrupted or paused, or that passed
// control to one which never began ([Session.GiveUpHandoff]). The calls that it left open get results, the
// runs that it delegated to are abandoned before it, since what they used counts, and it finishes ABORTED
// with what it has used. It returns the number of its last event; 0 where there is no such run, and for one
// that goes on: that one is cancelled by whoever runs it.
func (s *Session) Abandon(run string) uint64 { return s.abandon(run, make(map[string]bool)) }

// abandon is Abandon, but for the runs seen.
//
// seen keeps it from going round where runs name each other. 0 is for a run that is
// neither interrupted nor paused and has no handoff to give up.
func (s *Session) abandon(run string, seen map[string]bool) uint64 {
	seen[run] = true
	s.mu.Lock()
	r := s.total.run(run)
	left := r != nil && (r.State == activity.Interrupted || r.State == activity.Paused)
	to := ""
	if r != nil && s.total.pending(r) {
		to = r.Passed.To
	}
	s.mu.Unlock()
	switch {
	case to != "":
		return s.GiveUpHandoff(run, "The handoff to "+to+" was cancelled before it began.")
	case !left:
		return 0
	}
	s.abandonDelegated(run, func(string) bool { return false }, seen) // before it: what they used counts
	return s.abort(run)
}

// abort ends a run that has begun and not finished.
//
// Calls of the run that are open are closed first, so that none is without an end in the
// log. The result is the sequence number of the end, 0 for a run that is not known.
func (s *Session) abort(run string) uint64 {
	p, ok := s.Progress(run)
	if !ok {
		return 0
	}
	s.closeCalls(p.Origin.ContextID(), func(r *Run) bool { return r == nil || r.Run == run })
	var used model.Usage
	for _, u := range p.Usage {
		used = used.Add(u)
	}
	used = used.Add(p.Delegated.Usage)
	// Read again, it is the same: no list is nil.
	changes := append([]activity.Change{}, p.Changes...)
	s.Log.Append(p.Run.about, activity.RunState{From: p.Run.State, To: activity.Finished,
		Why: string(activity.Aborted)}, 0)
	return s.Log.Append(p.Run.about, activity.RunFinished{
		Reason: activity.Aborted, Usage: used, Turns: p.Turn, ToolCalls: p.ToolCalls,
		Chain:      []activity.Link{{Run: run, Agent: p.Run.Agent, DurationMs: p.Active.Milliseconds(), Usage: used}},
		Guardrails: []activity.Guard{}, Changes: changes, Problems: []definition.Problem{},
	}, 0)
}

// CloseCalls ends the calls of a context that nobody will end any more,
// since the run that made them was interrupted, paused or is over: each gets a
// tool.state cancelled that says so. Call it before a run of the agent begins
// or goes on. It returns the number of the last event, 0 when there was nothing
// to end.
// id is that of a context ([activity.Origin.ContextID]). Without it the next request to a model would be
// refused by the provider: a call without a result.
func (s *Session) CloseCalls(id string) uint64 {
	return s.closeCalls(id, func(r *Run) bool { return r == nil || !r.live() })
}

// closeCalls ends the open calls of those runs of which over says that they will not;
// it gets nil for a run that is not known.
func (s *Session) closeCalls(id string, over func(*Run) bool) uint64 {
	s.mu.Lock()
	var open []openCall
	if v := s.views[id]; v != nil {
		for _, c := range v.open() {
			if over(s.total.run(c.about.Run)) {
				open = append(open, c)
			}
		}
	}
	s.mu.Unlock()
	var last uint64
	for _, c := range open {
		last = s.Log.Append(c.about, activity.ToolState{
			Call: c.call.ID, Name: c.call.Name, Args: c.call.Args, State: activity.Cancelled, Risk: c.risk,
			Error: &activity.ToolError{Code: "tool.interrupted", Message: interrupted},
		}, 0)
	}
	return last
}
