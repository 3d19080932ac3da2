package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/sourcegraph/conc"
	"go.lsp.dev/jsonrpc2"
	"golang.org/x/term"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/chat"
	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/collector"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/git"
	"github.com/agentls/agentls/internal/sandbox"
	"github.com/agentls/agentls/internal/wire"
)

// atTerminal reports whether a person sits at all three streams. Streams that are no
// files, as in tests, are no terminals.
func (s streams) atTerminal() bool {
	for _, stream := range []any{s.in, s.out, s.err} {
		f, ok := stream.(*os.File)
		if !ok || !term.IsTerminal(int(f.Fd())) {
			return false
		}
	}
	return true
}

// leastColumns is how wide a terminal must be for the chat, in columns.
const leastColumns = 50

// chatFits reports whether the chat can be shown: on a terminal that moves its
// cursor, shows colours and has the room. Elsewhere, and for screen readers, which
// say so by --plain or ACCESSIBLE, a conversation is plain lines.
func chatFits(std streams, plain bool) bool {
	switch {
	case plain, os.Getenv("ACCESSIBLE") != "", os.Getenv("NO_COLOR") != "":
		return false
	case os.Getenv("TERM") == "", os.Getenv("TERM") == "dumb", !std.atTerminal():
		return false
	}
	columns, _, err := term.GetSize(int(std.in.Fd()))
	return err == nil && columns >= leastColumns
}

// conversation is a dialogue that is shown as a chat. The chat draws the screen and hands
// over what is typed; the dialogue does the same with it as in plain lines.
type conversation struct {
	*dialogue
	// config is what the daemon is started with; its log and console go to notes.
	config daemon.Config
	// typed gets what was typed, in place of the lines of a terminal. It holds maxAhead
	// lines; what comes beyond is dropped by send.
	typed chan reply
	// keys gets an interrupt when the person presses Ctrl-C, or Esc during a run. The
	// chat reads keys itself, so the system sends no signal for them.
	keys chan<- os.Signal
	// output is where commands of the dialogue print; the dialogue's flush shows it.
	output *output
	// ready is closed when the connection is there. Before that completion must not use
	// it.
	ready chan struct{}
}

// output collects what commands print, until it is shown as a whole: the chat gives a
// block of output its own form, so it must not come in pieces.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

// take returns what was collected and forgets it.
func (o *output) take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.text.Reset()
	return o.text.String()
}

// notes is a writer that shows lines as notes of a chat. It points to the variable of the
// chat, since the writer is needed to make what the chat is made of; nothing is written
// before the chat is there.
type notes struct{ chat **chat.Chat }

// Write implements io.Writer: each write is a line, or some.
func (n notes) Write(b []byte) (int, error) {
	if text := strings.Trim(string(b), "\n"); text != "" {
		(*n.chat).Note(text)
	}
	return len(b), nil
}

// gcPercent is how much garbage there may be beside what is in use, in percent: a chat
// stays open for hours, and has processor time to spare.
const gcPercent = 50

