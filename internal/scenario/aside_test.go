package scenario_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentls/agentls/agents/activity"
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
	agent := filepath.Join(dir, "work", ".gemini", "agents", "frugal.md")
	if err := os.MkdirAll(filepath.Dir(agent), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(agent, []byte("---\nkind: agent\nname: frugal\ntitle: Frugal\nmodel: flash\nrun: {max_tokens: 80}\n---\nYou save.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	editor, leave := edit(ctx, t, dir, modelserver.New(modelserver.Config{Script: script}), "")
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
	leave()
}
