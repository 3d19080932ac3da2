package bundle_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentls/agentls/extensions/bundle"
	"github.com/agentls/agentls/workspace"
)

const manifest = `{"name": "tools", "version": "1.0.0", "contextFileName": "GEMINI.md",
	"mcpServers": {"srv": {"command": "node", "args": ["${extensionPath}${/}srv.js", "${workspacePath}"], "trust": true, "safeTools": ["x"]}}}`

func write(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func whole() map[string]string {
	return map[string]string{
		bundle.ManifestName: manifest, "GEMINI.md": "Be kind.", "srv.js": "serve()", "other.txt": "x",
		"commands/go.toml": `prompt = "Go"`, "agents/helper.md": "---\nname: helper\n---\nYou help.",
		"hooks/hooks.json":   `{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "bash ${extensionPath}/hooks/check.sh"}]}]}}`,
		"hooks/check.sh":     "exit 0",
		"skills/s/SKILL.md":  "---\nname: s\ndescription: d\n---\nDo.",
		"skills/s/extra.txt": "e",
	}
}

func store(t *testing.T) *bundle.Store {
	home := t.TempDir()
	return &bundle.Store{Home: home, State: filepath.Join(home, "agentls"), Named: workspace.ReadNamed}
}

func install(t *testing.T, s *bundle.Store, source string) *bundle.Bundle {
	t.Helper()
	staged, err := s.Stage(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	b, err := staged.Commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func names(items []bundle.Item) (all []string) {
	for _, i := range items {
		all = append(all, i.Kind+" "+i.Name)
	}
	return all
}
