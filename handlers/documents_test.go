package handlers

import (
	"path/filepath"
	"strings"
	"testing"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
)

// TestALostTextIsTold: the person is told of a document whose change came out of order,
// until it is closed.
func TestALostTextIsTold(t *testing.T) {
	h := connect(t, nil).h
	name := uri.File(filepath.Join(t.TempDir(), "fix.md"))
	if err := h.didOpen(t.Context(), &didOpenParams{TextDocument: textDocumentItem{URI: name, Version: 1, Text: "x"}}); err != nil {
		t.Fatal(err)
	}
	far := protocol.Position{Line: 500}
	p := &protocol.DidChangeTextDocumentParams{TextDocument: protocol.VersionedTextDocumentIdentifier{TextDocumentIdentifier: protocol.TextDocumentIdentifier{URI: name}, Version: 99}}
	p.ContentChanges = append(p.ContentChanges, &protocol.TextDocumentContentChangePartial{Range: protocol.Range{Start: far, End: far}, Text: "x"})
	if err := h.didChange(t.Context(), p); err == nil {
		t.Fatal("the change was followed")
	}
	if told := strings.Join(h.notices, " "); !strings.Contains(told, "fix.md came out of order") {
		t.Errorf("told %q", told)
	}
	if err := h.didClose(t.Context(), &protocol.DidCloseTextDocumentParams{TextDocument: protocol.TextDocumentIdentifier{URI: name}}); err != nil {
		t.Fatal(err)
	}
	if len(h.notices) != 0 {
		t.Errorf("closed, and still told: %q", h.notices)
	}
}
