package clienttest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestNeovimRunsInlineCommands: the lens and the action of a line that calls an
// agent, with Neovim's own handlers; the answer comes below the line, and one undo
// takes it back.
func TestNeovimRunsInlineCommands(t *testing.T) {
	if _, err := exec.LookPath("nvim"); err != nil {
		t.Skip("nvim is not installed")
	}
	const calc = "package calc\n\n// @fixer what if b is zero\nfunc Divide(a, b int) int { return a / b }\n"
	_, env := perform(t, "> what if b is zero\n> func Divide\n< It panics.\n\n> what if b is zero\n< It still does.\n", `{"agents": {"inline": {"answer": "comment"}}}`)
	dir := unfold(t, map[string]string{"calc.go": calc, ".gemini/agents/fixer.md": fixer})
	script, err := filepath.Abs("testdata/inline.lua")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "seen.json")
	c := exec.CommandContext(t.Context(), "nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", "-S", script, "-c", "cq")
	c.Env, c.Dir = append(env, "AGENTLS="+build(t), "SEEN="+file), dir
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Run(); err != nil {
		t.Fatalf("nvim: %v\n%s", err, &said)
	}
	var got struct {
		Lenses, Actions []string
		Lens, Action    string
		Undone          bool
		Messages        string
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if err != nil {
		t.Fatalf("%v\n%s%s", err, text, &said)
	}
	with := func(answer string) string {
		return strings.TrimSuffix(strings.Replace(calc, "zero\n", "zero\n// > "+answer+"\n", 1), "\n")
	}
	if !slices.Equal(got.Lenses, []string{"Run @fixer"}) || got.Lens != with("It panics.") || !got.Undone {
		t.Errorf("lenses %q, then %q, undone %v", got.Lenses, got.Lens, got.Undone)
	}
	if len(got.Actions) == 0 || !slices.ContainsFunc(got.Actions, func(a string) bool { return strings.Contains(a, "answer as a document") }) || got.Action != with("It still does.") {
		t.Errorf("actions %q, then %q", got.Actions, got.Action)
	}
	if strings.Contains(got.Messages, "Error") || strings.Contains(got.Messages, "E5108") {
		t.Errorf("the editor complains: %s", got.Messages)
	}
	t.Logf("actions: %q; messages: %s", got.Actions, got.Messages)
}
