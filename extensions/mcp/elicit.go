package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/dial"
)

// The limits of what a server may ask the person.
const (
	maxQuestions = 20 // in one call
	maxTries     = 3  // of an answer that does not fit
)

// asking is a call that goes on, with the person who can be asked meanwhile.
type asking struct {
	env   *tool.Env
	ctx   context.Context // of the call
	hold  func() func()   // while the person is asked nobody waits for progress
	asked int             // guarded by the connection's mu
}

// askingKey is the key of the asking of a request, in a context. A nil one there says
// that nobody can be asked.
type askingKey struct{}

// elicitor answers what a server asks the person (spec 9.1). The question goes to the
// run whose call goes on; where there is none, or nobody can be asked, it is declined.
type elicitor struct{ *connection }

// Elicit implements [client.ElicitationHandler].
// It returns no error: whatever goes wrong the server is told that the person
// declined, and the person why.
func (c elicitor) Elicit(ctx context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	result := &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionDecline}}
	a := c.asker(ctx)
	if a == nil || a.env.Ask == nil {
		return result, nil
	}
	// Whatever the version of the protocol, a question without a mode is a form.
	ask := c.ask
	if request.Params.Mode == mcp.ElicitationModeURL {
		ask = c.askToOpen
	}
	for _, call := range c.waiting() { // a server may do one thing at a time
		defer call.hold()()
	}
	action, content, err := ask(a, request.Params)
	if err != nil {
		a.env.Progress(fmt.Sprintf("A question of the MCP server %s was declined: %s.\n",
			c.server.Name, errorText(err)))
		return result, nil
	}
	result.Action = mcp.ElicitationResponseAction(action)
	if action == string(mcp.ElicitationResponseActionAccept) && content != nil {
		result.Content = content
	}
	return result, nil
}

// asker returns the call in which a server asks: the one that ctx is of, or the only
// one that goes on; nil where nobody can say which it is.
func (c *connection) asker(ctx context.Context) *asking {
	if a, ok := ctx.Value(askingKey{}).(*asking); ok {
		return a
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// Of several calls the question may be of any: the person must not be asked by the wrong
	// run. calls counts requests for prompts and resources too.
	if len(c.asking) != 1 || c.calls != 1 {
		return nil
	}
	return c.asking[0]
}

// waiting returns the calls that go on.
func (c *connection) waiting() []*asking {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.asking)
}

// withoutPerson returns a context for a request in which nobody can be asked.
func withoutPerson(ctx context.Context) context.Context {
	return context.WithValue(ctx, askingKey{}, (*asking)(nil))
}

// opened is the person's yes to a page.
const opened = "I opened it"

// askToOpen shows the person the address of a page that a server wants opened, whole.
// Nothing of ours opens it (SEC-88).
// The error says why the person is not asked, and is for them.
func (c elicitor) askToOpen(a *asking, params mcp.ElicitationParams) (action string,
	content map[string]any, err error) {
	u, err := dial.ParseURL(params.URL)
	switch {
	case err != nil:
		return "", nil, err
	case len(params.URL) > maxAddress || strings.ContainsFunc(params.URL, func(r rune) bool { return r > '~' }):
		return "", nil, fmt.Errorf("its address has more than %d characters, or such as no address has", maxAddress)
	case a.env.Secret != nil && a.env.Secret(params.URL):
		return "", nil, errors.New("its address holds a key of yours")
	}
	message := fmt.Sprintf("%s\n\nIt wants you to open this page of %s in your browser, if you trust it:\n%s",
		description(params.Message), u.Host, u)
	// Accept without the choice is not what was offered, and counts as no.
	answer, err := c.question(a, message, []string{opened})
	if err == nil && answer.Action == "accept" && answer.Text != opened {
		answer.Action = "decline"
	}
	return answer.Action, nil, err
}

// property is what a server wants to know.
type property struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Format      string   `json:"format"`
	Enum        []string `json:"enum"`
	EnumNames   []string `json:"enumNames"`
	OneOf       []option `json:"oneOf"`
	Items       struct { // of an array: several may be chosen
		Enum  []string `json:"enum"`
		AnyOf []option `json:"anyOf"`
		OneOf []option `json:"oneOf"`
	} `json:"items"`
	Default any `json:"default"`
}

