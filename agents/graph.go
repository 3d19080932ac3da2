package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/graph"
	"github.com/agentls/agentls/agents/handoff"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// checkGraph returns why the graph of an agent cannot run in a folder: nodes of agents
// that nobody has. What a file alone says wrong has been found before. The error is
// Invalid, with the reason invalidAgent.
func (s *Service) checkGraph(def *definition.Definition, folder string) error {
	if def.Graph == nil {
		return nil
	}
	for _, n := range def.Graph.Nodes {
		if n.Kind != graph.Agent && n.Kind != graph.Graph {
			continue
		}
		entry, err := s.Agents().Lookup(folder, n.Of)
		switch {
		case err != nil:
			return fault.New(fault.Invalid, "agents.start", "%s cannot run: the node %s of its graph runs %s: %s",
				def.Name, n.Name, n.Of, fault.Message(err)).Because(fault.InvalidAgent)
		case n.Kind == graph.Graph && entry.Definition.Graph == nil:
			return fault.New(fault.Invalid, "agents.start",
				"%s cannot run: the node %s of its graph runs %s, which has no graph; write agent: %s", def.Name,
				n.Name, n.Of, n.Of).Because(fault.InvalidAgent)
		}
	}
	return nil
}

// checkModels returns why the agents that a graph runs cannot ask their models, asked being
// the model of those that have none of their own. A graph of tools and questions needs none.
// It is asked before a graph begins, so that a missing key is told at once and not by the
// fifth node.
func (s *Service) checkModels(def *definition.Definition, folder, asked string, set *Settings) error {
	seen := map[string]bool{def.Name: true}
	for open := []*definition.Definition{def}; len(open) > 0; open = open[1:] {
		if open[0].Graph == nil {
			name := open[0].Model
			if name == "" || name == "inherit" {
				name = s.ModelOf(open[0], asked, set)
			}
			if _, err := s.choice(name); err != nil && name != model.Auto {
				return err
			}
			continue
		}
		for _, n := range open[0].Graph.Nodes {
			if n.Kind != graph.Agent && n.Kind != graph.Graph {
				continue
			}
			if of, err := s.agentOf(n, folder, set); err == nil && !seen[of.Name] {
				seen[of.Name] = true
				open = append(open, of)
			}
		}
	}
	return nil
}

// agentOf returns the agent that a node runs, as the settings have it.
func (s *Service) agentOf(node graph.Node, folder string, set *Settings) (*definition.Definition, error) {
	entry, err := s.Agents().Lookup(folder, node.Of)
	if err != nil {
		return nil, err
	}
	return override(entry.Definition, set.Overrides[entry.Definition.Name]).Definition, nil
}

// graphOf returns what a run of an agent with a graph goes through, nil for another. get
// returns the run, once it is there. What an earlier daemon came to is read from the log
// where the run is taken up.
func (s *Service) graphOf(conv *conversation, r *planned, p Start, stateRun string,
	get func() *Live) (*run.Graph, error) {
	if r.def.Graph == nil {
		return nil, nil
	}
	machine, err := r.def.Graph.Compile()
	if err != nil {
		return nil, fault.New(fault.Invalid, "agents.start", "%s cannot run: %s", r.def.Name,
			err).Because(fault.InvalidAgent)
	}
	g := &run.Graph{Machine: machine, Input: textIn(r.task.input), StateRun: stateRun}
	if r.def.Inputs != nil {
		values, err := inputsOf(r.def, p.Inputs)
		if err != nil {
			return nil, err
		}
		g.Input = plainJSON(values)
	}
	if p.from.past != nil {
		if g.Past, err = graphPast(conv.Session, r.def.Graph.Plan, p.Run, conv.Log.Last()); err != nil {
			return nil, err
		}
	}
	// A node's own input goes first; without one the node gets the request with the person's
	// context, and what the nodes before it gave.
	g.Delegate = func(ctx context.Context, call string, node graph.Node, input any, before string) run.Given {
		asked := Start{Agent: node.Of, Mode: definition.Task, from: origin{stateRun: stateRun}}
		object, named := input.(map[string]any)
		of, err := s.agentOf(node, r.folder, s.Settings(r.folder))
		if err == nil && slices.Contains([]string{"", "inherit"}, of.Model) {
			asked.Model = p.Model // what the person asked for
		}
		switch {
		case node.Input == nil: // as the person asked it
			asked.Input, asked.Context = slices.Clone(r.task.input), p.Context
			if h := p.from.handed; h != nil {
				before = strings.TrimSpace(h.tell() + "\n\n" + before)
			}
			if before != "" {
				asked.Input = append(asked.Input, activity.ContentBlock{Type: "text", Text: before})
			}
		case named && err == nil && of.Inputs != nil:
			asked.Inputs = encode(object)
		default:
			asked.Input = []activity.ContentBlock{{Type: "text", Text: graph.Text(input)}}
		}
		return s.runNode(ctx, get(), call, node, asked)
	}
	return g, nil
}

