package session

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
)

// maxTitle bounds a title, in characters.
const maxTitle = 80

// State is where a session stands, as its runs do (spec 2.2).
type State string

// The states of a session.
const (
	Idle        State = "idle"        // no run goes on
	Running     State = "running"     // a run goes on
	Waiting     State = "waiting"     // a person must answer
	Paused      State = "paused"      // a run is stopped and can go on
	Interrupted State = "interrupted" // the daemon ended during an agent's newest run
)

// afterClose returns the state of a session that nobody has open: opening it will
// find that its live runs were interrupted.
func (s State) afterClose() State {
	if s == Running || s == Waiting {
		return Interrupted
	}
	return s
}

// Info is what a session's events add up to: the Session of spec 2.2.
//
// It is a copy and the caller's to keep. Times are UTC. Of a session that is not
// open it may be older than its log, and sums may be of a part of it ([Store.List]).
type Info struct {
	// The session's id.
	Session string `json:"session"`
	Title   string `json:"title"`           // given, or the first line of the first request
	Agent   string `json:"agent,omitempty"` // who answers where a request names nobody; absent = main
	Folder  string `json:"folder"`          // the workspace's
	// When the session was begun.
	CreatedAt time.Time `json:"createdAt"`
	// When something last happened in it.
	UpdatedAt time.Time `json:"updatedAt"`
	// The agents that have run, in the order of their first run; never null.
	Agents []string `json:"agents"`
	// The agents that control passed through in the newest run that no other run
	// started; never null.
	AgentChain   []string `json:"agentChain"`
	HandoffCount int      `json:"handoffCount"` // runs that passed control on
	// Runs that were started, delegated ones and those of agents that took over
	// included.
	Runs    int            `json:"runs"`
	State   State          `json:"state"`
	Usage   model.Usage    `json:"usage"`             // of all answers of models
	Cost    *activity.Cost `json:"cost,omitempty"`    // of the runs that no other run started; absent where one is unknown
	Locked  bool           `json:"locked,omitempty"`  // another daemon has it
	Problem string         `json:"problem,omitempty"` // why the session, or a part of it, cannot be read
}

// Run is one run of a session.
//
// Runs come as copies; what they point to is shared with the session and must not be
// modified.
type Run struct {
	// The run's id, unique in the session.
	Run   string `json:"run"`
	Agent string `json:"agent"`
	// Where it stands. It says finished as soon as that was told, which is one event
	// before the result.
	State  activity.State  `json:"state"`
	Reason activity.Reason `json:"reason,omitempty"` // of a finished one
	// Inherited says that the run is another session's, from which this one was
	// forked: it ended here, whatever becomes of it there.
	Inherited bool `json:"-"`

	Began  time.Time                `json:"-"`
	Ended  time.Time                `json:"-"` // its newest event that the totals know of
	Used   model.Usage              `json:"-"` // of its answers
	Chain  []activity.Link          `json:"-"` // of the runs up to this one, once it has finished; must not be modified
	Passed *activity.HandoffStarted `json:"-"` // by which it passed control on; nil for none; must not be modified

	about activity.Origin
	call  string            // of its caller
	calls int               // of models, its own; not of one whose log was only skimmed
	added activity.Extended // to its limits
	seq   uint64            // of its first event
	over  bool              // it has its last event; a state may say so before
	cost  float64           // that its last event told; when it is taken up again, the next one has it too
	title string            // what its request suggests for the session
}

// live reports whether the run goes on or waits for a person.
func (r *Run) live() bool {
	return r.State == activity.Running || r.State == activity.Waiting || (r.State == activity.Finished && !r.over)
}

// totals folds what Info and Runs tell.
//
// It is folded with s.mu held while the session is open. A list folds one too, of
// the events of [totalled] only and without the session: whatever it folds from
// another type would be missing there.
type totals struct {
	info    Info
	runs    []Run
	at      map[string]int // of runs, by id
	unknown bool           // some run's cost is unknown
	title   string         // that was given
}

