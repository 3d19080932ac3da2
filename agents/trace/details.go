package trace

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
)

// hear notes what the model is told before its next answer.
func (r *openRun) hear(who, text string) {
	if text != "" {
		r.told = append(r.told, who+": "+text)
	}
}

// answered takes the end of an answer. What it says comes with the next event.
func (b *Builder) answered(r *openRun, e activity.Event, body activity.ModelFinished) {
	if r.model == nil {
		r.model = b.begin(r, e, Model, body.Model, Field{Name: "model", Value: body.Model})
		r.model.Start = e.Time.Add(-time.Duration(e.DurationMs) * time.Millisecond)
	}
	s := r.model
	s.End, s.Usage, s.Finish, s.FirstToken = e.Time, body.Usage, string(body.Finish), time.Duration(body.FirstTokenMs)*time.Millisecond
	s.Details = append(s.Details, tokens(body.Usage), Field{Name: "finish", Value: body.Finish})
}

// said takes the content of an answer.
func (b *Builder) said(r *openRun, body activity.ModelContent) {
	if r.model == nil {
		return // of an answer that a hook gave: no model was asked
	}
	var text []string
	for _, p := range body.Content {
		switch {
		case p.Text != "":
			text = append(text, p.Text)
		case p.Call != nil:
			text = append(text, p.Call.Name+"("+string(p.Call.Args)+")")
		}
	}
	s := r.model
	if body.Invalid {
		s.Error = "the answer cannot be used: " + s.Finish
	} else {
		r.told = nil
	}
	if len(text) > 0 {
		response := Field{"response", strings.Join(text, "\n"), true}
		at := len(s.Details) - 2 // before tokens and finish
		s.Details = append(append(append(Details{}, s.Details[:max(at, 0)]...), response), s.Details[max(at, 0):]...)
	}
	b.end(r, s, s.End, "")
}

// tool takes a state of a call.
func (b *Builder) tool(r *openRun, e activity.Event, body activity.ToolState) {
	s := b.calls[body.Call]
	if s == nil {
		if body.State.Terminal() && body.Error != nil && body.Error.Code == "tool.interrupted" {
			return // told after a restart of a call that ended with the daemon before
		}
		s = b.begin(r, e, Tool, body.Name)
		s.Call = body.Call
		b.calls[body.Call] = s
	}
	s.Name = body.Name
	s.Details = Details{{Name: "tool_name", Value: body.Name}, {"tool_args", raw(body.Args), true}}
	if !body.State.Terminal() {
		return
	}
	failure := ""
	switch {
	case body.Result != nil:
		s.Details = append(s.Details, Field{"tool_result", body.Result.Content, true})
		r.hear(body.Name, body.Result.Content)
	case body.Error != nil:
		s.Details = append(s.Details, Field{"tool_error", body.Error.Message, true})
		failure = cmp.Or(body.Error.Code, string(body.State))
		r.hear(body.Name, body.Error.Message)
	default:
		failure = string(body.State)
	}
	b.end(r, s, e.Time, failure)
}

// ask begins a question, as a part of its call.
func (b *Builder) ask(r *openRun, e activity.Event, body activity.ConfirmationAsked) {
	s := b.begin(r, e, Confirmation, body.Tool, Field{Name: "tool", Value: body.Tool})
	if call := b.calls[body.Call]; call != nil {
		s.Parent = call.ID
		s.Details = append(s.Details, Field{"args", call.Details.Get("tool_args"), true})
	}
	s.Details = append(s.Details, Field{Name: "risk", Value: body.Risk}, Field{"why", body.Why, true})
	b.asked[body.ID] = s
}

// approves reports whether an answer permits the call.
func approves(outcome string) bool {
	switch outcome {
	case "once", "run", "session", "always", "modify":
		return true
	}
	return false
}

func (b *Builder) route(r *openRun, e activity.Event, body activity.RouteDecided) {
	took := time.Duration(0)
	failure := ""
	if body.Model != nil {
		took = time.Duration(body.Model.DurationMs) * time.Millisecond
	}
	if body.Agent == "" {
		failure = "no agent fits"
	}
	s := b.instant(r, e, Route, cmp.Or(body.Agent, "nobody"), failure, took,
		Field{Name: "routing_method", Value: cmp.Or(body.By, body.Strategy)}, Field{Name: "routing_confidence", Value: body.Confidence},
		Field{Name: "agent", Value: body.Agent}, Field{"text", body.Text, true})
	if body.Model != nil {
		s.Usage = body.Model.Usage
	}
}

func handoffDetails(body activity.HandoffStarted) Details {
	d := Details{{Name: "from_agent", Value: body.From}, {Name: "to_agent", Value: body.To}, {"handoff_reason", body.Reason, true}}
	if len(body.Payload) > 0 {
		d = append(d, Field{"payload", raw(body.Payload), true})
	}
	return d
}

// tokens is the field of what was used.
func tokens(u model.Usage) Field {
	return Field{Name: "tokens", Value: struct {
		Input    int `json:"input"`
		Output   int `json:"output"`
		Cached   int `json:"cached"`
		Thoughts int `json:"thoughts"`
	}{u.InputTokens, u.OutputTokens, u.CachedTokens, u.ThoughtTokens}}
}

// raw returns JSON to be kept as it is; null for none, and a text for what is not JSON.
func raw(data json.RawMessage) any {
	switch {
	case len(data) == 0:
		return nil
	case !json.Valid(data):
		return string(data)
	}
	return data
}

// inputText returns what a person said, as text.
func inputText(blocks []activity.ContentBlock) string {
	var parts []string
	for _, block := range blocks {
		switch {
		case block.Text != "":
			parts = append(parts, block.Text)
		case block.Resource != nil:
			parts = append(parts, "("+block.Resource.URI+")")
		case block.URI != "":
			parts = append(parts, "("+block.URI+")")
		}
	}
	return strings.Join(parts, "\n")
}
