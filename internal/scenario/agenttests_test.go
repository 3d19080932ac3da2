package scenario_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents/agenttest"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/wire"
)

// TestAgentTestsAreCancelled: while tests run everything else is answered, and both ways
// of cancelling end them.
func TestAgentTestsAreCancelled(t *testing.T) {
	dir := t.TempDir()
	agents := filepath.Join(dir, "work", ".gemini", "agents")
	if err := os.MkdirAll(agents, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"fixer.md":              "---\nkind: agent\nname: fixer\ndescription: Fixes.\n---\nYou fix.\n",
		"fixer.agent-test.yaml": "agent: fixer\ntests:\n  - {name: one, input: go, model: [{text: x}], expect: {}}\n",
	} {
		if err := os.WriteFile(filepath.Join(agents, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	began, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	near, far := net.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := daemon.Serve(context.Background(), far, daemon.Config{
			Home: filepath.Join(dir, "home"), Trust: true, Version: "test", Now: time.Now, Environ: []string{"HOME=" + dir},
			Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
			RunTest: func(ctx context.Context, _ map[string]string, _ *agenttest.Case) []agenttest.Failure {
				began <- struct{}{}
				<-ctx.Done()
				ended <- struct{}{}
				return nil
			},
		})
		done <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	editor, err := editortest.Connect(ctx, near, editortest.Config{Dir: filepath.Join(dir, "work"), Agents: editortest.Native()})
	if err != nil {
		t.Fatal(err)
	}
	for name, stop := range map[string]func(leave context.CancelFunc) error{
		"request": func(leave context.CancelFunc) error { leave(); return nil },
		"progress": func(context.CancelFunc) error {
			params := &protocol.WorkDoneProgressCancelParams{Token: protocol.String("progress")}
			return editor.Notify(ctx, protocol.MethodWindowWorkDoneProgressCancel, params)
		},
	} {
		asking, leave := context.WithCancel(ctx)
		answered := make(chan error, 1)
		go func() {
			params := &wire.TestRunParams{WorkDoneToken: []byte(strconv.Quote(name))}
			answered <- editor.Call(asking, wire.MethodTestRun, params, new(wire.TestRunResult))
		}()
		wait(ctx, t, name+": the test runs", began)
		list := new(wire.TestListResult)
		if err := editor.Call(ctx, wire.MethodTestList, &wire.TestListParams{}, list); err != nil || len(list.Files) != 1 {
			t.Errorf("%s: meanwhile: %v, %+v", name, err, list)
		}
		if err := stop(leave); err != nil {
			t.Fatal(err)
		}
		wait(ctx, t, name+": the test ends", ended)
		if err := <-answered; err == nil {
			t.Errorf("%s: a result of tests that were cancelled", name)
		}
		leave()
	}
	if err := editor.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// wait waits for what happens within the time of ctx.
func wait(ctx context.Context, t *testing.T, what string, happens <-chan struct{}) {
	t.Helper()
	select {
	case <-happens:
	case <-ctx.Done():
		t.Fatalf("%s: not so", what)
	}
}
