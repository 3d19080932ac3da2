package main

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/extensions/bundle"
)

// public returns a public extension of gemini-cli's; the test is skipped without it.
func public(t *testing.T, name string) string {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join("..", "..", "..", "shared", "data", "extensions", name))
	if err == nil {
		_, err = os.Stat(folder)
	}
	if err != nil {
		t.Skip("the public extensions are not beside this checkout")
	}
	return folder
}

// zipOf packs a folder.
func zipOf(t *testing.T, folder string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "extension.zip")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := zip.NewWriter(f)
	if err := w.AddFS(os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestExtensionsPublic: three public extensions are installed, from folders and from
// archives, after showing what they bring; their commands and context files reach the
// model's request, and a program that is missing is told once.
func TestExtensionsPublic(t *testing.T) {
	folders := map[string]string{}
	for _, name := range []string{"code-review", "conductor", "security"} {
		folders[name] = public(t, name)
	}
	for _, way := range []string{"folder", "archive"} {
		t.Run(way, func(t *testing.T) {
			sources := map[string]string{}
			for name, folder := range folders {
				if sources[name] = folder; way == "archive" {
					sources[name] = zipOf(t, folder)
				}
			}
			play(t, `
> Principal Software Engineer
>system from="extension code-review"
>system from="extension conductor"
>system Conductor Context
>system from="extension gemini-cli-security"
>!tool mcp_osvScanner_scan
< Reviewed.

> creation of a new "Track"
> dark mode & more
< Planned.
`)
			dir := t.TempDir()
			for name, want := range map[string][]string{
				"code-review": {"command", "/code-review", "context file", "GEMINI.md"},
				"conductor":   {"/conductor:setup", "/conductor:newTrack", "without effect: policies are not read"},
				"security":    {"MCP server", "osvScanner", "${extensionPath}/osv-scanner experimental-mcp", "securityServer", "/security:analyze", "they run as you"},
			} {
				// Nobody can be asked, so nothing is installed; what it brings is shown.
				code, _, errs := command(t, dir, "extensions", "install", sources[name])
				if code != exitFailed || !strings.Contains(errs, "nothing was changed") {
					t.Errorf("%s without consent: exit %d\n%s", name, code, errs)
				}
				for _, text := range want {
					if !strings.Contains(errs, text) {
						t.Errorf("%s: %q is not shown in\n%s", name, text, errs)
					}
				}
				if code, out, errs := command(t, dir, "extensions", "install", sources[name], "--yes"); code != 0 || !strings.Contains(out, "is installed and enabled") {
					t.Fatalf("%s: exit %d, %s%s", name, code, out, errs)
				}
			}
			code, out, errs := command(t, dir, "extensions", "list")
			if code != 0 || strings.Count(out, "  enabled  ") != 3 {
				t.Errorf("list: exit %d\n%s%s", code, out, errs)
			}
			if code, out, errs := command(t, dir, "trust"); code != 0 {
				t.Fatalf("trust: %s%s", out, errs)
			}
			code, out, errs = command(t, dir, "run", "--trust", "/code-review")
			if code != 0 || !strings.HasSuffix(out, "Reviewed.\n") || strings.Count(errs, "osvScanner") != 1 || !strings.Contains(errs, "osv-scanner") {
				t.Errorf("exit %d, %s\n%s", code, out, errs)
			}
			code, out, errs = command(t, dir, "run", "--trust", "/conductor:newTrack dark mode & more")
			if code != 0 || !strings.HasSuffix(out, "Planned.\n") {
				t.Errorf("exit %d, %s\n%s", code, out, errs)
			}
		})
	}
}

// TestExtensionsSwitch: an extension of one's own, from its skeleton to its end; what
// is disabled or changed takes no effect, and is told.
func TestExtensionsSwitch(t *testing.T) {
	home := play(t, `
> Explain tests in three sentences.
>system from="extension mine"
>tool activate_skill
>body Say here when an agent should load this skill.
<call activate_skill {"name": "example"}

>result activate_skill contains The instructions, which an agent loads
< Explained.

> Hello there
>!system from="extension mine"
>!tool activate_skill
< Hello.

> Hello again
>!system from="extension mine"
< Hello again.
`)
	dir := t.TempDir()
	do := func(want string, args ...string) {
		t.Helper()
		code, out, errs := command(t, dir, args...)
		if code != 0 || !strings.Contains(out+errs, want) {
			t.Fatalf("%q: exit %d, want %q in\n%s%s", args, code, want, out, errs)
		}
	}
	do("is made. Try it with: agentls extensions link", "extensions", "new", "mine")
	do("mine is installed and enabled.", "extensions", "link", "mine", "--yes")
	do("→ ", "extensions", "list")
	do("Explained.", "run", "/example tests")
	do("mine is disabled.", "extensions", "disable", "mine")
	do("Hello.", "run", "Hello there")
	do("mine is enabled.", "extensions", "enable", "mine")
	// It brings something else than was approved.
	if err := os.WriteFile(filepath.Join(dir, "mine", "commands", "more.toml"), []byte(`prompt = "More"`), 0o600); err != nil {
		t.Fatal(err)
	}
	do("not approved", "extensions", "list")
	do("take no effect: mine", "run", "Hello again")
	code, _, errs := command(t, dir, "extensions", "enable", "mine")
	if code != exitFailed || !strings.Contains(errs, "what you have not approved:\n  command  /more") || strings.Contains(errs, "/example") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	do("mine is enabled.", "extensions", "enable", "mine", "--yes")
	do("mine is removed.", "extensions", "uninstall", "mine", "--yes")
	do("No extensions are installed.", "extensions", "list")
	if _, err := os.Stat(filepath.Join(dir, "mine", bundle.ManifestName)); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(filepath.Join(home, "extensions")); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
	for _, tt := range []struct{ args, want string }{
		{"extensions disable none", "none is installed"}, {"extensions install", "missing argument"}, {"extensions install nothing", "Name a folder, an archive or"},
		{"extensions", "list"},
	} {
		if code, _, errs := command(t, dir, strings.Fields(tt.args)...); code == 0 || !strings.Contains(errs, tt.want) {
			t.Errorf("%s: exit %d, %s", tt.args, code, errs)
		}
	}
}

// TestExtensionsSecurityServer: the server of a public extension is built by npm, and
// lists its tools from where it was installed.
func TestExtensionsSecurityServer(t *testing.T) {
	if testing.Short() {
		t.Skip("npm fetches packages for it")
	}
	source := filepath.Join(t.TempDir(), "security")
	if err := os.CopyFS(source, os.DirFS(public(t, "security"))); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"}, {"npx", "tsc"}} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = filepath.Join(source, "mcp-server")
		if out, err := cmd.CombinedOutput(); err != nil && os.Getenv("CI") == "" {
			t.Skipf("it cannot be built here: %v\n%s", err, out)
		} else if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	t.Setenv("AGENTLS_TRUST", "1")
	dir := t.TempDir()
	if code, out, errs := command(t, dir, "extensions", "install", source, "--yes"); code != 0 {
		t.Fatalf("exit %d, %s%s", code, out, errs)
	}
	code, out, errs := command(t, dir, "mcp-servers", "test", "securityServer")
	if code != 0 || !strings.Contains(out, "securityServer: ready") || !strings.Contains(out, "mcp.securityServer.find_line_numbers") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
}
