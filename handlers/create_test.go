package handlers

import (
	"testing"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// TestACreateThatFailsForgetsNoRename: what was to become of a file before is that
// still.
func TestACreateThatFailsForgetsNoRename(t *testing.T) {
	const fix = ".gemini/agents/fix.md"
	h, named := authored(t, map[string]string{fix: fixAgent})
	h.daemon.Trusted = func(string) bool { return true }
	h.now(t, workspace.Opened{URI: named(fix), Version: 1, Text: fixAgent})
	h.now(t, workspace.Edited{URI: named(fix), Version: 2, Edits: []workspace.Edit{{Text: fixAgent + "y\n"}}})
	for _, waits := range []bool{false, true} {
		if waits {
			h.moves.keep(named(fix), "renamed\n")
		}
		if _, err := h.create(t.Context(), h.Workspace.Snapshot(), &wire.CreateParams{Name: "fix", Prompt: "x", Force: true}); fault.KindOf(err) != fault.Denied {
			t.Fatalf("control: it is created over what is not saved: %v", err)
		}
		if len(h.moves.texts) > 0 != waits || h.moves.take(named(fix).FsPath(), "renamed\n") != waits {
			t.Errorf("with a rename %v: %v", waits, h.moves.texts)
		}
	}
}
