package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/chat"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
)

// chatCommands are the commands of a dialogue, as /help lists them and completion offers
// them. obey does them; it also takes them without a slash. A new command needs a row
// here and a case there.
var chatCommands = []struct{ name, arguments, does string }{
	{"/help", "", "lists the commands and the keys"},
	{"/model", "[NAME]", "shows the model, or answers with another"},
	{"/mode", "[plan|ask|edits|auto]", "shows what runs without a question, or changes it"},
	{"/agents", "[list|run|route|…]", "talks to another agent"},
	{"/sessions", "[SESSION]", "goes to another session"},
	{"/rewind", "", "goes back to before something that you said"},
	{"/changes", "[keep|undo] [FILE…]", "goes through what agents changed, part by part; keeps or undoes it"},
	{"/context", "", "shows what the agent has seen and said"},
	{"/clear", "", "begins a new context"},
	{"/compress", "", "makes the context shorter"},
	{"/exit", "", "leaves; so does Ctrl-D"},
}

// choose has the person choose one of some things by name; "" where they did not. In plain
// lines there is no picker: it lists them with the command that names one, and returns "".
func (d *dialogue) choose(ctx context.Context, title, command string, options []chat.Option) string {
	if d.chat == nil {
		d.t.say("%s:", title)
		for _, o := range options {
			d.t.say("  %-28s %s", tool.Escape(o.Label), tool.Escape(o.Note))
		}
		d.t.say("Choose one: %s NAME", command)
		return ""
	}
	q := d.chat.Pick()
	defer q.Close()
	i := q.Pick(ctx, "", title, options)
	if i < 0 {
		return ""
	}
	return options[i].Label
}

// changeModel shows or changes the model that answers. It only takes effect with the next
// request, which names it; whether there is such a model that request says.
func (d *dialogue) changeModel(ctx context.Context, name string) error {
	if name == "" {
		var options []chat.Option
		for _, e := range writers() {
			if e.Retired == "" {
				options = append(options, chat.Option{Label: e.ID, Note: strings.Join(e.Aliases, ", ")})
			}
		}
		if name = d.choose(ctx, "The model that answers", "/model", options); name == "" {
			return nil
		}
	}
	d.first.Model = name
	d.setStatus(chat.Status{Model: name})
	d.t.say("%s answers with %s from the next request on.", tool.Escape(d.name()), tool.Escape(name))
	return nil
}

// modes are the approval modes, from the one that allows least to the one that allows
// most, with what runs in each without a question.
var modes = []chat.Option{
	{Label: "plan", Note: "agents only read"},
	{Label: "ask", Note: "agents ask before they change anything"},
	{Label: "edits", Note: "files change without a question"},
	{Label: "auto", Note: "medium risks run without a question, too"},
}

// changeMode shows or changes what runs without a question. The daemon keeps the mode with
// the session; where the session does not exist yet, the first request brings it along.
func (d *dialogue) changeMode(ctx context.Context, name string) error {
	if name == "" {
		if name = d.choose(ctx, "What runs without a question", "/mode", slices.Clone(modes)); name == "" {
			return nil
		}
	}
	if !agents.Approval(name).Valid() {
		return fmt.Errorf("there is no mode %s: use plan, ask, edits or auto", tool.Escape(name))
	}
	var r wire.SessionApprovalResult
	p := &wire.SessionApprovalParams{Session: d.session, Approval: name}
	err := d.conn.Call(ctx, wire.MethodSessionSetApproval, p, &r)
	if err != nil && kindOf(err) != string(fault.UnknownSession) { // the first request begins the session
		return err
	}
	d.mode = name
	d.setStatus(chat.Status{Mode: name})
	if err != nil { // else the event tells
		d.t.say("mode %s from the first request on", name)
	}
	return nil
}

// changeAgent has the person pick the agent that is talked to. The model goes back to that
// agent's own.
func (d *dialogue) changeAgent(ctx context.Context) error {
	var list wire.ListResult
	if err := d.conn.Call(ctx, wire.MethodList, &wire.ListParams{}, &list); err != nil {
		return err
	}
	var options []chat.Option
	for _, a := range list.Agents {
		if a.State == "ok" {
			options = append(options, chat.Option{Label: a.Name, Note: first(cmp.Or(a.Description, a.Title))})
		}
	}
	name := d.choose(ctx, "Talk to", "@", options)
	if name == "" {
		return nil
	}
	d.first.Agent, d.first.Model = name, ""
	return d.banner(ctx)
}

