package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc"
	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/wire"
)

// peer is a program that is measured.
type peer interface {
	name() string
	binary() string
	// server returns the command that serves on its standard streams.
	server(w *world) *exec.Cmd
	// once returns the command that answers one prompt and ends.
	once(w *world, prompt string) *exec.Cmd
	// greet shakes hands.
	greet(ctx context.Context, c *client.Client, w *world) error
	// session returns a new session.
	session(ctx context.Context, c *client.Client, label string) (string, error)
	// prompt has a prompt answered.
	prompt(ctx context.Context, c *client.Client, session, text string) error
	// text returns the text of an answer that a notification has, and its session.
	text(method string, params []byte) (session, text string)
}

// errUnknown is the error of what a build of agentls does not have.
var errUnknown = errors.New("this build does not know it")

// agentls is the program under test.
type agentls struct{ *bench }

func (a agentls) name() string   { return "agentls" }
func (a agentls) binary() string { return a.bench.binary }

func (a agentls) command(w *world, args ...string) *exec.Cmd {
	c := exec.Command(a.bench.binary, args...)
	c.Dir, c.Env = w.dir, w.environ(a.model.url)
	return c
}

func (a agentls) server(w *world) *exec.Cmd { return a.command(w, "serve") }

func (a agentls) once(w *world, prompt string) *exec.Cmd {
	return a.command(w, "run", agentName, "-p", prompt, "--session", "new")
}

func (a agentls) greet(ctx context.Context, c *client.Client, w *world) error {
	ours, err := json.Marshal(map[string]any{"agents": wire.ClientCapabilities{
		Version: wire.Version, Activity: &wire.ActivityCapability{}, Confirm: &wire.ConfirmCapability{}, Ask: true,
	}})
	if err != nil {
		return err
	}
	root := uri.File(w.dir)
	p := &protocol.InitializeParams{RootURI: &root}
	p.Capabilities.Experimental = ours
	_, err = c.Initialize(ctx, p)
	return err
}

func (a agentls) session(ctx context.Context, c *client.Client, label string) (string, error) {
	var r wire.SessionNewResult
	err := c.Call(ctx, wire.MethodSessionNew, &wire.SessionNewParams{Agent: agentName}, &r)
	if e, ok := errors.AsType[*jsonrpc2.Error](err); ok && e.Code == jsonrpc2.MethodNotFound {
		return label, errUnknown // an older build makes it when it is first used
	}
	return r.Session, err
}

func (a agentls) prompt(ctx context.Context, c *client.Client, session, text string) error {
	r := new(wire.RunResult)
	p := &wire.RunParams{Agent: agentName, Session: session, Input: wire.InputBlocks{{Type: "text", Text: text}}}
	if err := c.Call(ctx, wire.MethodRun, p, r); err != nil {
		return err
	}
	if r.Reason != "GOAL" {
		return fmt.Errorf("the run ended %s: %+v", r.Reason, r.Error)
	}
	return nil
}

func (a agentls) text(method string, params []byte) (session, text string) {
	if method != wire.MethodActivity || !bytes.Contains(params, []byte(`"content.delta"`)) {
		return "", ""
	}
	var e struct {
		Session string `json:"session"`
		Type    string `json:"type"`
		Data    struct {
			Text string `json:"text"`
		} `json:"data"`
	}
	if json.Unmarshal(params, &e) != nil || e.Type != "content.delta" {
		return "", ""
	}
	return e.Session, e.Data.Text
}

// limit is the least program that does the same work.
type limit struct{ *bench }

func (l limit) name() string   { return "limit" }
func (l limit) binary() string { return l.bench.limit }

func (l limit) server(w *world) *exec.Cmd {
	c := exec.Command(l.bench.limit, "-acp")
	c.Dir, c.Env = w.dir, w.environ(l.model.url)
	return c
}

func (l limit) once(w *world, prompt string) *exec.Cmd {
	c := exec.Command(l.bench.limit, "-p", prompt)
	c.Dir, c.Env = w.dir, w.environ(l.model.url)
	return c
}

func (l limit) greet(ctx context.Context, c *client.Client, _ *world) error {
	return c.Call(ctx, "initialize", map[string]any{}, nil)
}

func (l limit) session(ctx context.Context, c *client.Client, _ string) (string, error) {
	var r struct {
		SessionID string `json:"sessionId"`
	}
	err := c.Call(ctx, "session/new", map[string]any{}, &r)
	return r.SessionID, err
}

