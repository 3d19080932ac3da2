package handlers

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/sourcegraph/conc"
	"go.lsp.dev/jsonrpc2"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
)

// frontend is where runs put their questions to this client's person, one at a time
// in the order in which they came (spec 4.3). It implements [agents.Approver], a part of
// [agents.Frontend]; files.go is its [agents.Editor].
//
// Whatever is not a clear yes is no: a refusal by the client, a null (which is
// the person's, who dismissed the question), an answer that was not offered, a
// time-out.
type frontend struct {
	h    *Handlers
	turn chan struct{} // holds one value while a question is open

	mu      sync.Mutex
	mute    bool             // the client has no way to ask: it said so
	queued  int              // questions that wait for their turn
	pending map[string]*late // open questions by id, for agents/respond
	waiting []*waiting       // the questions of runs, the oldest first
	written map[string]bool  // paths of the files in which something was shown
}

// late is an open question that agents/respond may answer.
type late struct {
	nonce string
	// take hands a valid answer over, once; the error is what is wrong with
	// another, and leaves the question open. It runs under the frontend's lock.
	take func(answer json.RawMessage) error
}

// newFrontend returns the frontend of a connection, with no question open.
func newFrontend(h *Handlers) *frontend {
	return &frontend{h: h, turn: make(chan struct{}, 1), pending: make(map[string]*late),
		written: make(map[string]bool)}
}

// CanConfirm reports whether this client can be asked at all. What it cannot is
// learnt from its answer to the first question: LSP has no capability for
// window/showMessageRequest.
func (d *frontend) CanConfirm() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.mute // one that has gone is no refusal either: see served
}

// Confirm implements the asking of a run about a call.
// It blocks until somebody answers, the time-out of the question is over (which begins
// when its turn comes, and not while it queues), or ctx ends. q.Asked is called right
// before the client is asked. An outcome that was not offered is a rejection.
// TestSEC69FirstAnswerCounts holds that one answer counts. That it was offered is checked
// at the end, whoever gave it.
func (d *frontend) Confirm(ctx context.Context, q agents.Question) agents.Answer {
	no := agents.Answer{Outcome: guard.Reject, By: "client"}
	p := d.h.confirmParams(q, "")
	// List the question now, so that agents/pending shows it while it waits for its turn.
	defer d.list(&waiting{confirm: p})()
	leave, err := d.enter(ctx)
	if err != nil {
		return no
	}
	defer leave()
	var expires time.Time
	if q.Timeout > 0 {
		expires = d.h.Now().Add(q.Timeout)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, q.Timeout, &expiry{q.Timeout})
		defer cancel()
	}
	q.Asked(expires)
	var answer agents.Answer
	if d.h.caps.Confirm != nil {
		answer, err = d.confirm(ctx, p, expires)
	} else {
		err = errUnserved
	}
	// A client may announce the dialog and not have it.
	if errors.Is(err, errUnserved) {
		answer, err = d.confirmPlain(ctx, q)
	}
	// The client has no dialog at all: CanConfirm is false from now on.
	if errors.Is(err, errUnserved) {
		d.mu.Lock()
		d.mute = true
		d.mu.Unlock()
	}
	why := "answered"
	_, expired := errors.AsType[*expiry](context.Cause(ctx))
	switch {
	// The time-out ends ctx too, so it is looked for first.
	case expired:
		why, answer = "expired", agents.Answer{Outcome: guard.Reject, By: "timeout"}
	case ctx.Err() != nil:
		why, answer = "cancelled", no
	case err != nil:
		level := slog.LevelWarn
		if errors.Is(err, errUnserved) {
			level = slog.LevelDebug // what the client is, and no fault
		}
		d.h.Log.Log(ctx, level, "a question was not answered", "call", q.Call, "err", err)
		answer = no
	}
	if d.h.caps.Confirm != nil {
		d.h.notify(wire.MethodConfirmResolved, &wire.ConfirmResolvedParams{ID: q.ID, Reason: why})
	}
	if !slices.Contains(q.Outcomes, answer.Outcome) {
		return agents.Answer{Outcome: guard.Reject, By: answer.By, Feedback: answer.Feedback}
	}
	return answer
}

// expiry is why a question ends that nobody answers.
type expiry struct{ after time.Duration }

// Error implements error.
func (e *expiry) Error() string { return "nobody answered within " + e.after.String() }

// errUnserved says that the client has no such method, and that another way to ask has
// to be tried.
var errUnserved = errors.New("the client does not serve this request")

