package clienttest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// extensionFolder is our extension of VS Code.
const extensionFolder = "../../editors/vscode"

// TestVSCodeExtensionChecks runs what the extension checks by itself: types,
// lint, unit tests. That src/protocol.ts is current is held by protocoldoc.
func TestVSCodeExtensionChecks(t *testing.T) {
	needPackages(t, extensionFolder, "esbuild")
	c := exec.Command("node", "scripts/check.mjs")
	c.Dir = extensionFolder
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// installExtension builds our extension and puts it, with the server in it, where
// VS Code finds it.
func installExtension(t *testing.T, v *vscode) {
	t.Helper()
	c := exec.Command("node", "scripts/build.mjs")
	c.Dir = extensionFolder
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	to := filepath.Join(v.dir, "extensions", "agentls.agentls-0.1.0")
	for _, part := range []string{"media", "out"} {
		if err := os.CopyFS(filepath.Join(to, part), os.DirFS(filepath.Join(extensionFolder, part))); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(extensionFolder, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	unfoldIn(t, to, map[string]string{"package.json": string(text)})
	if err := os.Mkdir(filepath.Join(to, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(build(t), filepath.Join(to, "bin", "agentls")); err != nil {
		t.Fatal(err)
	}
}

// finder hands over to fixer, and may to what is called broken at first.
const finder = `---
kind: agent
name: finder
title: Finder
model: flash
tools:
  allow: [read_file]
handoffs:
  - to: fixer
  - to: broken
---
You find mistakes.
`

// extensionInVSCode drives our extension through the list of the specification
// (14.4), in a light and in a dark theme; the driver looks at the screen.
func extensionInVSCode(t *testing.T) {
	needPackages(t, extensionFolder, "esbuild")
	script, err := os.ReadFile("testdata/vscode/extension.model")
	if err != nil {
		t.Fatal(err)
	}
	for theme, label := range map[string]string{"light": "Default Light Modern", "dark": "Default Dark Modern"} {
		t.Run(theme, func(t *testing.T) {
			_, env := perform(t, string(script), `{"tools": {"sandbox": {"mode": "off"}}}`)
			work := unfold(t, map[string]string{
				"note.txt": "milk\neggs\n", "app.ts": "export function sum(a: number, b: number) {\n  return a - b\n}\n",
				".gemini/agents/fixer.md":  strings.Replace(fixer, "read_file", "diagnostics, symbols, definition, references, read_file", 1),
				".gemini/agents/finder.md": finder,
				".gemini/agents/broken.md": strings.NewReplacer("name: fixer", "name: broken", "read_file", "read_fil").Replace(fixer),
			})
			v := startVSCodeWith(t, env, work, `"workbench.colorTheme": "`+label+`", "window.zoomLevel": 0`, func(v *vscode) { installExtension(t, v) })
			for _, line := range v.driveWith("testdata/vscode/extension.mjs", []string{theme}) {
				var step struct {
					Step, Saw string
					Ms        int
				}
				if err := json.Unmarshal(line, &step); err != nil {
					t.Fatal(err)
				}
				t.Logf("%-28s %6d ms  %s", step.Step, step.Ms, step.Saw)
			}
		})
	}
}
