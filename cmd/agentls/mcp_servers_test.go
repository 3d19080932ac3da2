package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAgents5ValidateAll is the acceptance scenario agents-5: of three agents one
// names a server that is not configured.
func TestAgents5ValidateAll(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	dir := t.TempDir()
	file := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, ".gemini", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	agent := func(name, server string) {
		file("agents/"+name+".md", "---\nkind: agent\nname: "+name+"\ntitle: T\nmodel: flash\nmcp: {servers: ["+server+"]}\n---\nYou work.\n")
	}
	file("settings.json", `{"mcpServers": {"docs": {"command": "docs-server"}}}`)
	agent("code-reviewer", "unknown")
	agent("debug-analyzer", "docs")
	agent("writer", "docs")
	code, out, errs := command(t, dir, "validate", "--all")
	for _, want := range []string{"debug-analyzer: ✓ Valid\n", "writer: ✓ Valid\n", "code-reviewer: ✗ Invalid (", "The MCP server unknown is not configured"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s%s", want, out, errs)
		}
	}
	if code != exitFailed {
		t.Errorf("exit code %d", code)
	}
}

// TestMCPServersCommand: what is listed, what a server that cannot start says, and
// what a command line cannot do.
func TestMCPServersCommand(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	dir := t.TempDir()
	if code, out, errs := command(t, dir, "mcp-servers", "list"); code != 0 || !strings.Contains(out, "No MCP servers are configured.") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if code, _, errs := command(t, dir, "mcp-servers", "stop", "x"); code != exitFailed || !strings.Contains(errs, "agents/mcp/stop") {
		t.Errorf("stop: exit %d, %s", code, errs)
	}
	if code, _, errs := command(t, dir, "mcp-servers", "test", "x"); code != exitFailed || !strings.Contains(errs, "there is no MCP server") {
		t.Errorf("test: exit %d, %s", code, errs)
	}
}
