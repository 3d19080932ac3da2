package trace

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
)

// hear notes what the model is told before its next answer.
// It becomes the prompt of that answer's span.
func (r *openRun) hear(who, text string) {
	if text != "" {
		r.told = append(r.told, who+": "+text)
	}
}

// endAnswer takes the end of an answer. What it says comes with the next event.
// So the span of a turn's answer stays open until then; that of any other has its content
// here.
func (b *Builder) endAnswer(r *openRun, e activity.Event, body activity.ModelFinished) {
	s := r.model
	if body.Purpose != "" {
		s = r.asideSpan(body)
	}
	if s == nil {
		s = b.begin(r, e, Model, body.Model, Field{Name: "model", Value: body.Model})
		s.Start = e.Time.Add(-time.Duration(e.DurationMs) * time.Millisecond)
	}
	s.End, s.Usage, s.Finish, s.FirstToken = e.Time, body.Usage, string(body.Finish),
		time.Duration(body.FirstTokenMs)*time.Millisecond
	s.Details = append(s.Details, tokens(body.Usage), Field{Name: "finish", Value: body.Finish})
	if body.Purpose == "" {
		r.model = s
		return
	}
	s.respond(body.Content)
	b.end(r, s, s.End, "")
}

// startAside begins a question to a model that is no turn of the agent's: of a tool, or a
// summary.
func (b *Builder) startAside(r *openRun, e activity.Event, body activity.ModelStarted) {
	for _, a := range slices.Clone(r.asides) {
		if a.Call == body.Call && a.purpose == body.Purpose {
			b.end(r, a.Span, b.now, "no answer") // it asks again
		}
	}
	s := b.begin(r, e, Model, body.Model, Field{Name: "model", Value: body.Model},
		Field{Name: "purpose", Value: body.Purpose})
	if s.Call = body.Call; b.calls[s.Call] != nil {
		s.Parent = b.calls[s.Call].ID
	}
	r.asides = append(r.asides, aside{s, body.Purpose})
}

// asideSpan returns what an answer is to that is no turn's; nil where its question is not
// known. Older logs do not tell questions of tools from those of turns.
func (r *openRun) asideSpan(body activity.ModelFinished) *Span {
	for _, a := range r.asides {
		if a.Call == body.Call && a.purpose == body.Purpose {
			return a.Span
		}
	}
	if r.model != nil && r.model.Name == body.Model && r.model.Finish == "" {
		return r.model
	}
	return nil
}

// addContent takes the content of an answer.
// An answer that cannot be used is an error of its span, and the model is told again what
// it was told before.
func (b *Builder) addContent(r *openRun, body activity.ModelContent) {
	if r.model == nil {
		return // of an answer that a hook gave: no model was asked
	}
	s := r.model
	if body.Invalid {
		s.Error = "the answer cannot be used: " + s.Finish
	} else {
		r.told = nil
	}
	s.respond(body.Content)
	b.end(r, s, s.End, "")
}

// respond adds what a model answered. Calls are in it as name(arguments).
func (s *Span) respond(content []model.Part) {
	var text []string
	for _, p := range content {
		switch {
		case p.Text != "":
			text = append(text, p.Text)
		case p.Call != nil:
			text = append(text, p.Call.Name+"("+string(p.Call.Args)+")")
		}
	}
	if len(text) > 0 {
		at := max(len(s.Details)-2, 0) // before tokens and finish
		s.Details = slices.Insert(slices.Clone(s.Details), at, Field{"response", strings.Join(text, "\n"), true})
	}
}

// tool takes a state of a call.
// Each state has all arguments as they are by then, so the newest replaces those before.
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
	for _, a := range slices.Clone(r.asides) {
		if a.Call == body.Call {
			b.end(r, a.Span, e.Time, "no answer")
		}
	}
	b.end(r, s, e.Time, failure)
}

// ask begins a question, as a part of its call. Its end is the answer, or the run's.
func (b *Builder) ask(r *openRun, e activity.Event, body activity.ConfirmationAsked) {
	s := b.begin(r, e, Confirmation, body.Tool, Field{Name: "tool", Value: body.Tool})
	if call := b.calls[body.Call]; call != nil {
		s.Parent = call.ID
		s.Details = append(s.Details, Field{"args", call.Details.Get("tool_args"), true})
	}
	s.Details = append(s.Details, Field{Name: "risk", Value: body.Risk}, Field{"why", body.Why, true})
	b.asked[body.ID] = s
}

// approves reports whether an answer permits the call. What it does not know is no.
func approves(outcome string) bool {
	switch outcome {
	case "once", "run", "session", "always", "modify":
		return true
	}
	return false
}

// route adds the choice of an agent, which took as long as the model was asked.
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
		Field{Name: "routing_method", Value: cmp.Or(body.By, body.Strategy)},
		Field{Name: "routing_confidence", Value: body.Confidence},
		Field{Name: "agent", Value: body.Agent}, Field{"text", body.Text, true})
	if body.Model != nil {
		s.Usage = body.Model.Usage
	}
}

// handoffDetails returns what is known of a handoff that began. Reason and payload are
// content: an agent wrote them.
func handoffDetails(body activity.HandoffStarted) Details {
	d := Details{{Name: "from_agent", Value: body.From}, {Name: "to_agent", Value: body.To},
		{"handoff_reason", body.Reason, true}}
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
