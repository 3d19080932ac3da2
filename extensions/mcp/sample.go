package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
)

// The limits of what a server may have the model asked.
const (
	maxSampled = 8000 // characters: the person is shown all of them
	maxAnswer  = 8192 // tokens
)

// sampler answers what a server asks the model (spec 9.1): only for servers whose
// description in the person's own settings allows it, and only what the person lets
// through, one by one. The model is told nothing but what the server says.
type sampler struct{ *connection }

// letAnswer is the person's yes.
const letAnswer = "Let the model answer"

// CreateMessage implements [client.SamplingHandler].
// The error is what the server is told; the person is told it as well.
func (c sampler) CreateMessage(ctx context.Context, request mcp.CreateMessageRequest) (*mcp.CreateMessageResult,
	error) {
	a := c.asker(ctx)
	if a == nil || a.env.Ask == nil || a.env.Consult == nil {
		return nil, errors.New("there is nobody who could be asked whether the model may answer, or no model")
	}
	for _, call := range c.waiting() { // a server may do one thing at a time
		defer call.hold()()
	}
	result, err := c.answer(a, request.CreateMessageParams)
	if err != nil {
		a.env.Progress(fmt.Sprintf("The MCP server %s wanted the model to answer something, and got no answer: %s.\n",
			c.server.Name, errorText(err)))
		return nil, errors.New(errorText(err))
	}
	return result, nil
}

// answer asks the person, and then the model.
// The model's answer goes to the server only where it holds no key of the person's.
// What it costs counts for the run whose call goes on, as env.Consult does it.
func (c sampler) answer(a *asking, p mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	req, shown, err := samplingRequest(p)
	if err != nil {
		return nil, err
	}
	message := fmt.Sprintf("It wants your model (%s) to answer this, and gets the answer:\n\n%s", a.env.Model, shown)
	// The one choice lets it through; whatever else the person says declines.
	said, err := elicitor(c).question(a, message, []string{letAnswer})
	if err != nil {
		return nil, err
	}
	if said.Action != "accept" || said.Text != letAnswer {
		return nil, errors.New("the person declined it")
	}
	answer, err := a.env.Consult(a.ctx, fmt.Sprintf("The model answered the MCP server %s, which asked:\n%s",
		c.server.Name, shown), req)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	// Only what the model said: its thoughts are no part of the answer.
	for _, part := range answer.Message.Parts {
		text.WriteString(part.Text)
	}
	switch {
	case text.Len() == 0:
		return nil, errors.New("the model gave no answer")
	case a.env.Secret != nil && a.env.Secret(text.String()):
		return nil, errors.New("the answer holds a key of yours")
	}
	result := &mcp.CreateMessageResult{Model: a.env.Model, StopReason: "endTurn"}
	if answer.Finish == model.Length {
		result.StopReason = "maxTokens"
	}
	result.Role, result.Content = mcp.RoleAssistant, mcp.NewTextContent(text.String())
	return result, nil
}

// samplingRequest returns what a model is asked, and the same in words for the person.
// The last message must be the user's. Preferences for models and what context to
// include are not heeded: the model is the run's, and is told nothing else.
func samplingRequest(p mcp.CreateMessageParams) (req *model.Request, shown string, err error) {
	if len(p.Tools) > 0 {
		return nil, "", errors.New("it wants the model to call tools")
	}
	req = &model.Request{System: p.SystemPrompt, Options: model.Options{MaxOutput: maxAnswer}}
	if p.MaxTokens > 0 {
		req.Options.MaxOutput = min(p.MaxTokens, maxAnswer)
	}
	if p.Temperature > 0 {
		req.Options.Temperature = &p.Temperature
	}
	var lines []string
	// Each line is indented, so that no text can look like the name of another speaker.
	say := func(who, text string) {
		lines = append(lines, who+":")
		for line := range strings.SplitSeq(text, "\n") {
			lines = append(lines, "  "+tool.Escape(line))
		}
	}
	if p.SystemPrompt != "" {
		say("system", p.SystemPrompt)
	}
	for _, m := range p.Messages {
		text, err := textContent(m.Content)
		if err != nil {
			return nil, "", err
		}
		role := model.User
		if m.Role == mcp.RoleAssistant {
			role = model.Reply
		}
		say(string(role), text)
		req.Messages = append(req.Messages, model.Message{Role: role, Parts: []model.Part{{Text: text}}})
	}
	shown = strings.Join(lines, "\n")
	switch n := len(req.Messages); {
	case n == 0 || req.Messages[n-1].Role != model.User:
		return nil, "", errors.New("it asks nothing")
	case utf8.RuneCountInString(shown) > maxSampled:
		return nil, "", fmt.Errorf("it has more than %d characters, which nobody can look through; ask for less",
			maxSampled)
	}
	return req, shown, nil
}

// textContent returns the text of a message's content, which is one block or several.
//
// Anything but text is an error, so that a server does not get an answer to half of its
// message.
func textContent(content any) (string, error) {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	raw, err := json.Marshal(content)
	if err != nil {
		return "", err
	}
	var blocks []block
	if json.Unmarshal(raw, &blocks) != nil {
		blocks = make([]block, 1)
		err = json.Unmarshal(raw, &blocks[0])
	}
	var texts []string
	for _, b := range blocks {
		if err == nil && b.Type != "text" {
			err = fmt.Errorf("it holds %.20q, and only text is passed on", b.Type)
		}
		texts = append(texts, b.Text)
	}
	if text := strings.Join(texts, "\n"); err != nil || text != "" {
		return text, err
	}
	return "", errors.New("a message of it is empty")
}
