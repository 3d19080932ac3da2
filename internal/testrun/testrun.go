// Package testrun runs tests of agents (docs/tests.md), each in a daemon of its own that is
// in memory, and whose model is the test's: agentls test, and agents/test/run of an editor.
//
// A test's daemon sees nothing of the person's: its home, its workspace and its settings
// are in a temporary folder, which is removed at the end; its model answers what the test
// says and its tools are the test's. Several tests may run at the same time. An error of
// the machinery, as a folder that cannot be made, is a [agenttest.Failure] like any other:
// a test has failures or has passed.
package testrun

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sourcegraph/conc"
	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/agenttest"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/mention"
	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
)

// Run runs one test in a workspace of its own, and returns what did not come as it was
// expected. agents are the texts of the project's agents, by the names of their files. Of
// config, which is that of the person's daemons, the version, the clock, the environment
// and what is masked count. Failures are in the order: what was expected of the run,
// questions, tools, the model. It takes as long as the run does, whose limits are those
// of the agent's file; a ctx that ends before breaks it off, which is a failure.
func Run(ctx context.Context, config daemon.Config, agents map[string]string, c *agenttest.Case) []agenttest.Failure {
	wrong, _ := run(ctx, config, agents, c)
	return wrong
}

// temporary makes a folder, and returns what removes it. Its path is without links, as
// a workspace's is.
func temporary() (root string, remove func(), err error) {
	if root, err = os.MkdirTemp("", "agentls-test-"); err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(root) } // what is left there is the system's to remove
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		remove()
	}
	return real, remove, err
}

// run is Run; the result is nil where the run did not begin.
func run(ctx context.Context, config daemon.Config, agents map[string]string,
	c *agenttest.Case) ([]agenttest.Failure, *wire.RunResult) {
	failed := func(err error) []agenttest.Failure { return []agenttest.Failure{{Text: err.Error()}} }
	root, remove, err := temporary()
	if err != nil {
		return failed(err), nil
	}
	defer remove()
	work := filepath.Join(root, "work")
	if err := layOut(work, agents, c.Files); err != nil {
		return failed(err), nil
	}
	person := &person{answers: slices.Clone(c.Answers)}
	answers, tools := agenttest.NewModel(c), agenttest.NewTools(c)
	isHome := func(kv string) bool { return strings.HasPrefix(kv, "HOME=") }
	environ := append(slices.DeleteFunc(slices.Clone(config.Environ), isHome), "HOME="+root)
	result, err := person.run(ctx, daemon.Config{
		Home: filepath.Join(root, "home"), Environ: environ, Version: config.Version, Now: config.Now,
		Secrets: config.Secrets,
		Log:     slog.New(slog.DiscardHandler), Trust: true, Brief: true, Apart: true,
		Model: answers, Tools: tools.Stub,
	}, work, c)
	if err != nil {
		wrong := agenttest.Failure{Path: []string{"agent"}, Text: "run: expected to begin, came: " + fault.Message(err)}
		return append([]agenttest.Failure{wrong}, answers.Failures()...), nil
	}
	came := agenttest.Came{Events: person.seenEvents(), Result: result.RunFinished,
		File: func(path string) (string, bool) {
			return readWithin(work, path)
		}}
	return slices.Concat(c.Check(came), person.failures(), tools.Failures(), answers.Failures()), result
}

// With returns [Run] with a config. daemon.Config.RunTest takes it: package daemon,
// which this one imports, cannot import this one.
func With(config daemon.Config) func(context.Context, map[string]string, *agenttest.Case) []agenttest.Failure {
	return func(ctx context.Context, agents map[string]string, c *agenttest.Case) []agenttest.Failure {
		return Run(ctx, config, agents, c)
	}
}

// Agents returns the texts of the agents in a folder, by the names of their files.
// Subfolders are not read. The error is the system's.
func Agents(folder string) (map[string]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	agents := make(map[string]string)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".md") || e.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		agents[e.Name()] = string(text)
	}
	return agents, nil
}

