package scenario_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/modelserver"
	"github.com/agentls/agentls/internal/wire"
)

// TestSubscribeDuringRuns subscribes and unsubscribes, from the beginning and
// from where it was, while runs begin and end in the session: the editor finds
// every event that is told twice or left out.
func TestSubscribeDuringRuns(t *testing.T) {
	const runs = 40
	script, err := modelserver.Parse(strings.Repeat("> go\n< a\n< b\n< c\n\n", runs))
	if err != nil {
		t.Fatal(err)
	}
	door := modelserver.Transport(modelserver.New(modelserver.Config{Script: script}))
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := daemon.Serve(context.Background(), far, daemon.Config{
			Home: filepath.Join(dir, "home"), Trust: true, Version: "test", Now: time.Now, Transport: door,
			Environ: []string{"GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL=http://model.invalid"},
			Log:     slog.New(slog.NewTextHandler(io.Discard, nil)),
		})
		done <- err
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	defer cancel()
	editor, err := editortest.Connect(ctx, near, editortest.Config{Dir: work, Agents: editortest.Native()})
	if err != nil {
		t.Fatal(err)
	}
	ran := make(chan error, 1)
	first := make(chan struct{})
	go func() {
		for i := range runs {
			if _, err := editor.Run(ctx, &wire.RunParams{Input: wire.InputBlocks{{Type: "text", Text: "go"}}}); err != nil {
				ran <- err
				return
			}
			if i == 0 {
				close(first)
			}
		}
		ran <- nil
	}()
	<-first
	rounds := 0
	for over := false; !over; rounds++ {
		select {
		case err := <-ran:
			if err != nil {
				t.Fatal(err)
			}
			over = true
		default:
		}
		// Twice: the second time nothing has been missed.
		for _, from := range []uint64{0, 1} {
			past, err := editor.Subscribe(ctx, "main", from)
			if err != nil {
				t.Fatal(err)
			}
			if from == 1 && rounds == 0 && len(past) > 0 && past[0].Seq != 1 {
				t.Errorf("from 1 on: %d", past[0].Seq)
			}
		}
		if rounds%2 == 1 {
			if err := editor.Unsubscribe(ctx, "main"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if rounds < 3 {
		t.Errorf("only %d rounds", rounds)
	}
	if err := editor.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	door.Wait()
}
