package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// handovers makes a workspace with agents that pass control on.
func handovers(t *testing.T, agents map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	folder := filepath.Join(dir, ".gemini", "agents")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, front := range agents {
		text := "---\nkind: agent\nname: " + name + "\ntitle: The " + name + "\ndescription: Works.\nmodel: flash\n" + front + "---\nYou are " + name + ".\n"
		if err := os.WriteFile(filepath.Join(folder, name+".md"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestScenarioAgents7 is agents-7 and handoff-2: the chain and each one's part are shown,
// and the result is the reviewer's.
func TestScenarioAgents7(t *testing.T) {
	play(t, `> Fix this bug
>system You are debug-analyzer.
< A nil map.
<call transfer_to_code_fixer {"reason": "It needs a fix", "summary": "a nil map"}

> Fix this bug
>system You are code-fixer.
< Fixed.
<call transfer_to_code_reviewer {"reason": "Look at it"}

> Fix this bug
>system You are code-reviewer.
< It is right.
`)
	dir := handovers(t, map[string]string{"debug-analyzer": "handoffs: [{to: code-fixer}]\n", "code-fixer": "handoffs: [{to: code-reviewer}]\n", "code-reviewer": ""})
	code, out, errs := command(t, dir, "run", "debug-analyzer", "-p", "Fix this bug", "--trust")
	if code != 0 || out != "It is right.\n" || !strings.Contains(errs, "The debug-analyzer\n") || !strings.Contains(errs, "A nil map.\n") || !strings.Contains(errs, "Fixed.\n") {
		t.Errorf("exit %d, printed\n%s and\n%s", code, out, errs)
	}
	for _, line := range []string{"debug-analyzer → code-fixer: It needs a fix", "code-fixer → code-reviewer: Look at it", "3 agents, 1 turn, 0 tool calls, 300 tokens in, 30 out"} {
		if strings.Count(errs, line) != 1 {
			t.Errorf("%q is not told once in\n%s", line, errs)
		}
	}
	t.Setenv("AGENTLS_TRUST", "1")
	for _, verb := range []string{"chain", "handoff-chain"} {
		code, out, errs = command(t, dir, verb)
		want := regexp.MustCompile(`^user → debug-analyzer → code-fixer → code-reviewer\n` +
			`debug-analyzer +\S+ +100 tokens in +10 out\n` +
			`code-fixer +\S+ +100 tokens in +10 out  from debug-analyzer: It needs a fix\n` +
			`code-reviewer +\S+ +100 tokens in +10 out  from code-fixer: Look at it\n$`)
		if code != 0 || !want.MatchString(out) {
			t.Errorf("exit %d\n%s%s", code, out, errs)
		}
	}
	if code, out, _ = command(t, dir, "chain", "--json"); code != 0 || strings.Count(out, `"run"`) != 3 {
		t.Errorf("exit %d\n%s", code, out)
	}
	if code, _, errs = command(t, dir, "chain", "nobody"); code != 1 || !strings.Contains(errs, "no session has a run nobody") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if code, out, _ = command(t, dir, "sessions", "show", "main"); code != 0 || !strings.Contains(out, "debug-analyzer → code-fixer: It needs a fix") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// TestHandoffToAPerson: the summary is shown, and the command does not succeed.
func TestHandoffToAPerson(t *testing.T) {
	play(t, "> decide\n<call transfer_to_user {\"reason\": \"I may not\", \"summary\": \"Red or blue?\"}\n")
	dir := handovers(t, map[string]string{"desk": "handoffs: [{to: user}]\n"})
	code, _, errs := command(t, dir, "run", "desk", "decide", "--trust")
	if code != exitFailed || !strings.Contains(errs, "desk → user: I may not") || !strings.Contains(errs, "a person is needed: Red or blue?") {
		t.Errorf("exit %d\n%s", code, errs)
	}
}
