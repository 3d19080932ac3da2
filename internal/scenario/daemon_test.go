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

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/modelserver"
)

// edit starts a daemon whose model is model, in a trusted workspace dir/work, and
// an editor that knows all of ours. leave ends them and waits for the model.
func edit(ctx context.Context, t *testing.T, dir string, model *modelserver.Server, approval agents.Approval) (editor *editortest.Editor, leave func()) {
	t.Helper()
	return editAs(ctx, t, dir, model, approval, editortest.Config{Agents: editortest.Native()})
}

// editAs is edit for an editor of another kind.
func editAs(ctx context.Context, t testing.TB, dir string, model *modelserver.Server, approval agents.Approval, config editortest.Config) (editor *editortest.Editor, leave func()) {
	t.Helper()
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	config.Dir = work
	door := modelserver.Transport(model)
	near, far := net.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := daemon.Serve(context.Background(), far, daemon.Config{
			Home: filepath.Join(dir, "home"), Trust: true, Version: "test", Now: time.Now, Transport: door, Approval: approval,
			Environ: []string{"GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL=http://model.invalid", "PATH=" + os.Getenv("PATH"), "HOME=" + dir},
			Log:     slog.New(slog.NewTextHandler(io.Discard, nil)),
		})
		done <- err
	}()
	editor, err := editortest.Connect(ctx, near, config)
	if err != nil {
		t.Fatal(err)
	}
	return editor, func() {
		t.Helper()
		if err := editor.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		door.Wait()
	}
}
