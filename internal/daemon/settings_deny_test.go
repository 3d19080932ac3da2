//go:build unix

package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/settings"
	"github.com/agentls/agentls/workspace"
)

// TestSEC140BrokenSettingsAreNotNoRules: with settings that cannot be read, what
// is riskier than reading is refused, whatever the person answers.
func TestSEC140BrokenSettingsAreNotNoRules(t *testing.T) {
	for _, c := range []struct {
		settings string
		written  bool
	}{
		{`{"tools":{"exclude":["bash"]}}`, true},
		{`{"tools":{"exclude":["write_file"]`, false},
		{`{"tools":{"exclude":{"a":"write_file"}}}`, false},
		{`{"tools":["write_file"]}`, false},
		{`{"Tools":{"exclude":["write_file(*)"]}}`, false},
		{`{"tools":{"exclude":["write_file(*)"],"exclude":[]}}`, false},
	} {
		b := newBed(t)
		write(t, filepath.Join(b.config.Home, "settings.json"), c.settings)
		work := folder(t, "", "one")
		canary := filepath.Join(work.Path, "canary.txt")
		d := b.serve(work, "> write it\n<call write_file {\"file_path\": \"canary.txt\", \"content\": \"x\"}\n\n>result write_file\n< Done.\n")
		d.Answer(editortest.Reply{Choice: "once"})
		if result, err := d.ask("write it"); err != nil || result == nil {
			t.Fatalf("%s: %v", c.settings, err)
		}
		if _, err := os.Stat(canary); (err == nil) != c.written {
			t.Errorf("%s: written: %v", c.settings, err == nil)
		}
		d.end()
	}
	t.Log("control: with settings that can be read the same call writes the canary")
}

// TestSEC140RulesOfOtherSpellings: what is meant by an entry is denied.
func TestSEC140RulesOfOtherSpellings(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "w", "secret", "k"), "")
	write(t, filepath.Join(root, "vault", "k"), "")
	for name, to := range map[string]string{"w/pub": "secret", "w/out": "../vault", "safe": "vault"} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	file := func(at string) *tool.Plan {
		return &tool.Plan{Tool: "read_file", Reads: []string{filepath.Join(root, at)}}
	}
	bash := func(words ...string) *tool.Plan {
		return &tool.Plan{Tool: "bash", Risk: tool.Medium, Names: words[:1], Commands: [][]string{words}}
	}
	for _, c := range []struct {
		entry string
		plan  *tool.Plan
		want  bool
	}{
		{"read_file(secret/**)", file("w/secret/k"), true},
		{"read_file(pub/**)", file("w/secret/k"), true},
		{"read_file(pub/)", file("w/secret/k"), true},
		{"read_file(out/**)", file("vault/k"), true},
		{"read_file(~/vault)", file("vault/k"), true},
		{"read_file(~/safe/*)", file("vault/k"), true},
		{"read_file(~)", file("vault/k"), true},
		{"ReadFile(pub/**)", file("w/secret/k"), true},
		{"Read(pub/**)", file("w/secret/k"), true},
		{"read_file(public/**)", file("w/secret/k"), false},
		{"ShellTool(rm)", bash("rm", "-rf", "x"), true},
		{"Bash(rm:*)", bash("rm", "x"), true},
		{"Shell(rm -rf)", bash("rm", "-rf", "x"), true},
		{"ShellTool(rm)", bash("ls"), false},
	} {
		b := &daemon{Config: Config{Home: t.TempDir(), Environ: []string{"HOME=" + root}}}
		s := b.translate(workspace.MergeSettings(workspace.SettingsSource{Scope: settings.UserScope, File: "u", Content: []byte(`{"tools": {"exclude": ["` + c.entry + `"]}}`)}), filepath.Join(root, "w"))
		if len(s.runs.Deny) != 1 {
			t.Errorf("%s: %+v, %v", c.entry, s.runs.Deny, s.problems)
		} else if got := s.runs.Deny[0].Denies(c.plan, filepath.Join(root, "w")); got != c.want {
			t.Errorf("%s denies %v%v: %v", c.entry, c.plan.Reads, c.plan.Commands, got)
		}
	}
}

// TestSEC20ARuleRevealsWhatThePersonNamed: no link of the workspace chooses
// another file.
func TestSEC20ARuleRevealsWhatThePersonNamed(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, ".ssh", "id_rsa"), "")
	write(t, filepath.Join(root, "w", "conf", ".env"), "")
	for name, to := range map[string]string{"w/notes.txt": "../.ssh/id_rsa", "w/.env": "../.ssh/id_rsa", "w/dir": "../.ssh", "keys": ".ssh", "way": "w/dir"} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"w/conf/.env": "w/conf/.env", ".ssh/id_rsa": ".ssh/id_rsa", "keys/id_rsa": ".ssh/id_rsa",
		"w/notes.txt": "", "w/.env": "", "w/dir/id_rsa": "", "way/id_rsa": "",
	} {
		b := &daemon{Config: Config{Home: t.TempDir(), Environ: []string{"HOME=" + root}}}
		b.folders.set([]workspace.Folder{{Name: "w", Path: filepath.Join(root, "w"), Canonical: filepath.Join(root, "w")}})
		s := b.translate(workspace.MergeSettings(workspace.SettingsSource{Scope: settings.UserScope, File: "u", Content: []byte(`{"tools": {"allowed": ["read_file(~/` + path + `)"]}}`)}), "")
		got := strings.Join(s.runs.Reveal, " ")
		if want != "" {
			want = filepath.Join(root, want)
		}
		if got != want || (want == "") != (len(s.problems) == 1) || len(s.runs.Allow) != len(s.runs.Reveal) {
			t.Errorf("%s reveals %q, %v", path, got, s.problems)
		}
	}
	t.Log("control: the same file, named itself or by a link of the person's own, is revealed")
}

// TestRulesWithoutEffectAreTold: a rule that can match no call is a mistake.
func TestRulesWithoutEffectAreTold(t *testing.T) {
	s := translated(t, t.TempDir(), `{"tools": {"allowed": ["bash(go test)", "bash(npm run *)", "bash(cd a && mv b c)", "ls"]}}`, "")
	if len(s.problems) != 0 || len(s.notes) != 1 || !strings.HasPrefix(s.notes[0], "user.json:1:60: ") || !strings.Contains(s.notes[0], "matches no call") {
		t.Errorf("%q, %q", s.problems, s.notes)
	}
	b := newBed(t)
	write(t, filepath.Join(b.config.Home, "settings.json"), `{"tools": {"allowed": ["bash(go test | tee x)"]}}`)
	if access := b.config.Check(t.Context(), folder(t, "").Canonical); len(access.Notes) != 1 || len(access.Problems) != 0 {
		t.Errorf("%+v", access)
	}
}
