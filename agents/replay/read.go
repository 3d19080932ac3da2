package replay

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentls/agentls/agents/activity"
)

// reader takes a log apart.
// It is used for one call of [Read]; what is not in the Recording is only needed while it reads.
type reader struct {
	*Recording
	finished  map[string]activity.ModelFinished // by run: of the answer whose content comes next
	questions map[string]activity.ConfirmationAsked
	ended     map[string]bool       // by run
	lasting   map[string]string     // by tool: the call whose answer holds longer
	waiting   map[nodeKey]bool      // for the person
	words     map[string]said       // by run: that nothing has come after yet
	last      map[string]func(said) // by run: adds to what came last in its turn
	ran       map[hookKey][]RanHook // that have not decided together yet
}

// Read takes events apart. They are those of the whole session, in order; they are kept
// and must not be changed. It does not fail: what cannot be run again is in Unable.
func Read(events []activity.Event) *Recording {
	r := reader{
		Recording: &Recording{
			events: events, calls: make(map[string]activity.ToolState), asks: make(map[string][]Answer),
			nodes: make(map[nodeKey][]string),
			shape: make(map[string]string), hooks: make(map[hookKey][]Hooked), hooked: make(map[string]bool),
			names:  make(map[string]string),
			during: make(map[string]said),
		},
		finished: make(map[string]activity.ModelFinished), questions: make(map[string]activity.ConfirmationAsked),
		ended:   make(map[string]bool),
		lasting: make(map[string]string), waiting: make(map[nodeKey]bool), words: make(map[string]said),
		last: make(map[string]func(said)), ran: make(map[hookKey][]RanHook),
	}
	for _, e := range events {
		r.take(e)
	}
	if len(r.ran) > 0 {
		r.unable("the log is of an older version, which did not keep what hooks decide")
	}
	for _, run := range r.runs {
		if !r.ended[run.id] {
			r.unable("run %s has not ended", run.id)
		}
	}
	if len(r.runs) == 0 {
		r.unable("the session has no runs")
	}
	return r.Recording
}

// unable keeps the first reason why the session cannot be run again.
func (r *reader) unable(format string, args ...any) {
	if r.Unable == "" {
		r.Unable = fmt.Sprintf(format, args...)
	}
}

// take takes one event.
// What cannot be repeated (interrupted or timed out runs, what was purged) is noted by unable,
// which keeps the session from being run again.
func (r *reader) take(e activity.Event) {
	switch b := e.Body.(type) {
	case activity.RunStarted:
		r.start(e, b)
	case activity.RouteDecided:
		r.pick(e, b)
	case activity.Note:
		if run := r.run(e.Run); run != nil && b.ToModel && b.Level == "warning" && len(run.answers) == 0 &&
			strings.Contains(b.Message, "MCP server") {
			run.left = append(run.left, b.Message)
		}
	case activity.TurnStarted:
		r.settle(e.Run)
	case activity.ModelFinished, activity.ModelContent:
		r.readAnswer(e)
	case activity.ToolState:
		r.readCall(e, b)
	case activity.ConfirmationAsked, activity.ConfirmationAnswered:
		r.readConfirmation(b)
	case activity.RunFinished:
		r.settle(e.Run)
		r.ended[e.Run] = true
		switch b.Reason {
		case activity.Timeout, activity.Aborted, activity.Budget:
			if r.run(e.Run) == nil {
				return // it waited for its turn, and did nothing
			}
			r.unable("run %s ended %s, which does not come again", e.Run, b.Reason)
		}
		if run := r.run(e.Run); run != nil && b.Error != nil {
			run.failure = b.Error.Message
		}
	case activity.RunState:
		if b.To == activity.Interrupted || b.To == activity.Paused {
			r.unable("run %s was %s", e.Run, b.To)
		}
	case activity.Input:
		if r.run(e.Run) != nil { // else it waits in the queue, and is in its first event again
			r.words[e.Run] = append(r.words[e.Run], b.Input)
		}
	case activity.HookRan:
		r.hook(e, b)
	case activity.GraphNode:
		r.node(e, b)
	default:
		r.between(e)
	}
}

// between takes what the person did between runs.
// They become requests of the replay, in their place among the runs.
func (r *reader) between(e activity.Event) {
	switch b := e.Body.(type) {
	case activity.ContextCleared:
		if b.Purged {
			r.unable("what %s said was purged", b.Agent)
		}
		r.Requests = append(r.Requests, Request{Agent: b.Agent, Cleared: b.Agent})
	case activity.ApprovalChanged:
		for _, run := range r.runs {
			if !r.ended[run.id] {
				r.unable("the approval of run %s was changed while it went on", run.id)
			}
		}
		r.Requests = append(r.Requests, Request{Approval: b.To})
	case activity.ContextCompressed:
		if e.Run == "" {
			r.Requests = append(r.Requests, Request{Agent: b.Agent, Compressed: b.Agent})
		}
	case activity.Rewound, activity.Forked:
		r.unable("the session has an event %s", b.Type())
	case activity.Unknown:
		r.unable("the log is of a newer version (%s)", b.Name)
	}
}

// start begins a run. One that no other run started is a request of the person's.
func (r *reader) start(e activity.Event, b activity.RunStarted) {
	run := &recordedRun{id: e.Run, agent: e.Agent, input: textOf(b.Input), parent: e.ParentRun}
	r.runs = append(r.runs, run)
	for _, name := range b.Tools {
		if strings.HasPrefix(name, "mcp.") {
			run.tools = append(run.tools, name)
		}
	}
	if len(b.Shell) > 0 {
		r.unable("run %s ran commands of its prompt", e.Run)
	}
	if e.ParentRun == "" && e.CorrelationID == e.Run {
		r.Requests = append(r.Requests, Request{Run: e.Run, Agent: e.Agent, Started: b})
	}
	run.request = e.CorrelationID
}