// option is a value that may be chosen.
type option struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// askable reports whether a person can be asked for such a value.
func (p *property) askable() bool {
	shown, _ := p.choices()
	return slices.Contains([]string{"string", "number", "integer", "boolean"}, p.Type) ||
		(p.Type == "array" && len(shown) > 0)
}

// ask asks the person for each property of a form. The error says why it is declined.
// Required properties are asked for first, in the order of the server, the others by
// name. One that cannot be asked for is left out, unless it is required. Nothing is
// asked before all of the form is known to be harmless.
func (c elicitor) ask(a *asking, params mcp.ElicitationParams) (action string, content map[string]any, err error) {
	var form struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	raw, err := json.Marshal(params.RequestedSchema)
	if err == nil {
		err = json.Unmarshal(raw, &form)
	}
	if err != nil {
		return "", nil, fmt.Errorf("its form cannot be read: %w", err)
	}
	// Properties have no order in JSON; the list of required ones has.
	names := slices.DeleteFunc(slices.Clone(form.Required),
		func(name string) bool { return form.Properties[name] == nil })
	for _, name := range slices.Sorted(maps.Keys(form.Properties)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	properties := make(map[string]property)
	for _, name := range names {
		var p property
		if err := json.Unmarshal(form.Properties[name], &p); err != nil || !p.askable() {
			if slices.Contains(form.Required, name) {
				return "", nil, fmt.Errorf("%s is not a text, a number or a choice", name)
			}
			continue
		}
		// A word in the question itself counts only for what is typed: a choice may well be about
		// tokens.
		free := p.Type != "boolean" && p.Type != "array" &&
			len(p.Enum)+len(p.OneOf) == 0 // else the server knows the answers
		if p.Format == "password" || secret.MatchString(name+" "+p.Title+" "+p.Description) ||
			code.MatchString(name+" "+p.Title) ||
			(free && (secret.MatchString(params.Message) || code.MatchString(params.Message))) {
			return "", nil, fmt.Errorf("it asks for a secret (%s); give it one in its env or headers if you trust it",
				name)
		}
		properties[name] = p
	}
	message := description(params.Message)
	if len(properties) == 0 { // nothing of it can be asked for one by one
		answer, err := c.question(a, message, []string{"OK"})
		return answer.Action, map[string]any{}, err
	}
	content = make(map[string]any)
	for _, name := range names {
		p, ok := properties[name]
		if !ok {
			continue
		}
		action, value, err := c.askFor(a, message, name, p, form.Properties[name], slices.Contains(form.Required, name))
		if err != nil || action != "accept" {
			return action, nil, err
		}
		if value != nil {
			content[name] = value
		}
	}
	return "accept", content, nil
}

// secret and code match what the person is never asked for on behalf of a server
// (SEC-88): code not in descriptions, which say that they do not want one.
var (
	secret = regexp.MustCompile(`(?i)pass[-_ ]?(word|wd|code|phrase)|secret|credential|token|(api|access|private)[-_ ]?key`)
	code   = regexp.MustCompile(`(?i:(?:\b|_)(?:otp|pin|cvv|cvc)(?:\b|_))|[a-z](?:Otp|OTP|Pin|PIN|Cvv|CVV|Cvc|CVC)(?:\b|_|[A-Z])`)
)

// skip is the choice of no answer.
const skip = "(no answer)"

// askFor asks for one property until the answer fits. value is nil where the person
// leaves an optional one out.
// An answer must fit the server's own schema of the property. It is asked for
// [maxTries] times, then the error declines the whole form.
func (c elicitor) askFor(a *asking, message, name string, p property, schema json.RawMessage,
	required bool) (action string, value any, err error) {
	one, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]json.RawMessage{name: schema}})
	if err != nil {
		return "", nil, err
	}
	// The server's schema as it wrote it, so that what it would refuse is not sent.
	check := tool.NewSchema(one, nil)
	choices, values := p.choices()
	hint, list := "", ""
	switch p.Type {
	case "boolean":
		choices = []string{"true", "false"}
	case "number", "integer":
		hint = " (a number)"
	case "array":
		for i, choice := range choices {
			list += fmt.Sprintf("\n%d. %s", i+1, choice)
		}
		hint, choices = " (numbers of the list, with commas between them)", nil
	}
	if !required && len(choices) > 0 {
		choices = append(choices, skip)
	} else if !required {
		hint += " (optional: it may stay empty)"
	}
	text := message + "\n\n" + description(cmp.Or(p.Title, name)) + hint
	if p.Description != "" {
		text += ": " + description(p.Description)
	}
	text += list
	if p.Default != nil {
		text += "\nUsual: " + description(fmt.Sprint(p.Default))
	}
	wrong := ""
	for range maxTries {
		answer, err := c.question(a, text+wrong, choices)
		if err != nil || answer.Action != "accept" {
			return answer.Action, nil, err
		}
		if !required && (answer.Text == "" || answer.Text == skip) {
			return "accept", nil, nil
		}
		value, err := p.read(cmp.Or(values[answer.Text], answer.Text))
		if err == nil {
			var object []byte
			if object, err = json.Marshal(map[string]any{name: value}); err == nil {
				_, err = check.Check(object)
			}
		}
		if err == nil {
			return "accept", value, nil
		}
		wrong = "\n\nThat answer does not fit: " + strings.TrimPrefix(errorText(err), `The arguments do not fit the tool:\n`)
	}
	return "", nil, fmt.Errorf("no answer fits %s", name)
}