// enter waits until no other question is open.
// The caller calls leave when its question is over; until then every other one waits.
// The error is ctx's.
// queued is what a client is told as the number of questions that wait.
func (d *frontend) enter(ctx context.Context) (leave func(), err error) {
	d.mu.Lock()
	d.queued++
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		d.queued--
		d.mu.Unlock()
	}()
	select {
	case d.turn <- struct{}{}:
		return func() { <-d.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// confirm asks a client that has a dialog of its own.
// It returns errUnserved for a client that has none after all. An answer to the request
// itself is not checked here, since Confirm does it.
func (d *frontend) confirm(ctx context.Context, p *wire.ConfirmParams, expires time.Time) (agents.Answer, error) {
	// p is listed, so agents/pending may be reading it. It gets its nonce only now, since
	// a question that was not put cannot be answered.
	d.mu.Lock()
	p.Nonce, p.ExpiresAt, p.QueueLength = newNonce(), stamp(expires), d.queued
	d.mu.Unlock()
	result, err := put(ctx, d, inquiry[wire.ConfirmResult]{
		id: p.ID, nonce: p.Nonce, method: wire.MethodConfirm, params: p,
		later: func(r *wire.ConfirmResult) bool { return r.Outcome == "later" },
		check: func(r *wire.ConfirmResult) error {
			if !slices.ContainsFunc(p.Options, func(o wire.Option) bool { return o.Kind == r.Outcome }) {
				return server.BadParams(wire.MethodRespond, "answer.outcome", "was not offered: %q", r.Outcome)
			}
			if agents.Outcome(r.Outcome) == guard.Modify && r.Modified == nil {
				return server.BadParams(wire.MethodRespond, "answer.modified", "is required with outcome %q", r.Outcome)
			}
			return nil
		},
	})
	if err != nil {
		return agents.Answer{}, err
	}
	if result == nil { // dismissed, which is the person's no
		return agents.Answer{Outcome: guard.Reject, By: "user"}, nil
	}
	a := agents.Answer{Outcome: agents.Outcome(result.Outcome), Prefix: result.Prefix, By: "user",
		Feedback: result.Feedback}
	if result.Modified != nil {
		a.Args, a.NewText = result.Modified.Args, result.Modified.NewText
	}
	return a, nil
}

// inquiry is a question as a request to the client, with a result of type R.
type inquiry[R any] struct {
	// An answer by agents/respond has to name it.
	id, nonce, method string
	params            any
	later             func(*R) bool  // the result is no answer yet
	check             func(*R) error // what is wrong with an answer by agents/respond, as an error of the server's
}

// put asks, and returns the first valid answer: the result of the request or
// what agents/respond brings meanwhile, which withdraws the request. nil is a
// question that was dismissed.
// The error is ctx's, errUnserved, or what the client refused with. put does not return
// before the request has ended, and a client that has gone is waited for: see
// clientError.
// The question is registered before it is asked, since agents/respond may be quicker than
// the request. A result that is no answer yet ("later") counts only for a client that announced respond.
func put[R any](ctx context.Context, d *frontend, q inquiry[R]) (*R, error) {
	type reply struct {
		result *R
		err    error
	}
	answered, replied := make(chan *R, 1), make(chan reply, 1)
	forget := d.expect(q.id, q.nonce, func(raw json.RawMessage) error {
		var answer *R
		if err := (wire.Codec{}).Unmarshal(raw, &answer); err != nil {
			return server.BadParams(wire.MethodRespond, "answer",
				"cannot be read as the result of %s: %v", q.method, err)
		}
		if answer != nil {
			if err := q.check(answer); err != nil {
				return err
			}
		}
		answered <- answer
		return nil
	})
	defer forget()
	calling, withdraw := context.WithCancel(ctx)
	// Deferred calls run last first: the request is withdrawn, then waited for.
	var call conc.WaitGroup
	defer call.Wait()
	defer withdraw()
	call.Go(func() {
		var r reply
		r.err = d.h.Peer.Call(calling, q.method, q.params, &r.result)
		replied <- r
	})
	select {
	case answer := <-answered:
		return answer, nil
	case r := <-replied:
		if r.err == nil && r.result != nil && d.h.caps.Confirm != nil && d.h.caps.Confirm.Respond && q.later(r.result) {
			break
		}
		// No answer can come by agents/respond any more; one that came before the result counts.
		forget()
		select {
		case first := <-answered:
			return first, nil
		default:
			return r.result, d.clientError(ctx, r.err)
		}
	}
	select {
	case answer := <-answered:
		return answer, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// expect registers an open question for agents/respond until forget is called,
// which may be more than once.
func (d *frontend) expect(id, nonce string, take func(json.RawMessage) error) (forget func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending[id] = &late{nonce: nonce, take: take}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.pending, id)
	}
}

// respond serves agents/respond, for a client that announced that it needs it
// (SEC-139): the first valid answer counts, and once. One that is not valid
// leaves the question open.
// The errors are fault.Denied (not announced), fault.Stale with the reason OutOfDate (no
// such question, or another nonce), and bad params for an answer that was not offered.
func (h *Handlers) respond(_ context.Context, _ struct{}, p *wire.RespondParams) (any, error) {
	if h.caps.Confirm == nil || !h.caps.Confirm.Respond {
		return nil, fault.New(fault.Denied, "handlers.respond",
			"this client did not announce confirm.respond; answer the request itself")
	}
	h.frontend.mu.Lock()
	defer h.frontend.mu.Unlock()
	open := h.frontend.pending[p.ID]
	if open == nil || open.nonce != p.Nonce {
		return nil, fault.New(fault.Stale, "handlers.respond",
			"question %s is not open any more: it was answered, withdrawn or has expired, or another window asks it", p.ID).
			Because(fault.OutOfDate)
	}
	if err := open.take(p.Answer); err != nil {
		return nil, err
	}
	delete(h.frontend.pending, p.ID)
	return struct{}{}, nil
}

// Ask returns how an agent of a run asks the person (ask_user).
// It returns nil where the person cannot be asked. What it returns blocks until the
// person answers or ctx ends.
func (d *frontend) Ask(session, run, agent string) tool.Ask {
	if !d.CanConfirm() {
		return nil
	}
	return func(ctx context.Context, q tool.Question) (tool.Answer, error) {
		p := &wire.AskParams{
			ID: newNonce(), Session: session, Run: run, Agent: agent,
			Title: tool.Escape(q.Title), Message: tool.EscapeLines(q.Message), Choices: escapeAll(q.Choices),
		}
		if service := d.h.daemon.Agents; service != nil {
			p.AgentPath = service.Path(run)
		}
		defer d.list(&waiting{ask: p})()
		put := func(ctx context.Context, q tool.Question) (tool.Answer, error) {
			if !d.h.caps.Ask {
				return tool.Answer{}, errUnserved
			}
			// p is listed, so agents/pending may be reading it. Each asking gets a new nonce.
			d.mu.Lock()
			p.Nonce = newNonce()
			d.mu.Unlock()
			return d.ask(ctx, *p)
		}
		if q.Aside { // no other run's question is to wait behind it
			if answer, err := put(ctx, q); !errors.Is(err, errUnserved) {
				return answer, err
			}
		}
		leave, err := d.enter(ctx)
		if err != nil {
			return tool.Answer{}, err
		}
		defer leave()
		if answer, err := put(ctx, q); !errors.Is(err, errUnserved) {
			return answer, err
		}
		return d.askPlain(ctx, agent, q)
	}
}

// ask asks a client that has a dialog for questions of agents. Whatever is neither
// "accept" nor "decline", as a dismissed dialog, is "cancel".
// The content is taken as a text where it is one, and else as the JSON that it is.
func (d *frontend) ask(ctx context.Context, p wire.AskParams) (tool.Answer, error) {
	result, err := put(ctx, d, inquiry[wire.AskResult]{
		id: p.ID, nonce: p.Nonce, method: wire.MethodAsk, params: &p,
		later: func(r *wire.AskResult) bool { return r.Action == "later" },
		check: func(r *wire.AskResult) error {
			if !slices.Contains([]string{"accept", "decline", "cancel"}, r.Action) {
				return server.BadParams(wire.MethodRespond, "answer.action",
					"is none of accept, decline and cancel: %q", r.Action)
			}
			return nil
		},
	})
	if err != nil {
		return tool.Answer{}, err
	}
	if result == nil || result.Action != "accept" {
		action := "cancel"
		if result != nil && result.Action == "decline" {
			action = "decline"
		}
		return tool.Answer{Action: action}, nil
	}
	text := string(result.Content)
	var s string
	if json.Unmarshal(result.Content, &s) == nil {
		text = s
	}
	return tool.Answer{Action: "accept", Text: text}, nil
}

// clientError tells "the client does not have this method" from other failures. A
// client that has gone has not said no: what asked it is about to be interrupted,
// and is asked anew when it is resumed (REL-126). So that is waited for.
func (d *frontend) clientError(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*jsonrpc2.Error](err); ok {
		if e.Code == jsonrpc2.MethodNotFound {
			return errUnserved
		}
		return err
	}
	if err != nil && fault.KindOf(err) == fault.Unavailable {
		<-ctx.Done() // of a run, or of a request, of this connection
		return ctx.Err()
	}
	return err
}

// newNonce returns 128 random bits in hex. An answer names it, which shows that it is to
// this very asking (SEC-139).
func newNonce() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// escapeAll makes texts safe to be shown, each on one line.
func escapeAll(list []string) []string {
	escaped := make([]string, len(list))
	for i, s := range list {
		escaped[i] = tool.Escape(s)
	}
	return escaped
}
