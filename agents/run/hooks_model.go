package run

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
)

// hookRequest is a request as hooks see it: gemini-cli's form, which has only text.
type hookRequest struct {
	Model    string        `json:"model"`
	Messages []hookMessage `json:"messages"`
	Config   struct {
		Temperature *float64 `json:"temperature,omitempty"`
		TopP        *float64 `json:"topP,omitempty"`
		MaxOutput   int      `json:"maxOutputTokens,omitzero"`
	} `json:"config"`
	ToolConfig hookToolConfig `json:"toolConfig"`
}

// hookMessage is a message; its role is user, model or system.
type hookMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// hookToolConfig says which tools a model may call.
type hookToolConfig struct {
	Mode    string   `json:"mode,omitempty"` // AUTO or NONE
	Allowed []string `json:"allowedFunctionNames,omitempty"`
}

// hookResponse is an answer as hooks see it.
type hookResponse struct {
	Text       string          `json:"text,omitempty"`
	Candidates []hookCandidate `json:"candidates,omitempty"`
	Candidate  *hookCandidate  `json:"candidate,omitempty"` // an older form
	Usage      struct {
		Total int `json:"totalTokenCount"`
	} `json:"usageMetadata"`
}

// hookCandidate is one of the answers that gemini-cli's form may have; only the first counts.
type hookCandidate struct {
	Content struct {
		Role  string            `json:"role"`
		Parts []json.RawMessage `json:"parts"` // texts, or objects with a text
	} `json:"content"`
	FinishReason string `json:"finishReason"`
}

// words returns the text of an answer that a hook gives. A hook calls no tools.
func (h *hookResponse) words() (string, error) {
	candidate := h.Candidate
	if candidate == nil && len(h.Candidates) > 0 {
		candidate = &h.Candidates[0]
	}
	if candidate == nil {
		return h.Text, nil
	}
	var all strings.Builder
	for _, raw := range candidate.Content.Parts {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			var part struct{ Text *string }
			if json.Unmarshal(raw, &part) != nil || part.Text == nil {
				return "", fmt.Errorf("a part of its answer is no text: %s", raw)
			}
			text = *part.Text
		}
		all.WriteString(text)
	}
	return all.String(), nil
}

// edit is what hooks make of the requests of one answer.
//
// It holds for all requests of one answer, also to other models and of further attempts: hooks
// are asked once for an answer. A nil edit changes nothing.
type edit struct {
	system   string          // added to the system prompt
	messages []model.Message // instead of the conversation; nil = as it is
	config   func(*model.Options)
	allowed  func(name string) bool // the tools that are offered; nil = all
}

// apply changes a request.
func (e *edit) apply(req *model.Request) {
	if e == nil {
		return
	}
	req.System += e.system
	if e.messages != nil {
		req.Messages = e.messages
	}
	if e.config != nil {
		e.config(&req.Options)
	}
	if e.allowed != nil {
		req.Tools = slices.DeleteFunc(req.Tools, func(d model.Declaration) bool { return !e.allowed(d.Name) })
	}
}

// requestForHooks returns a request as hooks see it, and for each of its messages the one of the
// request.
func requestForHooks(req *model.Request) (h hookRequest, at []int) {
	h.Model, h.Messages = req.Model, []hookMessage{}
	h.Config.Temperature, h.Config.TopP, h.Config.MaxOutput = req.Options.Temperature,
		req.Options.TopP, req.Options.MaxOutput
	h.ToolConfig.Mode = "AUTO"
	for _, t := range req.Tools {
		h.ToolConfig.Allowed = append(h.ToolConfig.Allowed, t.Name)
	}
	for i, m := range req.Messages {
		if text := words(m); text != "" {
			h.Messages, at = append(h.Messages, hookMessage{string(m.Role), text}), append(at, i)
		}
	}
	return h, at
}

