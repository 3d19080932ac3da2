package scenario_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/modelserver"
	"github.com/agentls/agentls/internal/wire"
)

// TestAPausedRunKeepsNobodyFromAsking: while the question of a run that has
// stopped is open, another run's question is put to the person and answered.
func TestAPausedRunKeepsNobodyFromAsking(t *testing.T) {
	script, err := modelserver.Parse(`> stop
<call ls {"dir_path": "."}
<usage in=30 out=20

> write
<call write_file {"file_path": "x.txt", "content": "x"}

>result write_file
< Written.

>result ls
< Went on.
`)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	agent := filepath.Join(work, ".gemini", "agents", "frugal.md")
	if err := os.MkdirAll(filepath.Dir(agent), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(agent, []byte("---\nkind: agent\nname: frugal\ntitle: Frugal\nmodel: flash\nrun: {max_tokens: 80}\n---\nYou save.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := daemon.Serve(context.Background(), far, daemon.Config{
			Home: filepath.Join(dir, "home"), Trust: true, Version: "test", Now: time.Now,
			Transport: modelserver.Transport(modelserver.New(modelserver.Config{Script: script})),
			Environ:   []string{"GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL=http://model.invalid"},
			Log:       slog.New(slog.NewTextHandler(io.Discard, nil)),
		})
		done <- err
	}()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	editor, err := editortest.Connect(ctx, near, editortest.Config{Dir: work, Agents: editortest.Native()})
	if err != nil {
		t.Fatal(err)
	}
	run := func(ctx context.Context, agent, text string) *wire.RunResult {
		result, err := editor.Run(ctx, &wire.RunParams{Agent: agent, Input: wire.InputBlocks{{Type: "text", Text: text}}})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return new(wire.RunResult)
		}
		return result
	}
	var written *wire.RunResult
	editor.Answer(editortest.Reply{Choice: "Go on, with as much again", Before: func(ctx context.Context) {
		editor.Answer(editortest.Reply{Choice: "once"})
		written = run(ctx, "main", "write")
	}})
	stopped := run(ctx, "frugal", "stop")
	if written == nil || written.Reason != activity.Goal || written.Text != "Written." {
		t.Errorf("the other run ended %+v", written)
	}
	if stopped.Reason != activity.Goal || stopped.Text != "Went on." {
		t.Errorf("the run ended %+v", stopped)
	}
	if err := editor.Close(); err != nil {
		t.Error(err)
	}
	<-done
}
