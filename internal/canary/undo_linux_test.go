package canary_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/agentls/agentls/agents/tool/tooltest"
	"github.com/agentls/agentls/internal/canary"
	"github.com/agentls/agentls/internal/modelserver"
)

// TestSEC41UndoThroughTheBinary: work that nobody committed, and that git reset
// --hard and rm -rf took, comes back byte for byte by agentls changes --undo and by
// a rewind. The person's own rules allow it, so that it runs without a sandbox too.
func TestSEC41UndoThroughTheBinary(t *testing.T) {
	tooltest.Program(t, "git")
	w := canary.Furnish(t, map[string]string{
		"home/.gemini/settings.json": `{"tools": {"allowed": ["bash(git reset --hard)", "bash(rm -rf src)"]}}`,
		"work/src/a.txt":             "committed\n", "work/src/deep/b.bin": "b\x00\xff\r\n", "work/src/run.sh": "#!/bin/sh\n", "work/src/link": "-> a.txt",
	})
	sh := func(text string) string {
		t.Helper()
		cmd := exec.Command("sh", "-c", text)
		cmd.Dir, cmd.Env = w.Path("work"), w.Environ()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", text, err, out)
		}
		return string(out)
	}
	const tree = "cd src && find . ! -type d -printf '%p %M %l\\n' | sort && find . -type f | sort | xargs sha256sum"
	sh("git init -q && git add -A && git -c user.name=a -c user.email=a@example.com commit -qm one && echo edited > src/a.txt && echo new > src/new.txt")
	before := sh(tree)
	for _, back := range [][]string{{"changes", "--undo"}, {"sessions", "rewind", "main", "--to", "1", "--files"}} {
		model := modelserver.New(modelserver.Config{Script: script("<call bash {\"command\": \"git reset --hard && rm -rf src\", \"access\": \"write\"}\n\n< Done.\n")})
		said := w.Run(t, canary.Binary(t), model, canary.Task{Args: []string{"--approve", "edits"}, Env: []string{"AGENTLS_TRUST=1"}})
		if _, err := os.Stat(w.Path("work/src")); err == nil {
			t.Fatalf("the command did not run:\n%s", said)
		}
		cmd := exec.Command(canary.Binary(t), back...)
		cmd.Dir, cmd.Env = w.Path("work"), append(w.Environ(), "AGENTLS_TRUST=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", back, err, out)
		}
		if after := sh(tree); after != before {
			t.Errorf("%v: before\n%s\nafter\n%s\n%s", back, before, after, out)
		}
	}
}
