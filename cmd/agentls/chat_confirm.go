package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/chat"
	"github.com/agentls/agentls/internal/wire"
)

// answers are what a person can say to a call in the chat, where the daemon offers it: the
// key, the outcome on the wire, and the label. An upper-case key means all calls that
// begin with the question's prefix.
var answers = []struct{ key, outcome, label string }{
	{"y", "once", "Yes, once"},
	{"r", "run", "Yes, and for the rest of this run"},
	{"s", "session", "Yes, and for the rest of this session"},
	{"a", "always", "Yes, always in this folder"},
	{"e", "modify", "Edit it first"},
}

// confirm asks about a call. Anything but one of the keys offered is no, so that closing
// the dialog refuses. An edit that failed or changed nothing leads back to the question.
// When ctx ends, the question was withdrawn, and the error says so.
func (c *conversation) confirm(ctx context.Context, p *wire.ConfirmParams) (*wire.ConfirmResult, error) {
	q := c.chat.Ask(p.QueueLength)
	defer q.Close()
	body, options := p.Message, confirmOptions(p)
	for {
		chosen := q.Choose(ctx, body, "Allow this?", options)
		body = ""
		switch {
		// Ctrl-C ends ctx as well, but it is an answer: the call is refused and not
		// withdrawn.
		case chosen == chat.Cancelled:
			return &wire.ConfirmResult{Outcome: "reject"}, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
		switch chosen {
		case "t":
			why, ok := q.Line(ctx, "", "Tell the agent why not, or what to do instead", false)
			if !ok {
				continue // back to the question
			}
			return &wire.ConfirmResult{Outcome: "reject", Feedback: strings.TrimSpace(why)}, ctx.Err()
		case "e":
			changed, err := c.edit(ctx, q, p)
			if err != nil {
				body = "→ " + tool.Escape(err.Error())
			}
			if changed != nil {
				return changed, nil
			}
			continue
		}
		for _, a := range answers {
			if string(chosen) == a.key || (p.Prefix != "" && string(chosen) == strings.ToUpper(a.key)) {
				return &wire.ConfirmResult{Outcome: a.outcome, Prefix: string(chosen) != a.key}, nil
			}
		}
		return &wire.ConfirmResult{Outcome: "reject"}, nil
	}
}

// confirmOptions are the answers that a question offers, among them always no. What those
// for longer cover is said by the text of the question.
func confirmOptions(p *wire.ConfirmParams) []chat.Option {
	var options []chat.Option
	offers := func(outcome string) bool {
		return slices.ContainsFunc(p.Options, func(o wire.Option) bool { return o.Kind == outcome })
	}
	for _, a := range answers {
		if !offers(a.outcome) {
			continue
		}
		options = append(options, chat.Option{Key: a.key, Label: a.label})
		holds := a.outcome == "run" || a.outcome == "session" || a.outcome == "always"
		if holds && p.Prefix != "" {
			all := a.label + ", for all that begins with " + p.Prefix
			options = append(options, chat.Option{Key: strings.ToUpper(a.key), Label: all})
		}
	}
	return append(options, chat.Option{Key: "n", Label: "No"},
		chat.Option{Key: "t", Label: "No, and tell the agent why"})
}

// edit has the person change a call: in their editor, for which the chat leaves the
// screen, or in place where they have none. nil is a call that was not changed.
func (c *conversation) edit(ctx context.Context, q *chat.Question, p *wire.ConfirmParams) (*wire.ConfirmResult, error) {
	d := draftOf(p)
	text, ok := d.text, true
	var err error
	if len(c.t.terminal.editor) > 0 {
		// The terminal has the streams itself.
		err = c.chat.Suspend(func(*os.File, *os.File) (failed error) {
			text, failed = c.t.terminal.inEditor(ctx, d)
			return failed
		})
	} else {
		text, ok = q.Edit(ctx, "The "+d.what+" instead", d.text)
	}
	if err != nil || !ok || ctx.Err() != nil {
		return nil, err
	}
	m, err := d.modification(text)
	if err != nil {
		return nil, err
	}
	return &wire.ConfirmResult{Outcome: "modify", Modified: m}, nil
}