// name returns the session's title.
func (t *totals) name() string {
	if t.title != "" {
		return t.title
	}
	for i := range t.runs {
		if t.runs[i].title != "" {
			return t.runs[i].title
		}
	}
	return ""
}

// apply folds one event.
// It needs no other event of the log than those of totalled, and is called in the
// log's order.
func (t *totals) apply(e activity.Event) {
	if t.info.CreatedAt.IsZero() {
		t.info.CreatedAt = e.Time
	}
	t.info.UpdatedAt = e.Time
	if r := t.run(e.Run); r != nil && !r.over {
		r.Ended = e.Time
	}
	switch b := e.Body.(type) {
	case activity.RunStarted:
		t.start(e, b)
	case activity.RunState:
		if r := t.run(e.Run); r != nil {
			if r.over && b.From == activity.Finished && b.To == activity.Running {
				r.over, r.Reason = false, "" // it is taken up again
			}
			if !r.over {
				r.State = b.To
			}
			if b.Extended != nil {
				r.added = r.added.Plus(*b.Extended)
			}
		}
	case activity.RouteDecided:
		if m, r := b.Model, t.run(e.Run); m != nil && r != nil && m.Answered() {
			t.info.Usage, r.Used = t.info.Usage.Add(m.Usage), r.Used.Add(m.Usage)
			r.calls++
		}
	case activity.ModelStarted:
		if r := t.run(e.Run); r != nil {
			r.calls++
		}
	case activity.ErrorSeen:
		// Nobody takes over any more, so the run waits for no successor. What others may hold
		// is not changed.
		if r := t.run(e.Run); r != nil && b.Code == givenUp && r.over && r.Passed != nil {
			passed := *r.Passed
			passed.Run = ""
			r.Passed = &passed
		}
	case activity.RunFinished:
		t.finish(e.Origin, b)
	case activity.HandoffStarted:
		if r := t.run(e.Run); r != nil {
			r.Passed = &b
		}
	case activity.ModelFinished:
		t.info.Usage = t.info.Usage.Add(b.Usage)
		if r := t.run(e.Run); r != nil {
			r.Used = r.Used.Add(b.Usage)
		}
	case activity.Forked:
		if b.From {
			t.fork()
		}
	case activity.ContextCleared:
		if !b.Purged {
			break
		}
		agent := valid(cmp.Or(b.Agent, e.Agent))
		for i := range t.runs {
			if t.runs[i].Agent == agent {
				t.runs[i].title = ""
			}
		}
	}
}

// toInfo returns what the events add up to, for a session.
func (t *totals) toInfo(id, folder string) Info {
	info := t.info
	info.Session, info.Folder, info.Title, info.State = id, folder, t.name(), t.state()
	info.Agents = append([]string{}, info.Agents...)
	info.AgentChain = append([]string{}, info.AgentChain...)
	if info.Cost != nil {
		info.Cost = new(*info.Cost)
	}
	return info
}

// totalled are the types of the events that the totals are folded from.
var totalled = []string{
	activity.RunStarted{}.Type(), activity.RunState{}.Type(), activity.RunFinished{}.Type(),
	activity.ModelFinished{}.Type(), activity.HandoffStarted{}.Type(), activity.ErrorSeen{}.Type(),
	activity.RouteDecided{}.Type(), activity.ContextCleared{}.Type(), activity.Forked{}.Type(),
}

// run returns a run that has started; nil for another.
func (t *totals) run(id string) *Run {
	if i, ok := t.at[id]; ok {
		return &t.runs[i]
	}
	return nil
}

// fork begins the count of a session that goes on from another: what was used
// before was used there.
func (t *totals) fork() {
	t.info.Usage, t.info.Cost, t.unknown = model.Usage{}, nil, false
	for i := range t.runs {
		t.runs[i].Inherited = true
	}
}

