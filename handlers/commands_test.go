package handlers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
)

// TestTranscriptOfTheDefaultSession: when another daemon has main, what is
// shown without a name is the session that stands for it.
func TestTranscriptOfTheDefaultSession(t *testing.T) {
	dir := t.TempDir()
	open := func(owner, said string) *session.Store {
		store := session.New(session.Config{Dir: dir, Folder: "/w", Owner: owner, Now: time.Now})
		s, err := store.Open("")
		if err != nil {
			t.Fatal(err)
		}
		seq := s.Log.Append(activity.Origin{}, activity.ErrorSeen{Message: said}, 0)
		if err := s.Log.Commit(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
		return store
	}
	first := open("another daemon", "of the other")
	second := open("this daemon", "of this one")
	c := connect(t, nil)
	c.h.daemon.Agents = agents.NewService(t.Context(), agents.Config{Sessions: second, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	result, err := c.h.commandTranscript(t.Context(), &protocol.ExecuteCommandParams{})
	if err != nil {
		t.Fatal(err)
	}
	for path := range c.h.frontend.written {
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "of this one") || strings.Contains(string(text), "of the other") {
			t.Errorf("%s: %v\n%s", path, err, text)
		}
		if uri := result.(map[string]string)["uri"]; !strings.HasSuffix(uri, path) {
			t.Errorf("answered %s for %s", uri, path)
		}
	}
	if len(c.h.frontend.written) != 1 {
		t.Errorf("written: %v", c.h.frontend.written)
	}
	if err := c.h.daemon.Agents.Close(); err != nil {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
}

// TestExamples: a message names a few agents, however many there are.
func TestExamples(t *testing.T) {
	var names []string
	for n, want := range []string{"none", "a0", "a0, a1", "a0, a1, a2", "a0, a1, a2, a3", "a0, a1, a2, a3, a4", "a0, a1, a2, a3, a4, …"} {
		if got := examples(names); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
		names = append(names, fmt.Sprintf("a%d", n))
	}
}

// TestWhatAPersonCancelledIsNoErrorToThem: they are told of other errors.
func TestWhatAPersonCancelledIsNoErrorToThem(t *testing.T) {
	c := connect(t, nil)
	c.h.plain = true
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := new(testRun).finish(ctx, nil)
	if err == nil || fault.Message(err) != "the tests were cancelled" {
		t.Error(err)
	}
	if c.h.showError(err) == nil || c.h.showError(errors.New("another")) == nil {
		t.Error("the error is lost")
	}
	if got := <-c.told; got != "another" {
		t.Errorf("told %q", got)
	}
}

// TestCancelCommandAnswersAsTheRequest: of a run that another window has it does not say that
// there was nothing to cancel.
func TestCancelCommandAnswersAsTheRequest(t *testing.T) {
	dir := t.TempDir()
	store := func(owner string) *session.Store {
		return session.New(session.Config{Dir: dir, Folder: "/w", Owner: owner, Now: time.Now})
	}
	first, second := store("another daemon"), store("this daemon")
	s, err := first.Open("")
	if err != nil {
		t.Fatal(err)
	}
	seq := s.Log.Append(activity.Origin{Run: "theirs", Agent: "main"}, activity.RunStarted{}, 0)
	if err := s.Log.Commit(t.Context(), seq); err != nil {
		t.Fatal(err)
	}
	c := connect(t, nil)
	c.h.daemon.Agents = agents.NewService(t.Context(), agents.Config{Sessions: second, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	_, asked := c.h.cancel(t.Context(), struct{}{}, &wire.CancelParams{Run: "theirs"})
	result, err := c.h.executeCommand(t.Context(), c.h.Workspace.Snapshot(),
		&protocol.ExecuteCommandParams{Command: wire.CommandCancel, Arguments: []protocol.LSPAny{protocol.LSPAny(`"theirs"`)}})
	if reason, _ := fault.ReasonOf(asked); reason != fault.Busy || err == nil || err.Error() != asked.Error() {
		t.Errorf("%v, %v, want %v", result, err, asked)
	}
	if err := errors.Join(c.h.daemon.Agents.Close(), first.Close()); err != nil {
		t.Error(err)
	}
}