// plainJSON is a value as encoding/json reads it.
func plainJSON(v any) (plain any) {
	_ = json.Unmarshal(encode(v), &plain) // what was encoded can be read
	return plain
}

// runNode runs the agent of a node, and waits for its end. How it ended is a value or a
// reason why it failed, never an error: the graph decides about another try, unless the
// failure is final.
func (s *Service) runNode(ctx context.Context, caller *Live, call string, node graph.Node, asked Start) run.Given {
	if depth := caller.start.from.depth; depth >= caller.tree.limits.Depth {
		return run.Given{Failed: fmt.Sprintf("it lies %d runs deep, and %d are allowed (agents.limits.depth)", depth+1,
			caller.tree.limits.Depth), Final: true}
	}
	ended, err := s.await(ctx, caller, call, asked, func() (func(), error) { return caller.tree.enterFor(ctx, caller) })
	if err != nil {
		return run.Given{Failed: fault.Message(err)}
	}
	if ended.left {
		<-ctx.Done() // whoever interrupts a run interrupts those that wait for it
	}
	given := run.Given{Taint: ended.taint, Changes: ended.changes}
	switch r := ended.result; {
	case r.Reason == activity.Goal && len(r.Output) > 0:
		if err := json.Unmarshal(r.Output, &given.Value); err != nil {
			given.Failed = "its result cannot be read: " + err.Error()
		}
	case r.Reason == activity.Goal:
		given.Value = r.Text
	default:
		why := r.Text
		if r.Error != nil {
			why = r.Error.Message
		}
		given.Failed = strings.TrimSuffix(fmt.Sprintf("%s ended with %s: %s", node.Of, r.Reason, why), ": ")
		given.Final = r.Reason == activity.Aborted || r.Reason == activity.Budget || r.Reason == activity.HandedOff
	}
	return given
}

// graphPast reads how far a graph came from the log of its session. Where the graph came to
// its time, an agent goes on that was left interrupted, and what else was cut off runs anew,
// under another call. It reads the log up to an event. A step is over only where a node has
// finished; attempts that have failed or were cut off are counted, so that no step gets more
// of them than it has.
func graphPast(conv *session.Session, plan *graph.Plan, id string, until uint64) (*run.GraphPast, error) {
	goesOn := func(name, call string) bool { // with the attempt that the graph's time cut off
		if node, _ := plan.Node(name); node.Kind == graph.Tool {
			return true // what its call came to is asked about
		}
		child, begun := conv.RunOfCall(id, call)
		return begun && child.State != activity.Finished
	}
	past := &run.GraphPast{Done: make(map[string]any), Taints: make(map[string]tool.Taint), Ended: make(map[string]int),
		CutOff: make(map[string]int), Calls: make(map[string]run.GraphCall)}
	attempts := make(map[string]int) // by step, the last that began
	var blobs []string
	err := conv.Log.Replay(until, func(e activity.Event) {
		if e.Run != id {
			return
		}
		switch b := e.Body.(type) {
		case activity.GraphNode:
			past.Begun = true
			switch b.State {
			case activity.NodeFinished:
				var value any
				_ = json.Unmarshal(b.Output, &value) // what was purged is null
				past.Done[b.Step], past.Taints[b.Step] = value, tool.TaintOf(b.Taint)
			case activity.NodeRunning:
				attempts[b.Step] = b.Attempt
			case activity.NodeFailed:
				past.Ended[b.Step] = max(past.Ended[b.Step], b.Attempt)
			case activity.NodeCancelled:
				attempt := cmp.Or(b.Attempt, attempts[b.Step])
				if attempt > past.Ended[b.Step] && (b.Attempt > 0 || !goesOn(b.Node, run.CallOf(id, b.Step, attempt))) {
					past.Ended[b.Step] = attempt
					past.CutOff[b.Step]++
				}
			}
		case activity.ToolState:
			if run.StepOf(id, b.Call) == "" {
				return
			}
			call := run.GraphCall{State: b.State, Risk: b.Risk, Taint: tool.TaintOf(b.Taint)}
			if b.Result != nil {
				call.Content = b.Result.Content
				if b.Result.Content == "" && b.Result.Blob != "" {
					call.Content = b.Result.Blob
					blobs = append(blobs, b.Call)
				}
			}
			if b.Error != nil {
				call.Error = b.Error.Message
			}
			past.Calls[b.Call] = call
		}
	})
	// Long results lie in blobs. They are read only now, since a replay takes no error from
	// its callback.
	for _, name := range blobs {
		call := past.Calls[name]
		data, missing := conv.GetBlob(call.Content)
		if missing != nil {
			return nil, missing
		}
		call.Content = string(data)
		past.Calls[name] = call
	}
	return past, err
}

