package run

// What the nodes of a graph do.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/graph"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
)

// takeStep does what a node says, as often as it may be tried.
// Attempts are numbered over all daemons, so that a call of an attempt has an id of its
// own; those that a daemon's end cut off do not count against the node's retries.
func (r *runner) takeStep(ctx context.Context, s graph.Step) Given {
	node, _ := r.Graph.Machine.Plan.Node(s.Node)
	attempt, extra := 1, 0 // extra are the attempts that do not count
	if past := r.Graph.Past; past != nil {
		attempt, extra = attempt+past.Ended[s.ID], past.CutOff[s.ID]
	}
	for ; ; attempt++ {
		moved := activity.GraphNode{Node: s.Node, Step: s.ID, State: activity.NodeRunning, Attempt: attempt}
		r.say(moved)
		given, again := r.try(ctx, s, node, attempt)
		if given.Failed == "" || ctx.Err() != nil {
			return given
		}
		moved.State, moved.Error = activity.NodeFailed, given.Failed
		if again { // so that a later daemon does not count it either
			moved.State = activity.NodeCancelled
			extra++
		}
		r.say(moved)
		if !again && (given.Final || attempt > node.Retries+extra) {
			return given
		}
		r.say(activity.Retry{Of: "node " + s.Node, Attempt: attempt + 1, Cause: given.Failed})
	}
}

// try is one attempt at a node. again says that the attempt does not count.
func (r *runner) try(parent context.Context, s graph.Step, node graph.Node, attempt int) (given Given, again bool) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	if node.Timeout > 0 {
		clock := startStopwatch(node.Timeout, func() { cancel(errNodeTimeout) })
		defer clock.stop()
		if node.Kind != graph.Human { // for the person it is the time to answer
			defer r.holdFor(clock)()
		}
	}
	call := CallOf(r.ID, s.ID, attempt)
	input := r.Graph.Machine.Input(s, r.Graph.Input)
	switch node.Kind {
	case graph.Human:
		given = r.askPerson(ctx, s, node, input, attempt)
	case graph.Tool:
		given, again = r.callTool(ctx, call, node, input)
	default:
		given = r.Graph.Delegate(ctx, call, node, input, before(s))
	}
	// The node's own time is told apart from the run's end, and may be tried again.
	if given.Failed != "" && parent.Err() == nil && errors.Is(context.Cause(ctx), errNodeTimeout) {
		given.Failed, given.Final = fmt.Sprintf("it took longer than its timeout of %v", node.Timeout), false
	}
	return given, again
}

// CallOf is the id of the call that an attempt at a step is. It is the same in each
// daemon.
func CallOf(run, step string, attempt int) string {
	return fmt.Sprintf("%s#%s.%d", run, strings.ReplaceAll(step, "#", "-"), attempt)
}

// StepOf returns the step that a call of a graph's run is for, as [graph.Step.ID] has it.
// It is "" for a call that is of no step. It undoes what CallOf does to the step's id, which
// ends in # and a number.
func StepOf(run, call string) string {
	rest, ok := strings.CutPrefix(call, run+"#")
	dot, dash := strings.LastIndexByte(rest, '.'), strings.LastIndexByte(rest, '-')
	if !ok || dash < 0 || dot < dash {
		return ""
	}
	return rest[:dash] + "#" + rest[dash+1:dot]
}

// holdFor has a node's clock stand still while a person is waited for, until the
// function that it returns is called.
// A node that begins while a person is waited for has its clock stopped as often as the
// others have theirs.
func (r *runner) holdFor(clock *stopwatch) (over func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.nodeClocks == nil {
		r.nodeClocks = make(map[*stopwatch]bool)
	}
	r.nodeClocks[clock] = true
	for range r.nodeHolds {
		clock.pause()
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.nodeClocks, clock)
	}
}

// holdNodes stops the clocks of nodes, or lets them go on; mu is held.
func (r *runner) holdNodes(hold bool) {
	for clock := range r.nodeClocks {
		if hold {
			clock.pause()
		} else {
			clock.resume()
		}
	}
	if hold {
		r.nodeHolds++
	} else {
		r.nodeHolds--
	}
}

// GoesOn reports whether a call of a run that is taken up again is for a step of its graph
// that has not finished.
func (run *Run) GoesOn(call string) bool {
	g := run.r.Graph
	if g == nil || g.Past == nil {
		return false
	}
	step := StepOf(run.r.ID, call)
	return slices.ContainsFunc(g.Machine.Next(g.Input, g.Past.Done).Run,
		func(s graph.Step) bool { return s.ID == step })
}

// before is what the nodes gave that led to a step.
func before(s graph.Step) string {
	var b strings.Builder
	for _, from := range s.From {
		name, _, _ := strings.Cut(from, "#")
		fmt.Fprintf(&b, "\n\nThe result of %s:\n%s", name, displayText(s.State[name]))
	}
	return strings.TrimSpace(b.String())
}

