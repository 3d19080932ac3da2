// Package verify runs a recorded session again in a daemon of its own, offline, and finds
// the first difference (spec 7.3): agentls sessions replay --verify.
//
// It is the person's side of a replay (package agents/replay has the other): it connects
// to a daemon that keeps nothing on disk, whose model, tools, hooks and servers give what
// the recording says, makes the recorded requests one after another, answers what it is
// asked, and compares the events. Today's agents and settings are the only thing that may
// differ.
package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"time"

	"github.com/sourcegraph/conc"
	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/compression"
	"github.com/agentls/agentls/agents/replay"
	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
)

// Report is what came of it. Its String is for people.
type Report struct {
	Events     int // that were compared, and are the same up to the difference
	Runs       int
	Unable     string             // why the session cannot be run again; "" where it was
	Difference *replay.Difference // nil = there is none
}

// Session runs a session's requests again in a folder, with today's agents and settings,
// and what its models, tools and person gave. config is that of the person's daemons.
// events are those of the session, in their order, and are not changed. Errors are those
// of the client, as a handshake that fails, or of ctx; that the session comes out
// differently, or cannot be run again, is no error. Each request has a minute.
func Session(ctx context.Context, config daemon.Config, folder, session string,
	events []activity.Event) (*Report, error) {
	r := replay.Read(events)
	if r.Unable != "" {
		return &Report{Unable: r.Unable}, nil
	}
	config.Apart, config.Brief, config.Model, config.Tools, config.Log = true, true, r.Model(), r.Tools,
		slog.New(slog.DiscardHandler)
	config.Before, config.Hooked, config.Servers = events[0].Time, hooks{r}, servers{r}
	p := &person{recording: r, news: make(chan struct{}, 1)}
	r.Say = func(run string, input []activity.ContentBlock) error { return p.say(ctx, run, input) }
	if err := p.connect(ctx, config, folder); err != nil {
		return nil, err
	}
	defer p.close(context.WithoutCancel(ctx))
	for _, request := range r.Requests {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.Begin(request)
		if err := p.ask(ctx, session, request); err != nil {
			return &Report{Runs: r.Runs(), Difference: &replay.Difference{
				Agent: request.Agent, Event: "run.started", Was: "a run", Now: fault.Message(err),
			}}, nil
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n, first := r.Compare(p.events)
	return &Report{Events: n, Runs: r.Runs(), Difference: first}, nil
}

// person is the client of the daemon, which answers as the person did.
type person struct {
	recording *replay.Recording
	conn      *client.Client
	work      conc.WaitGroup // the daemon

	news chan struct{} // has a value when an event came that nobody has looked for; room for one

	mu     sync.Mutex
	events []activity.Event
}

// connect starts the daemon for a folder and shakes hands with it. After an error nothing is left
// running.
func (p *person) connect(ctx context.Context, config daemon.Config, folder string) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	near, far := net.Pipe()
	p.work.Go(func() {
		_, _ = daemon.Serve(context.WithoutCancel(ctx), far, config) // it keeps nothing
	})
	p.conn = client.New(context.WithoutCancel(ctx), near, client.Config{Notified: p.onNotification, Asked: p.onRequest})
	ours, err := json.Marshal(map[string]any{"agents": wire.ClientCapabilities{
		Version: wire.Version, Activity: &wire.ActivityCapability{},
		Confirm: &wire.ConfirmCapability{Feedback: true, Modify: true}, Ask: true,
	}})
	if err != nil {
		return err
	}
	root := uri.File(folder)
	params := &protocol.InitializeParams{RootURI: &root}
	params.Capabilities.Experimental = ours
	if _, err := p.conn.Initialize(ctx, params); err != nil {
		p.close(context.WithoutCancel(ctx))
		return err
	}
	return nil
}

// close ends the daemon and waits for it.
func (p *person) close(ctx context.Context) {
	_ = p.conn.Shutdown(ctx) // what it kept was in memory
	_ = p.conn.Close()
	p.work.Wait()
}

// ask makes a request again.
func (p *person) ask(ctx context.Context, session string, request replay.Request) error {
	call, cancel := context.WithTimeout(ctx, time.Minute) // nothing in it waits for anybody
	defer cancel()
	var err error
	switch {
	case request.Cleared != "":
		err = p.conn.Call(call, wire.MethodContextClear, &wire.ContextClearParams{Session: session,
			Agent: request.Cleared}, nil)
	case request.Compressed != "":
		err = p.compress(call, session, request.Compressed)
	case request.Approval != "":
		err = p.conn.Call(call, wire.MethodSessionSetApproval,
			&wire.SessionApprovalParams{Session: session, Approval: request.Approval}, new(wire.SessionApprovalResult))
	default:
		err = p.run(call, session, request)
	}
	if call.Err() != nil && ctx.Err() == nil {
		return errors.New("it does not end")
	}
	return err
}

// compress has a context compressed. What becomes of it is told after the answer.
func (p *person) compress(ctx context.Context, session, agent string) error {
	told := func() (n int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, e := range p.events {
			if _, ok := e.Body.(activity.ContextCompressed); ok && e.Run == "" {
				n++
			}
		}
		return n
	}
	before := told()
	var r wire.SessionCompressResult
	err := p.conn.Call(ctx, wire.MethodSessionCompress, &wire.SessionCompressParams{Session: session,
		Agent: agent, Force: true}, &r)
	if err != nil || r.Status == compression.NoOp {
		return err
	}
	for told() == before {
		select {
		case <-p.news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// say tells a run that goes on what the person said to it.
func (p *person) say(ctx context.Context, run string, input []activity.ContentBlock) error {
	return p.conn.Call(ctx, wire.MethodSteer, &wire.SteerParams{Run: run, Input: wire.InputBlocks(input)},
		new(wire.SteerResult))
}

// run begins a recorded run again, with its own id, and waits for its end.
func (p *person) run(ctx context.Context, session string, request replay.Request) error {
	s := request.Started
	return p.conn.Call(ctx, wire.MethodRun, &wire.RunParams{
		Agent: request.Agent, Strategy: request.Strategy, Input: wire.InputBlocks(s.Input), Session: session,
		Run: request.Run, Mode: s.Mode,
		Approval: s.Approval, Model: s.Asked, Inputs: s.Inputs, Context: s.Context,
	}, new(wire.RunResult))
}

// onNotification keeps each event. The word that there is one is sent under the mutex, so whoever
// it wakes finds the event.
func (p *person) onNotification(method string, params []byte) {
	if method != wire.MethodActivity {
		return
	}
	var e wire.ActivityParams
	if (wire.Codec{}).Unmarshal(params, &e) != nil {
		return
	}
	body, err := activity.Decode(e.Type, e.Data)
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.news <- struct{}{}:
	default: // nobody has looked since the last one
	}
	p.events = append(p.events, activity.Event{Seq: e.Seq, Session: e.Session, Body: body, Origin: activity.Origin{
		Run: e.Run, ParentRun: e.ParentRun, Turn: e.Turn, Agent: e.Agent,
		CorrelationID: e.CorrelationID, Context: e.Context,
	}})
}

// onRequest answers a question as the person did; what was not asked then is refused, and shows in
// the events as a difference.
func (p *person) onRequest(_ context.Context, method string, params []byte) (any, error) {
	switch method {
	case wire.MethodConfirm:
		var q wire.ConfirmParams
		if err := (wire.Codec{}).Unmarshal(params, &q); err != nil {
			return nil, err
		}
		a, ok := p.recording.Ask(q.Tool)
		if !ok {
			return &wire.ConfirmResult{Outcome: "reject"}, nil
		}
		result := &wire.ConfirmResult{Outcome: a.Outcome, Feedback: a.Feedback}
		if a.Args != nil {
			result.Modified = &wire.Modified{Args: a.Args}
		}
		return result, nil
	case wire.MethodAsk:
		var q wire.AskParams
		if err := (wire.Codec{}).Unmarshal(params, &q); err != nil {
			return nil, err
		}
		text, ok := p.recording.Node(q.Run, q.Title)
		if !ok {
			return &wire.AskResult{Action: "decline"}, nil // ask_user has its recorded result
		}
		content, err := json.Marshal(text)
		return &wire.AskResult{Action: "accept", Content: content}, err
	}
	return nil, jsonrpc2.ErrMethodNotFound
}

// String says what came of it in a line or two.
func (r *Report) String() string {
	switch {
	case r.Unable != "":
		return "Cannot be verified: " + r.Unable + "."
	case r.Difference != nil:
		return fmt.Sprintf("Differs after %d events.\n%s", r.Events, r.Difference)
	}
	runs := "runs"
	if r.Runs == 1 {
		runs = "run"
	}
	return fmt.Sprintf("Verified: %d events of %d %s come out the same.", r.Events, r.Runs, runs)
}
