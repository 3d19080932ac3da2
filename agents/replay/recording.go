// Package replay runs a recorded session again: what models answered, tools gave and the
// person said comes from the log, and all else is today's code (spec 7.3).
//
// [Read] takes a session's events apart; [Recording.Model] and [Recording.Tools] stand in
// the place of models and tools; [Compare] finds the first difference between what was
// recorded and what came. Who runs it is the caller's business. Nothing is sent, and no
// tool runs.
package replay

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
)

// Recording is a session as it was.
type Recording struct {
	// Requests are the runs that a person started, in order.
	Requests []Request
	// Unable is why the session cannot be run again; "" where it can.
	Unable string

	events []activity.Event

	mu    sync.Mutex
	runs  []*recordedRun
	calls map[string]activity.ToolState // how calls ended, by recorded id
	asks  map[string][]Answer           // of the person, by tool, in order
	shape map[string]string             // by call: the call whose answer held for it too, itself where it was asked about
	route []*activity.RouteDecided      // decisions of a model, in order
	aside []aside                       // answers of no run
}

// Request is what a person asked.
type Request struct {
	Run      string
	Agent    string // auto where the agent was picked
	Strategy string // of picking
	Started  activity.RunStarted
}

// Answer is what the person said about a call.
type Answer struct {
	Outcome  string
	Feedback string
	Args     json.RawMessage // with modify: what they made of the arguments
}

// recordedRun is one run as it was.
type recordedRun struct {
	id, agent, input, parent string
	answers                  []answer
	asides                   []aside
	failure                  string // why it ended, where it failed
	now                      string // the run that it is now; "" = it has not begun
}

// answer is one answer of a model.
type answer struct {
	content  activity.ModelContent
	finished activity.ModelFinished
}

// aside is an answer that is no turn of an agent's.
type aside struct {
	activity.ModelFinished
	used bool
}

// Read takes events apart.
func Read(events []activity.Event) *Recording {
	r := &Recording{events: events, calls: make(map[string]activity.ToolState), asks: make(map[string][]Answer), shape: make(map[string]string)}
	unable := func(format string, args ...any) {
		if r.Unable == "" {
			r.Unable = fmt.Sprintf(format, args...)
		}
	}
	finished := make(map[string]activity.ModelFinished) // by run: of the answer whose content comes next
	questions := make(map[string]activity.ConfirmationAsked)
	ended := make(map[string]bool)
	lasting := make(map[string]string) // by tool: the call whose answer holds longer
	for _, e := range events {
		run := r.run(e.Run)
		switch b := e.Body.(type) {
		case activity.RunStarted:
			r.runs = append(r.runs, &recordedRun{id: e.Run, agent: e.Agent, input: textOf(b.Input), parent: e.ParentRun})
			if len(b.Shell) > 0 {
				unable("run %s ran commands of its prompt", e.Run)
			}
			if e.ParentRun == "" && e.CorrelationID == e.Run {
				r.Requests = append(r.Requests, Request{Run: e.Run, Agent: e.Agent, Started: b})
			}
		case activity.RouteDecided:
			if n := len(r.Requests); n > 0 && r.Requests[n-1].Run == e.Run {
				r.Requests[n-1].Agent, r.Requests[n-1].Strategy = "auto", b.Strategy
			}
			if b.By == "user" {
				unable("the person picked the agent of run %s", e.Run)
			}
			if b.Model != nil {
				r.route = append(r.route, &b)
			}
		case activity.ModelFinished:
			if b.Purpose != "" && run != nil {
				run.asides = append(run.asides, aside{ModelFinished: b})
			} else if b.Purpose != "" {
				r.aside = append(r.aside, aside{ModelFinished: b})
			}
			finished[e.Run] = b
		case activity.ModelContent:
			if run != nil {
				run.answers = append(run.answers, answer{b, finished[e.Run]})
			}
		case activity.ToolState:
			if strings.HasPrefix(b.Name, "mcp.") {
				unable("run %s called %s, a tool of an MCP server", e.Run, b.Name)
			}
			if _, known := r.shape[b.Call]; !known {
				r.shape[b.Call] = lasting[b.Name]
			}
			if b.State.Terminal() {
				r.calls[b.Call] = b
			}
		case activity.ConfirmationAsked:
			questions[b.ID] = b
			r.shape[b.Call] = b.Call
		case activity.ConfirmationAnswered:
			q := questions[b.ID]
			if b.By != "user" && b.By != "policy" {
				unable("a question about %s was not answered by the person (%s)", q.Tool, b.By)
			}
			if b.Outcome == "run" || b.Outcome == "session" || b.Outcome == "always" {
				lasting[q.Tool] = q.Call
			}
			r.asks[q.Tool] = append(r.asks[q.Tool], Answer{Outcome: b.Outcome, Feedback: b.Feedback})
			if b.Outcome == "modify" {
				r.asks[q.Tool][len(r.asks[q.Tool])-1].Args = modified(events, q.Call)
			}
		case activity.RunFinished:
			ended[e.Run] = true
			switch b.Reason {
			case activity.Timeout, activity.Aborted, activity.Budget:
				unable("run %s ended %s, which does not come again", e.Run, b.Reason)
			}
			if run != nil && b.Error != nil {
				run.failure = b.Error.Message
			}
		case activity.RunState:
			if b.To == activity.Interrupted || b.To == activity.Paused {
				unable("run %s was %s", e.Run, b.To)
			}
		case activity.Input:
			unable("run %s was told something while it went on", e.Run)
		case activity.Rewound, activity.Forked, activity.ContextCleared, activity.ApprovalChanged:
			unable("the session has an event %s", b.Type())
		case activity.HookRan:
			unable("run %s had hooks", e.Run)
		case activity.ContextCompressed:
			if e.Run == "" {
				unable("a context was compressed by hand")
			}
		case activity.GraphNode:
			unable("run %s is of a graph", e.Run)
		case activity.Unknown:
			unable("the log is of a newer version (%s)", b.Name)
		}
	}
	for _, run := range r.runs {
		if !ended[run.id] {
			unable("run %s has not ended", run.id)
		}
	}
	if len(r.Requests) == 0 {
		unable("the session has no runs")
	}
	return r
}

