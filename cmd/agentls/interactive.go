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

// twice is how soon after a Ctrl-C a second one leaves, whatever goes on.
const twice = 2 * time.Second

// dialogue is a person who talks to an agent: on a terminal, where what is typed while a
// run goes on steers it, or over a pipe, where each line is a request and the next one
// waits. One goroutine serves it, so its fields need no lock; runs and questions go on
// beside it and reach the screen by the timeline.
//
// Between runs next takes a line, and serve does what it says: a command (obey) or a
// request to an agent (request). During a run attend takes lines, and steer tells them to
// the run or keeps them in waiting, from which next takes them first.
type dialogue struct {
	// conn is nil until open has returned.
	conn *connection
	t    *timeline
	// chat is nil in plain lines.
	chat *chat.Chat
	// flush shows what a command has printed, where that is collected first; nil in plain
	// lines.
	flush func()
	// std is where commands of the dialogue print.
	std streams
	// o has the flags of run: inputs are for the agent that is talked to, and with --new
	// no old context is told of.
	o *runOptions
	// first is the agent, the session and the model that were asked for, by flags and then
	// by commands of the dialogue. Requests take agent, mode and model from it.
	first    *wire.RunParams
	title    string // of that agent
	terminal bool   // somebody types
	// lines brings what is typed; a reply that is not ok is the last one.
	lines <-chan reply
	// keys brings each Ctrl-C.
	keys <-chan os.Signal

	// session is where requests go. At first it is a guess, see connection.standard; from
	// the first result on it is what the daemon said, and placed is true.
	session string
	placed  bool // the daemon has said so
	// told has the agents whose old context was mentioned, so that it is mentioned once.
	told map[string]bool
	// mode is what runs without a question; "" is as the session has it.
	mode string
	// waiting is what was typed during a run and is served after it.
	waiting []string
	// ended says that the input has ended: the dialogue does when nothing waits any more.
	ended bool
	// failed says that a request has failed, for the exit code of a dialogue over a pipe.
	failed bool

	// interrupted is when Ctrl-C came last; zero once something was typed after it.
	interrupted time.Time
	// armed says that another Ctrl-C at this prompt leaves.
	armed bool
}

// interact talks to an agent until the person leaves or the input ends: as a chat where
// the terminal can show one, else in plain lines. SIGINT does not end it but cancels a
// run; a second one leaves. Over a pipe it exits with 1 where a request failed; at a
// terminal the person has seen that.
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

	// The dialogue ends when nobody reads the output any more.
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
		// A line of a pipe waits until the run before it has ended.
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

// open starts the daemon of a dialogue and finds out which agent and session are meant.
// With an error there is no connection to close.
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

// banner shows who is talked to, with the model, the session and the folder. An agent that
// is not there is an error here, before anything is typed for it.
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

// continues returns what is to be told of an agent's old context, once for each agent. A
// session that was begun anew has none.
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

// errLeave ends a dialogue as the person wishes: it is no failure.
var errLeave = errors.New("left")

// talk serves requests until somebody leaves. The prompt of the command line, if there was
// one, is the first.
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

// next returns what is asked next: a line that waits, or what is typed now. Its error is
// errLeave, an exit, or why there can be no next request. Ctrl-C here only announces that
// another one leaves, since it may have been meant for a run that has just ended.
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

// commandForm is the form of a command: a word behind a slash, as git:fix for a custom one.
// A path has more.
var commandForm = regexp.MustCompile(`^/[A-Za-z][\w.:-]*(\s|$)`)

// isCommand reports whether a line is something else than words for an agent. A few words
// that people type to leave or to get help need no slash.
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

// custom does a command of the person's, the project's or an extension's: it is sent as a
// request, and the daemon puts the command's prompt in its place. An unknown one is not
// sent.
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

// commands returns the custom commands of the folder, also those that cannot be used.
func (c *connection) commands(ctx context.Context) ([]wire.CustomCommand, error) {
	var all wire.CommandsResult
	err := c.Call(ctx, wire.MethodCommands, &wire.CommandsParams{}, &all)
	return all.Commands, err
}

// listCommands shows the custom commands. One that cannot be used is shown with the
// reason.
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

// request runs an agent: the one that a line names with @, else the one that is talked to.
// Inputs, mode and model of the command line are for the latter only.
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

// attend waits for a run, and meanwhile takes in what is typed: it steers the run, or is
// kept for after it. Ctrl-C cancels the run, and a second one, or one right after another,
// closes the daemon and leaves. The run is on a goroutine of its own, which ends with the
// run and is waited for. A run that does not reach its goal is no error of the dialogue.
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

// steer tells a run what was typed, or keeps it for after the run, and reports whether it
// does. Commands and requests to other agents always wait.
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

// afterwards keeps a line for after the run, and says so. An empty one is dropped.
func (d *dialogue) afterwards(line string) {
	if line = strings.TrimSpace(line); line != "" {
		d.waiting = append(d.waiting, line)
		d.t.say("→ after this run: %s", tool.Escape(first(line)))
	}
}