func (l limit) prompt(ctx context.Context, c *client.Client, session, text string) error {
	return c.Call(ctx, "session/prompt", map[string]any{"sessionId": session,
		"prompt": []any{map[string]any{"text": text}}}, nil)
}

func (l limit) text(method string, params []byte) (session, text string) {
	if method != "session/update" {
		return "", ""
	}
	var u struct {
		SessionID string `json:"sessionId"`
		Update    struct {
			Content struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"update"`
	}
	if json.Unmarshal(params, &u) != nil {
		return "", ""
	}
	return u.SessionID, u.Update.Content.Text
}

// server is a peer that serves.
type server struct {
	peer
	*client.Client
	cmd   *exec.Cmd
	said  bytes.Buffer // its standard error
	ready time.Duration

	mu    sync.Mutex
	heard func(session, text string) // gets the answers' texts; may be nil; guarded by mu
}

// serve starts a peer and shakes hands with it. End it.
func serve(ctx context.Context, p peer, w *world) (*server, error) {
	s := &server{peer: p, cmd: p.server(w)}
	// Pipes of ours: Wait would close the process's while they are read.
	r1, w1, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	r2, w2, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = r1, w2, &s.said
	s.cmd.WaitDelay = time.Second
	began := time.Now()
	err = s.cmd.Start()
	_ = r1.Close() // it has its own
	_ = w2.Close()
	if err != nil {
		_ = w1.Close()
		_ = r2.Close()
		return nil, err
	}
	s.Client = client.New(context.WithoutCancel(ctx), duplex{r2, w1}, client.Config{Notified: s.notified})
	if err := p.greet(ctx, s.Client, w); err != nil {
		s.end()
		return nil, s.fault(err)
	}
	s.ready = time.Since(began)
	return s, nil
}

// fault adds what the process said.
func (s *server) fault(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w %s", s.name(), err, strings.TrimSpace(s.said.String()))
}

func (s *server) notified(method string, params []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heard == nil {
		return
	}
	if session, t := s.text(method, params); t != "" {
		s.heard(session, t)
	}
}

// listen has a function get the texts of answers, nil none.
func (s *server) listen(heard func(session, text string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = heard
}

// pid is the process's.
func (s *server) pid() int { return s.cmd.Process.Pid }

// ask has a prompt answered in a session of its own. label stands in the
// model's log.
func (s *server) ask(ctx context.Context, label, prompt string) error {
	session, err := s.session(ctx, s.Client, label)
	if err != nil && !errors.Is(err, errUnknown) {
		return s.fault(err)
	}
	return s.fault(s.prompt(ctx, s.Client, session, prompt+" sid="+label))
}

// sessions returns n new sessions.
func (s *server) sessions(ctx context.Context, n int, label string) ([]string, error) {
	all := make([]string, n)
	for i := range all {
		var err error
		if all[i], err = s.session(ctx, s.Client, fmt.Sprint(label, i)); err != nil && !errors.Is(err, errUnknown) {
			return nil, s.fault(err)
		}
	}
	return all, nil
}

// askAll has a prompt answered in each session, in all at once.
func (s *server) askAll(ctx context.Context, sessions []string, label, prompt string) error {
	failed := make([]error, len(sessions))
	var work conc.WaitGroup
	for i, session := range sessions {
		work.Go(func() { failed[i] = s.prompt(ctx, s.Client, session, fmt.Sprintf("%s sid=%s%d", prompt, label, i)) })
	}
	work.Wait()
	return s.fault(errors.Join(failed...))
}

// end ends the process. The limit does not end by itself.
func (s *server) end() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	asked := s.Shutdown(ctx) == nil
	if !asked {
		_ = s.cmd.Process.Kill() // it may have ended
	}
	_ = s.Client.Close() // the process ends anyway
	kill := time.AfterFunc(2*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	_ = s.cmd.Wait() // how it ended was not asked
}

// duplex is a connection of two pipes.
type duplex struct{ from, to *os.File }

func (d duplex) Read(p []byte) (int, error)  { return d.from.Read(p) }
func (d duplex) Write(p []byte) (int, error) { return d.to.Write(p) }
func (d duplex) Close() error                { return errors.Join(d.to.Close(), d.from.Close()) }

var _ io.ReadWriteCloser = duplex{}
