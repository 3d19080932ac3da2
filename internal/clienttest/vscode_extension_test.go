package clienttest

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
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

// TestVSCodeExtensionPacked packs the extension alone, which stays under 1 MB, and, where
// there is time to build it, for this platform with the server in it.
func TestVSCodeExtensionPacked(t *testing.T) {
	needPackages(t, extensionFolder, "esbuild")
	unpack := func(name string) (*zip.ReadCloser, int64) {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		files, err := zip.OpenReader(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { files.Close() })
		return files, info.Size()
	}
	name := filepath.Join(t.TempDir(), "agents.vsix")
	if err := pack(name, "--without-server"); err != nil {
		t.Fatal(err)
	}
	alone, size := unpack(name)
	t.Logf("without the server: %d KB", size>>10)
	if size >= 1e6 {
		t.Errorf("the extension has %d bytes without the server", size)
	}
	for _, name := range []string{"package.json", "out/client.js", "out/extension.js", "out/panel.js", "media/panel.css", "media/walkthrough-demo.md"} {
		if _, err := alone.Open("extension/" + name); err != nil {
			t.Error(err)
		}
	}
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return
	}
	name, err := packed()
	if err != nil {
		t.Fatal(err)
	}
	whole, size := unpack(name)
	t.Logf("for linux-x64: %d KB", size>>10)
	for _, f := range whole.File {
		if f.Name == "extension/bin/agentls" && f.Mode()&0o100 != 0 {
			return
		}
	}
	t.Error("the package for linux-x64 has no program in it")
}

// pack packs the extension.
func pack(out string, args ...string) error {
	c := exec.Command("node", append([]string{"scripts/package.mjs", "--out", out}, args...)...)
	c.Dir = extensionFolder
	if said, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("node scripts/package.mjs %v: %w\n%s", args, err, said)
	}
	return nil
}

// packed is the package for linux-x64, with the server in it, made once for all tests.
var packed = sync.OnceValues(func() (string, error) {
	out := filepath.Join(scratch, "agents-linux-x64.vsix")
	return out, pack(out, "--target", "linux-x64")
})