// pick takes the choice of an agent: the request was for auto then.
func (r *reader) pick(e activity.Event, b activity.RouteDecided) {
	if n := len(r.Requests); n > 0 && r.Requests[n-1].Run == e.Run {
		r.Requests[n-1].Agent, r.Requests[n-1].Strategy = "auto", b.Strategy
	}
	if b.By == "user" {
		r.unable("the person picked the agent of run %s", e.Run)
	}
	if b.Model != nil {
		r.route = append(r.route, &b)
	}
}

// readAnswer takes an answer of a model. One that no model gave, but a hook, is the hook's.
// What was used and the content are two events; the answer is whole with the second.
func (r *reader) readAnswer(e activity.Event) {
	run := r.run(e.Run)
	switch b := e.Body.(type) {
	case activity.ModelFinished:
		switch {
		case b.Purpose == "":
			r.finished[e.Run] = b
		case run != nil:
			run.asides = append(run.asides, aside{ModelFinished: b})
		default:
			r.aside = append(r.aside, aside{ModelFinished: b})
		}
	case activity.ModelContent:
		finished, ok := r.finished[e.Run]
		if run == nil || !ok {
			return
		}
		delete(r.finished, e.Run)
		run.answers = append(run.answers, answer{content: b, finished: finished})
		n := len(run.answers) - 1
		r.placeWords(e.Run, func(words said) { run.answers[n].said = append(run.answers[n].said, words...) })
		for _, p := range b.Content {
			if p.Call != nil {
				r.names[p.Call.ID] = p.Call.Name
			}
		}
	}
}

// readCall takes a state of a call. A call that was not asked about is remembered by
// the shape of the one whose answer held for it, if any.
func (r *reader) readCall(e activity.Event, b activity.ToolState) {
	if _, known := r.shape[b.Call]; !known {
		r.shape[b.Call] = r.lasting[b.Name]
	}
	if name := r.names[b.Call]; name != "" && strings.HasPrefix(b.Name, "mcp.") {
		r.names[b.Name] = name
	}
	if b.State.Terminal() {
		r.calls[b.Call] = b
		r.placeWords(e.Run, func(words said) { r.during[b.Call] = append(r.during[b.Call], words...) })
	}
}

// placeWords says that something came after the words which a run was told: when it comes again,
// they are said before. add keeps them with what came.
func (r *reader) placeWords(run string, add func(said)) {
	add(r.words[run])
	delete(r.words, run)
	r.last[run] = add
}

// settle ends a turn: words after which nothing came in it are said with what came last.
func (r *reader) settle(run string) {
	words, add := r.words[run], r.last[run]
	delete(r.words, run)
	delete(r.last, run)
	switch {
	case len(words) > 0 && add == nil:
		r.unable("run %s was told something before its model was asked", run)
	case len(words) > 0:
		add(words)
	}
}

// readConfirmation takes a question to the person, or its answer. An answer that holds longer
// also answers later calls of the tool, which nobody is asked about.
func (r *reader) readConfirmation(b activity.Body) {
	switch b := b.(type) {
	case activity.ConfirmationAsked:
		r.questions[b.ID] = b
		r.shape[b.Call] = b.Call
	case activity.ConfirmationAnswered:
		q := r.questions[b.ID]
		if b.By != "user" && b.By != "policy" {
			r.unable("a question about %s was not answered by the person (%s)", q.Tool, b.By)
		}
		if b.Outcome == "run" || b.Outcome == "session" || b.Outcome == "always" {
			r.lasting[q.Tool] = q.Call
		}
		answer := Answer{Outcome: b.Outcome, Feedback: b.Feedback}
		if b.Outcome == "modify" {
			answer.Args = modifiedArguments(r.events, q.Call)
		}
		r.asks[q.Tool] = append(r.asks[q.Tool], answer)
	}
}

// node takes a state of a node of a graph: of one that asked the person, what they said.
func (r *reader) node(e activity.Event, b activity.GraphNode) {
	key := nodeKey{e.Run, b.Node}
	switch b.State {
	case activity.NodeWaiting:
		r.waiting[key] = true
	case activity.NodeFinished:
		var text string
		if r.waiting[key] && json.Unmarshal(b.Output, &text) == nil {
			r.nodes[key] = append(r.nodes[key], text)
		}
		delete(r.waiting, key)
	}
}

// hook takes what a hook decided.
// Several may be run at one point; the last of them has what they decided together.
func (r *reader) hook(e activity.Event, b activity.HookRan) {
	if b.Event == "Notification" || b.Event == "SessionEnd" {
		return // nothing depends on them
	}
	r.hooked[b.Event] = true
	key := hookKey{e.Run, b.Event, b.Call, e.Turn}
	ran := append(r.ran[key], RanHook{b, e.DurationMs})
	if r.ran[key] = ran; b.Together != nil {
		r.hooks[key] = append(r.hooks[key], Hooked{*b.Together, ran})
		delete(r.ran, key)
	}
}

// modifiedArguments returns the arguments with which a call went on.
// They are those of its last state.
func modifiedArguments(events []activity.Event, call string) (args json.RawMessage) {
	for _, e := range events {
		if b, ok := e.Body.(activity.ToolState); ok && b.Call == call {
			args = b.Args
		}
	}
	return args
}
