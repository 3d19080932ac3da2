package run

// Runs of agents that have a graph (spec 7.1): where others ask their model, these go
// from node to node.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sourcegraph/conc"
	"github.com/sourcegraph/conc/panics"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/graph"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
)

// Graph is what a run does instead of asking a model.
//
// Delegate and the parts of Past are those of package agents, which knows of other runs.
type Graph struct {
	Machine *graph.Machine
	// What it is begun with, as conditions and placeholders know it; JSON values. Must not be
	// modified.
	Input any
	// Delegate runs the agent of a node for a call of this run, and waits for its end; a
	// call that an earlier daemon made goes on where it was. A node without an input gets
	// the request, and what the nodes before it gave.
	Delegate func(ctx context.Context, call string, node graph.Node, input any, before string) Given
	Past     *GraphPast // of a run that is taken up again; nil for another
	StateRun string     // whose temp: keys of the state have what nodes give
}

// GraphPast is how far a graph came in an earlier daemon.
//
// It is folded from the log by package agents. The zero GraphPast is a graph that has not
// begun.
type GraphPast struct {
	Done   map[string]any        // what finished steps gave
	Taints map[string]tool.Taint // of these
	Begun  bool                  // a step had begun
	Ended  map[string]int        // by step, the last attempt that came to an end
	CutOff map[string]int        // by step, how many of these the graph's end cut off
	Calls  map[string]GraphCall  // of tools, by id
}

// begun reports whether an earlier daemon began with the graph.
func (g *Graph) begun() bool { return g != nil && g.Past != nil && g.Past.Begun }

// GraphCall is the call of a tool that an earlier daemon made for a node.
type GraphCall struct {
	State   activity.CallState
	Risk    string
	Content string // of its result, where it has one
	Error   string
	Taint   tool.Taint
}

// Given is what a node came to.
//
// Changes are already in the log of the run that made them; they are here so that the graph's
// result has them too.
type Given struct {
	Value   any    // JSON
	Failed  string // why it failed; "" = it did not
	Final   bool   // to try again is of no use
	Taint   tool.Taint
	Changes []activity.Change
}

// stepEnd is how a step ended.
type stepEnd struct {
	step  graph.Step
	given Given
}

// gathered is what the steps gave that have finished, by step.
type gathered struct {
	values map[string]any
	taints map[string]tool.Taint
}

// errNodeTimeout is why a node is cut off whose timeout has passed.
var errNodeTimeout = errors.New("the node's time is used up")

// walk takes the run through its graph, and says how it ends.
//
// One goroutine owns done and running: steps run on goroutines of their own, graph.Parallel
// at most, and only send how they ended. A step's end is written, and committed, before the
// scheduler is asked for the next: that order is what makes a graph resumable. A step that
// fails ends the others, whose ends are taken in before the run's.
func (r *runner) walk(parent context.Context) ending {
	g := r.Graph
	if len(r.Shell) > 0 {
		return r.graphFailed("graph",
			r.Definition.Name+" has a graph, which cannot run the commands of a prompt; run the command with another agent")
	}
	done := gathered{values: map[string]any{}, taints: map[string]tool.Taint{}}
	if g.Past != nil {
		maps.Copy(done.values, g.Past.Done)
		maps.Copy(done.taints, g.Past.Taints)
	}
	r.past = nil
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	ends := make(chan stepEnd, graph.Parallel)
	running := make(map[string]bool)
	var work conc.WaitGroup
	// stop ends what goes on; what has finished meanwhile counts.
	stop := func(cause error) {
		cancel(cause)
		for len(running) > 0 {
			e := <-ends
			delete(running, e.step.ID)
			r.leaveStep(ctx, e, done)
		}
		work.Wait()
	}
	for {
		if end, over := r.over(ctx); over {
			stop(context.Cause(ctx))
			return end
		}
		next := g.Machine.Next(g.Input, done.values)
		if next.Over {
			stop(ErrCancelled)
			return r.arrive(next, done.values)
		}
		// Next lists all that may run now, also what runs already.
		for _, s := range next.Run {
			if running[s.ID] || len(running) == graph.Parallel {
				continue
			}
			running[s.ID] = true
			work.Go(func() {
				e := stepEnd{step: s}
				var caught panics.Catcher
				caught.Try(func() { e.given = r.takeStep(ctx, s) })
				if p := caught.Recovered(); p != nil {
					r.say(r.defect(p, s.Node))
					e.given = Given{Failed: "a defect of agentls" + bug(p), Final: true}
				}
				ends <- e
			})
		}
		select {
		case e := <-ends:
			delete(running, e.step.ID)
			if failed := r.leaveStep(ctx, e, done); failed != "" && ctx.Err() == nil {
				stop(ErrCancelled)
				return r.graphFailed(e.step.Node, fmt.Sprintf("The node %s failed: %s", e.step.Node, failed))
			}
		case <-ctx.Done(): // over says what it means
		}
	}
}

