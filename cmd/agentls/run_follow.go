package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/mention"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/wire"
)

// runAgent runs an agent of a folder to its end, and shows it on the way. It is for the
// demo, whose session is always new.
func runAgent(ctx context.Context, config daemon.Config, folder string, p *wire.RunParams,
	t *timeline) (*wire.RunResult, error) {
	config.Brief = true
	conn, err := connect(ctx, config, folder, t.handlers())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.prepare(ctx, &runOptions{session: "new"}, p, t); err != nil {
		return nil, err
	}
	return conn.run(ctx, wire.MethodRun, p, t)
}

// begin begins the session that a run asks for, where it is to be an agent's: with --new
// or --session new, and a name. Without a name the run begins its session itself.
func (c *connection) begin(ctx context.Context, o *runOptions, p *wire.RunParams) error {
	if o.session != "new" || p.Agent == "" || p.Agent == mention.Auto {
		return nil
	}
	var begun wire.SessionNewResult
	if err := c.Call(ctx, wire.MethodSessionNew, &wire.SessionNewParams{Agent: p.Agent}, &begun); err != nil {
		return err
	}
	p.Session = begun.Session
	return nil
}

// shortID is the beginning of an id that [session.NewID] made.
var shortID = regexp.MustCompile(`^[a-z2-7]{3,7}$`)

// latest has a run that asks for the session latest go on in the newest one, and one that
// names the beginning of a generated id in that session. Any other name is left as it is,
// since it may be that of a new session.
func (c *connection) latest(ctx context.Context, p *wire.RunParams) error {
	if p.Session != latestSession && !shortID.MatchString(p.Session) {
		return nil
	}
	sessions, err := c.sessions(ctx)
	if err != nil {
		return err
	}
	id, err := findSession(sessions, p.Session)
	if err != nil {
		return nil // a new one
	}
	named := len(id) != len(session.NewID()) // by a person: its beginning is another name
	if p.Session == latestSession || !named {
		p.Session = id
	}
	return nil
}

// agentOf returns the agent of a session that somebody named, "" for none. It is "" for an
// error too, as for a session that does not exist yet.
func (c *connection) agentOf(ctx context.Context, session string) string {
	var known wire.SessionGetResult
	if session == "" || c.Call(ctx, wire.MethodSessionGet, &wire.SessionParams{Session: session}, &known) != nil {
		return "" // what is wrong with the session the run says, and better
	}
	return known.Agent
}

// address finds out for whom a request is that names somebody, as in "@reviewer look at
// this", and which custom command it calls, as in "/review this". It changes p. A request
// that was given to an agent stays its, and only files and resources that it names are
// taken from its text. The daemon is not asked where nothing in the text could name
// anything. A request may name an agent before the command, as in "@reviewer /review
// this".
func (c *connection) address(ctx context.Context, p *wire.RunParams) error {
	if len(p.Input) == 0 {
		return nil
	}
	slash := strings.HasPrefix(strings.TrimSpace(p.Input[0].Text), "/")
	if p.Agent != "" && strings.Contains(p.Input[0].Text, "://") && strings.Contains(p.Input[0].Text, "@") {
		var said wire.ParseResult
		_ = c.Call(ctx, wire.MethodParse, &wire.ParseParams{Text: new(p.Input[0].Text)},
			&said) // whom it names does not count
		p.References = append(p.References, said.References...)
	}
	if !slash && (p.Agent != "" || !strings.Contains(p.Input[0].Text, "@")) {
		return nil
	}
	var said wire.ParseResult
	if err := c.Call(ctx, wire.MethodParse, &wire.ParseParams{Text: new(p.Input[0].Text)}, &said); err != nil {
		return err
	}
	if p.Agent == "" {
		p.References = append(p.References, said.References...)
	}
	switch {
	case said.Command != nil:
		p.Command, p.Input = said.Command, nil
		if said.Agent != "" {
			p.Agent = said.Agent
		}
		if said.Auto {
			p.Agent, p.Strategy = mention.Auto, cmp.Or(said.Strategy, p.Strategy)
		}
		return nil
	// Text that begins with a slash and is no known command, as a path, is for the agent.
	case slash:
		return nil
	case said.Auto && said.Prompt == "":
		return usage{errors.New("there is nothing to do; say what, as in @auto your request")}
	case said.Auto:
		p.Agent, p.Strategy = mention.Auto, cmp.Or(said.Strategy, p.Strategy)
		p.Input = wire.InputBlocks{{Type: "text", Text: said.Prompt}}
		return nil
	case said.Agent == "":
		return nil
	case said.Prompt == "":
		return usage{fmt.Errorf("there is nothing to do for %s; say what, as in @%s your request",
			said.Agent, said.Agent)}
	}
	p.Agent, p.Input = said.Agent, wire.InputBlocks{{Type: "text", Text: said.Prompt}}
	return nil
}