// layOut makes a workspace with agents and files. A file of the test that would be
// outside of the workspace is an error.
func layOut(work string, agents, files map[string]string) error {
	into := filepath.Join(work, ".gemini", "agents")
	if err := os.MkdirAll(into, 0o700); err != nil {
		return err
	}
	for name, text := range agents {
		if err := os.WriteFile(filepath.Join(into, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	for path, text := range files {
		if !filepath.IsLocal(filepath.FromSlash(path)) {
			return fmt.Errorf("files: %q is no path inside of the workspace", path)
		}
		at := filepath.Join(work, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// readWithin returns a file of a test's workspace, and of nowhere else; of a large one the
// beginning. false where there is none. A link out of the workspace is not followed.
func readWithin(work, path string) (string, bool) {
	root, err := os.OpenRoot(work)
	if err != nil {
		return "", false
	}
	defer root.Close()
	f, err := root.Open(filepath.FromSlash(path))
	if err != nil {
		return "", false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	return string(text), err == nil
}

// person is who a test's agents ask: it answers as the test says. It is the client of
// the test's daemon, too: what the daemon tells and asks comes to onNotification and
// onRequest, on goroutines of the client.
type person struct {
	work conc.WaitGroup // the daemon

	mu sync.Mutex
	// Left over, the next first.
	answers []string
	// About questions.
	wrong  []agenttest.Failure
	events []activity.Event
}

// seenEvents returns what happened.
func (p *person) seenEvents() []activity.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.events)
}

// connect starts a daemon for a folder and shakes hands with it.
func (p *person) connect(ctx context.Context, config daemon.Config, folder string) (*client.Client, error) {
	near, far := net.Pipe()
	p.work.Go(func() {
		_, _ = daemon.Serve(context.WithoutCancel(ctx), far, config) // it keeps nothing
	})
	conn := client.New(context.WithoutCancel(ctx), near, client.Config{Notified: p.onNotification, Asked: p.onRequest})
	ours, err := json.Marshal(map[string]any{"agents": wire.ClientCapabilities{
		Version: wire.Version, Activity: &wire.ActivityCapability{},
		Confirm: &wire.ConfirmCapability{Feedback: true, Modify: true}, Ask: true,
	}})
	if err == nil {
		root := uri.File(folder)
		params := &protocol.InitializeParams{RootURI: &root}
		params.Capabilities.Experimental = ours
		_, err = conn.Initialize(ctx, params)
	}
	if err != nil {
		p.close(ctx, conn)
		return nil, err
	}
	return conn, nil
}

// close ends the daemon and waits for it.
func (p *person) close(ctx context.Context, conn *client.Client) {
	_ = conn.Shutdown(context.WithoutCancel(ctx)) // what it kept was in memory
	_ = conn.Close()
	p.work.Wait()
}

// failures returns what was asked and not expected, and answers that nobody asked for.
func (p *person) failures() []agenttest.Failure {
	p.mu.Lock()
	defer p.mu.Unlock()
	wrong := slices.Clone(p.wrong)
	for _, a := range p.answers {
		wrong = append(wrong, agenttest.Failure{Path: []string{"answers"},
			Text: fmt.Sprintf("answers: expected a question to answer %q, came: none", a)})
	}
	return wrong
}

// run runs the agent of a test to its end.
func (p *person) run(ctx context.Context, config daemon.Config, work string,
	c *agenttest.Case) (*wire.RunResult, error) {
	conn, err := p.connect(ctx, config, work)
	if err != nil {
		return nil, err
	}
	defer p.close(ctx, conn)
	inputs, err := wire.Codec{}.Marshal(c.Inputs)
	if err != nil {
		return nil, err
	}
	params := &wire.RunParams{Agent: c.Agent, Mode: c.Mode, Approval: c.Approval, Strategy: c.Strategy}
	if c.Agent == "auto" {
		params.Agent = mention.Auto
	}
	if c.Input != "" {
		params.Input = wire.InputBlocks{{Type: "text", Text: c.Input}}
	}
	if len(c.Inputs) > 0 {
		params.Inputs = inputs
	}
	result := new(wire.RunResult)
	return result, conn.Call(ctx, wire.MethodRun, params, result)
}

// onNotification keeps the events of the run. One that cannot be read is left out: what the test
// expects of it is then missing.
func (p *person) onNotification(method string, params []byte) {
	if method != wire.MethodActivity {
		return
	}
	var e wire.ActivityParams
	if (wire.Codec{}).Unmarshal(params, &e) != nil {
		return
	}
	if body, err := activity.Decode(e.Type, e.Data); err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.events = append(p.events, activity.Event{Seq: e.Seq, Session: e.Session, Body: body, Origin: activity.Origin{
			Run: e.Run, ParentRun: e.ParentRun, Turn: e.Turn, Agent: e.Agent,
			CorrelationID: e.CorrelationID, Context: e.Context,
		}})
	}
}

// next takes the next answer; false, and a failure, where there is none.
func (p *person) next(about string) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.answers) == 0 {
		p.wrong = append(p.wrong, agenttest.Failure{Path: []string{"answers"},
			Text: "answers: expected no more questions, came " + about})
		return "", false
	}
	answer := p.answers[0]
	p.answers = p.answers[1:]
	return answer, true
}

// onRequest answers as the test says; a question without an answer is refused, so that the run goes
// on and the failure is told at its end.
func (p *person) onRequest(_ context.Context, method string, params []byte) (any, error) {
	switch method {
	case wire.MethodConfirm:
		var q wire.ConfirmParams
		if err := (wire.Codec{}).Unmarshal(params, &q); err != nil {
			return nil, err
		}
		answer, ok := p.next("one about " + q.Tool)
		offered := slices.ContainsFunc(q.Options, func(o wire.Option) bool { return o.Kind == answer })
		if ok && !offered {
			p.mu.Lock()
			p.wrong = append(p.wrong, agenttest.Failure{
				Path: []string{"answers"}, Text: fmt.Sprintf("answers: expected %q to be offered about %s, came %v",
					answer, q.Tool, q.Options),
			})
			p.mu.Unlock()
		}
		if !ok || !offered {
			answer = string(guard.Reject)
		}
		return &wire.ConfirmResult{Outcome: answer}, nil
	case wire.MethodAsk:
		var q wire.AskParams
		if err := (wire.Codec{}).Unmarshal(params, &q); err != nil {
			return nil, err
		}
		answer, ok := p.next(fmt.Sprintf("%q of %s", q.Message, q.Agent))
		if !ok {
			return &wire.AskResult{Action: "decline"}, nil
		}
		content, err := wire.Codec{}.Marshal(answer)
		return &wire.AskResult{Action: "accept", Content: content}, err
	}
	return nil, jsonrpc2.ErrMethodNotFound
}
