package modelserver

import (
	"fmt"
	"slices"
	"strings"
)

// holds reports whether the request is one for the section.
func (c condition) holds(r *Request) bool {
	ok := false
	switch c.field {
	case "system":
		ok = strings.Contains(r.System, c.text)
	case "model":
		ok = strings.Contains(r.Model, c.text)
	case "input":
		ok = strings.Contains(r.Input(), c.text)
	case "history":
		ok = strings.Contains(r.history(), c.text)
	case "tool":
		ok = slices.Contains(r.Tools, c.text)
	}
	return ok != c.not
}

// check returns what is wrong with a request, or nil.
func (e expect) check(r *Request) error {
	found, what, was := e.find(r)
	if found != e.not {
		return nil
	}
	if e.not {
		return fmt.Errorf("%s, and must not", what)
	}
	if was != "" {
		return fmt.Errorf("not so: %s; it was %s", what, was)
	}
	return fmt.Errorf("not so: %s", what)
}

// find reports whether the line holds, what it says, and what there is instead.
func (e expect) find(r *Request) (found bool, what, was string) {
	contains := func(name, text string) (bool, string, string) {
		return strings.Contains(text, e.text), fmt.Sprintf("%s contains %q", name, e.text),
			fmt.Sprintf("%q", clip(text))
	}
	switch e.field {
	case "text":
		return contains("the last text of the user", r.LastInput())
	case "system":
		return contains("the system prompt", r.System)
	case "model":
		return contains("the model's id", r.Model)
	case "body":
		return contains("the request", string(r.Body))
	case "history":
		return contains("the conversation", r.history())
	case "tool":
		return slices.Contains(r.Tools, e.name), fmt.Sprintf("the tool %s is offered", e.name),
			strings.Join(r.Tools, ", ")
	case "messages":
		return len(r.Messages) == e.n, fmt.Sprintf("the conversation has %d messages", e.n), fmt.Sprint(len(r.Messages))
	case "media":
		return e.media(r), fmt.Sprintf("the last message has data of type %s", e.text), ""
	case "call":
		return e.call(r), fmt.Sprintf("the last message of the model calls %s", e.name), ""
	default:
		return e.result(r)
	}
}

// result looks for a tool's result, or its error, in the last message; text "" is in any.
func (e expect) result(r *Request) (found bool, what, was string) {
	what = "the last message has a result of " + e.name
	if e.field == "result-error" {
		what = "the last message has an error of " + e.name
	}
	if e.text != "" {
		what += fmt.Sprintf(" that contains %q", e.text)
	}
	if len(r.Messages) == 0 {
		return false, what, ""
	}
	var all []string
	for _, p := range r.Messages[len(r.Messages)-1].Parts {
		res := p.Result
		if res == nil {
			continue
		}
		all = append(all, fmt.Sprintf("%s (error: %v): %q", res.Name, res.Error, clip(res.Text)))
		if res.Name == e.name && strings.Contains(res.Text, e.text) && (e.field == "result" || res.Error) {
			found = true
		}
	}
	return found, what, strings.Join(all, "; ")
}

// media looks in the last message only.
func (e expect) media(r *Request) bool {
	if len(r.Messages) == 0 {
		return false
	}
	return slices.ContainsFunc(r.Messages[len(r.Messages)-1].Parts, func(p Part) bool {
		return p.MimeType != "" && p.MimeType == e.text
	})
}

// call looks in the last message of the model, wherever it stands.
func (e expect) call(r *Request) bool {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if m := r.Messages[i]; m.Role == "model" {
			return slices.ContainsFunc(m.calls(), func(c *Call) bool { return c.Name == e.name })
		}
	}
	return false
}

// history returns all that was said, called and answered, one piece a line.
func (r *Request) history() string {
	var b strings.Builder
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				fmt.Fprintf(&b, "%s %s\n", p.Call.Name, p.Call.Args)
			case p.Result != nil:
				fmt.Fprintf(&b, "%s %s\n", p.Result.Name, p.Result.Text)
			default:
				b.WriteString(p.Text + "\n")
			}
		}
	}
	return b.String()
}

// clip shortens a text for a message.
func clip(s string) string {
	const most = 400
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most/2], "") + " … " + strings.ToValidUTF8(s[len(s)-most/2:], "")
}
