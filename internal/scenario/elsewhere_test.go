package scenario_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/modelserver"
	"github.com/agentls/agentls/internal/wire"
)

// TestREL99SecondWindow: whoever wants to act on a session that another window has is told
// so, and what to do; the session can be read and forked there.
func TestREL99SecondWindow(t *testing.T) {
	script, err := modelserver.Parse("> wait\n<call write_file {\"file_path\": \"x.txt\", \"content\": \"x\"}\n\n" +
		">result write_file\n< Done.\n\n> go on\n< Here too.\n")
	if err != nil {
		t.Fatal(err)
	}
	model := modelserver.New(modelserver.Config{Script: script})
	ctx, dir := t.Context(), t.TempDir()
	agent := filepath.Join(dir, "work", ".gemini", "agents", "fixer.md")
	if err := os.MkdirAll(filepath.Dir(agent), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(agent, []byte("---\nkind: agent\nname: fixer\nmodel: flash\n---\nYou write.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	first, leave := edit(ctx, t, dir, model, "ask")
	ended := make(chan error, 1)
	answered := make(chan struct{})
	first.Answer(editortest.Reply{Choice: "once", Before: func(context.Context) { <-answered }})
	go func() {
		_, err := first.Run(ctx, &wire.RunParams{Agent: "fixer", Run: "r1", Session: "shared", Input: wire.InputBlocks{{Type: "text", Text: "wait"}}})
		ended <- err
	}()
	asked := func(v editortest.Seen) bool {
		for _, e := range v.Events {
			if e.Run == "r1" && e.Type == "confirmation.asked" {
				return true
			}
		}
		return false
	}
	if err := first.Await(ctx, asked); err != nil {
		t.Fatal(err)
	}

	second, leaveSecond := edit(ctx, t, dir, model, "ask")
	input := wire.InputBlocks{{Type: "text", Text: "go on"}}
	for method, params := range map[string]any{
		wire.MethodSteer:          &wire.SteerParams{Run: "r1", Input: input},
		wire.MethodResume:         &wire.ResumeParams{Run: "r1"},
		wire.MethodRun:            &wire.RunParams{Agent: "fixer", Session: "shared", Input: input},
		wire.MethodCancel:         &wire.CancelParams{Run: "r1"},
		wire.MethodSessionDelete:  &wire.SessionDeleteParams{Session: "shared"},
		wire.MethodChangesResolve: &wire.ChangesResolveParams{Session: "shared", Action: "keep"},
	} {
		err := second.Call(ctx, method, params, nil)
		if err == nil || !strings.Contains(err.Error(), "in use by another window or terminal (agentls test, process ") ||
			!strings.Contains(err.Error(), "Go on there or close it; here, fork the session") {
			t.Errorf("%s: %v", method, err)
		}
	}
	if err := second.Call(ctx, wire.MethodCancel, &wire.CancelParams{Session: "shared"}, nil); err == nil {
		t.Error("a session of another window is said to have nothing to cancel")
	}
	if err := second.Call(ctx, wire.MethodSteer, &wire.SteerParams{Run: "nobody", Input: input}, nil); err == nil || !strings.Contains(err.Error(), "no run nobody") {
		t.Errorf("a run of nobody: %v", err)
	}

	events, err := second.Subscribe(ctx, "shared", 1)
	if err != nil {
		t.Fatal(err)
	}
	var forked wire.SessionNewResult
	if err := second.Call(ctx, wire.MethodSessionFork, &wire.SessionForkParams{Session: "shared", AtSeq: events[len(events)-1].Seq}, &forked); err != nil {
		t.Fatalf("fork: %v", err)
	}
	result, err := second.Run(ctx, &wire.RunParams{Agent: "fixer", Session: forked.Session, Input: input})
	if err != nil || result.Reason != activity.Goal {
		t.Errorf("in the fork: %+v, %v", result, err)
	}
	close(answered)
	if err := errors.Join(<-ended, context.Cause(ctx)); err != nil {
		t.Errorf("the run in the first window: %v", err)
	}
	leaveSecond()
	leave()
}
