package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.lsp.dev/jsonrpc2"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/agenttest"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/mention"
	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
)

// runTest runs one test in a workspace of its own, and returns what did not come as it
// was expected.
func runTest(ctx context.Context, std streams, agents string, c *agenttest.Case) (wrong []string) {
	root, err := os.MkdirTemp("", "agentls-test-")
	if err != nil {
		return []string{err.Error()}
	}
	defer func() {
		if err := os.RemoveAll(root); err != nil {
			wrong = append(wrong, err.Error())
		}
	}()
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return []string{err.Error()}
	}
	work := filepath.Join(root, "work")
	if err := layOut(work, agents, c.Files); err != nil {
		return []string{err.Error()}
	}
	person := &testPerson{answers: slices.Clone(c.Answers)}
	answers, tools := agenttest.NewModel(c), agenttest.NewTools(c)
	config := baseAt(streams{std.in, io.Discard, io.Discard}, filepath.Join(root, "home"))
	config.Log, config.Trust, config.Brief, config.Apart = slog.New(slog.DiscardHandler), true, true, true
	config.Model, config.Tools = answers, tools.Stub
	config.Environ = append(slices.DeleteFunc(config.Environ, func(kv string) bool { return strings.HasPrefix(kv, "HOME=") }), "HOME="+root)
	result, err := person.run(ctx, config, work, c)
	if err != nil {
		return append([]string{fmt.Sprintf("run: expected to begin, came: %s", fault.Message(err))}, answers.Failures()...)
	}
	came := agenttest.Came{Events: person.events, Result: result.RunFinished, File: func(path string) (string, bool) {
		return readWithin(work, path)
	}}
	return slices.Concat(c.Check(came), person.failures(), tools.Failures(), answers.Failures())
}

// layOut makes a workspace with agents and files.
func layOut(work, agents string, files map[string]string) error {
	into := filepath.Join(work, ".gemini", "agents")
	if err := os.MkdirAll(into, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(agents)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".md") || e.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(agents, e.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(into, e.Name()), text, 0o600)
		}
		if err != nil {
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
// beginning.
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

// testPerson is who a test's agents ask: it answers as the test says.
type testPerson struct {
	mu      sync.Mutex
	answers []string
	wrong   []string
	events  []activity.Event
}

// failures returns what was asked and not expected, and answers that nobody asked for.
func (p *testPerson) failures() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	wrong := slices.Clone(p.wrong)
	for _, a := range p.answers {
		wrong = append(wrong, fmt.Sprintf("answers: expected a question to answer %q, came: none", a))
	}
	return wrong
}

// run runs the agent of a test to its end.
func (p *testPerson) run(ctx context.Context, config daemon.Config, work string, c *agenttest.Case) (*wire.RunResult, error) {
	conn, err := connect(ctx, config, work, client.Config{Notified: p.notified, Asked: p.asked})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
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

func (p *testPerson) notified(method string, params []byte) {
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
		p.events = append(p.events, eventOf(e, body))
	}
}

// next takes the next answer; false, and a failure, where there is none.
func (p *testPerson) next(about string) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.answers) == 0 {
		p.wrong = append(p.wrong, "answers: expected no more questions, came "+about)
		return "", false
	}
	answer := p.answers[0]
	p.answers = p.answers[1:]
	return answer, true
}

func (p *testPerson) asked(_ context.Context, method string, params []byte) (any, error) {
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
			p.wrong = append(p.wrong, fmt.Sprintf("answers: expected %q to be offered about %s, came %v", answer, q.Tool, q.Options))
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
