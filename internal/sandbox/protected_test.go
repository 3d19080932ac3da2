package sandbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentls/agentls/internal/sandbox"
)

// TestSEC19NothingNewStaysInAProtectedFolder: not only what was in it is as it was.
func TestSEC19NothingNewStaysInAProtectedFolder(t *testing.T) {
	eachWall(t, func(t *testing.T, w *world) {
		for _, text := range []string{
			"echo x > .vscode/new.json", "mkdir .vscode/q", "ln -s ../a.txt .vscode/l", "rm .vscode/tasks.json; ln -s ../a.txt .vscode/tasks.json", "chmod 700 .vscode; rm -r .vscode/*",
			"mkdir -p .vscode/q/r && echo x > .vscode/q/r/x", "chmod 755 .vscode/tasks.json", "mv .vscode v; mkdir .vscode; echo x > .vscode/tasks.json",
		} {
			w.run(t, w.spec(sandbox.Write), text)
			entries, err := os.ReadDir(filepath.Join(w.folder, ".vscode"))
			info, statErr := os.Lstat(filepath.Join(w.folder, ".vscode/tasks.json"))
			if err != nil || statErr != nil || len(entries) != 1 || info.Mode() != 0o644 || read(filepath.Join(w.folder, ".vscode/tasks.json")) != "{}" {
				t.Errorf("after %q .vscode has %v, %v", text, entries, err)
			}
		}
	})
}
