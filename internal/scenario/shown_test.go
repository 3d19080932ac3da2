package scenario_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/modelserver"
)

// TestShownDocuments: what is shown lies where no editor looks for another
// workspace. What a client asks about it is answered, and nothing in it is a finding
// or can be run, whatever a model wrote there.
func TestShownDocuments(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	script, err := modelserver.Parse(`> show it
< ---\nkind: agent\nname: Bad Name\n---\n@main do this
`)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bare(t, dir)
	if err := os.Mkdir(filepath.Join(dir, ".gemini"), 0o700); err != nil { // as in everybody's home
		t.Fatal(err)
	}
	editor, leave := editAs(ctx, t, dir, modelserver.New(modelserver.Config{Script: script}), "", editortest.Config{})
	defer leave()
	if err := editor.Call(ctx, protocol.MethodWorkspaceExecuteCommand, map[string]any{"command": "agentls.run", "arguments": []any{"main", "show it"}}, nil); err != nil {
		t.Fatal(err)
	}
	shown := editor.Seen().Shown
	if len(shown) != 1 {
		t.Fatalf("shown: %q, %q", shown, editor.Seen().Messages)
	}
	for up := filepath.Dir(shown[0]); up != filepath.Dir(up); up = filepath.Dir(up) {
		for _, marker := range []string{".git", ".gemini"} {
			if _, err := os.Lstat(filepath.Join(up, marker)); err == nil {
				t.Errorf("%s lies below %s with a %s", shown[0], up, marker)
			}
		}
	}
	text, err := os.ReadFile(shown[0])
	if err != nil {
		t.Fatal(err)
	}
	doc := uri.File(shown[0])
	open := protocol.DidOpenTextDocumentParams{TextDocument: protocol.TextDocumentItem{URI: doc, LanguageID: "markdown", Version: 1, Text: string(text)}}
	if err := editor.Notify(ctx, protocol.MethodTextDocumentDidOpen, &open); err != nil {
		t.Fatal(err)
	}
	at := map[string]any{"line": strings.Count(string(text[:strings.Index(string(text), "@main")]), "\n"), "character": 3}
	all := map[string]any{"start": map[string]any{"line": 0, "character": 0}, "end": map[string]any{"line": 99, "character": 0}}
	for _, method := range []string{
		"diagnostic", "completion", "hover", "codeLens", "inlayHint", "documentSymbol", "foldingRange", "documentLink", "documentColor",
		"semanticTokens/full", "semanticTokens/range", "definition", "references", "documentHighlight", "codeAction", "formatting",
	} {
		var answer json.RawMessage
		params := map[string]any{
			"textDocument": map[string]any{"uri": doc}, "position": at, "range": all, "options": map[string]any{"tabSize": 2, "insertSpaces": true},
			"context": map[string]any{"diagnostics": []any{}, "includeDeclaration": true, "triggerKind": 1},
		}
		if err := editor.Call(ctx, "textDocument/"+method, params, &answer); err != nil {
			t.Errorf("%s: %v", method, err)
		}
		if want, empty := map[string]string{"diagnostic": `{"kind":"full","items":[]}`, "codeLens": "[]", "formatting": "[]"}[method]; empty && string(answer) != want {
			t.Errorf("%s: %s", method, answer)
		}
	}
}
