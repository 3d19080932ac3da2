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
	"github.com/agentls/agentls/internal/wire"
)

// benchAgents writes a workspace with n agents, one in ten of which has a finding,
// and returns its folder.
func benchAgents(b *testing.B, n int) string {
	b.Helper()
	dir := b.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "work/.gemini/agents"), 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range n {
		text := fmt.Sprintf("---\nkind: agent\nname: agent-%d\ntitle: Agent %d\ndescription: It does the work number %d.\nmodel: flash\ntools:\n  allow: [read_file, grep, glob]\nhandoffs:\n  - to: agent-%d\n---\nYou do the work number %d, and say how it went.\n", i, i, i, i/2, i)
		if i%10 == 0 {
			text = text[:4] + "temprature: 1\n" + text[4:]
		}
		if err := os.WriteFile(filepath.Join(dir, "work/.gemini/agents", fmt.Sprintf("agent-%d.md", i)), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return filepath.Join(dir, "work")
}

// benchDaemon starts a daemon on a folder and shakes hands with it; notified gets
// what it tells.
func benchDaemon(b *testing.B, dir, capabilities string, notified func(method string, params []byte)) (conn *client.Client, stop func()) {
	b.Helper()
	near, far := net.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := daemon.Serve(context.Background(), far, daemon.Config{
			Home: filepath.Join(dir, "..", "home"), Trust: true, Version: "test", Now: time.Now,
			Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		})
		done <- err
	}()
	conn = client.New(context.Background(), near, client.Config{Notified: notified})
	root := uri.File(dir)
	p := &protocol.InitializeParams{RootURI: &root}
	if err := protocol.Unmarshal([]byte(capabilities), &p.Capabilities); err != nil {
		b.Fatal(err)
	}
	if _, err := conn.Initialize(context.Background(), p); err != nil {
		b.Fatal(err)
	}
	return conn, func() {
		_ = conn.Close() // the daemon's end says more
		if err := <-done; err != nil {
			b.Error(err)
		}
	}
}

// BenchmarkKeystroke is from a key in an open agent file to the findings that are
// published for it, among a thousand agents.
func BenchmarkKeystroke(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := benchAgents(b, n)
			file := uri.File(filepath.Join(dir, ".gemini/agents/agent-7.md"))
			told := make(chan int32, 16)
			conn, stop := benchDaemon(b, dir, `{"textDocument": {"publishDiagnostics": {"versionSupport": true, "relatedInformation": true}}}`, func(method string, params []byte) {
				var p protocol.PublishDiagnosticsParams
				if method == protocol.MethodTextDocumentPublishDiagnostics && (wire.Codec{}).Unmarshal(params, &p) == nil && p.URI == file {
					if v, ok := p.Version.Get(); ok {
						told <- v
					}
				}
			})
			defer stop()
			text, err := os.ReadFile(file.FsPath())
			if err != nil {
				b.Fatal(err)
			}
			var open protocol.DidOpenTextDocumentParams
			open.TextDocument = protocol.TextDocumentItem{URI: file, Version: 1, Text: string(text)}
			if err := conn.Notify(context.Background(), protocol.MethodTextDocumentDidOpen, &open); err != nil {
				b.Fatal(err)
			}
			version := int32(1)
			for v := range told {
				if v == version {
					break
				}
			}
			at := protocol.Position{Line: 2, Character: 8}
			for b.Loop() {
				version++
				change := &protocol.TextDocumentContentChangePartial{Range: protocol.Range{Start: at, End: at}, Text: "x"}
				if version%2 == 1 {
					change.Range.End.Character++
					change.Text = ""
				}
				var p protocol.DidChangeTextDocumentParams
				p.TextDocument.URI, p.TextDocument.Version = file, version
				p.ContentChanges = []protocol.TextDocumentContentChangeEvent{change}
				if err := conn.Notify(context.Background(), protocol.MethodTextDocumentDidChange, &p); err != nil {
					b.Fatal(err)
				}
				for <-told != version {
				}
			}
		})
	}
}

// BenchmarkColdFindings is from the start of a daemon in a workspace of ten thousand
// agents to the findings of all of them.
func BenchmarkColdFindings(b *testing.B) {
	dir := benchAgents(b, 10000)
	for b.Loop() {
		conn, stop := benchDaemon(b, dir, `{"textDocument": {"diagnostic": {}}, "workspace": {"diagnostics": {"refreshSupport": true}}}`, nil)
		var all protocol.WorkspaceDiagnosticReport
		if err := conn.Call(context.Background(), protocol.MethodWorkspaceDiagnostic, &protocol.WorkspaceDiagnosticParams{PreviousResultIds: []protocol.PreviousResultId{}}, &all); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if len(all.Items) < 1000 {
			b.Fatalf("%d files have findings", len(all.Items))
		}
		stop()
		b.StartTimer()
	}
}