// packedInVSCode installs the package for linux-x64 in VS Code, and measures there.
func packedInVSCode(t *testing.T) {
	needPackages(t, extensionFolder, "esbuild")
	name, err := packed()
	if err != nil {
		t.Fatal(err)
	}
	_, env := perform(t, read(t, "testdata/vscode/packed.model"), withoutWall)
	work := unfold(t, map[string]string{"note.txt": "milk\neggs\n", ".gemini/agents/fixer.md": fixer})
	v := startVSCodeWith(t, env, work, light, func(v *vscode) {
		installBare(t, v) // first: once something is installed, VS Code does not look for folders
		c := exec.Command(v.node(), append(v.program(), "--install-extension", name)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	})
	v.tell("packed.mjs", story{"packed", 1280})
}

// installBare puts the extension that ours is compared with where VS Code finds it.
func installBare(t *testing.T, v *vscode) {
	t.Helper()
	if err := os.CopyFS(filepath.Join(v.dir, "extensions", "local.bare-participant-0.0.1"), os.DirFS("testdata/vscode/bare")); err != nil {
		t.Fatal(err)
	}
}

// installExtension builds our extension and puts it, with the server in it, where
// VS Code finds it.
func installExtension(t *testing.T, v *vscode) {
	t.Helper()
	needPackages(t, extensionFolder, "esbuild")
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
	unfoldIn(t, to, map[string]string{"package.json": read(t, filepath.Join(extensionFolder, "package.json"))})
	if err := os.Mkdir(filepath.Join(to, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(build(t), filepath.Join(to, "bin", "agentls")); err != nil {
		t.Fatal(err)
	}
	installBare(t, v)
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

// story is what a driver of testdata/vscode plays; the pictures have its name.
type story struct {
	Name  string `json:"name"`
	Width int    `json:"width"` // of the window
}

// tell has a driver play a story in a VS Code, and prints what each step saw.
func (v *vscode) tell(script string, s story) {
	v.t.Helper()
	began := time.Now()
	steps := v.driveWith(filepath.Join("testdata/vscode", script), []story{s})
	for _, line := range steps {
		var step struct {
			Step, Saw string
			Ms        int
		}
		if err := json.Unmarshal(line, &step); err != nil {
			v.t.Fatal(err)
		}
		v.t.Logf("%-34s %6d ms  %s", step.Step, step.Ms, step.Saw)
	}
	v.t.Logf("node %s, %s: %d steps in %d s; pictures: %s/%s-*.png", script, s.Name, len(steps), int(time.Since(began).Seconds()), screenshots(v.t), s.Name)
}

// withoutWall has commands ask on each machine.
const withoutWall = `{"tools": {"sandbox": {"mode": "off"}}}`

// light and dark are the themes that VS Code starts with, as settings.
const (
	light = `"workbench.colorTheme": "Default Light Modern"`
	dark  = `"workbench.colorTheme": "Default Dark Modern"`
)

// extensionInVSCode drives our extension through the list of the specification
// (14.4), in a wide light window and in a narrow dark one.
func extensionInVSCode(t *testing.T) {
	script := read(t, "testdata/vscode/extension.model")
	for s, theme := range map[story]string{{"light", 1280}: light, {"dark", 800}: dark} {
		t.Run(s.Name, func(t *testing.T) {
			_, env := perform(t, script, withoutWall)
			work := unfold(t, map[string]string{
				"note.txt": "milk\neggs\n", "app.ts": "export function sum(a: number, b: number) {\n  return a - b\n}\n",
				"list.txt":                 "first\n" + strings.Repeat("thing\n", 12) + "last\n",
				"plan.md":                  "# Plan\n\n@fixer is the list complete?\n",
				".gemini/agents/fixer.md":  strings.Replace(fixer, "read_file", "diagnostics, symbols, definition, references, read_file", 1),
				".gemini/agents/finder.md": finder,
				".gemini/agents/broken.md": strings.NewReplacer("name: fixer", "name: broken", "read_file", "read_fil").Replace(fixer),
			})
			v := startVSCodeWith(t, append(env, "WORK="+work), work, theme+`, "chat.saveBeforeSend": false`, // agents see buffers as they are
				func(v *vscode) { installExtension(t, v) })
			v.tell("extension.mjs", s)
		})
	}
}

// troubleInVSCode: what goes wrong, and whether the screen says what to do.
func troubleInVSCode(t *testing.T) {
	_, env := perform(t, read(t, "testdata/vscode/trouble.model"), withoutWall)
	old, err := os.Executable() // with a variable it is a server that is too old
	if err != nil {
		t.Fatal(err)
	}
	work := unfold(t, map[string]string{"note.txt": "milk\neggs\n", "logo.png": "\x89PNG\x00", ".gemini/agents/fixer.md": fixer})
	v := startVSCodeWith(t, append(env, "OLD="+old), work, light, func(v *vscode) { installExtension(t, v) })
	v.tell("trouble.mjs", story{"trouble", 1280})
}

// restrictedInVSCode: a folder that nobody trusts runs neither its agents nor the program
// that it names.
func restrictedInVSCode(t *testing.T) {
	_, env := perform(t, "", withoutWall)
	ran := filepath.Join(t.TempDir(), "ran")
	work := unfold(t, map[string]string{"note.txt": "milk\neggs\n", ".gemini/agents/fixer.md": fixer, "evil": "#!/bin/sh\ntouch " + ran + "\n"})
	unfoldIn(t, work, map[string]string{".vscode/settings.json": `{"agentls.path": "` + filepath.Join(work, "evil") + `"}`})
	if err := os.Chmod(filepath.Join(work, "evil"), 0o755); err != nil {
		t.Fatal(err)
	}
	// There is no Go, nor does the shell tell VS Code of one.
	env = append(env, "PATH="+t.TempDir(), "SHELL=/bin/true")
	v := startVSCodeWith(t, env, work, light+`, "security.workspace.trust.enabled": true, "security.workspace.trust.startupPrompt": "never"`,
		func(v *vscode) { installExtension(t, v) })
	v.tell("restricted.mjs", story{"restricted", 1280})
	if _, err := os.Stat(ran); err == nil {
		t.Error("the program that the folder names has run")
	}
}

// readerTests are tests of an agent that the story writes: one passes, one fails.
const readerTests = `agent: reader
tests:
  - name: says it
    input: read
    model: [{text: It is fine.}]
    expect: {output: {contains: [fine]}}
  - name: says what is wrong
    input: read
    model: [{text: It is fine.}]
    expect: {output: {contains: [wrong]}}
`

// firstInVSCode: the first minutes in a folder without agents, and without a key.
func firstInVSCode(t *testing.T) {
	_, env := perform(t, read(t, "testdata/vscode/first.model"), "")
	env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "GEMINI_API_KEY=") })
	work := unfold(t, map[string]string{"note.txt": "milk\neggs\n", "reader.agent-test.yaml": readerTests})
	v := startVSCodeWith(t, append(env, "WORK="+work), work, dark+`, "terminal.integrated.gpuAcceleration": "off"`,
		func(v *vscode) { installExtension(t, v) })
	v.tell("first.mjs", story{"first", 1280})
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
