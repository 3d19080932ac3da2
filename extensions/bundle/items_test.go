package bundle_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/extensions/bundle"
)

// TestSEC08ConsentCoversAll: everything that a bundle brings is listed before it is
// installed, nothing takes effect before it is approved, and staging starts nothing and
// leaves nothing.
func TestSEC08ConsentCoversAll(t *testing.T) {
	s := store(t)
	staged, err := s.Stage(t.Context(), write(t, t.TempDir(), whole()))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"MCP server srv", "hook BeforeTool", "command /go", "agent helper", "skill s", "context file GEMINI.md"}
	if got := names(staged.Items); !slices.Equal(got, want) {
		t.Errorf("it brings %q", got)
	}
	if all, err := s.List(t.Context(), ""); err != nil || len(all) != 0 {
		t.Errorf("before consent: %v, %v", all, err)
	}
	if err := staged.Discard(); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(s.Dir()); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
	// What lies there without having been approved by us takes no effect either.
	write(t, filepath.Join(s.Dir(), "tools"), whole())
	l, err := s.Find(t.Context(), "", "tools")
	if err != nil || l.State != bundle.Unapproved || len(l.News) != len(want) {
		t.Errorf("%v %v, %v", l.State, names(l.News), err)
	}
}

// TestSEC10And11And96FilesThatRun: the files that a server or a hook runs are part of what
// is approved, however they are named: below its cwd, with path characters in the bundle's
// own path, by an interpreter's rules, and in the project of a project's bundle.
func TestSEC10And11And96FilesThatRun(t *testing.T) {
	server := func(description string) string {
		return `{"name": "tools", "mcpServers": {"srv": ` + description + `}}`
	}
	for name, tt := range map[string]struct{ manifest, hook, file string }{
		"cwd":         {server(`{"command": "node", "args": ["main.js"], "cwd": "${extensionPath}/server"}`), "", "server/main.js"},
		"no ending":   {server(`{"command": "node", "args": ["${extensionPath}/dist/index"]}`), "", "dist/index.js"},
		"npm":         {server(`{"command": "npm", "args": ["start"], "cwd": "${extensionPath}"}`), "", "package.json"},
		"module":      {server(`{"command": "python3", "args": ["-m", "tools.srv"], "cwd": "${extensionPath}"}`), "", "tools/srv.py"},
		"quoted":      {server(`{"command": "x"}`), `bash \"${extensionPath}\"/run.sh`, "run.sh"},
		"no brackets": {server(`{"command": "x"}`), `bash $extensionPath/run.sh`, "run.sh"},
		"workspace":   {server(`{"command": "x"}`), `bash ${workspacePath}/run.sh`, "../../../run.sh"},
		"relative":    {server(`{"command": "x"}`), `./run.sh`, "../../../run.sh"},
	} {
		t.Run(name, func(t *testing.T) {
			s := store(t)
			project := filepath.Join(t.TempDir(), "a b;c=d")
			dir := filepath.Join(project, ".gemini", "extensions", "tools")
			write(t, dir, map[string]string{bundle.ManifestName: tt.manifest, tt.file: `{"a": 1}`})
			if tt.hook != "" {
				write(t, dir, map[string]string{"hooks/hooks.json": `{"hooks": {"BeforeTool": [{"hooks": [{"command": "` + tt.hook + `"}]}]}}`})
			}
			l, err := s.Find(t.Context(), project, "tools")
			if err != nil || l.Problem != "" {
				t.Fatal(err, l.Problem)
			}
			if err := s.Approve(t.Context(), l.Bundle); err != nil {
				t.Fatal(err)
			}
			if l, _ := s.Find(t.Context(), project, "tools"); l.State != bundle.Active {
				t.Fatalf("approved: %v", l.State)
			}
			write(t, dir, map[string]string{tt.file: `{"a": 2}`})
			if l, _ := s.Find(t.Context(), project, "tools"); l.State != bundle.Unapproved {
				t.Errorf("changed: %v", l.State)
			}
		})
	}
}

// TestSEC08ConsentShowsWhatRuns: words, matchers, walls, names of variables and headers,
// and the person's variables that a bundle is given, as they are read when they are run.
func TestSEC08ConsentShowsWhatRuns(t *testing.T) {
	files := whole()
	files[bundle.ManifestName] = `{"name": "tools", "mcpServers": {
		"far": {"httpUrl": "https://x.example", "headers": {"X-Key": "${MY_KEY}"}},
		"near": {"command": "nothing-there", "sandbox": "full", "env": {"TOKEN": "$MY_TOKEN"}}}}`
	files["hooks/hooks.json"] = `{"hooks": {"BeforeTool": [{"matcher": "bash", "hooks": [
		{"command": "./check", "args": ["--all"], "sandbox": "read", "Sandbox": "full", "env": {"LEVEL": "${MY_LEVEL}"}}]}]}}`
	b := install(t, store(t), write(t, t.TempDir(), files))
	got := map[string]string{}
	for _, item := range b.Items {
		got[item.Name] = item.Detail
	}
	for name, want := range map[string]string{
		"far":        "https://x.example  with headers X-Key  reads MY_KEY",
		"near":       "nothing-there  (sandbox: full)  with TOKEN  reads MY_TOKEN",
		"BeforeTool": "bash: ./check --all (sandbox: read) with LEVEL  reads MY_LEVEL",
	} {
		if got[name] != want {
			t.Errorf("%s: %q", name, got[name])
		}
	}
	files["hooks/hooks.json"] = `{"hooks": {"BeforeTool": [{"hooks": [{"command": "good", "command": "bad"}]}]}}`
	if _, err := store(t).Stage(t.Context(), write(t, t.TempDir(), files)); err == nil || !strings.Contains(err.Error(), "duplicate") {
		t.Errorf("a member that is there twice: %v", err)
	}
}
