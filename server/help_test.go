package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.lsp.dev/protocol"
	"go.uber.org/goleak"

	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type count struct {
	N int `json:"n"`
}

type none struct{}

// rig is a server in memory and the client at its other end.
type rig struct {
	*servertest.Client
	t    testing.TB
	near io.ReadWriteCloser
	peer server.Peer
	log  *logged
	stop context.CancelFunc // as a signal would
	sent chan struct{}      // closed when what send was given last has been taken

	done    chan struct{}
	outcome server.Outcome
	err     error
}

// serve serves routes on one end of a pipe. Everything has ended when the test
// has.
func serve(t testing.TB, routes ...server.Route) *rig {
	t.Helper()
	near, far := net.Pipe()
	return serveOn(t, near, far, server.Config{}, routes...)
}

func serveOn(t testing.TB, near, far io.ReadWriteCloser, cfg server.Config, routes ...server.Route) *rig {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r := &rig{Client: servertest.NewClient(near, 10*time.Second), t: t, near: near, log: &logged{}, stop: stop, done: make(chan struct{})}
	cfg.Now = time.Now
	cfg.Log = slog.New(slog.NewTextHandler(r.log, nil))
	opened := make(chan struct{})
	go func() {
		defer close(r.done)
		r.outcome, r.err = server.Serve(ctx, far, cfg, func(_ context.Context, p server.Peer) []server.Route {
			r.peer = p
			close(opened)
			return routes
		})
	}()
	<-opened
	t.Cleanup(func() {
		near.Close()
		stop()
		r.ends()
	})
	return r
}

// ends waits until Serve has returned.
func (r *rig) ends() server.Outcome {
	r.t.Helper()
	select {
	case <-r.done:
	case <-time.After(time.Minute):
		r.t.Fatal("Serve does not return")
	}
	return r.outcome
}

// send frames and sends messages in order, without waiting for the server to
// take them.
func (r *rig) send(bodies ...string) {
	var b strings.Builder
	for _, body := range bodies {
		b.WriteString(servertest.Frame(body))
	}
	before, sent := r.sent, make(chan struct{})
	r.sent = sent
	go func() {
		defer close(sent)
		if before != nil {
			<-before
		}
		r.Send(b.String()) // a server that has gone is what some tests want
	}()
}

// next returns the next message, whatever it is.
func (r *rig) next() *servertest.Message {
	r.t.Helper()
	m, err := r.Next()
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

// answer returns the answer to an id.
func (r *rig) answer(id string) *servertest.Message {
	r.t.Helper()
	m, err := r.Answer(id)
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

// ask sends a request and returns its answer.
func (r *rig) ask(id, method, params string) *servertest.Message {
	r.t.Helper()
	r.send(call(id, method, params))
	return r.answer(id)
}

func (r *rig) handshake() {
	r.t.Helper()
	if err := r.Handshake(); err != nil {
		r.t.Fatal(err)
	}
}

func call(id, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
}

func note(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)
}

func result(id, value string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":` + value + `}`
}

// data returns an error's data.
func data(t testing.TB, m *servertest.Message) map[string]any {
	t.Helper()
	if m.Error == nil {
		t.Fatalf("no error: %s", m.Raw)
	}
	var d map[string]any
	if err := json.Unmarshal(m.Error.Data, &d); err != nil {
		t.Fatalf("%s: %v", m.Raw, err)
	}
	return d
}

// logged is what a server logs.
type logged struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var echo = server.Query("echo", func(p *count) int { return p.N }, func(_ context.Context, n int, _ *count) (int, error) { return n, nil })

// untilCanceled is a query that ends when its context does.
func untilCanceled(method string) server.Route {
	return server.Query(method, func(p *count) int { return p.N }, func(ctx context.Context, n int, _ *count) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
}

// lifecycle is what a language server has.
func lifecycle(more ...server.Route) []server.Route {
	return append(more,
		server.Now("initialize", func(context.Context, *protocol.InitializeParams) (*protocol.InitializeResult, error) {
			return &protocol.InitializeResult{}, nil
		}),
		server.Notify("initialized", func(context.Context, *none) error { return nil }),
		server.Now("shutdown", func(context.Context, *none) (any, error) { return nil, nil }),
		server.Notify("textDocument/didChange", func(context.Context, *protocol.DidChangeTextDocumentParams) error { return nil }),
	)
}