// start enters a run. A run that is there already, as one that is told of twice in a
// log that was repaired, only goes on.
func (t *totals) start(e activity.Event, b activity.RunStarted) {
	o := e.Origin
	if t.at == nil {
		t.at = make(map[string]int)
	}
	if r := t.run(o.Run); r != nil {
		if !r.over {
			r.State = activity.Running
		}
		return
	}
	t.at[o.Run] = len(t.runs)
	t.runs = append(t.runs, Run{Run: o.Run, Agent: o.Agent, State: activity.Running, about: o, call: valid(b.Call),
		seq: e.Seq, title: title(b.Input), Began: e.Time, Ended: e.Time})
	t.info.Runs++
	if !slices.Contains(t.info.Agents, o.Agent) {
		t.info.Agents = append(t.info.Agents, o.Agent)
	}
	if o.ParentRun == "" {
		t.info.AgentChain = slices.Clone(b.Chain)
		if len(b.Chain) == 0 {
			t.info.AgentChain = []string{o.Agent}
		}
	}
}

// finish takes a run's result. Costs are added up over the runs that persons
// started, which have those of the runs below them; one cost that is not known makes
// the sum unknown, since a sum that misses a part would be read as the whole. A run
// that was taken up again and finishes once more tells its whole cost again, so what
// it told before is taken off.
func (t *totals) finish(o activity.Origin, b activity.RunFinished) {
	r := t.run(o.Run)
	if r == nil || r.over {
		return
	}
	r.State, r.Reason, r.over, r.Chain = activity.Finished, b.Reason, true, b.Chain
	if b.Reason == activity.HandedOff {
		t.info.HandoffCount++
	}
	if o.ParentRun != "" || r.Inherited {
		return // its parent's has it, or another session
	}
	before := r.cost
	if b.Cost != nil {
		r.cost = b.Cost.Amount
	}
	switch cost := t.info.Cost; {
	case b.Cost == nil || t.unknown || (cost != nil && cost.Currency != b.Cost.Currency):
		t.unknown, t.info.Cost = true, nil
	case cost == nil:
		t.info.Cost = new(*b.Cost)
	default:
		sum := *cost
		sum.Amount += b.Cost.Amount - before
		sum.Enforced = sum.Enforced && b.Cost.Enforced
		sum.Estimated = sum.Estimated || b.Cost.Estimated
		t.info.Cost = &sum
	}
}

// state returns where the session stands: what asks most of a person first. A
// run that is interrupted or paused counts while its agent has no newer one.
func (t *totals) state() State {
	has := map[activity.State]bool{}
	newest := map[string]bool{}
	for _, r := range slices.Backward(t.runs) {
		switch {
		case r.State == activity.Finished && r.live():
			has[activity.Running] = true
		case t.pending(&r) && !newest[r.about.ContextID()]:
			has[activity.Interrupted] = true
		case r.State == activity.Interrupted && r.about.ParentRun != "": // goes on with its caller
		case (r.State != activity.Interrupted && r.State != activity.Paused) || !newest[r.about.ContextID()]:
			has[r.State] = true
		}
		newest[r.about.ContextID()] = true
	}
	switch {
	case has[activity.Waiting]:
		return Waiting
	case has[activity.Running]:
		return Running
	case has[activity.Paused]:
		return Paused
	case has[activity.Interrupted]:
		return Interrupted
	}
	return Idle
}

// givenUp is the code of the error which says that nobody takes over from a run that
// passed control on.
const givenUp = "handoff"

// pending reports whether a run passed control on to one that has not begun.
func (t *totals) pending(r *Run) bool {
	return r.over && r.Reason == activity.HandedOff && r.Passed != nil && r.Passed.Run != "" &&
		t.run(r.Passed.Run) == nil
}

// title returns the first line of a person's text, cut.
func title(input []activity.ContentBlock) string {
	for _, b := range input {
		if line := oneLine(b.Text); b.Type == "text" && line != "" {
			return line
		}
	}
	return ""
}

// oneLine returns the first line of a text, cut to a title.
func oneLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = strings.TrimSpace(valid(line))
	if utf8.RuneCountInString(line) > maxTitle {
		line = string([]rune(line)[:maxTitle-1]) + "…"
	}
	return line
}