// words returns the text of a message, thoughts and calls left out.
func words(m model.Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// askModelHooks runs the hooks before the next answer of a model: they may change the
// request, take tools out of it, refuse it, or answer it.
//
// An answer that is not nil is a hook's, and no model is asked. The error is an *errHook, which
// ends the run, or the context's.
func (r *runner) askModelHooks(ctx context.Context) (*model.Answer, error) {
	r.edit = nil
	if !r.hooked("BeforeModel") && !r.hooked("BeforeToolSelection") {
		return nil, nil
	}
	req := r.request(r.Models[0])
	given, at := requestForHooks(req)
	a := r.fire(ctx, "BeforeModel", nil, map[string]any{"llm_request": given})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if a.Stop || a.Denied() {
		return nil, &errHook{"a hook did not let the model be asked: " + a.Reason}
	}
	if raw := a.Edited["llm_response"]; raw != nil {
		return r.answerOfHook(raw)
	}
	e := &edit{}
	if raw := a.Edited["llm_request"]; raw != nil {
		var wanted hookRequest
		err := json.Unmarshal(raw, &wanted)
		if err == nil {
			err = r.change(e, req, given, at, wanted)
		}
		if err != nil {
			return nil, &errHook{fmt.Sprintf("the request cannot be what a hook makes of it: %v", err)}
		}
		// Hooks of the next event see the request as those of this one have made it.
		e.apply(req)
		given, _ = requestForHooks(req)
	}
	for _, text := range a.Context {
		e.system += "\n\n[context from a hook]\n" + text
	}
	a = r.fire(ctx, "BeforeToolSelection", nil, map[string]any{"llm_request": given})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if a.Denied() || a.Stop {
		return nil, &errHook{"a hook did not let the model be asked: " + a.Reason}
	}
	if raw := a.Edited["toolConfig"]; raw != nil {
		var c hookToolConfig
		if err := json.Unmarshal(raw, &c); err != nil {
			return nil, &errHook{fmt.Sprintf("the tools that a hook selects cannot be read: %v", err)}
		}
		r.selectTools(e, c)
	}
	r.edit = e
	return nil, nil
}

// selectTools leaves only the tools that hooks chose. The end of a task is always offered.
// A hook may name a tool as gemini-cli does, as we do, or as the model is told it.
func (r *runner) selectTools(e *edit, c hookToolConfig) {
	e.allowed = func(name string) bool {
		if name == CompleteTask {
			return true
		}
		if c.Mode == "NONE" {
			return false
		}
		names := []string{name}
		if t, err := r.Tools.Find(name); err == nil {
			names = append(names, hookNames(t.Spec())...)
		}
		return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(c.Allowed, n) })
	}
}

// change takes over what a hook changed of a request. A message whose role and text are
// those of one that was there is that one, with what hooks are not shown of it.
//
// Hooks see texts only, so what they return has lost calls, results and the provider's own
// parts. Messages are matched by role and text to give these back; messages without a text,
// which hooks are not shown, stay where they were. The conversation must pass session.Check in
// the end, or the request is refused.
func (r *runner) change(e *edit, req *model.Request, given hookRequest, at []int, wanted hookRequest) error {
	if wanted.Model != "" && wanted.Model != given.Model {
		i := slices.IndexFunc(r.Models, func(c Choice) bool { return c.ID == wanted.Model })
		if i < 0 {
			return fmt.Errorf("the agent has no model %s; name it in fallback_models", wanted.Model)
		}
		r.prefer = wanted.Model
	}
	e.config = func(o *model.Options) {
		if c := wanted.Config; c.Temperature != nil {
			o.Temperature = c.Temperature
		}
		if c := wanted.Config; c.TopP != nil {
			o.TopP = c.TopP
		}
		if n := wanted.Config.MaxOutput; n > 0 && (o.MaxOutput == 0 || n < o.MaxOutput) {
			o.MaxOutput = n
		}
	}
	if slices.Equal(wanted.Messages, given.Messages) {
		return nil
	}
	said := slices.DeleteFunc(slices.Clone(wanted.Messages), func(m hookMessage) bool {
		if m.Role == "system" {
			e.system += "\n\n" + m.Content
		}
		return m.Role == "system"
	})
	if slices.Equal(said, given.Messages) {
		return nil
	}
	var all []model.Message
	last := -1               // of given.Messages
	keep := func(upTo int) { // hooks are not shown messages without a text
		from := 0
		if last >= 0 {
			from = at[last] + 1
		}
		for _, m := range req.Messages[from:upTo] {
			if words(m) == "" {
				all = append(all, m)
			}
		}
	}
	for i, m := range said {
		if m.Role != string(model.User) && m.Role != string(model.Reply) {
			return fmt.Errorf("a message has the role %q", m.Role)
		}
		// For a message that was not there Index gives -1: place is last then, and the message
		// counts as one that hooks have added.
		place := last + 1 + slices.Index(given.Messages[last+1:], m)
		if len(said) == len(given.Messages) && m.Role == given.Messages[i].Role {
			place = i // the same conversation, in other words
		}
		if place <= last {
			all = append(all, model.Message{Role: model.Role(m.Role), Parts: []model.Part{{Text: m.Content}}})
			continue
		}
		keep(at[place])
		all = append(all, withText(req.Messages[at[place]], m.Content))
		last = place
	}
	keep(len(req.Messages))
	e.messages = alternate(all)
	return session.Check(e.messages)
}

