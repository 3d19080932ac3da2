package scenario_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/modelserver"
)

// TestFindingsAreToldOrAskedFor: an editor that asks for findings is offered to, and
// any other is not; the fake editor sees to it that nothing is published to the
// first. Of a buffer whose text is not known any more, after an edit that cannot be
// made, the last findings hold until its text is.
func TestFindingsAreToldOrAskedFor(t *testing.T) {
	const lost, other = ".gemini/agents/lost.md", ".gemini/agents/other.md"
	const broken = "---\nkind: agent\nname: lost\ntitle: Lost\ntemperature: hot\n---\nYou are lost.\n"
	const mended = "---\nkind: agent\nname: lost\ntitle: Lost\n---\nYou are lost.\n"
	for name, can := range map[string]string{
		"told":  `{"textDocument": {"publishDiagnostics": {"versionSupport": true}}}`,
		"asked": `{"textDocument": {"diagnostic": {}, "publishDiagnostics": {"versionSupport": true}}, "workspace": {"diagnostics": {"refreshSupport": true}}}`,
		"told, since nothing can make it ask again": `{"textDocument": {"diagnostic": {}, "publishDiagnostics": {"versionSupport": true}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "work", lost), broken)
			write(t, filepath.Join(dir, "work", other), "---\nkind: agent\nname: other\ntitle: Other\n---\nYou are the other.\n")
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			e, leave := editAs(ctx, t, dir, modelserver.New(modelserver.Config{}), "", editortest.Config{Can: can})
			defer leave()
			asks := name == "asked"
			if offered := e.Caps.DiagnosticProvider != nil; offered != asks {
				t.Fatalf("to ask for findings is offered: %v", offered)
			}
			current := func(file string) editortest.Findings {
				t.Helper()
				if asks {
					f, _, err := e.Ask(ctx, file)
					if err != nil {
						t.Fatal(err)
					}
					return f
				}
				if err := e.AwaitFindings(ctx, file, func(_ editortest.Findings, current bool) bool { return current }); err != nil {
					t.Fatal(err)
				}
				f, err := e.Findings(file)
				if err != nil {
					t.Fatal(err)
				}
				return f
			}
			for _, file := range []string{lost, other} {
				if err := e.Open(ctx, file); err != nil {
					t.Fatal(err)
				}
			}
			if f := current(lost); len(f.Items) != 1 {
				t.Fatalf("findings of %s: %+v", lost, f.Items)
			}
			// An edit of a line that is not there, which the editor has not made.
			at := protocol.Position{Line: 1000}
			var p protocol.DidChangeTextDocumentParams
			p.TextDocument.URI, p.TextDocument.Version = uri.File(filepath.Join(dir, "work", lost)), 2
			p.ContentChanges = []protocol.TextDocumentContentChangeEvent{&protocol.TextDocumentContentChangePartial{Range: protocol.Range{Start: at, End: at}, Text: "x"}}
			if err := e.Notify(ctx, protocol.MethodTextDocumentDidChange, &p); err != nil {
				t.Fatal(err)
			}
			// What comes after it is told: so is, before that, what there is to tell of it.
			if err := e.Type(ctx, other, "---\nkind: agent\nname: other\n---\nYou are the other.\n"); err != nil {
				t.Fatal(err)
			}
			if f := current(other); len(f.Items) != 1 {
				t.Errorf("findings of %s: %+v", other, f.Items)
			}
			if asks {
				if f, unchanged, err := e.Ask(ctx, lost); err != nil || !unchanged || len(f.Items) != 1 {
					t.Errorf("of a lost buffer: %+v, unchanged: %v, %v", f.Items, unchanged, err)
				}
				if list, err := e.AskAll(ctx); err != nil || len(list) != 2 {
					t.Errorf("unchanged are %q, %v", list, err)
				}
			}
			if f, err := e.Findings(lost); err != nil || len(f.Items) != 1 {
				t.Errorf("the editor shows of a lost buffer: %+v, %v", f.Items, err)
			}
			if err := e.Type(ctx, lost, mended); err != nil {
				t.Fatal(err)
			}
			if f := current(lost); len(f.Items) != 0 {
				t.Errorf("of a mended buffer: %+v", f.Items)
			}
		})
	}
}

// TestFindingsOfThousandsOfFiles: more files than may wait for an editor at once are
// all told to one that reads as fast as it can, and what is opened meanwhile is, too.
func TestFindingsOfThousandsOfFiles(t *testing.T) {
	const files = 4000
	dir := t.TempDir()
	for i := range files {
		write(t, filepath.Join(dir, "work/.gemini/agents", fmt.Sprintf("a%d.md", i)), fmt.Sprintf("---\nkind: agent\nname: b%d\ntitle: B\ntemperature: hot\n---\nYou work.\n", i))
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	e, leave := editAs(ctx, t, dir, modelserver.New(modelserver.Config{}), "", editortest.Config{Can: `{"textDocument": {"publishDiagnostics": {"versionSupport": true}}}`})
	defer leave()
	if err := e.Open(ctx, ".gemini/agents/a7.md"); err != nil {
		t.Fatal(err)
	}
	if err := e.AwaitFindings(ctx, ".gemini/agents/a7.md", func(_ editortest.Findings, current bool) bool { return current }); err != nil {
		t.Error(err)
	}
	for i := range files {
		if err := e.AwaitFindings(ctx, fmt.Sprintf(".gemini/agents/a%d.md", i), func(f editortest.Findings, _ bool) bool { return len(f.Items) == 2 }); err != nil {
			t.Fatalf("file %d: %v", i, err)
		}
	}
}