// inChat is interact on a full screen. It makes the chat and the dialogue, which need each
// other, and then runs both: the chat on this goroutine, since it reads keys, and the
// dialogue beside it. Either may end first. A dialogue that ends has the chat quit; when
// the chat has ended, cancel ends the dialogue, which is waited for, so that the daemon
// has written its logs. The error is the dialogue's, else the chat's.
func inChat(
	ctx context.Context, cancel context.CancelCauseFunc, keys chan os.Signal,
	config daemon.Config, std streams, o *runOptions, p *wire.RunParams,
) error {
	collector.SetUsual(gcPercent)
	// The chat is made last, since it is made of functions of the dialogue; noted and
	// flush look at shown when they are called.
	var shown *chat.Chat
	noted := notes{&shown}
	c := &conversation{typed: make(chan reply, maxAhead+1), keys: keys, output: new(output), ready: make(chan struct{})}
	config.Console = noted
	config.Log = logTo(noted, config.Secrets, slog.LevelError) // what a person needs to know is told in words
	c.config = config
	// The terminal asks nothing here. The chat takes the person's editor from it.
	t := newTimeline(streams{std.in, noted, noted}, newTerminal(std))
	c.dialogue = &dialogue{
		t: t, std: streams{std.in, c.output, noted}, o: o, first: p, terminal: true,
		keys: keys, lines: c.typed, told: make(map[string]bool),
	}
	c.flush = func() {
		if text := c.output.take(); strings.TrimSpace(text) != "" {
			shown.Output(text)
		}
	}
	past := historyOf(config.Home)
	shown = chat.New(chat.Config{
		In: std.in, Out: std.out, Env: os.Environ(),
		Submit:    c.submit,
		Interrupt: c.interrupt,
		Leave:     func() { c.send(reply{}) },
		Complete:  c.complete,
		History:   past.lines,
		Remember:  func(text string) { past.keep(string(config.Secrets.MaskAll([]byte(text)))) },
	})
	c.chat = shown
	shown.SetStatus(chat.Status{Agent: cmp.Or(p.Agent, "main"), Mode: p.Approval, Branch: branchOf(".")})
	var work conc.WaitGroup
	var ended error
	work.Go(func() {
		defer func() { shown.Quit(c.farewell()) }()
		ended = c.converse(ctx)
	})
	// The chat needs the terminal's keys, so it is on this goroutine; it returns when the
	// person leaves, or when the dialogue has called Quit.
	err := shown.Run(ctx)
	cancel(nil)
	work.Wait()
	// ctx ended before the person left: a signal that ends programs came.
	if errors.Is(err, context.Canceled) {
		err = exit{exitInterrupted}
	}
	return cmp.Or(ended, err)
}

// converse starts the daemon and talks until the person leaves or ctx ends. It returns
// when the daemon has ended.
func (c *conversation) converse(ctx context.Context) error {
	if err := c.open(ctx, c.config, c.handlers()); err != nil {
		return err
	}
	defer c.conn.Close()
	close(c.ready)
	if err := c.welcome(ctx); err != nil {
		return err
	}
	// What the command line asked for was not typed here, and is shown as if it was.
	if len(c.first.Input) > 0 {
		c.chat.ShowInput(c.first.Input[0].Text)
	}
	return c.talk(ctx)
}

// welcome shows who is talked to, and where: the banner, and in the status line the
// sandbox and whether the folder is trusted, about which it may ask.
func (c *conversation) welcome(ctx context.Context) error {
	if err := c.banner(ctx); err != nil {
		return err
	}
	word := "no sandbox"
	if wall, _ := c.config.Wall(ctx); wall != sandbox.None {
		word = "sandbox " + string(wall)
	}
	c.chat.SetStatus(chat.Status{Sandbox: word})
	return c.askTrust(ctx)
}

// send hands a line, or the end of the input, to the dialogue. It never waits: the
// goroutine that calls it draws the screen.
func (c *conversation) send(r reply) {
	select {
	case c.typed <- r:
	default: // a hundred lines wait already
	}
}

// submit takes a line that the person has sent.
func (c *conversation) submit(text string) { c.send(reply{line: text, ok: true}) }

// interrupt does what a signal SIGINT does in plain lines. It never waits.
func (c *conversation) interrupt() {
	select {
	case c.keys <- os.Interrupt:
	default: // one is on its way
	}
}

// farewell is what stays on the terminal when a chat has ended: the command to go on. It
// is "" where no request was made, since then there is no session to go on with.
func (c *conversation) farewell() string {
	if c.conn == nil || !c.placed {
		return ""
	}
	return fmt.Sprintf("To continue: agentls run -i --session %s", tool.Escape(c.session))
}

