package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestREL108Verify: sessions come out the same from what was recorded of them, offline, and what
// has changed since is found at the first difference, by its name.
func TestREL108Verify(t *testing.T) {
	dir, _ := chained(t)
	verify := func(code int, want string) {
		t.Helper()
		t.Setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1") // no model is asked
		got, out, errs := command(t, dir, "sessions", "replay", "--verify", "--session", "main")
		if got != code || !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("exit %d, want %d with %s\n%s%s", got, code, want, out, errs)
		}
	}
	verify(0, `^Verified: \d\d events of 1 run come out the same\.\n$`)
	path := filepath.Join(dir, ".gemini", "agents", "debugger.md")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, changed string) { writeFile(t, path, strings.Replace(string(before), old, changed, 1)) }
	change("You are debugger.", "You are a debugger.")
	verify(1, `^Differs after 0 events\.\nevent \d+, run\.started of debugger: definition: was "[0-9a-f]+", is now "[0-9a-f]+"\n$`)
	change("tools: {allow: [ls]}", "tools: {allow: [glob]}")
	verify(1, `run\.started of debugger: definition`)
	change("handoffs: [{to: fixer}]\n", "")
	verify(1, `run\.started of debugger: definition`)
	change("", "")
	verify(0, `^Verified`)
	writeFile(t, filepath.Join(os.Getenv("GEMINI_HOME"), "settings.json"), `{"tools": {"exclude": ["ls"]}}`)
	verify(1, `run\.started of debugger: tools: was \["ls","transfer_to_fixer"\], is now \["transfer_to_fixer"\]`)
	if code, out, _ := command(t, dir, "trace", "export", "--format", "json", "--session", "main"); code != 0 || strings.Count(out, "agent_start") != 2 {
		t.Errorf("the session was changed by its verification: %s", out)
	}
}
