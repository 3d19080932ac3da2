package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sourcegraph/conc"
	"golang.org/x/term"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/chat"
	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
)

// twice is how soon a second Ctrl-C leaves, whatever goes on.
const twice = 2 * time.Second

// dialogue is a person who talks to an agent (spec 10, interactive): on a
// terminal, where what is typed while a run goes on steers it, or over a pipe,
// where each line is a request and the next one waits.
type dialogue struct {
	conn     *connection
	t        *timeline
	chat     *chat.Chat // nil in the plain line mode
	flush    func()     // shows what a command has printed, in the chat
	std      streams
	o        *runOptions
	first    *wire.RunParams // the agent and the session that were asked for
	title    string          // of that agent
	terminal bool            // somebody types
	lines    <-chan reply    // nil when the input has ended
	keys     <-chan os.Signal

	session string          // where runs go; as the daemon said last
	placed  bool            // the daemon has said so
	told    map[string]bool // agents whose old context was told of
	mode    string          // what runs without a question; "" = as the session has it
	waiting []string        // typed during a run, for after it
	ended   bool            // the input has
	failed  bool            // a request has

	interrupted time.Time // of the last Ctrl-C
	armed       bool      // a Ctrl-C at this prompt leaves
}

// interact talks to an agent until the person leaves or the input ends.
func interact(parent context.Context, config daemon.Config, std streams, o *runOptions, p *wire.RunParams) error {
	// Ctrl-C is not the end here: it cancels a run.
	keys := make(chan os.Signal, 2)
	signal.Notify(keys, os.Interrupt)
	defer signal.Stop(keys)
	ctx, stop := signal.NotifyContext(context.WithoutCancel(parent), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if chatFits(std, o.plain) {
		return inChat(ctx, cancel, keys, config, std, o, p)
	}

	out := &outlet{std.out, cancel}
	console := newTerminal(std)
	t := newTimeline(streams{std.in, out, std.err}, console)
	t.status = newStatus(std.err, console.there)
	if f, ok := std.out.(*os.File); ok {
		t.screen = console.there && term.IsTerminal(int(f.Fd()))
	}
	d := &dialogue{t: t, std: streams{std.in, out, std.err}, o: o, first: p, terminal: console.there, keys: keys,
		told: make(map[string]bool)}
	if err := d.open(ctx, config, t.handlers()); err != nil {
		return err
	}
	defer d.conn.Close()
	if err := d.banner(ctx); err != nil {
		return err
	}
	if err := d.askTrust(ctx); err != nil {
		return err
	}
	if d.terminal {
		d.lines = console.follow()
	} else {
		d.lines = linesOf(ctx, std.in)
	}
	err := d.talk(ctx)
	if cause := context.Cause(ctx); errors.Is(cause, errOutputClosed) {
		return cause
	}
	if err == nil && d.failed && !d.terminal { // nobody has seen it, perhaps
		return exit{exitFailed}
	}
	return err
}

// open starts the daemon of a dialogue and finds out which agent and session are
// meant. The connection is to be closed, unless there is an error.
func (d *dialogue) open(ctx context.Context, config daemon.Config, handlers client.Config) error {
	conn, err := connect(ctx, config, ".", handlers)
	if err != nil {
		return err
	}
	d.conn = conn
	err = conn.latest(ctx, d.first)
	if err == nil {
		err = misread(conn.begin(ctx, d.o, d.first), d.o.args, d.first.Agent)
	}
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	if d.first.Agent == "" {
		d.first.Agent = conn.agentOf(ctx, d.first.Session)
	}
	if d.session = d.first.Session; d.session == "" {
		d.session = conn.standard(ctx)
	}
	return nil
}

// name is the agent that is talked to.
func (d *dialogue) name() string { return cmp.Or(d.first.Agent, "main") }

// banner shows who is talked to. An agent that is not there is an error here:
// nobody should type to nobody.
func (d *dialogue) banner(ctx context.Context) error {
	var agent wire.GetResult
	if err := d.conn.Call(ctx, wire.MethodGet, &wire.GetParams{Name: d.name()}, &agent); err != nil {
		return err
	}
	d.title = cmp.Or(agent.Title, d.name())
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	model := cmp.Or(d.first.Model, agent.ResolvedModel, agent.Model)
	d.setStatus(chat.Status{Agent: d.name(), Model: model})
	d.t.say("%s · %s · session %s · %s", tool.Escape(d.title), tool.Escape(model), d.session,
		tool.Escape(homely(folder)))
	if goesOn := d.continues(ctx, d.name()); goesOn.line != "" {
		d.t.say("%s", goesOn.line)
	}
	switch {
	case d.chat != nil:
		d.t.say("Esc stops a run, Ctrl-D leaves. /help lists commands and keys.")
	case d.terminal:
		d.t.say("/help lists the commands. Ctrl-C cancels a run, Ctrl-D leaves.")
	}
	return nil
}

// continues returns what is to be told of an agent's old context, once.
func (d *dialogue) continues(ctx context.Context, agent string) continuation {
	if d.told[agent] {
		return continuation{}
	}
	d.told[agent] = true
	if d.o.session == "new" {
		return continuation{}
	}
	return d.conn.continues(ctx, d.session, agent)
}

// errLeave ends a dialogue as the person wishes.
var errLeave = errors.New("left")

// talk serves requests until somebody leaves.
func (d *dialogue) talk(ctx context.Context) error {
	if len(d.first.Input) > 0 {
		d.waiting = append(d.waiting, d.first.Input[0].Text)
	}
	for {
		line, err := d.next(ctx)
		if err == nil {
			err = d.serve(ctx, line)
		}
		switch {
		case errors.Is(err, errLeave):
			return nil
		case err != nil:
			return err
		}
	}
}

// next returns what is asked next. Its error is errLeave or an exit.
func (d *dialogue) next(ctx context.Context) (string, error) {
	if len(d.waiting) > 0 {
		line := d.waiting[0]
		d.waiting = d.waiting[1:]
		if d.terminal && d.chat == nil {
			d.t.say("%s> %s", tool.Escape(d.name()), tool.Escape(line))
		}
		return line, nil
	}
	if d.ended {
		return "", errLeave
	}
	d.armed = false
	if d.terminal && d.chat == nil {
		d.t.ask(tool.Escape(d.name()) + "> ")
	}
	for {
		select {
		case <-ctx.Done():
			d.t.endPrompt(false)
			return "", exit{exitInterrupted}
		case <-d.conn.Done():
			d.t.endPrompt(false)
			return "", fault.New(fault.Unavailable, "interactive",
				"the daemon has ended; start again, its log says why")
		case <-d.keys:
			if d.leaves(time.Now(), d.armed) {
				d.t.endPrompt(false)
				return "", exit{exitInterrupted}
			}
			d.armed = true
			d.t.say("(Ctrl-C again leaves)")
		case r := <-d.lines:
			d.t.endPrompt(r.ok)
			if r.ok {
				d.interrupted = time.Time{} // whoever types something stays
				d.waiting = append(d.waiting, r.more...)
				return r.line, nil
			}
			return "", cmp.Or(r.err, errLeave)
		}
	}
}

// leaves reports whether a Ctrl-C leaves: the second for the same run or at the
// same prompt, or one that comes soon after another.
func (d *dialogue) leaves(now time.Time, second bool) bool {
	soon := now.Sub(d.interrupted) < twice
	d.interrupted = now
	return second || soon
}

// commandForm is the form of a command: a word behind a slash. A path has more.
var commandForm = regexp.MustCompile(`^/[A-Za-z-]+(\s|$)`)

// isCommand reports whether a line is something else than words for an agent.
func isCommand(line string) bool {
	switch line {
	case "exit", "quit", "context", "clear", "help":
		return true
	}
	return commandForm.MatchString(line)
}

// serve does what a line asks for. What goes wrong is shown, and the dialogue
// goes on; an error ends it.
func (d *dialogue) serve(ctx context.Context, line string) error {
	line = strings.TrimSpace(line)
	if line == "" {
		return nil
	}
	var err error
	if isCommand(line) {
		err = d.obey(ctx, line)
		if d.flush != nil {
			d.flush()
		}
	} else {
		err = d.request(ctx, line)
	}
	if _, ends := errors.AsType[exit](err); err == nil || ends || errors.Is(err, errLeave) {
		return err
	}
	if ctx.Err() != nil {
		return exit{exitInterrupted}
	}
	d.failed = true
	d.t.say("%s", errorText(err))
	return nil
}

// custom does a command of the person's, the project's or an extension's.
func (d *dialogue) custom(ctx context.Context, word, line string) error {
	all, err := d.conn.commands(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(c wire.CustomCommand) bool { return "/"+c.Name == word }) {
		return d.request(ctx, line)
	}
	d.t.say("There is no command %s; /help lists those that there are.", tool.Escape(word))
	return nil
}

// commands returns the custom commands of the folder.
func (c *connection) commands(ctx context.Context) ([]wire.CustomCommand, error) {
	var all wire.CommandsResult
	err := c.Call(ctx, wire.MethodCommands, &wire.CommandsParams{}, &all)
	return all.Commands, err
}

// listCommands shows the custom commands.
func (d *dialogue) listCommands(ctx context.Context) error {
	all, err := d.conn.commands(ctx)
	for _, c := range all {
		text := c.Description
		if c.Problem != "" {
			text = "cannot be used: " + c.Problem
		}
		d.t.say("  %-24s %s", tool.Escape("/"+c.Name), tool.Escape(first(text)))
	}
	return err
}

// request runs an agent: the one that a line names, else the one that is talked
// to.
func (d *dialogue) request(ctx context.Context, line string) error {
	p := &wire.RunParams{Input: wire.InputBlocks{{Type: "text", Text: line}}, Session: d.session, Mode: d.first.Mode,
		Model: d.first.Model, Approval: d.mode, Run: runID()}
	if d.first.Session == "" && !d.placed {
		p.Session = "" // the daemon knows best which nobody has
	}
	files := filesNamed(line)
	if name, _, _ := strings.Cut(line, " "); strings.HasPrefix(name, "@") && len(filesNamed(name)) > 0 {
		p.Input[0].Text = `\` + line // a file's name at the beginning is no agent's
	}
	if err := d.conn.address(ctx, p); err != nil {
		return err
	}
	p.References = append(p.References, files...)
	o := &runOptions{session: "new"} // what the old context is, is told below
	if p.Agent == "" || p.Agent == d.name() {
		p.Agent, o.input, o.inputs = d.first.Agent, d.o.input, d.o.inputs
	} else {
		p.Mode, p.Model = "", "" // they were for the agent that is talked to
	}
	if err := d.conn.prepare(ctx, o, p, d.t); err != nil {
		return err
	}
	if goesOn := d.continues(ctx, cmp.Or(p.Agent, "main")); goesOn.line != "" {
		d.t.say("%s", goesOn.line)
	}
	return d.attend(ctx, p)
}

// attend waits for a run, and meanwhile takes in what is typed.
func (d *dialogue) attend(ctx context.Context, p *wire.RunParams) error {
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	var work conc.WaitGroup
	defer work.Wait()
	if d.chat != nil {
		d.chat.SetBusy(true)
		defer func() {
			d.chat.SetBusy(false)
			d.setStatus(chat.Status{Agent: d.name()}) // another may have answered
		}()
	}
	var result *wire.RunResult
	var failed error
	done := make(chan struct{})
	work.Go(func() {
		defer close(done)
		result, failed = d.conn.run(run, wire.MethodRun, p, d.t)
	})
	lines := d.lines
	if !d.terminal || d.ended {
		lines = nil // of a pipe each line is a request of its own
	}
	for {
		select {
		case <-done:
			if ctx.Err() != nil {
				return exit{exitInterrupted}
			}
			if failed != nil {
				return failed
			}
			d.session, d.placed = result.Session, true
			d.failed = d.failed || result.Reason != activity.Goal
			return nil
		case <-d.keys:
			leaves := d.leaves(time.Now(), run.Err() != nil)
			cancel()
			if leaves {
				_ = d.conn.Close() // whatever the run is at: its log is written
				return exit{exitInterrupted}
			}
			switch {
			case d.chat != nil: // it shows so where the run's state is
			case d.terminal:
				d.t.sayBelow("cancelling; Ctrl-C again leaves")
			default:
				d.t.say("cancelling; Ctrl-C again leaves")
			}
		case r := <-lines:
			if !r.ok {
				d.ended, lines = true, nil
				continue
			}
			d.t.endLine()
			waits := d.steer(ctx, p, r.line)
			for _, line := range r.more {
				if waits {
					d.afterwards(line) // in the order in which they came
				} else {
					waits = d.steer(ctx, p, line)
				}
			}
		}
	}
}

// steer tells a run what was typed, or keeps it for after the run, and reports
// whether it does.
func (d *dialogue) steer(ctx context.Context, p *wire.RunParams, line string) (waits bool) {
	line = strings.TrimSpace(line)
	switch {
	case line == "":
		return false
	case isCommand(line) || strings.HasPrefix(line, "@"):
		d.afterwards(line)
		return true
	}
	var r wire.SteerResult
	err := d.conn.Call(ctx, wire.MethodSteer, &wire.SteerParams{Run: p.Run,
		Input: wire.InputBlocks{{Type: "text", Text: line}}}, &r)
	switch {
	case err != nil && kindOf(err) == string(fault.UnknownRun), err == nil && !r.Accepted: // it has just ended
		d.afterwards(line)
		return true
	case err != nil:
		d.t.say("→ not told: %s", errorText(err))
	case r.Position > 0:
		d.t.say("→ queued: the agent sees this at its next step, after %s", count(r.Position, "other"))
	default:
		d.t.say("→ queued: the agent sees this at its next step")
	}
	return false
}

// afterwards keeps a line for after the run.
func (d *dialogue) afterwards(line string) {
	if line = strings.TrimSpace(line); line != "" {
		d.waiting = append(d.waiting, line)
		d.t.say("→ after this run: %s", tool.Escape(first(line)))
	}
}
