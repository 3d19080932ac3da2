package scenario_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/modelserver"
	"github.com/agentls/agentls/internal/wire"
)

// benchmarkAnswers asks a daemon over a connection, in a workspace of a thousand
// agents, each time after a keystroke in the file that is asked about. It reports
// how long the answers take, from the question to the last byte.
func benchmarkAnswers(b *testing.B, method string, places map[string]protocol.Position) {
	dir := b.TempDir()
	agents := filepath.Join(dir, "work", ".gemini", "agents")
	if err := os.MkdirAll(agents, 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		name := fmt.Sprintf("agent-%d", i)
		text := fmt.Sprintf("---\nkind: agent\nname: %s\ntitle: Agent %d\ndescription: Does a part of the work, number %d.\nmodel: flash\ntools:\n  allow: [read_file, grep]\nhandoffs:\n  - to: agent-%d\n---\nYou do part %d of the work.\n", name, i, i, (i+1)%1000, i)
		if err := os.WriteFile(filepath.Join(agents, name+".md"), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	ctx := b.Context()
	config := editortest.Config{Can: `{"textDocument": {"hover": {"contentFormat": ["markdown"]}, "completion": {"completionItem": {"snippetSupport": true, "documentationFormat": ["markdown"]}}}}`}
	editor, leave := editAs(context.WithoutCancel(ctx), b, dir, modelserver.New(modelserver.Config{}), "", config)
	defer leave()
	if err := editor.Call(ctx, wire.MethodList, &wire.ListParams{}, new(wire.ListResult)); err != nil {
		b.Fatal(err)
	}
	const file = ".gemini/agents/agent-7.md"
	if err := editor.Open(ctx, file); err != nil {
		b.Fatal(err)
	}
	before, err := editor.Buffer(file)
	if err != nil {
		b.Fatal(err)
	}
	name := uri.File(filepath.Join(agents, "agent-7.md"))
	for what, at := range places {
		b.Run(what, func(b *testing.B) {
			params := &protocol.TextDocumentPositionParams{TextDocument: protocol.TextDocumentIdentifier{URI: name}, Position: at}
			var took []time.Duration
			for n := range b.N {
				b.StopTimer()
				if err := editor.Type(ctx, file, before+"More."[:1+n%5]+"\n"); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				var answer jsonrpc2.RawMessage
				begin := time.Now()
				if err := editor.Call(ctx, method, params, &answer); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(begin))
				if string(answer) == "null" {
					b.Fatal("there is no answer")
				}
			}
			slices.Sort(took)
			ms := func(share int) float64 { return float64(took[len(took)*share/100].Microseconds()) / 1000 }
			b.ReportMetric(ms(50), "p50-ms")
			b.ReportMetric(ms(99), "p99-ms")
		})
	}
}

// BenchmarkCompletion is completion at a thousand agents (spec 2.9: 10 ms).
func BenchmarkCompletion(b *testing.B) {
	benchmarkAnswers(b, protocol.MethodTextDocumentCompletion, map[string]protocol.Position{
		"key": {Line: 5, Character: 2}, "model": {Line: 5, Character: 8}, "tool": {Line: 7, Character: 12}, "agent": {Line: 9, Character: 10},
	})
}

// BenchmarkHover is hover at a thousand agents (spec 2.9: 10 ms).
func BenchmarkHover(b *testing.B) {
	benchmarkAnswers(b, protocol.MethodTextDocumentHover, map[string]protocol.Position{
		"field": {Line: 5, Character: 2}, "self": {Line: 2, Character: 8}, "tool": {Line: 7, Character: 12}, "agent": {Line: 9, Character: 10},
	})
}
