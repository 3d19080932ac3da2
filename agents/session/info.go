package session

import (
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

// Info is what a session's events add up to: the Session of spec 2.2. Of a
// session that is not open, [Store.List] fills Session, CreatedAt, UpdatedAt and
// Problem only.
type Info struct {
	Session      string         `json:"session"`
	Title        string         `json:"title"`  // the first line of the first request
	Folder       string         `json:"folder"` // the workspace's
	CreatedAt    time.Time      `json:"createdAt"`
	UpdatedAt    time.Time      `json:"updatedAt"`
	Agents       []string       `json:"agents"`       // in the order of their first run
	AgentChain   []string       `json:"agentChain"`   // of the newest run that no other run started
	HandoffCount int            `json:"handoffCount"` // runs that passed control on
	Runs         int            `json:"runs"`
	State        State          `json:"state"`
	Usage        model.Usage    `json:"usage"`             // of all answers of models
	Cost         *activity.Cost `json:"cost,omitempty"`    // of the runs that no other run started; absent where one is unknown
	Problem      string         `json:"problem,omitempty"` // why the session cannot be read
}

// Run is one run of a session.
type Run struct {
	Run    string          `json:"run"`
	Agent  string          `json:"agent"`
	State  activity.State  `json:"state"`
	Reason activity.Reason `json:"reason,omitempty"` // of a finished one
	about  activity.Origin
}

// totals folds what Info and Runs tell.
type totals struct {
	info    Info
	runs    []Run
	at      map[string]int // of runs, by id
	unknown bool           // some run's cost is unknown
}

func (t *totals) apply(e activity.Event) {
	if t.info.CreatedAt.IsZero() {
		t.info.CreatedAt = e.Time
	}
	t.info.UpdatedAt = e.Time
	switch b := e.Body.(type) {
	case activity.RunStarted:
		t.start(e.Origin, b)
	case activity.RunState:
		if r := t.run(e.Run); r != nil {
			r.State = b.To
		}
	case activity.RunFinished:
		t.finish(e.Origin, b)
	case activity.ModelFinished:
		t.info.Usage = t.info.Usage.Add(b.Usage)
	}
}

// run returns a run that has started; nil for another.
func (t *totals) run(id string) *Run {
	if i, ok := t.at[id]; ok {
		return &t.runs[i]
	}
	return nil
}

func (t *totals) start(o activity.Origin, b activity.RunStarted) {
	if t.at == nil {
		t.at = make(map[string]int)
	}
	if r := t.run(o.Run); r != nil {
		r.State = activity.Running
		return
	}
	t.at[o.Run] = len(t.runs)
	t.runs = append(t.runs, Run{Run: o.Run, Agent: o.Agent, State: activity.Running, about: o})
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
	if t.info.Title == "" {
		t.info.Title = title(b.Input)
	}
}

func (t *totals) finish(o activity.Origin, b activity.RunFinished) {
	r := t.run(o.Run)
	if r == nil || r.Reason != "" {
		return
	}
	r.State, r.Reason = activity.Finished, b.Reason
	if b.Reason == activity.HandedOff {
		t.info.HandoffCount++
	}
	if o.ParentRun != "" {
		return // its parent's has it
	}
	switch cost := t.info.Cost; {
	case b.Cost == nil || t.unknown || cost != nil && cost.Currency != b.Cost.Currency:
		t.unknown, t.info.Cost = true, nil
	case cost == nil:
		t.info.Cost = new(*b.Cost)
	default:
		sum := *cost
		sum.Amount += b.Cost.Amount
		sum.Enforced = sum.Enforced && b.Cost.Enforced
		sum.Estimated = sum.Estimated || b.Cost.Estimated
		t.info.Cost = &sum
	}
}

// state returns where the session stands: what asks most of a person first. An
// interrupted run counts while its agent has no newer one.
func (t *totals) state() State {
	has := map[activity.State]bool{}
	newest := map[string]bool{}
	for _, r := range slices.Backward(t.runs) {
		if r.State != activity.Interrupted || !newest[r.Agent] {
			has[r.State] = true
		}
		newest[r.Agent] = true
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

// title returns the first line of a person's text, cut.
func title(input []activity.ContentBlock) string {
	for _, b := range input {
		line, _, _ := strings.Cut(strings.TrimSpace(b.Text), "\n")
		if line = strings.TrimSpace(valid(line)); b.Type != "text" || line == "" {
			continue
		}
		if utf8.RuneCountInString(line) > maxTitle {
			line = string([]rune(line)[:maxTitle-1]) + "…"
		}
		return line
	}
	return ""
}
