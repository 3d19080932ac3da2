package canary_test

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/canary"
	"github.com/agentls/agentls/internal/modelserver"
)

// TestSEC24And140OnlyThePersonsOwnAnswersCount: an answer for always that lies in
// the project, or in a file that others can write or that is damaged, lets nothing
// run; the person is told of the latter two.
func TestSEC24And140OnlyThePersonsOwnAnswersCount(t *testing.T) {
	w := canary.Furnish(t, map[string]string{"work/.gemini/agents/a.md": agentFile("a", "You do as you are told.")})
	answers := w.Own(`{"version": 1, "workspaces": {"$BASE/work": [{"id": "x", "agent": "a", "tool": "write_file", "project": "$BASE/work", "folder": "$BASE/work", "shape": "files in $BASE/work", "covers": "write_file", "since": "2026-01-01T00:00:00Z"}]}}`)
	run := func() string {
		script, err := modelserver.Parse("> go\n<call write_file {\"file_path\": \"canary\", \"content\": \"x\"}\n\n>result write_file\n< Done.\n")
		if err != nil {
			t.Fatal(err)
		}
		listener := httptest.NewServer(modelserver.New(modelserver.Config{Script: script}))
		defer listener.Close()
		defer listener.CloseClientConnections()
		cmd := exec.CommandContext(t.Context(), canary.Binary(t), "run", "a", "go", "--trust")
		cmd.Dir, cmd.Env = w.Path("work"), append(w.Environ(), "GEMINI_API_KEY=test-key", "GOOGLE_GEMINI_BASE_URL="+listener.URL)
		out, _ := cmd.CombinedOutput() // its exit code is not what is asked here
		return string(out)
	}
	for _, name := range []string{"work/.gemini/agentls/permissions.json", "work/.gemini/permissions.json"} {
		if err := os.MkdirAll(filepath.Dir(w.Path(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		put(t, w, name, answers)
	}
	if out := run(); fired(w, "work/canary") {
		t.Errorf("the project grants itself what it likes: %s", out)
	}
	if err := os.MkdirAll(w.Path("home/.gemini/agentls"), 0o700); err != nil {
		t.Fatal(err)
	}
	const own = "home/.gemini/agentls/permissions.json"
	for _, c := range []struct {
		text, says string
		mode       os.FileMode
	}{{answers, "can be written by others", 0o666}, {answers + "}", "is damaged", 0o600}} {
		put(t, w, own, c.text)
		if err := os.Chmod(w.Path(own), c.mode); err != nil {
			t.Fatal(err)
		}
		if out := run(); fired(w, "work/canary") || !strings.Contains(out, c.says) {
			t.Errorf("%s: canary %v: %s", c.says, fired(w, "work/canary"), out)
		}
	}
	put(t, w, own, answers)
	if err := os.Chmod(w.Path(own), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := run(); !fired(w, "work/canary") {
		t.Errorf("control: the person's own answer does not count: %s", out)
	}
	t.Log("control: the same answers in the person's own file, private and whole, let the call run with nobody to ask")
}
