package language

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/sourcegraph/conc"
	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// connect returns the handlers of a connection, which end with ctx. The client at its other
// end asks for nothing.
func connect(ctx context.Context, t *testing.T) *Handlers {
	t.Helper()
	near, far := net.Pipe()
	peers, served := make(chan server.Peer, 1), make(chan error, 1)
	go func() {
		_, err := server.Serve(t.Context(), far, server.Config{Now: time.Now}, func(_ context.Context, peer server.Peer) []server.Route {
			peers <- peer
			return []server.Route{server.Now(protocol.MethodInitialize, func(context.Context, *protocol.InitializeParams) (*protocol.InitializeResult, error) {
				return &protocol.InitializeResult{}, nil
			})}
		})
		served <- err
	}()
	c := client.New(t.Context(), near, client.Config{})
	t.Cleanup(func() {
		_ = c.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	if _, err := c.Initialize(t.Context(), &protocol.InitializeParams{}); err != nil {
		t.Fatal(err)
	}
	return New(ctx, Config{
		Peer: <-peers, Workspace: new(workspace.Workspace), Now: time.Now, Log: slog.New(slog.DiscardHandler), Work: new(conc.WaitGroup),
		Catalog: func(context.Context) (*registry.Snapshot, error) {
			return registry.New(registry.Config{}).Snapshot(), nil
		},
		ApprovedText: func(string, string) ([]byte, bool) { return nil, false },
		ExpectText:   func(string) {},
		Tell:         func(protocol.MessageType, string) {},
	})
}