// changeSession goes to another session of the folder, by name or picked from a list
// without those that cannot be used. The agent of the session is talked to, where it has
// one, and the old context is told of again.
func (d *dialogue) changeSession(ctx context.Context, name string) error {
	sessions, err := d.conn.sessions(ctx)
	if err != nil {
		return err
	}
	if name == "" {
		var options []chat.Option
		for _, s := range sessions {
			note := first(s.Title)
			if at, err := time.Parse(time.RFC3339, s.UpdatedAt); err == nil {
				note += " · " + ago(time.Since(at))
			}
			if s.Problem == "" && !s.Locked {
				options = append(options, chat.Option{Label: s.Session, Note: note})
			}
		}
		if len(options) == 0 {
			d.t.say("There are no sessions in this folder yet.")
			return nil
		}
		if name = d.choose(ctx, "Go to a session", "/sessions", options); name == "" {
			return nil
		}
	}
	if name, err = d.conn.sessionNamed(ctx, name); err != nil {
		return err
	}
	// sessionNamed returns a name that no session has as it is.
	if !slices.ContainsFunc(sessions, func(s wire.Session) bool { return s.Session == name }) {
		return fmt.Errorf("there is no session %s; /sessions lists those that there are", tool.Escape(name))
	}
	d.session, d.first.Session, d.placed = name, name, true
	if agent := d.conn.agentOf(ctx, name); agent != "" {
		d.first.Agent = agent
	}
	d.told = make(map[string]bool)
	return d.banner(ctx)
}

// rewind goes back to before something that the person said, and in the chat puts those
// words into the input, where they can be changed and sent again. It asks whether files go
// back as well. In plain lines it lists the places with the command that goes there.
func (d *dialogue) rewind(ctx context.Context) error {
	type place struct {
		seq  uint64
		text string
	}
	var places []place
	err := d.conn.events(ctx, d.session, func(e wire.ActivityParams) error {
		body, err := activity.Decode(e.Type, e.Data)
		b, ok := body.(activity.RunStarted)
		// What another run asked for is not what the person said.
		if err != nil || !ok || e.ParentRun != "" || len(b.Input) == 0 || b.Input[0].Text == "" {
			return nil
		}
		places = append(places, place{e.Seq, b.Input[0].Text})
		return nil
	})
	if err != nil {
		return err
	}
	if len(places) == 0 {
		d.t.say("There is nothing to go back to: nothing was said in session %s.", tool.Escape(d.session))
		return nil
	}
	slices.Reverse(places) // the newest first
	var options []chat.Option
	for _, p := range places {
		// The event before a run's first: going back there takes back all of the run.
		options = append(options, chat.Option{Label: fmt.Sprint(max(p.seq-1, 1)), Note: first(p.text)})
	}
	if d.chat == nil {
		for _, o := range options {
			d.t.say("  [%s] %s", o.Label, tool.Escape(o.Note))
		}
		d.t.say("Go back: agentls sessions rewind %s --to N", tool.Escape(d.session))
		return nil
	}
	// In the picker the words say which place it is; the number is for the command.
	for i := range options {
		options[i].Label, options[i].Note = options[i].Note, ""
	}
	q := d.chat.Pick()
	defer q.Close()
	i := q.Pick(ctx, "", "Go back to before", options)
	if i < 0 {
		return nil
	}
	how := q.Pick(ctx, "", "Bring files back, too?", []chat.Option{
		{Key: "y", Label: "Yes, to what they were then", Note: "what somebody else changed since is left"},
		{Key: "n", Label: "No, only the conversation"},
	})
	if how < 0 {
		return nil
	}
	var r wire.SessionRewindResult
	p := &wire.SessionRewindParams{Session: d.session, ToSeq: max(places[i].seq-1, 1), Files: how == 0}
	if err := d.conn.Call(ctx, wire.MethodSessionRewind, p, &r); err != nil {
		return err
	}
	for _, left := range r.Left {
		d.t.say("left: %s: %s", tool.Escape(localName(left.URI)), tool.Escape(left.Why))
	}
	d.chat.Fill(places[i].text)
	return nil
}

// setStatus changes the status line of a chat: the fields of s that are not empty. In
// plain lines there is none.
func (d *dialogue) setStatus(s chat.Status) {
	if d.chat != nil {
		d.chat.SetStatus(s)
	}
}
