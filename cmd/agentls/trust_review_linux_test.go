package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/workspace"
)

// TestOneAgentIsApproved: in a trusted folder an agent that was changed, or is new, is
// approved alone, by what was shown of it; the others go on waiting.
func TestOneAgentIsApproved(t *testing.T) {
	unedited(t)
	t.Setenv("PAGER", "cat")
	play(t, "> write\n>system You write well.\n< Done.\n")
	dir := writer(t)
	agents := filepath.Join(dir, ".gemini", "agents")
	put(t, filepath.Join(agents, "other.md"), "---\nname: other\n---\nYou help.\n")
	if code, _, errs := command(t, dir, "trust", "writer"); code != exitFailed || !strings.Contains(errs, "is not trusted") {
		t.Errorf("before the folder is trusted: exit %d\n%s", code, errs)
	}
	if code, out, errs := command(t, dir, "trust"); code != 0 || !strings.Contains(out, "What takes effect:") || !strings.Contains(out, ".gemini/agents/other.md") {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	if code, out, _ := command(t, dir, "trust", "writer"); code != 0 || !strings.Contains(out, "approved as it is") {
		t.Errorf("exit %d\n%s", code, out)
	}
	for _, name := range []string{"writer.md", "other.md"} {
		text, err := os.ReadFile(filepath.Join(agents, name))
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(agents, name), strings.TrimSuffix(string(text), ".\n")+" well.\n")
	}
	put(t, filepath.Join(agents, "third.md"), "---\nname: third\n---\nYou are new.\n")
	code, out, errs := command(t, dir, "trust", "--list", "--patch")
	if code != 0 {
		t.Fatal(errs)
	}
	has(t, out, "-You write.\n+You write well.\n", "-You help.\n+You help well.\n", "third.md (new)", "You are new.\n")

	if _, out, _ := command(t, dir, "doctor"); !strings.Contains(out, "! agents: 3 in ") || !strings.Contains(out, "3 changed or new since you trusted the folder") {
		t.Errorf("doctor says\n%s", out)
	}

	ask := func(key string) (int, string) {
		return perform(t, dir, func(types func(string) func()) []act {
			return []act{{"Approve .gemini/agents/writer.md? [y/N] ", types(key)}}
		}, "trust", "writer")
	}
	if code, shown := ask("n\n"); code != 0 || !strings.Contains(shown, "+You write well.") || !strings.Contains(shown, "Nothing was approved.") {
		t.Errorf("no: exit %d\n%s", code, shown)
	}
	if code, _, errs := command(t, dir, "run", "writer", "write"); code == 0 || !strings.Contains(errs, "changed since you approved it") {
		t.Errorf("what was not approved runs: exit %d\n%s", code, errs)
	}
	if code, shown := ask("y\n"); code != 0 || !strings.Contains(shown, "writer.md is approved.") {
		t.Errorf("yes: exit %d\n%s", code, shown)
	}
	if code, out, errs := command(t, dir, "run", "writer", "write"); code != 0 || out != "Done.\n" {
		t.Errorf("what was approved: exit %d, %q\n%s", code, out, errs)
	}
	if code, _, errs := command(t, dir, "run", "other", "help"); code == 0 || !strings.Contains(errs, "changed since you approved it") {
		t.Errorf("another one runs too: exit %d\n%s", code, errs)
	}
	if code, out, _ := command(t, dir, "trust", filepath.Join(agents, "third.md")); code != 0 || !strings.Contains(out, "third.md is approved.") {
		t.Errorf("by its file: exit %d\n%s", code, out)
	}
}

// TestWhatCompletes: the shell offers models, agents to approve, and answers to forget.
func TestWhatCompletes(t *testing.T) {
	home := play(t, "")
	dir := writer(t)
	root, err := workspace.Canonical(dir)
	if err != nil {
		t.Fatal(err)
	}
	kept := workspace.NewPermissions(filepath.Join(home, "agentls", "permissions.json"), time.Now)
	if err := kept.Keep(t.Context(), root, workspace.Permission{ID: "p1", Agent: "writer", Tool: "bash", Folder: root, Access: "write", Argv: []string{"make"}, Covers: "make"}); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"run --model ":        "flash\n",
		"trust ":              "writer\tThe Writer\n",
		"permissions forget ": "p1\twriter: make\n",
	} {
		args := append([]string{"__complete"}, strings.Split(line, " ")...)
		if code, out, errs := command(t, dir, args...); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d\n%s%s", line, code, out, errs)
		}
	}
}
