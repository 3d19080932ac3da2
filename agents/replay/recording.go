// Package replay runs a recorded session again: what models answered, tools gave, hooks
// decided and the person said comes from the log, and all else is today's code (spec 7.3).
//
// [Read] takes a session's events apart; [Recording.Model], [Recording.Tools],
// [Recording.Hook] and [Recording.ServerTools] stand in the place of what is outside;
// [Recording.Compare] finds the first difference between what was recorded and what came. Who runs
// it is the caller's business. Nothing is sent, and no tool runs.
//
// # How what comes is matched with what was
//
// A run of today has another id than the one of the log, and calls of one answer may come
// in any order. So a run is recognised by its id where that is the same, else by its agent
// and by what it was asked (Recording.meet), and a call by its place in its run, which
// stands behind the # of its id. Within a run, answers of models and decisions of hooks
// are used up in their order. What the person said while a run went on is said again at
// the same point: with the answer, or with the call, that came next.
//
// # What cannot be run again
//
// [Recording.Unable] says it before anything is run: a log that is cut off, a run that
// ended by a clock or a person, one that was changed by hand while it went on. What is
// only found out on the way is a difference.
//
// # Files
//
// read.go makes a recording of events, stand.go has what takes the place of models and
// tools, outside.go that of hooks and MCP servers, and compare.go holds both sessions
// against each other.
package replay

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
)

// Recording is a session as it was.
// It is made by [Read] and serves one replay, since answers are used up. It is safe for
// concurrent use. It keeps the events that it was made of.
type Recording struct {
	// Requests are what the person asked for, in order.
	Requests []Request
	// Unable is why the session cannot be run again; "" where it can.
	Unable string
	// Say tells a run what the person said to it while it went on. It returns when the run
	// has it. Set it before the first request. It is called without locks, from the
	// goroutine that asked for the answer; its error ends that answer. nil is an error
	// where something was said.
	Say func(run string, input []activity.ContentBlock) error

	// As Read got them; never changed.
	events []activity.Event

	// mu guards what follows. What only Read writes (calls, shape, hooked and names) does not
	// change after it.
	mu      sync.Mutex
	runs    []*recordedRun
	calls   map[string]activity.ToolState // how calls ended, by recorded id
	asks    map[string][]Answer           // of the person, by tool, in order
	nodes   map[nodeKey][]string          // what the person answered to nodes of graphs, in order
	shape   map[string]string             // by call: the call whose answer held for it too, itself where it was asked about
	route   []*activity.RouteDecided      // decisions of a model, in order
	aside   []aside                       // answers of no run
	during  map[string]said               // what the person said while a call was made
	hooks   map[hookKey][]Hooked          // what hooks decided, in order
	hooked  map[string]bool               // the events that had hooks
	names   map[string]string             // by tool of an MCP server: what models called it
	request string                        // the run that was asked for last
}

// Request is what a person asked.
// Exactly one of Run, Cleared, Compressed and Approval says what it is.
type Request struct {
	// The recorded id of the run that was asked for; "" = it is no run.
	Run      string
	Agent    string // auto where the agent was picked
	Strategy string // of picking
	// The first event of the run, with what was asked; of a run only.
	Started activity.RunStarted
	// Cleared is the agent whose context was cleared, and Compressed the one whose was
	// compressed; Approval is the mode that the session got. Of a run all are "".
	Cleared, Compressed, Approval string
}

// Answer is what the person said about a call.
type Answer struct {
	// As in the log: once, run, session, always, modify and others
	// (activity.ConfirmationAnswered).
	Outcome string
	// What they wrote besides; "" = nothing.
	Feedback string
	Args     json.RawMessage // with modify: what they made of the arguments
}

// nodeKey names a node of a graph that asks the person.
type nodeKey struct{ run, node string }

// recordedRun is one run as it was.
// answers and asides are used up while the run comes again.
type recordedRun struct {
	id, agent, input, parent string
	request                  string // the run that the person asked for, of which it is a part
	answers                  []answer
	asides                   []aside
	failure                  string   // why it ended, where it failed
	tools                    []string // of MCP servers
	left                     []string // why others were left out
	now                      string   // the run that it is now; "" = it has not begun
}

// answer is one answer of a model.
type answer struct {
	content  activity.ModelContent
	finished activity.ModelFinished
	said     said // while it came
}

// said are the person's words to a run that went on.
type said [][]activity.ContentBlock

// aside is an answer that is no turn of an agent's. A question for a purpose is
// answered by the first unused one for the same: several may go on at once.
type aside struct {
	activity.ModelFinished
	used bool
}

// textOf is the text of an input, without its other blocks.
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

// Runs returns how many runs the person asked for. Those that they led to, by
// delegation or handoff, are not counted.
func (r *Recording) Runs() (n int) {
	for _, request := range r.Requests {
		if request.Run != "" {
			n++
		}
	}
	return n
}

// Begin says which of the requests is made next.
// It is called before each of them: MCP tools are found by it.
func (r *Recording) Begin(request Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.request = request.Run
}

// meet returns the recorded run that a run is now: the one of its id, else the first of
// its agent's that has not begun yet and was asked what req is about. r.mu is held.
// req may be nil. It is nil where no such run is left.
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
// Each answer is given once, in the order of the log for each tool. Those of questions
// that are not asked this time are left over, so the next one gets them: the comparison
// then shows where.
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

// Node returns what the person answered to a node of a run's graph, which a question names
// in its title; false where they did not.
// run is today's id. Each answer is given once.
func (r *Recording) Node(run, title string) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.meet(model.Asker{Run: run}, nil)
	for key, list := range r.nodes {
		if was != nil && key.run == was.id && len(list) > 0 &&
			(strings.HasSuffix(title, ": "+key.node) || strings.Contains(title, ": "+key.node+" (")) {
			r.nodes[key] = list[1:]
			return list[0], true
		}
	}
	return "", false
}
