package scenario_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/modelserver"
)

// benchTeam connects a client to a daemon with n agents, of which every fifth hands
// over to worker and mentions it. It returns the URI of worker's file.
func benchTeam(b *testing.B, n int) (*client.Client, uri.URI) {
	b.Helper()
	dir := b.TempDir()
	folder := filepath.Join(dir, "work", ".gemini", "agents")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		b.Fatal(err)
	}
	write := func(name, more, body string) {
		text := fmt.Sprintf("---\nkind: agent\nname: %[1]s\ntitle: %[1]s\ndescription: Does the work of %[1]s in the team, and tells of it.\nmodel: flash\ntools:\n  allow: [read_file, ls, glob, grep]\n%[2]s---\n%[3]s\n", name, more, body)
		if err := os.WriteFile(filepath.Join(folder, name+".md"), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for i := range n - 1 {
		more, body := "", "You do what you are told, and nothing else.\n"
		if i%5 == 0 {
			more, body = "handoffs:\n  - to: worker\n    when: auto\n", "Ask @worker where you are stuck.\n"
		}
		for range 20 {
			body += "Look at the files first, then think, then answer in few words.\n"
		}
		write(fmt.Sprintf("agent-%04d", i), more, body)
	}
	write("worker", "", "You work.")
	door := modelserver.Transport(modelserver.New(modelserver.Config{}))
	near, far := net.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := daemon.Serve(context.Background(), far, daemon.Config{
			Home: filepath.Join(dir, "home"), Trust: true, Version: "test", Now: time.Now, Transport: door,
			Environ: []string{"GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL=http://model.invalid", "HOME=" + dir},
			Log:     slog.New(slog.NewTextHandler(io.Discard, nil)),
		})
		done <- err
	}()
	conn := client.New(context.Background(), near, client.Config{})
	b.Cleanup(func() {
		_ = conn.Close() // the daemon's end says more
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	root, yes := uri.File(filepath.Join(dir, "work")), true
	p := &protocol.InitializeParams{RootURI: &root}
	p.Capabilities.Workspace = &protocol.WorkspaceClientCapabilities{WorkspaceEdit: &protocol.WorkspaceEditClientCapabilities{
		DocumentChanges: &yes, ResourceOperations: []protocol.ResourceOperationKind{protocol.ResourceOperationKindRename},
	}}
	if _, err := conn.Initialize(context.Background(), p); err != nil {
		b.Fatal(err)
	}
	return conn, uri.File(filepath.Join(folder, "worker.md"))
}

// BenchmarkRename renames an agent that 200 of 1,000 files name, none of which is
// open, over a connection; the goal is 100 ms.
func BenchmarkRename(b *testing.B) {
	conn, worker := benchTeam(b, 1001)
	p := &protocol.RenameParams{NewName: "labourer"}
	p.TextDocument.URI, p.Position = worker, protocol.Position{Line: 2, Character: 8}
	rename := func() {
		var edit protocol.WorkspaceEdit
		if err := conn.Call(context.Background(), protocol.MethodTextDocumentRename, p, &edit); err != nil {
			b.Fatal(err)
		}
		if n := len(edit.DocumentChanges); n != 202 {
			b.Fatalf("%d changes", n)
		}
	}
	rename() // the catalog is read
	for b.Loop() {
		rename()
	}
}

// BenchmarkReferences asks for the places of the same agent.
func BenchmarkReferences(b *testing.B) {
	conn, worker := benchTeam(b, 1001)
	p := &protocol.ReferenceParams{}
	p.TextDocument.URI, p.Position = worker, protocol.Position{Line: 2, Character: 8}
	references := func() {
		var list []protocol.Location
		if err := conn.Call(context.Background(), protocol.MethodTextDocumentReferences, p, &list); err != nil {
			b.Fatal(err)
		}
		if len(list) != 400 {
			b.Fatalf("%d places", len(list))
		}
	}
	references()
	for b.Loop() {
		references()
	}
}
