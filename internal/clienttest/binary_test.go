package clienttest

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/modelserver"
)

// build makes the binary and returns its path.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "agentls")
	c := exec.Command("go", "build", "-o", binary, "../../cmd/agentls")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// play serves a script on loopback and returns the environment in which a
// daemon asks it. The test fails when the script is not played to its end.
func play(t *testing.T, name string) (env []string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	script, err := modelserver.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	model := modelserver.New(modelserver.Config{Script: script})
	listener := httptest.NewServer(model)
	t.Cleanup(func() {
		listener.CloseClientConnections()
		listener.Close()
		if failures := model.Failures(); len(failures) > 0 {
			t.Errorf("the model was not asked what its script says: %s", strings.Join(failures, "\n"))
		}
		if err := model.Done(); err != nil {
			t.Error(err)
		}
	})
	return append(os.Environ(), "GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL="+listener.URL, "GEMINI_HOME="+filepath.Join(t.TempDir(), "home"))
}

// unfold writes the files of a workspace and returns its folder.
func unfold(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const fixer = `---
kind: agent
name: fixer
title: Fixer
model: flash
tools:
  allow: [read_file, write_file, edit_file, bash]
---
You edit notes.
`
