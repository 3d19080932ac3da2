package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentls/agentls/agents/tool/builtin"
	"github.com/agentls/agentls/internal/settings"
	"github.com/agentls/agentls/workspace"
)

// translated returns what a daemon makes of settings.
func translated(t *testing.T, home, user, project string) *folderSettings {
	t.Helper()
	var sources []workspace.SettingsSource
	for _, s := range []workspace.SettingsSource{
		{Scope: settings.UserScope, File: "user.json", Content: []byte(user)},
		{Scope: settings.ProjectScope, File: "project.json", Content: []byte(project)},
	} {
		if len(s.Content) > 0 {
			sources = append(sources, s)
		}
	}
	b := &daemon{Config: Config{Home: t.TempDir(), Environ: []string{"HOME=" + home}}}
	return b.translate(workspace.MergeSettings(sources...), "")
}

// TestSettingsOfTools: which tools there are, which calls of them are refused and
// which need no question; what cannot be read takes the strict side.
func TestSettingsOfTools(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, "vault", "key"), "")
	if err := os.Symlink("vault", filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	// without returns the names of all tools but some.
	without := func(names ...string) string {
		var all []string
		for _, b := range builtin.Tools() {
			if name := b.Spec().Name; !slices.Contains(names, name) {
				all = append(all, name)
			}
		}
		return strings.Join(all, " ")
	}
	others := without("ls")
	for _, c := range []struct {
		user, project                string
		exclude, deny, allow, reveal string
		problems                     []string // the place of each, and a word of it
	}{
		{user: `{"tools": {"exclude": ["run_shell_command(rm -rf)", "bash(git push)", "web_fetch", "mcp.x.*"]}}`,
			exclude: "web_fetch mcp.x.*", deny: "bash [rm -rf] ; bash [git push] "},
		{user: `{"tools": {"exclude": ["ls"]}}`, project: `{"tools": {"exclude": ["write_file(docs/**)"]}}`, exclude: "ls", deny: "write_file [] docs/**"},
		{user: `{"tools": {"exclude": ["bash(git push", "bash()", "(x)", 7, "read_file(["]}}`, exclude: "bash bash read_file",
			problems: []string{"user.json:1:24 denied", "user.json:1:41 denied", "user.json:1:51 ignored", "user.json:1:61 denied", "user.json:1:23 list of strings"}},
		{user: `{"tools": {"exclude": ["bahs(git push", "ba[sh"]}}`, exclude: "bahs ba[sh", problems: []string{"user.json:1:24 denied", "user.json:1:41 denied"}},
		{user: `{"tools": {"exclude": ["bahs(git push)"]}}`, deny: "bahs [] git push", problems: []string{"user.json:1:24 is no tool that is known"}},
		{user: `{"tools": {"exclude": "bash(git push)"}}`, deny: "bash [git push] ", problems: []string{"user.json:1:23 list of strings"}},
		{user: `{"tools": {"allowed": ["run_shell_command(git status)", "write_file(docs/**)", "ls"]}}`, allow: "bash [git status] ; write_file [] docs/**; ls [] "},
		{user: `{"tools": {"allowed": ["bash(git", "(x)", "bash()", "ls", "Bahs(x)"]}}`, allow: "ls [] ",
			problems: []string{"user.json:1:24 it is ignored", "user.json:1:36 it is ignored", "user.json:1:43 it is ignored", "user.json:1:59 no tool that is known"}},
		{project: `{"tools": {"allowed": ["bash", "read_file(~/vault/key)"]}}`, problems: []string{"project.json:1:12 a project cannot set tools.allowed"}},
		{user: `{"tools": {"allowed": ["ls"]}}`, project: `{"tools": {"allowed": ["bash"]}}`, allow: "ls [] ", problems: []string{"project.json:1:12 a project cannot set tools.allowed"}},
		{user: `{"tools": {"allowed": ["read_file(~/link/key)", "read_file(` + home + `/none/x)"]}}`,
			allow: "read_file [] ~/vault/key; read_file [] ~/none/x", reveal: "~/vault/key ~/none/x"},
		{user: `{"tools": {"allowed": ["read_file(~/vault/**)", "read_file(~/vault/ke?)", "read_file(vault/key)", "read_file", "write_file(~/vault/key)", "grep(~/vault/key)"]}}`,
			allow: "read_file [] ~/vault/**; read_file [] ~/vault/ke?; read_file [] vault/key; read_file [] ; write_file [] ~/vault/key; grep [] ~/vault/key"},
		{user: `{"tools": {"core": ["list_directory", "ReadFile*", "read_*"]}}`, exclude: without("ls", "read_file", "read_many_files")},
		{user: `{"tools": {"core": ["ls"]}}`, exclude: others},
		{user: `{"tools": {"core": ["ls", "bash"]}}`, project: `{"tools": {"core": ["ls"]}}`, exclude: without("ls", "bash") + " " + others},
		{user: `{"tools": {"core": ["ls", "bash(git)", 7]}}`, exclude: others, problems: []string{"user.json:1:27 not offered", "user.json:1:20 list of strings"}},
		{project: `{"tools": {"core": []}}`, exclude: without()},
	} {
		s := translated(t, home, c.user, c.project)
		var exclude, deny, allow []string
		for _, list := range s.runs.Exclude {
			exclude = append(exclude, list.Names...)
		}
		for _, r := range s.runs.Deny {
			deny = append(deny, fmt.Sprintf("%s %s %s", r.Tool, r.Words, r.Path))
		}
		for _, r := range s.runs.Allow {
			allow = append(allow, strings.ReplaceAll(fmt.Sprintf("%s %s %s", r.Tool, r.Words, r.Path), home, "~"))
		}
		got := [4]string{sorted(exclude), strings.Join(deny, "; "), strings.Join(allow, "; "), strings.ReplaceAll(strings.Join(s.runs.Reveal, " "), home, "~")}
		if d := cmp.Diff([4]string{sorted(strings.Fields(c.exclude)), c.deny, c.allow, c.reveal}, got); d != "" {
			t.Errorf("%s %s: %s", c.user, c.project, d)
		}
		if len(s.problems) != len(c.problems) {
			t.Errorf("%s %s: problems: %q", c.user, c.project, s.problems)
			continue
		}
		for i, want := range c.problems {
			place, word, _ := strings.Cut(want, " ")
			if !strings.HasPrefix(s.problems[i], place+":") || !strings.Contains(s.problems[i], word) {
				t.Errorf("%s %s: %q, want %q", c.user, c.project, s.problems[i], want)
			}
		}
	}
}

// sorted returns names in alphabetical order.
func sorted(names []string) string {
	names = slices.Clone(names)
	slices.Sort(names)
	return strings.Join(names, " ")
}

// TestServersAreShownWithoutTheirKeys: what completion and hover have of an MCP
// server's address has no password and no key.
func TestServersAreShownWithoutTheirKeys(t *testing.T) {
	for raw, want := range map[string]string{
		`{"httpUrl": "https://u:secret@mcp.example:8443/a/@b?apiKey=secret#secret"}`: "https://mcp.example:8443/a/@b",
		`{"url": "http://secret@mcp.example"}`:                                       "http://mcp.example",
		`{"url": "mcp.example/x?key=secret"}`:                                        "mcp.example/x",
		`{"url": "https://u:se/cret@mcp.example/"}`:                                  "",
		`{"url": "u:secret@mcp.example"}`:                                            "",
		`{"url": "https://mcp.example/\u0001?key=secret"}`:                           "",
		`{"command": "gh-mcp", "args": ["secret"]}`:                                  "gh-mcp",
		`{"description": "Issues", "url": "https://mcp.example?key=secret"}`:         "Issues",
	} {
		if got := serverSummary([]byte(raw)); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}
