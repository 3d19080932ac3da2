package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/tool"
)

// notify takes a notification of the server's. It is called by who reads its
// output, and does not wait.
func (c *connection) notify(method string, params []byte) {
	switch method {
	case string(mcp.MethodNotificationToolsListChanged), string(mcp.MethodNotificationPromptsListChanged):
		select {
		case c.changed <- struct{}{}:
		default: // it is known already
		}
	case string(mcp.MethodNotificationProgress):
		var p struct {
			Token    jsontext.Value `json:"progressToken"`
			Progress float64        `json:"progress"`
			Total    float64        `json:"total"`
			Message  string         `json:"message"`
		}
		if json.Unmarshal(params, &p) != nil {
			return
		}
		var token string
		if json.Unmarshal(p.Token, &token) != nil {
			token = string(p.Token)
		}
		line := progressLine(p.Progress, p.Total, p.Message)
		c.mu.Lock()
		defer c.mu.Unlock()
		if tell := c.progress[token]; tell != nil {
			tell(line)
		}
	}
}

// progressLine returns a line for the person: how far a call is, of how much where the
// server says so, and what it says of that, cut to 200 characters.
func progressLine(progress, total float64, message string) string {
	line := strconv.FormatFloat(progress, 'f', -1, 64)
	if total > 0 {
		line += " of " + strconv.FormatFloat(total, 'f', -1, 64)
	}
	if message != "" {
		short, _ := tool.CutLine(tool.Escape(message), 200)
		line += ": " + short
	}
	return line + "\n"
}

// call calls a tool and returns the result as the server wrote it. env has who is told
// of progress, and who is asked what the server wants to know.
// The call ends with ctx, after the server's [Server.Timeout], or when the server told
// no progress for as long as times.silence. While the person is asked something that
// time stands still. The error is the cause, in words for the model. No call is tried
// again: what it did is not known.
func (c *connection) call(ctx context.Context, name string, args []byte, env *tool.Env) ([]byte, error) {
	t := c.entry.all.times
	ctx, cancel := context.WithTimeoutCause(ctx, c.server.Timeout,
		fmt.Errorf("it took longer than its timeout of %v", c.server.Timeout))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var held atomic.Int32 // questions before the person
	// A timer that rings while the person is asked does nothing; the answer sets it anew.
	silent := time.AfterFunc(t.silence, func() {
		if held.Load() == 0 {
			stop(fmt.Errorf("it told no progress for %v", t.silence))
		}
	})
	defer silent.Stop()
	question := &asking{env: env, ctx: ctx, hold: func() func() {
		held.Add(1)
		return func() {
			held.Add(-1)
			silent.Reset(t.silence)
		}
	}}
	ctx = context.WithValue(ctx, askingKey{}, question)

	c.mu.Lock()
	c.tokens++
	token := strconv.Itoa(c.tokens)
	lines := make(chan string, 16) // who reads the server's output does not wait for who is told
	c.progress[token] = func(line string) {
		silent.Reset(t.silence)
		if len(lines) == cap(lines) { // nobody else sends
			select {
			case <-lines: // one of many: the newest says how far the call is
			default:
			}
		}
		lines <- line
	}
	c.asking = append(c.asking, question)
	c.mu.Unlock()
	defer c.use()()
	forget := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.progress, token)
		close(lines) // nothing is sent any more: [connection.notify] tells with the lock held
		c.asking = slices.DeleteFunc(c.asking, func(a *asking) bool { return a == question })
	}
	var telling conc.WaitGroup
	telling.Go(func() {
		for line := range lines {
			env.Progress(line)
		}
	})
	defer telling.Wait() // the last step comes with the result, and is told before it
	defer forget()

	var request mcp.CallToolRequest
	request.Params.Name = name
	// The bytes that the policy was asked about: a value that was read and written again could
	// differ in them.
	request.Params.Arguments = jsontext.Value(args)
	request.Params.Meta = &mcp.Meta{ProgressToken: token}
	ctx, raw := keepRaw(ctx)
	err := c.await(ctx, func() error {
		_, err := c.client.CallTool(ctx, request)
		if *raw != nil {
			return nil // whether it can be read is said elsewhere
		}
		return err
	})
	// The library reports the end of a context as such; the cause says which limit it was.
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if err != nil {
		return nil, err // who waits for the answer may still write raw
	}
	return *raw, nil
}

// use notes that the server is used until over is called.
// A server in use is neither pinged nor ended for being idle. over must be called
// exactly once.
func (c *connection) use() (over func()) {
	note := func(n int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.calls += n
		c.used = c.entry.all.Now()
	}
	note(1)
	return func() { note(-1) }
}

// listed is a tool as a server lists it.
// It is kept on disk, with the names that its tags give.
type listed struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Schema      jsontext.Value `json:"inputSchema"` // cleaned
	Digest      string         `json:"digest"`      // of what the server wrote
}

// tools reads the list of tools. left says which are left out and why.
// left is for the person, at most [maxLeft] reasons and a note. The error ends the
// attempt to start the server: it did not answer, the list could not be read, or it
// did not end within [maxPages] pages.
func (c *connection) tools(ctx context.Context) (tools []listed, left []string, err error) {
	var request mcp.ListToolsRequest
	seen := make(map[string]bool)
	for range maxPages {
		ctx, raw := keepRaw(withoutPerson(ctx))
		err := c.await(ctx, func() error {
			_, err := c.client.ListToolsByPage(ctx, request)
			// What the server wrote counts, also where the library cannot read it.
			if *raw != nil {
				return nil
			}
			return err
		})
		if errors.Is(err, mcp.ErrMethodNotFound) && !c.hasTools {
			return nil, nil, nil // it said that it has none: only prompts or resources
		}
		if err != nil {
			return nil, nil, err
		}
		var page struct {
			Tools []struct {
				Name        string         `json:"name"`
				Description string         `json:"description"`
				Schema      jsontext.Value `json:"inputSchema"`
			} `json:"tools"`
			Next string `json:"nextCursor"`
		}
		if err := json.Unmarshal(*raw, &page); err != nil {
			return nil, nil, fmt.Errorf("its list of tools cannot be read: %w", err)
		}
		for _, t := range page.Tools {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			if len(left) > maxLeft {
				left = append(left[:maxLeft], "and others")
			}
			switch schema, err := cleanSchema(t.Schema); {
			// What the settings leave out is not told as left out.
			case !c.server.offers(t.Name):
			case !nameable(t.Name):
				left = append(left, fmt.Sprintf("%.80q: its name cannot be used", t.Name))
			case err != nil:
				left = append(left, fmt.Sprintf("%s: %v", t.Name, err))
			case seen[t.Name]:
				left = append(left, t.Name+": it is listed twice")
			case len(tools) == maxTools:
				return tools, append(left, fmt.Sprintf("all behind the first %d", maxTools)), nil
			default:
				// The digest is of what the server wrote: what is cut from a description, or cleaned out
				// of a schema, may change unseen otherwise.
				seen[t.Name] = true
				sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", t.Name, t.Description, t.Schema))
				tools = append(tools, listed{t.Name, description(t.Description), schema, hex.EncodeToString(sum[:])})
			}
		}
		if page.Next == "" {
			return tools, left, nil
		}
		request.Params.Cursor = mcp.Cursor(page.Next)
	}
	return nil, nil, errors.New("its list of tools does not end")
}