// handlers returns what the chat does with what the daemon sends: events are drawn,
// questions open a dialog of the chat, and other notifications are handled as in plain
// lines. A question ends when the daemon withdraws it or the run is interrupted.
func (c *conversation) handlers() client.Config {
	plain := c.t.handlers()
	return client.Config{
		Notified: func(method string, params []byte) {
			if method != wire.MethodActivity {
				plain.Notified(method, params)
				return
			}
			var e wire.ActivityParams
			if (wire.Codec{}).Unmarshal(params, &e) == nil {
				c.showEvent(e)
			}
		},
		Asked: func(ctx context.Context, method string, params []byte) (any, error) {
			switch method {
			case wire.MethodConfirm:
				p := new(wire.ConfirmParams)
				if err := (wire.Codec{}).Unmarshal(params, p); err != nil {
					return nil, err
				}
				// The call that is asked about is shown before the question.
				c.t.awaitEvent(ctx, p.ID)
				ctx, release := c.t.untilInterrupted(ctx)
				defer release()
				return c.confirm(ctx, p)
			case wire.MethodAsk:
				p := new(wire.AskParams)
				if err := (wire.Codec{}).Unmarshal(params, p); err != nil {
					return nil, err
				}
				ctx, release := c.t.untilInterrupted(ctx)
				defer release()
				return c.answer(ctx, p)
			}
			return nil, jsonrpc2.ErrMethodNotFound
		},
	}
}

// showEvent shows an event: in the chat where that draws its type, else as a line of the
// timeline. An event of a type that this version does not know is skipped.
func (c *conversation) showEvent(e wire.ActivityParams) {
	body, err := activity.Decode(e.Type, e.Data)
	if err != nil {
		return
	}
	event := chat.Event{Run: e.Run, Below: e.ParentRun != "", Agent: e.Agent, Body: body}
	// The chat gets every event: its status goes also by those that it does not draw.
	c.chat.Event(event)
	if !chat.Shows(event) {
		c.t.show(e)
	}
}

// branchOf returns the git branch that a folder is on, the beginning of the commit where
// no branch is checked out, and "" outside a repository.
func branchOf(folder string) string {
	branch, commit := git.Head(folder)
	return cmp.Or(branch, commit[:min(len(commit), 8)])
}

// answer asks a question of an agent's, or of the daemon's. With choices the person picks
// one; the questions of an agent also take another answer, those of the daemon do not. An
// empty answer and Esc decline. When ctx ends it returns its error.
func (c *conversation) answer(ctx context.Context, p *wire.AskParams) (*wire.AskResult, error) {
	q := c.chat.Ask(0)
	defer q.Close()
	title, body := p.Agent+" asks", p.Message
	ours := p.Agent == "agentls" // its answers are those that it offers
	if ours {
		title = "Your answer"
	}
	var text string
	if len(p.Choices) > 0 {
		options := make([]chat.Option, 0, len(p.Choices)+1)
		for i, choice := range p.Choices {
			options = append(options, chat.Option{Key: fmt.Sprint(i + 1), Label: choice})
		}
		// Its key is no number, so it is the same however many choices there are.
		own := chat.Option{Key: "o", Label: "Something else: type it"}
		if !ours {
			options = append(options, own)
		}
		chosen := q.Choose(ctx, body, title, options)
		switch i := slices.IndexFunc(options, func(o chat.Option) bool { return o.Key == string(chosen) }); {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case i < 0:
			return &wire.AskResult{Action: "decline"}, nil
		case i < len(p.Choices):
			text = p.Choices[i]
		}
		// The question stands above already, with its choices.
		body = ""
	}
	if text == "" {
		var ok bool
		if text, ok = q.Line(ctx, body, title, p.Secret); !ok || strings.TrimSpace(text) == "" {
			return &wire.AskResult{Action: "decline"}, ctx.Err()
		}
	}
	content, err := wire.Codec{}.Marshal(text)
	return &wire.AskResult{Action: "accept", Content: content}, err
}