// modified returns the arguments with which a call went on.
func modified(events []activity.Event, call string) (args json.RawMessage) {
	for _, e := range events {
		if b, ok := e.Body.(activity.ToolState); ok && b.Call == call {
			args = b.Args
		}
	}
	return args
}

// textOf is the text of an input.
func textOf(blocks []activity.ContentBlock) string {
	var b strings.Builder
	for _, block := range blocks {
		b.WriteString(block.Text)
	}
	return b.String()
}

// run returns a recorded run; nil for none.
func (r *Recording) run(id string) *recordedRun {
	for _, run := range r.runs {
		if run.id == id {
			return run
		}
	}
	return nil
}

// meet returns the recorded run that a run is now: the one of its id, else the first of
// its agent's that has not begun yet and was asked what req is about. r.mu is held.
func (r *Recording) meet(asker model.Asker, req *model.Request) *recordedRun {
	var free []*recordedRun
	for _, run := range r.runs {
		if run.now == asker.Run || (run.now == "" && run.id == asker.Run) {
			run.now = asker.Run
			return run
		}
		if run.now == "" && run.agent == asker.Agent {
			free = append(free, run)
		}
	}
	if req != nil {
		for _, run := range free {
			if run.input != "" && asks(req, run.input) {
				run.now = asker.Run
				return run
			}
		}
	}
	if len(free) == 0 {
		return nil
	}
	free[0].now = asker.Run
	return free[0]
}

// asks reports whether some message of the user's has a text.
func asks(req *model.Request, text string) bool {
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			if m.Role == model.User && strings.Contains(p.Text, text) {
				return true
			}
		}
	}
	return false
}

// Ask returns what the person said when they were asked about a tool; false where they
// were not.
func (r *Recording) Ask(tool string) (Answer, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.asks[tool]
	if len(list) == 0 {
		return Answer{}, false
	}
	r.asks[tool] = list[1:]
	return list[0], true
}