// askPerson asks the person what a node says.
// It waits for the person. Nobody who could be asked is final, all other failures may be
// tried again as the node says.
func (r *runner) askPerson(ctx context.Context, s graph.Step, node graph.Node, input any, attempt int) Given {
	ask := r.Env.Ask
	if ask == nil {
		return Given{Failed: "it asks the person, and there is nobody who can be asked; run the graph in an editor or a terminal", Final: true}
	}
	q := tool.Question{Title: r.Definition.Title + ": " + node.Name, Aside: true}
	q.Message = graph.Text(r.Graph.Machine.Fill(s, r.Graph.Input, node.Of))
	more := ""
	// Without an input the person sees what the nodes before gave; an object has the words of
	// the question and its choices.
	switch input := input.(type) {
	case nil:
		for _, from := range s.From {
			name, _, _ := strings.Cut(from, "#")
			more += "\n" + displayText(s.State[name])
		}
	case map[string]any:
		more = graph.Text(input["message"])
		choices, _ := input["choices"].([]any)
		for _, c := range choices {
			q.Choices = append(q.Choices, graph.Text(c))
		}
	default:
		more = displayText(input)
	}
	q.Message = strings.TrimSpace(cmp.Or(q.Message, "What do you say to this?") + "\n\n" + strings.TrimSpace(more))
	r.say(activity.GraphNode{Node: s.Node, Step: s.ID, State: activity.NodeWaiting, Attempt: attempt})
	defer r.asking("the node " + node.Name + " asks a question")()
	answer, err := ask(ctx, r.addChain(q))
	switch {
	case ctx.Err() != nil:
		return Given{Failed: ErrCancelled.Error()}
	case err != nil:
		return Given{Failed: "the question could not be asked: " + err.Error()}
	case answer.Action != "accept":
		return Given{Failed: "the person did not answer its question, or nobody could be asked"}
	case len(q.Choices) > 0 && !slices.Contains(q.Choices, answer.Text):
		return Given{Failed: fmt.Sprintf("the answer %q is none of its choices", answer.Text)}
	}
	return Given{Value: answer.Text}
}

// callTool makes the one call of a node. A call that an earlier daemon made is not made
// again: it has its result in the log, or nobody knows how far it came. again says that
// the attempt does not count.
func (r *runner) callTool(ctx context.Context, call string, node graph.Node, input any) (given Given, again bool) {
	args := json.RawMessage("{}")
	if input != nil {
		data, err := json.Marshal(input)
		if err != nil {
			return Given{Failed: err.Error(), Final: true}, false
		}
		args = data
	}
	if r.Graph.Past != nil {
		switch past, made := r.Graph.Past.Calls[call]; {
		case !made:
		case past.State == activity.Success:
			return Given{Value: valueOf(past.Content), Taint: past.Taint}, false
		case past.State == activity.Failed:
			return Given{Failed: past.Error, Taint: past.Taint}, false
		case past.State == activity.Executing, past.State == activity.Cancelled: // when the daemon ended
			return r.cutOff(ctx, call, node, args, past)
		}
	}
	r.mu.Lock()
	r.toolCalls++
	r.mu.Unlock()
	// A batch of one: the call passes hooks, policy and the person like a model's.
	t := r.perform(ctx, []model.Call{{ID: call, Name: node.Of, Args: args}})[0]
	if t.state != activity.Success {
		return Given{Failed: t.said, Taint: t.taint, Final: !t.ran && t.bad == nil && t.answered}, false
	}
	return Given{Value: valueOf(t.said), Taint: t.taint}, false
}

// valueOf is what a tool's result says: JSON where it is an object or a list, else the
// text.
func valueOf(content string) any {
	text := strings.TrimSpace(content)
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		var value any
		if json.Unmarshal([]byte(text), &value) == nil {
			return value
		}
	}
	return content
}

// What a person may say to a call of which nobody knows how far it came.
const (
	againAnyway = "Run it again"
	goWithout   = "Go on without its result"
)

// cutOff ends a call during which the daemon ended. What only reads is read again; about
// anything else the person is asked.
// again says that the call is done once more. The person may also go on without it, or end
// it, which is what no answer does.
func (r *runner) cutOff(ctx context.Context, call string, node graph.Node, args json.RawMessage,
	past GraphCall) (given Given, again bool) {
	message, cause := unknownOutcome, "The daemon ended"
	if past.Risk == tool.Safe.String() {
		message = noResult
	}
	if past.State == activity.Cancelled && !strings.HasPrefix(past.Error, ErrInterrupted.Error()) {
		cause = "The graph's time was used up"
		message = strings.Replace(message, "the daemon ended", "the graph's time was used up", 1)
	}
	end := func() {
		if past.State.Terminal() {
			return
		}
		r.recover(ctx, call)
		r.say(activity.ToolState{
			Call: call, Name: node.Of, Args: args, State: activity.Cancelled, Risk: past.Risk,
			Error: &activity.ToolError{Code: "tool.interrupted", Message: message},
		})
	}
	if past.Risk == tool.Safe.String() {
		end()
		return Given{Failed: message}, true
	}
	if r.Env.Ask == nil {
		end()
		return Given{Failed: message, Final: true}, false
	}
	// The call gets its result only when the person has answered: a daemon that ends before
	// finds the call as it was, and asks again.
	defer r.asking("the node " + node.Name + " was interrupted")()
	answer, err := r.Env.Ask(ctx, r.addChain(tool.Question{
		Title: r.Definition.Title + ": " + node.Name, Aside: true, Choices: []string{againAnyway, goWithout, endIt},
		Message: fmt.Sprintf("%s while %s ran. It may have taken effect wholly, in part or not at all. Its arguments were: %s", cause, node.Of, args),
	}))
	if ctx.Err() != nil {
		return Given{Failed: ErrCancelled.Error()}, false
	}
	end()
	switch {
	case err == nil && answer.Action == "accept" && answer.Text == againAnyway:
		return Given{Failed: message}, true
	case err == nil && answer.Action == "accept" && answer.Text == goWithout:
		return Given{}, false
	}
	return Given{Failed: message, Final: true}, false
}
