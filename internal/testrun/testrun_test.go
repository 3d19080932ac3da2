package testrun_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/agenttest"
	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/testrun"
	"github.com/agentls/agentls/internal/wire"
)

const fixer = "---\nkind: agent\nname: fixer\ndescription: Fixes.\ntools: {allow: [read_file]}\n---\nYou fix.\n"

// TestResultsComeAsTheyAreKnown: a client is told each result before the answer that has
// them all, under the name that it gave its request.
func TestResultsComeAsTheyAreKnown(t *testing.T) {
	dir := t.TempDir()
	agents := filepath.Join(dir, "work", ".gemini", "agents")
	if err := os.MkdirAll(agents, 0o755); err != nil {
		t.Fatal(err)
	}
	tests := "agent: fixer\ntests:\n  - {name: good, input: go, model: [{text: x}], expect: {}}\n  - {name: bad, input: go, model: [{text: x}], expect: {output: {equals: y}}}\n"
	for name, text := range map[string]string{"fixer.md": fixer, "fixer.agent-test.yaml": tests} {
		if err := os.WriteFile(filepath.Join(agents, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	config := daemon.Config{
		Home: filepath.Join(dir, "home"), Trust: true, Version: "test", Now: time.Now, Environ: []string{"HOME=" + dir}, Log: slog.New(slog.DiscardHandler),
	}
	config.RunTest = testrun.With(config)
	near, far := net.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := daemon.Serve(context.WithoutCancel(t.Context()), far, config)
		done <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	told := make(map[string]wire.TestResultParams)
	conn := client.New(context.WithoutCancel(ctx), near, client.Config{Notified: func(method string, params []byte) {
		var p wire.TestResultParams
		if method == wire.MethodTestResult && json.Unmarshal(params, &p) == nil {
			mu.Lock()
			defer mu.Unlock()
			told[p.Result.Name] = p
		}
	}})
	root := uri.File(filepath.Join(dir, "work"))
	params := &protocol.InitializeParams{RootURI: &root}
	params.Capabilities.Experimental = []byte(`{"agents": {"version": 1}}`)
	if _, err := conn.Initialize(ctx, params); err != nil {
		t.Fatal(err)
	}
	result := new(wire.TestRunResult)
	if err := conn.Call(ctx, wire.MethodTestRun, &wire.TestRunParams{Run: "mine"}, result); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	good, bad := told["good"], told["bad"]
	mu.Unlock()
	if result.Passed != 1 || result.Failed != 1 || !good.Result.Passed || bad.Result.Passed || good.Run != "mine" || good.Done+bad.Done != 3 || bad.Total != 2 {
		t.Errorf("%+v\n%+v\n%+v", result, good, bad)
	}
	if f := bad.Result.Failures; len(f) != 1 || !strings.Contains(f[0].Message, `expected "y", came "x", at event`) || f[0].Range.Start.Line != 3 {
		t.Errorf("%+v", f)
	}
	_ = conn.Shutdown(ctx) // what it kept is in a folder of the test
	_ = conn.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestRunLeavesNothing: a test that is cancelled, or whose agent is not there, leaves no
// folder behind.
func TestRunLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	config := daemon.Config{Version: "test", Now: time.Now, Environ: []string{"HOME=/nowhere"}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		test agenttest.Case
	}{
		"cancelled": {ctx, agenttest.Case{Agent: "fixer", Input: "go", Model: []agenttest.Answer{{Text: "x"}}}},
		"nobody":    {t.Context(), agenttest.Case{Agent: "nobody", Input: "go"}},
		"outside":   {t.Context(), agenttest.Case{Agent: "fixer", Input: "go", Files: map[string]string{"../x": "y"}}},
	} {
		if wrong := testrun.Run(c.ctx, config, map[string]string{"fixer.md": fixer}, &c.test); len(wrong) == 0 {
			t.Errorf("%s: it passed", name)
		}
		left, err := os.ReadDir(os.Getenv("TMPDIR"))
		if err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left (%v)", name, left, err)
		}
	}
}
