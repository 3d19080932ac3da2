package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/wire"
)

// timeline shows a run as it goes on: the agent's title and text on standard
// output, what it does on standard error (spec 10).
type timeline struct {
	out, err io.Writer
	terminal *terminal
	title    string // of the agent; set before its run begins

	mu      sync.Mutex
	midLine bool                     // text was written that does not end in a line end
	asked   map[string]chan struct{} // by question: closed when its event was shown
}

func newTimeline(std streams, t *terminal) *timeline {
	return &timeline{out: std.out, err: std.err, terminal: t, asked: make(map[string]chan struct{})}
}

// handlers returns what a client does with what the daemon sends.
func (t *timeline) handlers() client.Config {
	return client.Config{
		Notified: func(method string, params []byte) {
			switch method {
			case wire.MethodActivity:
				var e wire.ActivityParams
				if (wire.Codec{}).Unmarshal(params, &e) == nil {
					t.show(e)
				}
			case protocol.MethodWindowShowMessage:
				var p protocol.ShowMessageParams
				if (wire.Codec{}).Unmarshal(params, &p) == nil {
					t.say("%s", p.Message)
				}
			}
		},
		Asked: func(ctx context.Context, method string, params []byte) (any, error) {
			switch method {
			case wire.MethodConfirm:
				p := new(wire.ConfirmParams)
				if err := (wire.Codec{}).Unmarshal(params, p); err != nil {
					return nil, err
				}
				t.awaitEvent(ctx, p.ID)
				t.newLine()
				return t.terminal.confirm(ctx, p)
			case wire.MethodAsk:
				p := new(wire.AskParams)
				if err := (wire.Codec{}).Unmarshal(params, p); err != nil {
					return nil, err
				}
				t.newLine()
				return t.terminal.ask(ctx, p)
			}
			return nil, jsonrpc2.ErrMethodNotFound
		},
	}
}

// show shows one event.
func (t *timeline) show(e wire.ActivityParams) {
	body, err := activity.Decode(e.Type, e.Data)
	if err != nil {
		return
	}
	switch b := body.(type) {
	case activity.RunStarted:
		t.text(tool.Escape(t.title) + "\n")
		t.say("model %s", tool.Escape(b.Model))
	case activity.ContentDelta:
		t.text(b.Text)
	case activity.ToolState:
		t.call(b)
	case activity.ConfirmationAsked:
		t.mu.Lock()
		close(t.question(b.ID))
		t.mu.Unlock()
	case activity.ConfirmationAnswered:
		if b.By == "timeout" {
			t.say("nobody answered in time: refused")
		}
	case activity.Retry:
		t.say("trying again (%s)", tool.Escape(b.Cause))
	case activity.Note:
		t.say("%s", tool.Escape(b.Message))
	case activity.ErrorSeen:
		t.say("error: %s", tool.Escape(b.Message))
	}
}

// question returns the channel of a question's event. t.mu is held.
func (t *timeline) question(id string) chan struct{} {
	if t.asked[id] == nil {
		t.asked[id] = make(chan struct{})
	}
	return t.asked[id]
}

// awaitEvent waits until what came before a question was shown: a question
// overtakes the stream of events. It does not wait long: the person counts more.
func (t *timeline) awaitEvent(ctx context.Context, id string) {
	t.mu.Lock()
	seen := t.question(id)
	t.mu.Unlock()
	select {
	case <-seen:
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
}

// call shows what became of a call.
func (t *timeline) call(b activity.ToolState) {
	switch b.State {
	case activity.Executing:
		if b.Name == "bash" {
			t.say("  … %s", subject(b)) // it may take a while
		}
	case activity.Success:
		display := b.Result.Display
		if b.Name == "bash" {
			display = printed(display)
		}
		t.say("  ✓ %s  %s", subject(b), tool.Escape(first(display)))
	case activity.Failed, activity.Cancelled:
		t.say("  ✗ %s  %s", subject(b), tool.Escape(first(b.Error.Message)))
	}
}

// subject names a call by its tool and the argument that tells most.
func subject(b activity.ToolState) string {
	var args map[string]any
	_ = json.Unmarshal(b.Args, &args) // arguments that are no object have no subject
	for _, name := range []string{"file_path", "command", "pattern", "dir_path", "question"} {
		if s, ok := args[name].(string); ok {
			return b.Name + " " + tool.Escape(first(s))
		}
	}
	return b.Name
}

// printed returns what a command that went well printed, without the lines that
// the tool says of it. What printed nothing says how it ended.
func printed(display string) string {
	text := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(display), "```\n"), "\n```")
	const well = "Exit code: 0\n"
	rest, ok := strings.CutPrefix(text, well)
	if !ok {
		return text
	}
	rest = strings.TrimSuffix(rest+"\n", "Stderr: (empty)\n")
	for _, heading := range []string{"Stdout:\n", "Stdout: (empty)\n", "Stderr:\n"} {
		rest = strings.TrimPrefix(rest, heading)
	}
	return cmp.Or(strings.TrimSpace(rest), strings.TrimSpace(well))
}

// first returns the first line that says something: not the fence of a block of
// code. Its columns stay apart.
func first(s string) string {
	s = strings.TrimSpace(s)
	for strings.HasPrefix(s, "```") {
		_, s, _ = strings.Cut(s, "\n")
	}
	line, rest, _ := strings.Cut(s, "\n")
	line = strings.Join(strings.FieldsFunc(line, func(r rune) bool { return r == '\t' }), "  ")
	if rest != "" && rest != "```" {
		line += " …"
	}
	return line
}

func (t *timeline) text(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = io.WriteString(t.out, plainText(s)) // an output that is closed ends the process elsewhere
	t.midLine = !strings.HasSuffix(s, "\n")
}

// plainText escapes what a terminal would act on, controls and changes of
// direction, and leaves the rest of a model's text as it is.
func plainText(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case unicode.IsControl(r), r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
			b.WriteString(tool.Escape(string(r)))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func (t *timeline) newLine() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.newLineLocked()
}

func (t *timeline) newLineLocked() {
	if t.midLine {
		fmt.Fprintln(t.out)
		t.midLine = false
	}
}

func (t *timeline) say(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.newLineLocked()
	fmt.Fprintf(t.err, format+"\n", args...)
}

// end shows how a run ended.
func (t *timeline) end(r *wire.RunResult) {
	switch {
	case r.Error != nil:
		t.say("%s (%s): %s", r.Reason, r.Error.Kind, tool.Escape(r.Error.Message))
	case r.Reason != activity.Goal:
		t.say("%s %s", r.Reason, tool.Escape(r.Text))
	}
	t.say("%d turns, %d tool calls, %d tokens in, %d out", r.Turns, r.ToolCalls, r.Usage.InputTokens, r.Usage.OutputTokens+r.Usage.ThoughtTokens)
}