// withText returns a message with another text. The provider's own form of it goes
// where it would say the old one.
func withText(m model.Message, text string) model.Message {
	if words(m) == text {
		return m
	}
	changed := model.Message{Role: m.Role}
	told := false
	for _, p := range m.Parts {
		switch {
		case p.Text == "":
			changed.Parts = append(changed.Parts, p)
		case !told && text != "":
			changed.Parts, told = append(changed.Parts, model.Part{Text: text}), true
		}
	}
	return changed
}

// answerOfHook is an answer that a hook gives in the model's place.
// It is told and logged as a model's would be, and counts no tokens. The error is an errHook:
// what the hook gave cannot be read, or has no text.
func (r *runner) answerOfHook(raw json.RawMessage) (*model.Answer, error) {
	var h hookResponse
	err := json.Unmarshal(raw, &h)
	text := ""
	if err == nil {
		text, err = h.words()
	}
	if err == nil && text == "" {
		err = fmt.Errorf("it has no text")
	}
	if err != nil {
		return nil, &errHook{fmt.Sprintf("the answer that a hook gives cannot be used: %v", err)}
	}
	told := r.deltas()
	told.take("", "", text)
	told.flush()
	answer := &model.Answer{Finish: model.Stop, Message: model.Message{Role: model.Reply,
		Parts: []model.Part{{Text: text}}}}
	r.say(activity.ModelContent{Content: answer.Message.Parts})
	return answer, nil
}

// review runs the hooks after a model, which may change or refuse what it said.
// Hooks see and change texts only; calls of tools stay as they are. The error is ctx's, or an
// errHook with the hook's reason.
func (r *runner) review(ctx context.Context, req *model.Request, answer *model.Answer) error {
	given, _ := requestForHooks(req)
	text := textOf(answer)
	h := hookResponse{Text: text, Candidates: make([]hookCandidate, 1)}
	h.Usage.Total = answer.Usage.TotalTokens
	part, err := json.Marshal(text)
	if err != nil {
		return err
	}
	h.Candidates[0].Content.Role, h.Candidates[0].Content.Parts = string(model.Reply), []json.RawMessage{part}
	h.Candidates[0].FinishReason = finishNames[answer.Finish]
	a := r.fire(ctx, "AfterModel", nil, map[string]any{"llm_request": given, "llm_response": h})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if a.Denied() || a.Stop {
		return &errHook{strings.TrimSuffix("a hook refused the model's answer: "+a.Reason, ": ")}
	}
	raw := a.Edited["llm_response"]
	if raw == nil {
		return nil
	}
	var edited hookResponse
	if err = json.Unmarshal(raw, &edited); err == nil {
		text, err = edited.words()
	}
	if err != nil {
		return &errHook{fmt.Sprintf("the model's answer cannot be what a hook makes of it: %v", err)}
	}
	calls := len(callsOf(answer))
	answer.Message = withText(answer.Message, text)
	if text == "" && calls == 0 {
		answer.Message.Parts = append(answer.Message.Parts, model.Part{Text: "[removed by a hook]"})
	}
	return nil
}

// finishNames are gemini-cli's words for how an answer ended.
var finishNames = map[model.Finish]string{
	model.Stop: "STOP", model.Length: "MAX_TOKENS", model.Blocked: "SAFETY", model.Malformed: "MALFORMED_FUNCTION_CALL",
	model.Empty: "STOP", model.Other: "OTHER",
}

// checkOffered returns why a tool is not called that hooks took out of the request; nil for
// any other.
// A model may call what it was not offered, from memory of earlier turns.
func (r *runner) checkOffered(t tool.Tool) error {
	if r.edit == nil || r.edit.allowed == nil || r.edit.allowed(t.Spec().ModelName()) {
		return nil
	}
	return tool.Errorf(tool.CodeNotAllowed, "Tool not allowed for this agent: %s: a hook left it out of this request",
		tool.Escape(t.Spec().Name))
}
