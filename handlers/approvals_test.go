package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/handlers/language"
	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
)

// connected is the handlers of a connection with a client at its other end.
type connected struct {
	h      *Handlers
	client *client.Client
	logged *strings.Builder  // to be read when nothing logs any more
	shown  func(path string) // what becomes of a document that is shown; may be nil
	told   chan string       // messages, and progress as it came; of more than 8 the rest is dropped
}

// answers is what a client does with a request of the daemon's.
type answers func(ctx context.Context, method string, params []byte) (any, error)

// connect serves what asks and answers, and no runs. The client has its own
// dialogs and the capability to respond; it shows documents, and does with the
// rest what asked says.
func connect(t *testing.T, asked answers) *connected {
	t.Helper()
	near, far := net.Pipe()
	c := &connected{logged: new(strings.Builder), told: make(chan string, 8)}
	made, served := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := server.Serve(t.Context(), far, server.Config{Now: time.Now}, func(ctx context.Context, peer server.Peer) []server.Route {
			c.h = New(ctx, peer, Config{Now: time.Now, Log: slog.New(slog.NewTextHandler(c.logged, &slog.HandlerOptions{Level: slog.LevelDebug}))})
			c.h.setDaemon(&Daemon{Daemon: language.Daemon{Shown: t.TempDir()}})
			c.h.shows = true
			c.h.caps = wire.ClientCapabilities{Confirm: &wire.ConfirmCapability{Respond: true}, Ask: true}
			close(made)
			return []server.Route{
				server.Now(protocol.MethodInitialize, func(context.Context, *protocol.InitializeParams) (*protocol.InitializeResult, error) {
					return &protocol.InitializeResult{}, nil
				}),
				server.Query(wire.MethodRespond, nothing[wire.RespondParams], c.h.respond),
			}
		})
		served <- err
	}()
	<-made
	c.client = client.New(t.Context(), near, client.Config{Asked: func(ctx context.Context, method string, params []byte) (any, error) {
		if method == protocol.MethodWindowShowDocument {
			var p protocol.ShowDocumentParams
			if err := (wire.Codec{}).Unmarshal(params, &p); err != nil {
				return nil, err
			}
			if c.shown != nil {
				c.shown(p.URI.FsPath())
			}
			return &protocol.ShowDocumentResult{Success: true}, nil
		}
		return asked(ctx, method, params)
	}, Notified: func(method string, params []byte) {
		if method == protocol.MethodProgress {
			c.told <- string(params)
			return
		}
		var p protocol.ShowMessageParams
		if method != protocol.MethodWindowShowMessage || (wire.Codec{}).Unmarshal(params, &p) != nil {
			return
		}
		select {
		case c.told <- p.Message:
		default:
		}
	}})
	t.Cleanup(func() {
		_ = c.client.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	if _, err := c.client.Initialize(t.Context(), &protocol.InitializeParams{}); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *connected) respond(ctx context.Context, id, nonce, answer string) error {
	return c.client.Call(ctx, wire.MethodRespond, &wire.RespondParams{ID: id, Nonce: nonce, Answer: json.RawMessage(answer)}, nil)
}

// code is the code of an error answer, 0 for none.
func code(err error) jsonrpc2.Code {
	if e, ok := errors.AsType[*jsonrpc2.Error](err); ok {
		return e.Code
	}
	return 0
}

const invalid = jsonrpc2.InvalidParams

// isStale reports whether an answer came to a question that is not open.
func isStale(err error) bool {
	return err != nil && code(err) != invalid && strings.Contains(err.Error(), "is not open any more")
}

func plain() agents.Question {
	q := asking(tool.Preview{}, guard.Session, guard.Modify, guard.Reject, guard.Cancel)
	q.Asked = func(time.Time) {}
	return q
}

// TestSEC69FirstAnswerCounts: the first valid answer counts, whichever way it comes;
// one that is not valid leaves the question open (spec 2.2).
func TestSEC69FirstAnswerCounts(t *testing.T) {
	for name, c := range map[string]struct {
		said   string // by agents/confirm; "" = nothing until it is withdrawn
		tried  []string
		answer string
		want   agents.Answer
	}{
		"later":              {`{"outcome":"later"}`, nil, `{"outcome":"once"}`, agents.Answer{Outcome: guard.Once, By: "user"}},
		"beside the request": {"", nil, `{"outcome":"reject","feedback":"no"}`, agents.Answer{Outcome: guard.Reject, By: "user", Feedback: "no"}},
		"after answers that are none": {
			`{"outcome":"later"}`,
			[]string{`"once"`, `{"outcome":7}`, `{}`, `{"outcome":"later"}`, `{"outcome":"always"}`, `{"outcome":"modify"}`, `[]`},
			`{"outcome":"session"}`, agents.Answer{Outcome: guard.Session, By: "user"},
		},
		"dismissed": {`{"outcome":"later"}`, nil, `null`, agents.Answer{Outcome: guard.Reject, By: "user"}},
	} {
		t.Run(name, func(t *testing.T) {
			asked, withdrawn := make(chan wire.ConfirmParams, 1), make(chan struct{})
			conn := connect(t, func(ctx context.Context, method string, params []byte) (any, error) {
				var p wire.ConfirmParams
				if err := (wire.Codec{}).Unmarshal(params, &p); err != nil || method != wire.MethodConfirm {
					return nil, jsonrpc2.ErrMethodNotFound
				}
				asked <- p
				if c.said != "" {
					return json.RawMessage(c.said), nil
				}
				<-ctx.Done()
				close(withdrawn)
				return nil, jsonrpc2.Errorf(-32800, "withdrawn")
			})
			conn.h.caps.Confirm.Modify = true
			answered := make(chan agents.Answer, 1)
			go func() { answered <- conn.h.frontend.Confirm(t.Context(), plain()) }()
			p := <-asked
			if err := conn.respond(t.Context(), p.ID, "00", c.answer); !isStale(err) {
				t.Error("an answer with another nonce was taken")
			}
			for _, raw := range c.tried {
				if err := conn.respond(t.Context(), p.ID, p.Nonce, raw); code(err) != invalid {
					t.Errorf("%s: %v", raw, err)
				}
			}
			if err := conn.respond(t.Context(), p.ID, p.Nonce, c.answer); err != nil {
				t.Fatal(err)
			}
			if err := conn.respond(t.Context(), p.ID, p.Nonce, `{"outcome":"once"}`); !isStale(err) {
				t.Errorf("a second answer: %v", err)
			}
			got := <-answered
			if got.Outcome != c.want.Outcome || got.By != c.want.By || got.Feedback != c.want.Feedback {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if c.said == "" {
				<-withdrawn
			}
		})
	}
}

// TestConfirmUnanswered: later is no answer of a client that did not say that
// it would respond, and what is dismissed is the person's no.
func TestConfirmUnanswered(t *testing.T) {
	for said, by := range map[string]string{`{"outcome":"later"}`: "user", `null`: "user", `"x"`: "client"} {
		conn := connect(t, func(context.Context, string, []byte) (any, error) { return json.RawMessage(said), nil })
		conn.h.caps.Confirm.Respond = false
		if got := conn.h.frontend.Confirm(t.Context(), plain()); got.Outcome != guard.Reject || got.By != by {
			t.Errorf("%s: %+v", said, got)
		}
	}
	conn := connect(t, func(context.Context, string, []byte) (any, error) { return nil, nil })
	conn.h.caps.Confirm = nil
	if got := conn.h.frontend.Confirm(t.Context(), plain()); got.Outcome != guard.Reject || got.By != "user" {
		t.Errorf("a dialog that is dismissed: %+v", got)
	}
}

// TestREL126NobodyAnswers: a question that is not answered in time is no, and
// what comes later changes nothing; without a time-out it waits.
func TestREL126NobodyAnswers(t *testing.T) {
	asked, withdrawn := make(chan wire.ConfirmParams, 1), make(chan struct{}, 1)
	conn := connect(t, func(ctx context.Context, _ string, params []byte) (any, error) {
		var p wire.ConfirmParams
		if err := (wire.Codec{}).Unmarshal(params, &p); err != nil {
			return nil, err
		}
		asked <- p
		<-ctx.Done()
		withdrawn <- struct{}{}
		return &wire.ConfirmResult{Outcome: "once"}, nil
	})
	q := plain()
	q.Timeout = time.Second // enough for the question to reach the client
	if got := conn.h.frontend.Confirm(t.Context(), q); got.Outcome != guard.Reject || got.By != "timeout" {
		t.Errorf("%+v", got)
	}
	p := <-asked
	<-withdrawn
	if err := conn.respond(t.Context(), p.ID, p.Nonce, `{"outcome":"once"}`); !isStale(err) {
		t.Errorf("an answer after the time-out: %v", err)
	}

	answered := make(chan agents.Answer, 1)
	go func() { answered <- conn.h.frontend.Confirm(t.Context(), plain()) }()
	if p = <-asked; p.ExpiresAt != "" {
		t.Errorf("it expires at %s", p.ExpiresAt)
	}
	if err := conn.respond(t.Context(), p.ID, p.Nonce, `{"outcome":"once"}`); err != nil {
		t.Error(err)
	}
	if got := <-answered; got.Outcome != guard.Once {
		t.Errorf("%+v", got)
	}
}

// TestREL126AClientThatGoes: a connection that ends is no refusal; what asked is
// waited for, which ends with the connection.
func TestREL126AClientThatGoes(t *testing.T) {
	for _, ours := range []bool{true, false} {
		asked := make(chan struct{}, 1)
		conn := connect(t, func(ctx context.Context, _ string, _ []byte) (any, error) {
			asked <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if !ours {
			conn.h.caps.Confirm = nil // it has dialogs only
		}
		ctx, end := context.WithCancel(t.Context())
		answered := make(chan agents.Answer, 1)
		go func() { answered <- conn.h.frontend.Confirm(ctx, plain()) }()
		<-asked
		_ = conn.client.Close()
		<-conn.h.ctx.Done()
		select {
		case got := <-answered:
			t.Errorf("it counts as %+v", got)
		default:
		}
		end()
		if got := <-answered; got.Outcome != guard.Reject {
			t.Errorf("%+v", got)
		}
	}
}

// TestUnservedIsQuiet: a client without any dialog is no fault, and is told so
// to the run.
func TestUnservedIsQuiet(t *testing.T) {
	conn := connect(t, func(context.Context, string, []byte) (any, error) { return nil, jsonrpc2.ErrMethodNotFound })
	if got := conn.h.frontend.Confirm(t.Context(), plain()); got.Outcome != guard.Reject || got.By != "client" {
		t.Errorf("%+v", got)
	}
	if conn.h.frontend.CanConfirm() || conn.h.frontend.Ask("s", "r", "a") != nil {
		t.Error("it is asked again")
	}
	if text := conn.logged.String(); strings.Contains(text, "level=WARN") || !strings.Contains(text, "level=DEBUG") {
		t.Errorf("logged: %s", text)
	}
}

// TestConfirmExpiresAt: times have milliseconds (spec 2.2).
func TestConfirmExpiresAt(t *testing.T) {
	asked := make(chan wire.ConfirmParams, 1)
	conn := connect(t, func(_ context.Context, _ string, params []byte) (any, error) {
		var p wire.ConfirmParams
		if err := (wire.Codec{}).Unmarshal(params, &p); err != nil {
			return nil, err
		}
		asked <- p
		return &wire.ConfirmResult{Outcome: "once"}, nil
	})
	q := plain()
	q.Timeout = time.Minute
	conn.h.frontend.Confirm(t.Context(), q)
	if p := <-asked; !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`).MatchString(p.ExpiresAt) {
		t.Errorf("expiresAt %q", p.ExpiresAt)
	}
}

// TestRespondAsk: agents/ask is answered late by the same rules.
func TestRespondAsk(t *testing.T) {
	asked := make(chan wire.AskParams, 1)
	conn := connect(t, func(_ context.Context, _ string, params []byte) (any, error) {
		var p wire.AskParams
		if err := (wire.Codec{}).Unmarshal(params, &p); err != nil {
			return nil, err
		}
		asked <- p
		return &wire.AskResult{Action: "later"}, nil
	})
	var answer tool.Answer
	var err error
	var work sync.WaitGroup
	work.Go(func() {
		answer, err = conn.h.frontend.Ask("s", "r", "a")(t.Context(), tool.Question{Message: "Which?\n\nOf \x1btwo"})
	})
	p := <-asked
	if p.Message != "Which?\n\nOf \\x1btwo" {
		t.Errorf("shown: %q", p.Message)
	}
	for _, raw := range []string{`{"action":"later"}`, `{"outcome":"once"}`, `7`} {
		if err := conn.respond(t.Context(), p.ID, p.Nonce, raw); code(err) != invalid {
			t.Errorf("%s: %v", raw, err)
		}
	}
	if err := conn.respond(t.Context(), p.ID, p.Nonce, `{"action":"accept","content":"blue"}`); err != nil {
		t.Fatal(err)
	}
	if work.Wait(); err != nil || answer.Action != "accept" || answer.Text != "blue" {
		t.Errorf("%+v, %v", answer, err)
	}

	conn.h.caps.Confirm.Respond = false
	answer, err = conn.h.frontend.Ask("s", "r", "a")(t.Context(), tool.Question{Message: "Which?"})
	if <-asked; err != nil || answer.Action != "cancel" {
		t.Errorf("later, from a client that did not say so: %+v, %v", answer, err)
	}
}
