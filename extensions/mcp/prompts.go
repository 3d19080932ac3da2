package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/agentls/agentls/agents/tool"
)

// maxFetched is how many characters of a prompt or a resource a run is given; the middle
// of a longer one is left out, with a note.
const maxFetched = 64 << 10

// The limits of the prompts of a server.
const (
	maxPrompts   = 200
	maxArguments = 20  // of each
	maxArgument  = 200 // characters of the name and of the description of each
)

// Prompt is a prompt of a server, which a person calls as a command (spec 9.1).
// All of it is the server's text, cut and without what is not seen.
type Prompt struct {
	// Its name in the settings; not kept, since the file is of one server.
	Server string `json:"-"`
	// As the server has it: one word without characters of patterns.
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	// At most 20, in the server's order.
	Args []Argument `json:"arguments,omitzero"`
}

// Argument is what a prompt wants to know.
// Names and descriptions have at most 200 characters.
type Argument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	// Whether a call without it is refused here.
	Required bool `json:"required,omitzero"`
}

// readPrompts reads the list of prompts of a server. Without one a server is as good,
// and is not waited for long.
// Where it cannot be read the list from before stays.
func (e *entry) readPrompts(ctx context.Context, c *connection) {
	if !c.hasPrompts {
		e.takePrompts(nil)
		return
	}
	// A part of the time that connecting has: a server that hangs here has its tools listed
	// already, and these are what runs wait for.
	ctx, cancel := context.WithTimeout(ctx, e.all.times.connect/5)
	defer cancel()
	all, err := c.prompts(ctx)
	if err != nil {
		if e.all.starts.Err() == nil { // else all are being closed
			e.all.Log.Warn("the prompts of an MCP server cannot be listed", "server", e.name, "err", errorText(err))
		}
		return
	}
	e.takePrompts(all)
}

// prompts reads the list of prompts, as far as there is room.
// More than [maxPrompts] are cut off without a word: a person would not look through
// them either.
func (c *connection) prompts(ctx context.Context) (all []Prompt, err error) {
	short := func(text string) string {
		text, _ = tool.CutLine(tool.Escape(text), maxArgument)
		return text
	}
	ctx = withoutPerson(ctx)
	var request mcp.ListPromptsRequest
	for range maxPages {
		// New for each request: a call that is left behind may still write it.
		page := new(mcp.ListPromptsResult)
		err := c.await(ctx, func() error {
			result, err := c.client.ListPromptsByPage(ctx, request)
			if err == nil {
				*page = *result
			}
			return err
		})
		if err != nil {
			return nil, err // who waits for the answer may still write page
		}
		for _, p := range page.Prompts {
			if len(all) == maxPrompts {
				return all, nil
			}
			if !nameable(p.Name) {
				continue // nobody could type it
			}
			one := Prompt{Name: p.Name, Description: description(p.Description)}
			for _, a := range p.Arguments[:min(len(p.Arguments), maxArguments)] {
				one.Args = append(one.Args, Argument{short(a.Name), short(a.Description), a.Required})
			}
			all = append(all, one)
		}
		if page.NextCursor == "" {
			break
		}
		request.Params.Cursor = page.NextCursor
	}
	return all, nil
}

// takePrompts takes over a list of prompts.
func (e *entry) takePrompts(all []Prompt) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.EqualFunc(e.prompts, all, func(a, b Prompt) bool {
		return a.Name == b.Name && a.Description == b.Description && slices.Equal(a.Args, b.Args)
	}) {
		e.prompts = all
		e.keep()
	}
}

// Prompts returns the prompts of the servers of a folder, as they were listed last.
// Like [Servers.Overview] it reads nothing.
// They are in no order. The caller owns the slice, but must not change what is in it.
func (a *Servers) Prompts(folder string) []Prompt {
	a.mu.Lock()
	entries := slices.Collect(maps.Values(a.entries))
	a.mu.Unlock()
	var all []Prompt
	for _, e := range entries {
		e.mu.Lock()
		if e.folder == folder && e.server.Problem == "" && !e.stopped {
			for _, p := range e.prompts {
				p.Server = e.name
				all = append(all, p)
			}
		}
		e.mu.Unlock()
	}
	return all
}

// Prompt returns the text of a prompt, for what was typed behind its name. The server
// is started if it does not run. Its text is a stranger's.
// Arguments are given as --name=value or in their order; p is one of [Servers.Prompts].
// The text has at most 65536 characters, and the middle of a longer one is left out. The
// call ends with ctx, or after a minute without an answer.
//
// The error is of kind fault.NotFound for a server that is not described any more; any
// other is plain text for the person, who typed something that does not fit or whose
// server did not answer.
func (a *Servers) Prompt(ctx context.Context, folder string, p Prompt, typed string) (string, error) {
	args, err := p.read(typed)
	if err != nil {
		return "", err
	}
	var request mcp.GetPromptRequest
	request.Params.Name, request.Params.Arguments = p.Name, args
	return a.fetch(ctx, folder, p.Server, "prompt", func(ctx context.Context, c *connection) error {
		_, err := c.client.GetPrompt(ctx, request)
		return err
	}, readPrompt)
}

// Resource returns a resource of a server as text, as Prompt does.
// A resource that is no text is a note that says so.
func (a *Servers) Resource(ctx context.Context, folder, server, uri string) (string, error) {
	var request mcp.ReadResourceRequest
	request.Params.URI = uri
	return a.fetch(ctx, folder, server, "resource", func(ctx context.Context, c *connection) error {
		_, err := c.client.ReadResource(ctx, request)
		return err
	}, readResource)
}