// choices returns what the person chooses from, and what each stands for.
// Of two values with the same title the second is shown as what it is. Both results
// are empty where any text will do.
func (p *property) choices() (shown []string, values map[string]string) {
	values = make(map[string]string)
	add := func(value, title string) {
		if title = description(cmp.Or(title, value)); values[title] != "" {
			title = description(value)
		}
		shown, values[title] = append(shown, title), value
	}
	for _, value := range p.Items.Enum {
		add(value, "")
	}
	for _, of := range slices.Concat(p.Items.AnyOf, p.Items.OneOf) {
		add(of.Const, of.Title)
	}
	for i, value := range p.Enum {
		title := ""
		if i < len(p.EnumNames) {
			title = p.EnumNames[i]
		}
		add(value, title)
	}
	for _, of := range p.OneOf {
		add(of.Const, of.Title)
	}
	return shown, values
}

// read returns an answer as the value of a property.
// The error says, for the person, why the text is no such value. Limits of the schema
// are checked elsewhere.
func (p *property) read(text string) (any, error) {
	switch text = strings.TrimSpace(text); p.Type {
	case "array":
		shown, values := p.choices()
		chosen := []string{}
		for one := range strings.SplitSeq(text, ",") {
			one = strings.TrimSpace(one)
			// A number is a place in the list first: the list was shown with these numbers.
			if n, err := strconv.Atoi(one); err == nil && n >= 1 && n <= len(shown) {
				one = shown[n-1]
			}
			value, there := values[one]
			if !there {
				return nil, fmt.Errorf("%q is not in the list", one)
			}
			chosen = append(chosen, value)
		}
		return chosen, nil
	case "boolean":
		return strconv.ParseBool(text)
	case "integer":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, nil
		}
		return nil, fmt.Errorf("%q is no whole number", text)
	case "number":
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return n, nil
		}
		return nil, fmt.Errorf("%q is no number", text)
	}
	return text, nil
}

// question puts one question before the person.
// It waits for as long as the person takes, or until the call ends. Of one call
// [maxQuestions] are asked, forms and samplings together. An answer in which there is
// a key of the person's is an error, and goes nowhere.
func (c elicitor) question(a *asking, message string, choices []string) (tool.Answer, error) {
	c.mu.Lock()
	a.asked++
	many := a.asked > maxQuestions
	c.mu.Unlock()
	if many {
		return tool.Answer{}, fmt.Errorf("it asked %d questions in one call", maxQuestions)
	}
	answer, err := a.env.Ask(a.ctx, tool.Question{Title: "The MCP server " + c.server.Name + " asks",
		Message: message, Choices: choices})
	if err == nil && a.env.Secret != nil && a.env.Secret(answer.Text) {
		return tool.Answer{}, fmt.Errorf("the answer holds a key of yours")
	}
	return answer, err
}
