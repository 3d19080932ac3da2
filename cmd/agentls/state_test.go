//go:build linux

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestContextShowState prints where the work stands and what agents noted, and the
// outcomes of guardrails are printed with the run.
func TestContextShowState(t *testing.T) {
	play(t, "> note\n<call set_state {\"key\": \"current_task\", \"value\": \"Fix b\"}\n<call set_state {\"key\": \"analysis\", \"value\": {\"file\": \"b\"}}\n\n>result set_state\n< Noted.\n")
	dir := writer(t)
	put(t, filepath.Join(dir, ".gemini", "agents", "writer.md"), "---\nkind: agent\nname: writer\ntitle: The Writer\nmodel: flash\nguardrails:\n  - {name: short, validator: \"builtin:max-length(3)\", policy: warn}\n---\nYou write.\n")
	code, _, errs := command(t, dir, "run", "writer", "note it", "--trust")
	if code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	has(t, errs, "! short: has 6 characters, and 3 are allowed")
	t.Setenv("AGENTLS_TRUST", "1")
	code, out, errs := command(t, dir, "context", "show", "writer", "--state")
	if code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	has(t, out, "Session main: completed, writer\n", "  task: Fix b\n", "writer's model answered", "  analysis = {\"file\":\"b\"}\n")
	code, out, errs = command(t, dir, "context", "show", "writer", "--state", "--json")
	if code != 0 || !strings.Contains(out, `"current_task": "Fix b"`) || !strings.Contains(out, `"task_status": "completed"`) {
		t.Errorf("exit %d, %s\n%s", code, out, errs)
	}
}
