package language

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/workspace"
)

// TestPipesAreNotRead: a named pipe among the agents, which nobody writes into, is
// no text, and nobody waits for it, whenever it came there.
func TestPipesAreNotRead(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "x.md")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if text, ok := DiskText(pipe); ok || text != "" {
		t.Errorf("%q", text)
	}
	a := &Query{h: &Handlers{}, Snapshot: new(workspace.Snapshot), encoding: workspace.UTF8}
	l := a.texts().location(language.Location{URI: "file://" + pipe})
	if l.Range.End.Character != 0 {
		t.Errorf("%+v", l)
	}
	if text := a.h.agentText("file://" + pipe); text != "" {
		t.Errorf("%q", text)
	}
}