// Graph returns the graph of an agent as it is shown, or who hands over to whom where it
// has none. With a run, it has the states of the nodes in it. The errors have the reasons
// unknownAgent and unknownRun. It looks through the sessions on disk for the run.
func (s *Service) Graph(def *definition.Definition, folder, runID string) (graph.Picture, error) {
	if def.Graph == nil {
		return s.network(def, folder), nil
	}
	if runID == "" {
		return def.Graph.Picture(def.Name, nil), nil
	}
	conv, err := s.sessionWith(runID)
	if err != nil {
		return graph.Picture{}, err
	}
	states := conv.Nodes(runID)
	return def.Graph.Picture(def.Name, func(node string) string { return states[node] }), nil
}

// sessionWith returns the session that has a run, to be read.
func (s *Service) sessionWith(id string) (*session.Session, error) {
	name, _, err := s.runsWith(id)
	if err != nil {
		return nil, err
	}
	return s.read(name)
}

// network is who hands over to whom, beginning with an agent. Each agent is there once;
// targets that there are not are left out.
func (s *Service) network(def *definition.Definition, folder string) graph.Picture {
	picture := graph.Picture{Name: def.Name, Entry: def.Name, Handoffs: true}
	seen, asks := map[string]bool{def.Name: true}, false
	for rest := []*definition.Definition{def}; len(rest) > 0; rest = rest[1:] {
		from := rest[0]
		does := from.Title
		picture.Nodes = append(picture.Nodes, graph.Shown{Name: from.Name, Does: does})
		// An agent may end with an answer of its own, unless one of its handoffs is taken in any
		// case.
		ends := true
		for _, h := range from.Handoffs {
			e := graph.Link{From: from.Name, To: h.To, Label: h.When}
			if h.Condition != "" {
				e.Label = "if: " + h.Condition
			}
			if h.To == handoff.User {
				asks = true
			} else if entry, err := s.Agents().Lookup(folder, h.To); err == nil {
				if e.To = entry.Definition.Name; !seen[e.To] {
					seen[e.To] = true
					rest = append(rest, entry.Definition)
				}
			} else {
				continue // a finding of its file says so
			}
			always := h.When == "auto" && h.Condition == ""
			ends = ends && !always
			picture.Links = append(picture.Links, e)
		}
		if ends {
			picture.Links = append(picture.Links, graph.Link{From: from.Name, To: graph.End})
		}
	}
	if asks {
		picture.Nodes = append(picture.Nodes, graph.Shown{Name: handoff.User, Does: "the person"})
		picture.Links = append(picture.Links, graph.Link{From: handoff.User, To: graph.End})
	}
	return picture
}

// AgentOfRun returns the agent of a run of any session. The error has the reason unknownRun.
func (s *Service) AgentOfRun(id string) (string, error) {
	_, runs, err := s.runsWith(id)
	if err != nil {
		return "", err
	}
	r, _ := runIn(runs, id)
	return r.Agent, nil
}
