package agenttest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/activity"
)

// Record makes tests of a session: one of each run that a person started and that has
// ended, with what the models answered, what tools gave, and what came of it. events
// are the whole log of a session. Tests that it makes pass when today's code does the
// same; they are for a person to shorten.
func Record(events []activity.Event) *File {
	f := &File{}
	for _, e := range events {
		b, begins := e.Body.(activity.RunStarted)
		if !begins || e.ParentRun != "" || e.CorrelationID != e.Run {
			continue
		}
		r := &recording{of: e.CorrelationID, agents: make(map[string]bool)}
		r.Agent, r.Mode, r.Name = e.Agent, b.Mode, fmt.Sprintf("run %d of %s", len(f.Tests)+1, e.Session)
		if b.Approval != "ask" {
			r.Approval = b.Approval
		}
		var said []string
		for _, block := range b.Input {
			if text := cmp.Or(block.Text, block.URI); text != "" {
				said = append(said, text)
			}
		}
		r.Input = strings.Join(said, "\n")
		_ = json.Unmarshal(b.Inputs, &r.Inputs) // an object, as the run took it
		for _, e := range events {
			if e.CorrelationID == r.of {
				r.take(e)
			}
		}
		if r.ended {
			f.Tests = append(f.Tests, r.finish())
		}
	}
	return f
}

// recording makes one test.
//
// Case is filled as events come; finish adds what is known at the end. hands are the
// agents that control passed to.
type recording struct {
	Case
	of string // the correlation id of its events
	// Those that events are of.
	agents map[string]bool
	tools  []ToolCall
	hands  []string
	asked  []Confirmation
	ids    []string // of asked
	// The run has ended by itself, and not by a handoff.
	ended bool
}

// take takes an event of the run, or of one that it led to.
//
// Answers of the person count only where they gave them themselves: what a time-out or a
// closed client said is no answer in the test.
func (r *recording) take(e activity.Event) {
	r.agents[e.Agent] = true
	switch b := e.Body.(type) {
	case activity.RouteDecided:
		r.Agent, r.Strategy, r.Expect.Route = "auto", b.Strategy, b.Agent
		if b.Model != nil && b.Model.Error == "" {
			r.Model = append(r.Model, Answer{For: "route", Call: map[string]map[string]any{"transfer_to_" +
				b.Agent: {"reason": b.Reason}}})
		}
	case activity.ModelContent:
		r.answer(e, b)
	case activity.ToolState:
		r.call(b)
	case activity.ConfirmationAsked:
		r.asked, r.ids = append(r.asked, Confirmation{Tool: b.Tool}), append(r.ids, b.ID)
	case activity.ConfirmationAnswered:
		if i := slices.Index(r.ids, b.ID); i >= 0 && b.By == "user" {
			r.asked[i].Outcome = b.Outcome
			r.Answers = append(r.Answers, b.Outcome)
		}
	case activity.HandoffStarted:
		r.hands = append(r.hands, b.To)
	case activity.RunFinished:
		if e.ParentRun == "" && b.Reason != activity.HandedOff {
			r.ended, r.Expect.Reason = true, string(b.Reason)
			if text := strings.TrimSpace(b.Text); text != "" && b.Reason == activity.Goal {
				r.Expect.Output = &Output{Equals: text}
			}
		}
	}
}

// answer takes an answer of an agent's model.
//
// Invalid ones are left out: the run asked again, and the test has the answer that
// counted.
func (r *recording) answer(e activity.Event, b activity.ModelContent) {
	if b.Invalid {
		return
	}
	a := Answer{Agent: e.Agent}
	for _, p := range b.Content {
		a.Text += p.Text
		if p.Call != nil {
			var args map[string]any
			_ = json.Unmarshal(p.Call.Args, &args) // one that is no object fails as it did
			a.Calls = append(a.Calls, map[string]map[string]any{p.Call.Name: args})
		}
	}
	if len(a.Calls) == 1 {
		a.Call, a.Calls = a.Calls[0], nil
	}
	if a.Text != "" || a.Call != nil || a.Calls != nil {
		r.Model = append(r.Model, a)
	}
}

// call takes the end of a call of a tool.
//
// A call that was denied gives no result: in the test it is denied again.
func (r *recording) call(b activity.ToolState) {
	if !b.State.Terminal() || b.Name == "complete_task" || strings.HasPrefix(b.Name, "transfer_to_") {
		return
	}
	var args map[string]any
	_ = json.Unmarshal(b.Args, &args)
	t := ToolCall{Name: b.Name, Args: args}
	if b.State != activity.Success {
		t.State = string(b.State)
	}
	r.tools = append(r.tools, t)
	if b.Name == "delegate_to_agent" { // the agent runs
		return
	}
	switch {
	case b.Result != nil:
		r.Results = append(r.Results, Result{Tool: b.Name, Args: args, Result: cmp.Or(b.Result.Content, " ")})
	case b.Error != nil && b.State == activity.Failed && b.Error.Code != "tool.denied" &&
		b.Error.Code != "tool.notAllowed":
		r.Results = append(r.Results, Result{Tool: b.Name, Args: args, Error: b.Error.Message})
	}
}

// finish returns the test.
// Names of agents are left out of the answers where there was one alone, and the reason
// where it is the usual one.
func (r *recording) finish() Case {
	if len(r.agents) == 1 {
		for i := range r.Model {
			r.Model[i].Agent = ""
		}
	}
	if r.Expect.Reason == string(activity.Goal) {
		r.Expect.Reason = ""
	}
	r.Expect.Tools, r.Expect.Handoffs, r.Expect.Confirmations = &r.tools, &r.hands, &r.asked
	return r.Case
}
