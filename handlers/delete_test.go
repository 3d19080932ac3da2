package handlers

import (
	"path/filepath"
	"testing"

	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/internal/fault"
)

// TestWhatLiesElsewhereIsNotDeleted, nor said to be.
func TestWhatLiesElsewhereIsNotDeleted(t *testing.T) {
	r := enter(t)
	r.has("a.md", "a\n")
	r.h.edits.applies = false
	d := &definition.Definition{Name: "a", Path: r.path("a.md"), Folder: filepath.Join(t.TempDir(), "other")}
	if err := r.h.remove(t.Context(), d, uri.File(d.Path)); fault.KindOf(err) != fault.Denied {
		t.Errorf("of another folder: %v", err)
	}
	r.holds("a.md", "a\n")
	d.Folder = r.folder
	if err := r.h.remove(t.Context(), d, uri.File(d.Path)); err != nil || there(d.Path) {
		t.Errorf("control: of its own folder: %v", err)
	}
}
