package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.lsp.dev/protocol"
)

// reportEvery spaces the reports of one token: four a second (spec 2.6).
const reportEvery = time.Second / 4

// ProgressStart says how a work-done progress begins.
type ProgressStart struct {
	Token       protocol.ProgressToken // the request's workDoneToken; nil asks the client for one of ours
	Title       string                 // required
	Message     string                 // "" for none
	Cancellable bool                   // the client may send window/workDoneProgress/cancel
}

// Progress is a work-done progress that the client shows. Reports may be made
// as often as one likes, from any goroutine: what comes sooner than a quarter of
// a second after the one before is held, the last one counts, and it is sent
// when its time has come.
//
// Whoever began it must call End on every path: the client shows it until then.
// It outlives the request for which it was begun; it is sent under the
// connection's context.
type Progress struct {
	peer  Peer
	token protocol.ProgressToken

	mu    sync.Mutex
	last  time.Time // of what was sent
	held  *protocol.WorkDoneProgressReport
	timer *time.Timer // sends held; nil if nothing is held
	ended bool
}

// BeginProgress begins a progress at the client. With a token of the client's it
// does not wait. Without one it sends window/workDoneProgress/create, so it must
// not run on the read loop then, and fails if the client refuses: whether the
// client has window.workDoneProgress is for the caller to ask first.
//
// ctx bounds the wait for the client's yes only. On an error from the begin
// notification the Progress is returned as well, and may be used: the connection
// has ended then, and nothing that it sends arrives.
func (p Peer) BeginProgress(ctx context.Context, s ProgressStart) (*Progress, error) {
	pr := &Progress{peer: p, token: s.Token, last: p.c.cfg.Now()}
	if pr.token == nil {
		pr.token = protocol.String(fmt.Sprintf("agentls/%d", p.c.tokens.Add(1)))
		if err := p.WorkDoneProgressCreate(ctx, &protocol.WorkDoneProgressCreateParams{Token: pr.token}); err != nil {
			return nil, err
		}
	}
	begin := protocol.WorkDoneProgressBegin{Kind: "begin", Title: s.Title, Message: text(s.Message)}
	if s.Cancellable {
		begin.Cancellable = &s.Cancellable
	}
	return pr, pr.send(&begin)
}

// Token returns what the client calls this progress, as it stands in
// window/workDoneProgress/cancel.
func (p *Progress) Token() protocol.ProgressToken { return p.token }

// Report shows a message, and how much of the work is done in per cent, 0 to
// 100; a negative one says nothing about it. After End it does nothing.
func (p *Progress) Report(message string, percent int) {
	r := &protocol.WorkDoneProgressReport{Kind: "report", Message: text(message)}
	if percent >= 0 {
		n := uint32(min(percent, 100))
		r.Percentage = &n
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	if p.timer != nil {
		p.held = r
		return
	}
	if wait := reportEvery - p.peer.c.cfg.Now().Sub(p.last); wait > 0 {
		p.held = r
		p.timer = time.AfterFunc(wait, p.flush) // ended by itself or by End, within reportEvery
		return
	}
	p.report(r)
}

// End ends the progress, with a last message ("" leaves the one before). It is
// always sent; a second End does nothing.
func (p *Progress) End(message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.ended = true
	end := &protocol.WorkDoneProgressEnd{Kind: "end", Message: text(message)}
	if p.timer != nil {
		p.timer.Stop()
		if end.Message == nil {
			end.Message = p.held.Message
		}
		p.held = nil
	}
	_ = p.send(end) // a client that is gone shows nothing
}

// flush sends what is held.
func (p *Progress) flush() {
	p.peer.c.guardWork("progress", func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.timer = nil
		if r := p.held; r != nil {
			p.held = nil
			p.report(r)
		}
	})
}

// report sends a report and restarts the wait for the next. It is called under
// mu, so that End, which takes mu, is the last that is sent.
func (p *Progress) report(r *protocol.WorkDoneProgressReport) {
	p.last = p.peer.c.cfg.Now()
	_ = p.send(r) // as in End
}

// send sends one value of the progress. It does not wait for the client.
func (p *Progress) send(value any) error {
	raw, err := protocol.Marshal(value)
	if err != nil {
		return err
	}
	return p.peer.Progress(p.peer.c.ctx, &protocol.ProgressParams{Token: p.token, Value: protocol.LSPAny(raw)})
}

// text returns s as the protocol has an optional string: nil for "".
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