// fetch asks a server for something and reads the answer as text.
// ask does the request; its result is taken as the server wrote it, by read. what names
// it in the error.
func (a *Servers) fetch(
	ctx context.Context, folder, server, what string, ask func(context.Context, *connection) error,
	read func([]byte) (string, error),
) (string, error) {
	e, err := a.find(folder, server)
	if err != nil {
		return "", err
	}
	conn, err := e.acquire(ctx)
	if err == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, a.times.silence,
			fmt.Errorf("it did not answer within %v", a.times.silence))
		defer cancel()
		defer conn.use()()
		// No run waits for it, so the server cannot ask the person anything meanwhile.
		ctx, raw := keepRaw(withoutPerson(ctx))
		if err = conn.await(ctx, func() error { return ask(ctx, conn) }); err == nil {
			var text string
			if text, err = read(*raw); err == nil {
				text, _ = tool.CutTo(strings.ToValidUTF8(text, "\uFFFD"), maxFetched)
				return text, nil
			}
		}
	}
	return "", fmt.Errorf("the %s of the MCP server %s cannot be read: %s", what, server, errorText(err))
}

// readPrompt returns the messages of a prompt, each as text.
// Parts that are no text are replaced by a note. At most [maxParts] messages are read, and the
// rest is counted.
func readPrompt(raw []byte) (string, error) {
	var p struct {
		Messages []struct {
			Role    string `json:"role"`
			Content struct {
				Type     string `json:"type"`
				Text     string `json:"text"`
				Resource struct {
					URI  string `json:"uri"`
					Text string `json:"text"`
				} `json:"resource"`
			} `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return "", err
	}
	var parts []string
	for _, m := range p.Messages[:min(len(p.Messages), maxParts)] {
		text := m.Content.Text
		switch {
		case m.Content.Resource.Text != "":
			text = "[resource " + tool.Escape(m.Content.Resource.URI) + "]\n" + m.Content.Resource.Text
		case m.Content.Type != "text":
			text = fmt.Sprintf("[a part of type %q is left out]", m.Content.Type)
		}
		// All of it becomes one text of the person's, so it must say who is meant to have said what.
		if m.Role == "assistant" {
			text = "[as an answer of the assistant] " + text
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return "", errors.New("it is empty")
	}
	return strings.Join(leftOut(parts, len(p.Messages)), "\n\n"), nil
}

// readResource returns the texts of a resource.
// Contents that are no text are replaced by a note.
func readResource(raw []byte) (string, error) {
	var r struct {
		Contents []struct {
			URI      string `json:"uri"`
			MimeType string `json:"mimeType"`
			Text     string `json:"text"`
			Blob     string `json:"blob"`
		} `json:"contents"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return "", err
	}
	var parts []string
	for _, c := range r.Contents[:min(len(r.Contents), maxParts)] {
		ofText := c.MimeType == "" || strings.HasPrefix(c.MimeType, "text/")
		if empty := ofText && c.Blob == ""; c.Text == "" && !empty {
			kind := "an unknown type"
			if c.MimeType != "" {
				kind = "type " + tool.Escape(c.MimeType)
			}
			c.Text = "[content of " + kind + " is left out]"
		}
		parts = append(parts, c.Text)
	}
	if len(parts) == 0 {
		return "", errors.New("it is empty")
	}
	return strings.Join(leftOut(parts, len(r.Contents)), "\n\n"), nil
}

// named matches --name=value and --name="value with blanks".
var named = regexp.MustCompile(`--([A-Za-z0-9_.-]+)=("[^"]*"|\S*)`)

// read returns the arguments of a prompt from what was typed: those with names, then
// the others in their order, the last of which is all the rest.
func (p *Prompt) read(typed string) (map[string]string, error) {
	args := make(map[string]string)
	for _, m := range named.FindAllStringSubmatch(typed, -1) {
		if !slices.ContainsFunc(p.Args, func(a Argument) bool { return a.Name == m[1] }) {
			return nil, fmt.Errorf("the prompt %s of the MCP server %s has no argument %s", p.Name, p.Server, m[1])
		}
		args[m[1]] = strings.Trim(m[2], `"`)
	}
	rest := strings.TrimSpace(named.ReplaceAllString(typed, ""))
	var open []string
	for _, a := range p.Args {
		if _, given := args[a.Name]; !given {
			open = append(open, a.Name)
		}
	}
	// Each gets one word, and the last all that is left.
	for i, name := range open {
		value, behind, _ := strings.Cut(rest, " ")
		if i == len(open)-1 {
			value, behind = rest, ""
		}
		if value == "" {
			break
		}
		args[name], rest = value, strings.TrimSpace(behind)
	}
	if len(open) == 0 && rest != "" {
		return nil, fmt.Errorf("the prompt %s of the MCP server %s has no place for %q", p.Name, p.Server, rest)
	}
	for _, a := range p.Args {
		if _, given := args[a.Name]; !given && a.Required {
			return nil, fmt.Errorf("the prompt %s of the MCP server %s needs %s: write /%s:%s --%s=…", p.Name, p.Server,
				a.Name, p.Server, p.Name, a.Name)
		}
	}
	return args, nil
}
