package bundle_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/extensions/bundle"
	"github.com/agentls/agentls/extensions/hook"
)

// TestServers: variables are filled in, and a bundle does not say how far its server is
// trusted; one of a project stays behind a wall.
func TestServers(t *testing.T) {
	s := store(t)
	b := install(t, s, write(t, t.TempDir(), whole()))
	none := func(string) (string, bool) { return "", false }
	var d map[string]any
	if err := json.Unmarshal(b.Servers("/w", none)["srv"], &d); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(d["args"]); got != fmt.Sprintf("[%s /w]", filepath.Join(b.Folder, "srv.js")) {
		t.Error(got)
	}
	if len(d) != 2 {
		t.Errorf("%v", d)
	}
	project := t.TempDir()
	write(t, filepath.Join(project, ".gemini", "extensions", "mine"), map[string]string{bundle.ManifestName: strings.Replace(manifest, "tools", "mine", 1)})
	l, err := s.Find(t.Context(), project, "mine")
	if err != nil || l.State != bundle.Unapproved || l.Project != project {
		t.Fatalf("%+v, %v", l, err)
	}
	if got := string(l.Servers(project, none)["srv"]); !strings.Contains(got, `"sandbox":"write"`) {
		t.Error(got)
	}
	if !strings.Contains(string(b.Hooks("/w")), "bash ${extensionPath}/hooks/check.sh") {
		t.Errorf("%s", b.Hooks("/w"))
	}
}

// hooksOf reads what the hooks of a bundle run, as the daemon does.
func hooksOf(t *testing.T, b *bundle.Bundle, workspace string) []hook.Described {
	t.Helper()
	list, _ := hook.Parse(b.Hooks(workspace), b.Project != "", func(string) (string, bool) { return "", true })
	return list
}

// TestSEC92BundleVariables: a folder's name is never part of a line for the shell; the
// hook has it in its environment. Words of a program without a shell are filled in.
func TestSEC92BundleVariables(t *testing.T) {
	files := whole()
	files["hooks/hooks.json"] = `{"hooks": {"BeforeTool": [{"hooks": [
		{"command": "cd \"${workspacePath}\" && bash ${extensionPath}${/}hooks${/}check.sh"},
		{"command": "${extensionPath}/hooks/check.sh", "args": ["${workspacePath}"]}]}]}}`
	b := install(t, store(t), write(t, t.TempDir(), files))
	const evil = "/w/x`touch canary`"
	list := hooksOf(t, b, evil)
	if len(list) != 2 || list[0].Command != `cd "${workspacePath}" && bash ${extensionPath}/hooks/check.sh` {
		t.Fatalf("%+v", list)
	}
	if list[1].Command != b.Dir+"/hooks/check.sh" || !slices.Equal(list[1].Args, []string{evil}) {
		t.Errorf("%+v", list[1])
	}
	if got := b.Variables(evil); !slices.Equal(got, []string{"extensionPath=" + b.Dir, "pathSeparator=/", "workspacePath=" + evil}) {
		t.Errorf("%q", got)
	}
}
