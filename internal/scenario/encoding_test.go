package scenario_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/modelserver"
	"github.com/agentls/agentls/internal/wire"
)

// TestColumnsAreTheClients: a client that counts bytes gets the columns of
// findings in bytes wherever they come (spec 2.1): with the list, with a run's
// result, and with the error of an agent that cannot run. The path is one that
// its URI escapes.
func TestColumnsAreTheClients(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a wörk folder")
	for name, text := range map[string]string{
		"hidden.md": "---\nkind: agent\nname: hidden\ntitle: Hidden\nmodel: flash\n---\né😀\u200b\n",
		"broken.md": "---\nkind: agent\nname: broken\ntitle: Broken\nrun: {né: 1, max_turns: many}\n---\nx\n",
	} {
		name = filepath.Join(dir, ".gemini", "agents", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script, err := modelserver.Parse("> go\n< Done.\n")
	if err != nil {
		t.Fatal(err)
	}
	door := modelserver.Transport(modelserver.New(modelserver.Config{Script: script}))
	near, far := net.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := daemon.Serve(context.Background(), far, daemon.Config{
			Home: filepath.Join(dir, "..", "home"), Trust: true, Version: "test", Now: time.Now, Transport: door,
			Environ: []string{"GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL=http://model.invalid", "PATH=" + os.Getenv("PATH"), "HOME=" + dir},
			Log:     slog.New(slog.NewTextHandler(io.Discard, nil)),
		})
		done <- err
	}()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn := client.New(ctx, near, client.Config{})
	defer func() {
		_ = conn.Close() // the daemon's end says more
		if err := <-done; err != nil {
			t.Error(err)
		}
		door.Wait()
	}()
	root := uri.File(dir)
	p := &protocol.InitializeParams{RootURI: &root}
	p.Capabilities.General = &protocol.GeneralClientCapabilities{PositionEncodings: []protocol.PositionEncodingKind{"utf-8"}}
	if _, err := conn.Initialize(ctx, p); err != nil {
		t.Fatal(err)
	}

	column := func(problems []definition.Problem, code string) int {
		for _, p := range problems {
			if p.Code == code {
				return int(p.Range.Start.Character)
			}
		}
		return -1
	}
	// Behind é and the face; in UTF-16 units it is 3.
	const hidden = 6
	// Where the value of max_turns stands; in UTF-16 units it is one less.
	const broken = len("run: {né: 1, max_turns: ")

	var list wire.ListResult
	if err := conn.Call(ctx, wire.MethodList, &wire.ListParams{}, &list); err != nil {
		t.Fatal(err)
	}
	if a, b := column(list.Problems, "agent/hidden-text"), column(list.Problems, "agent/type"); a != hidden || b != broken {
		t.Errorf("the list has columns %d and %d, want %d and %d: %+v", a, b, hidden, broken, list.Problems)
	}
	input := wire.InputBlocks{{Type: "text", Text: "go"}}
	var result wire.RunResult
	if err := conn.Call(ctx, wire.MethodRun, &wire.RunParams{Agent: "hidden", Input: input}, &result); err != nil {
		t.Fatal(err)
	}
	if c := column(result.Problems, "agent/hidden-text"); c != hidden {
		t.Errorf("the result has column %d, want %d: %+v", c, hidden, result.Problems)
	}
	for method, params := range map[string]any{
		wire.MethodRun: &wire.RunParams{Agent: "broken", Input: input},
	} {
		var data struct {
			Kind     string               `json:"kind"`
			Problems []definition.Problem `json:"problems"`
		}
		err := conn.Call(ctx, method, params, nil)
		if jsonErr := json.Unmarshal([]byte(dataOf(err)), &data); jsonErr != nil {
			t.Errorf("%s: %v, whose data is no JSON: %v", method, err, jsonErr)
		}
		if c := column(data.Problems, "agent/type"); data.Kind != "invalidAgent" || c != broken {
			t.Errorf("%s: column %d, want %d: %+v", method, c, broken, data)
		}
	}
	var got wire.GetResult
	if err := conn.Call(ctx, wire.MethodGet, &wire.GetParams{Name: filepath.Base(dir) + ":broken"}, &got); err != nil {
		t.Fatal(err)
	}
	if c := column(got.Problems, "agent/type"); got.State != "invalid" || c != broken {
		t.Errorf("agents/get: %s, column %d, want %d: %+v", got.State, c, broken, got.Problems)
	}
}