// prepare tells the timeline who is about to run and in what context, and gives the
// agent's inputs the types that its schema has. With @auto there can be no inputs, as
// nobody knows the schema yet.
func (c *connection) prepare(ctx context.Context, o *runOptions, p *wire.RunParams, t *timeline) error {
	// Who an agent is, is told by another method than what it does. Without an
	// answer its name is as good: the run itself says what is wrong.
	agent := new(wire.GetResult)
	name := cmp.Or(p.Agent, "main")
	// Who answers is not known before the run begins.
	if name == mention.Auto {
		if len(o.inputs)+len(o.input) > 0 {
			return usage{errors.New("inputs belong to an agent; name it, or leave them out with @auto")}
		}
		return c.introduceAll(ctx, t) // who it is, is told when it begins
	}
	_ = c.Call(ctx, wire.MethodGet, &wire.GetParams{Name: name}, agent)
	var err error
	if p.Inputs, err = inputsOf(o.inputs, o.input, agent.Inputs); err != nil {
		return usage{err}
	}
	var goesOn continuation
	if p.Agent == "" {
		if err := c.introduceAll(ctx, t); err != nil { // it may be routed
			return err
		}
	}
	if o.session != "new" {
		goesOn = c.continues(ctx, p.Session, name)
	}
	t.introduce(name, agent.Title, goesOn)
	return nil
}

// introduceAll gives the timeline the titles of all agents: it is not known yet who is
// about to run.
func (c *connection) introduceAll(ctx context.Context, t *timeline) error {
	var list wire.ListResult
	if err := c.Call(ctx, wire.MethodList, &wire.ListParams{}, &list); err != nil {
		return err
	}
	for _, a := range list.Agents {
		if a.State == "ok" {
			t.introduce(a.Name, a.Title, continuation{})
		}
	}
	return nil
}

// continues says in what old context a run of an agent goes on; the zero value where there
// is none. session is the one that was asked for, "" for main.
func (c *connection) continues(ctx context.Context, session, agent string) continuation {
	if session == "" {
		session = c.standard(ctx)
	}
	var old wire.ContextGetResult
	// What is wrong with a session the run says, and better.
	if c.Call(ctx, wire.MethodContextGet, &wire.ContextParams{Session: session, Agent: agent}, &old) != nil ||
		len(old.Messages) == 0 {
		return continuation{}
	}
	when := ""
	if last, err := time.Parse(time.RFC3339, old.LastActiveAt); err == nil {
		when = ", " + ago(time.Since(last))
	}
	return continuation{session, fmt.Sprintf("goes on in the session %s: %s%s", session, count(len(old.Messages), "message"), when)}
}

// standard returns the session that a run gets which names none: main, or main-2 and so on
// where others have those before it. It is a guess for what is shown before the run: when
// the run begins, the daemon decides anew.
func (c *connection) standard(ctx context.Context) string {
	const most = 100
	for n := 1; n <= most; n++ {
		name := session.Default
		if n > 1 {
			name = fmt.Sprintf("%s-%d", session.Default, n)
		}
		var s wire.SessionGetResult
		if err := c.Call(ctx, wire.MethodSessionGet, &wire.SessionParams{Session: name}, &s); err != nil || !s.Locked {
			return name // one that is not there yet is begun
		}
	}
	return session.Default
}

// run runs an agent to its end, with an id from here so that it can be cancelled. When ctx
// ends, the run is cancelled, and its result says so.
func (c *connection) run(ctx context.Context, method string, p *wire.RunParams, t *timeline) (*wire.RunResult, error) {
	if p.Run == "" {
		p.Run = runID()
	}
	return c.toItsEnd(ctx, method, p, p.Run, cmp.Or(p.Agent, "main"), t)
}

// toItsEnd sends a request that is answered when a run has ended, and shows the run. When
// ctx ends, the run with the id run is cancelled; the answer is waited for all the same,
// so that what the run has done is in the log and its result is known. agent is shown in
// the status.
func (c *connection) toItsEnd(ctx context.Context, method string, params any, run, agent string,
	t *timeline) (*wire.RunResult, error) {
	result := new(wire.RunResult)
	t.mu.Lock()
	t.running = ctx
	t.mu.Unlock()
	// The run ends by itself when ctx is done: the request is cancelled, and is
	// answered with the result all the same.
	call := context.WithoutCancel(ctx)
	stop := context.AfterFunc(ctx, func() {
		_ = c.Call(call, wire.MethodCancel, &wire.CancelParams{Run: run},
			nil) // the answer to the run says how it ended
	})
	// A run that has ended is not cancelled any more.
	defer stop()
	end := t.watch(agent)
	err := c.Call(call, method, params, result)
	end()
	if err != nil {
		return nil, err
	}
	t.end(&result.RunFinished)
	if result.Reason == "TIMEOUT" || result.Reason == "MAX_TURNS" {
		t.say("To give it more: agentls sessions resume %s", tool.Escape(result.Session))
	}
	return result, nil
}

// runID returns an id for a run, which is no other run's of this process, nor of another
// process on this machine.
func runID() string {
	return fmt.Sprintf("cli-%s-%d", time.Now().UTC().Format("20060102T150405.000000000"), os.Getpid())
}

// verdict turns a run's end into the process's exit code; refused says that something was
// refused since nobody could be asked. A run that reached its goal counts as that also
// where Ctrl-C came too late to stop it.
func verdict(ctx context.Context, r *wire.RunResult, refused bool) error {
	switch {
	case r.Reason == "GOAL" && refused:
		return exit{exitRefused}
	case r.Reason == "GOAL":
		return nil
	case ctx.Err() != nil:
		return exit{exitInterrupted}
	}
	return exit{exitFailed}
}