// leaveStep writes how a step ended: the checkpoint from which the graph goes on. It
// returns why the step failed, "" for one that did not.
func (r *runner) leaveStep(ctx context.Context, e stepEnd, done gathered) (failed string) {
	r.mu.Lock()
	r.changes = append(r.changes, e.given.Changes...)
	r.mu.Unlock()
	if e.given.Taint > tool.Clean { // before the next node is decided about
		r.Gate.Taint(r.ID, e.given.Taint)
	}
	moved := activity.GraphNode{Node: e.step.Node, Step: e.step.ID}
	switch {
	case e.given.Failed == "":
		// The state is told before the step counts as finished: a daemon that ends in between
		// goes on with the step and tells its keys anew, so none is missing.
		value, err := json.Marshal(e.given.Value)
		if err != nil {
			return err.Error()
		}
		done.values[e.step.ID], done.taints[e.step.ID] = e.given.Value, e.given.Taint
		r.tellState(e.step.Node, e.given.Value, done)
		moved.State, moved.Output, moved.Taint = activity.NodeFinished, value, e.given.Taint.String()
		if seq := r.say(moved); seq != 0 {
			_ = r.Session.Commit(ctx, seq) // over sees that it failed, before the next step
		}
		return ""
	case ctx.Err() == nil:
		return e.given.Failed // it has been told
	case !errors.Is(context.Cause(ctx), ErrInterrupted):
		moved.State = activity.NodeCancelled
		r.say(moved)
	}
	return e.given.Failed
}

// maxStateValue is how many bytes of what a node gave others see in the session's state;
// the graph itself has all.
const maxStateValue = 64 << 10

// tellState puts what a node gave into the session's state, where the agents of the
// graph and people see it. Of a value that is too large they see the beginning.
func (r *runner) tellState(node string, given any, done gathered) {
	plan := r.Graph.Machine.Plan
	state := r.Graph.Machine.Next(r.Graph.Input, done.values).State
	for _, key := range plan.Keys(node, given) {
		value, err := json.Marshal(state[key])
		if err != nil {
			continue
		}
		told := activity.StateChanged{Key: "temp:" + key, Value: value, Run: r.Graph.StateRun, Node: node,
			Taint: done.taint(plan, key).String()}
		if len(value) > maxStateValue {
			told.Value, told.Cut = beginning(state[key]), len(value)
		}
		r.say(told)
	}
}

// taint is the worst of all that gave a key something: a list or a sum has something of each.
func (g gathered) taint(plan *graph.Plan, key string) (worst tool.Taint) {
	for step, t := range g.taints {
		node, _, _ := strings.Cut(step, "#")
		if slices.Contains(plan.Keys(node, g.values[step]), key) {
			worst = worst.Max(t)
		}
	}
	return worst
}

// beginning is a JSON text with the beginning of a value that is too large for the state.
func beginning(value any) json.RawMessage {
	const most = maxStateValue / 2 // a character of the text may take more in JSON
	text := strings.ToValidUTF8(graph.Text(value), "�")
	// Characters that JSON escapes may make the text longer than it was: it is halved until
	// it fits.
	for keep := most; ; keep /= 2 {
		cut := strings.ToValidUTF8(text[:min(keep, len(text))], "")
		quoted, err := json.Marshal(fmt.Sprintf("%s\n[… cut: %d bytes in all]", cut, len(text)))
		if err != nil || len(quoted) <= maxStateValue {
			return quoted
		}
	}
}

// arrive is the end of a run whose graph has ended.
// done are the values of the last steps, by their ids. Several of them make an object by the
// names of their nodes. A value that is not what the agent promises fails the run.
func (r *runner) arrive(next graph.Next, done map[string]any) ending {
	if next.Err != nil {
		return r.graphFailed("graph", next.Err.Error())
	}
	var value any
	var texts []string
	if len(next.Last) == 1 {
		value = done[next.Last[0].ID]
		texts = []string{displayText(value)}
	} else {
		object := make(map[string]any)
		for _, s := range next.Last {
			object[s.Node] = next.State[s.Node]
			texts = append(texts, s.Node+": "+displayText(done[s.ID]))
		}
		value = object
	}
	end := ending{reason: activity.Goal, text: strings.Join(texts, "\n\n")}
	if _, plain := value.(string); !plain && value != nil {
		if output, err := json.Marshal(value); err == nil {
			end.output = output
		}
	}
	if out := r.Definition.Output; out != nil { // the result must be what the agent promises
		c := newCompletion(r, out)
		args, err := json.Marshal(map[string]any{out.Name: value})
		if err == nil {
			_, err = c.schema.Check(args)
		}
		if err != nil {
			return r.graphFailed("output", "The result of the graph is not what the agent's output says: "+err.Error())
		}
		end.output, err = json.Marshal(value)
		if err == nil {
			end.text = c.render(end.output)
		}
	}
	// The result is written as an answer of the agent, so that its next run, and who reads
	// the conversation, find it there.
	if n := r.Session.Context(r.context()); len(n) == 0 ||
		n[len(n)-1].Role != model.Reply { // an earlier daemon may have said it
		r.say(activity.ContentDelta{Text: end.text})
		r.say(activity.ModelContent{Content: []model.Part{{Text: end.text}}})
	}
	return end
}

// displayText is what a node gave, for people.
func displayText(value any) string {
	switch value.(type) {
	case nil, string:
		return graph.Text(value)
	}
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return ""
	}
	return string(data)
}

// graphFailed is the end of a run whose graph cannot go on.
func (r *runner) graphFailed(where, why string) ending {
	r.say(activity.ErrorSeen{Code: "graph", Message: why, Where: where})
	end := endFailed("graph", why)
	end.told = true
	return end
}
