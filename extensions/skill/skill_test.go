package skill_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/extensions/skill"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSkills: name and description are offered, the text and the files of the skill's
// folder are loaded on demand, and nothing outside of it is.
func TestSkills(t *testing.T) {
	project, global := t.TempDir(), t.TempDir()
	head := "---\nname: notes\ndescription: How notes\n  are written.\n---\n"
	write(t, project, "notes/SKILL.md", head+"\nWrite short notes.\n")
	write(t, project, "notes/ref/a.md", "Reference.")
	write(t, project, "secret.txt", "outside")
	write(t, global, "notes/SKILL.md", head+"The person's.")
	write(t, global, "bare/SKILL.md", "No front matter.")
	write(t, global, "mute/SKILL.md", "---\nname: mute\n---\nx")
	write(t, global, "yaml/SKILL.md", "---\nname: [\n---\nx")
	write(t, global, "catalog.md", "no skill")
	if err := os.Symlink(filepath.Join(project, "secret.txt"), filepath.Join(project, "notes", "link.md")); err != nil {
		t.Fatal(err)
	}
	all := skill.Read([]skill.Place{{Dir: project, Scope: "project"}, {Dir: global, Scope: "global"}})
	problems := map[string]string{}
	for _, s := range all {
		problems[s.Name] = s.Problem
	}
	for name, want := range map[string]string{"bare": "no front matter", "mute": "no description", "yaml": "not YAML", "notes": ""} {
		if got, ok := problems[name]; !ok || !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if len(all) != 4 {
		t.Errorf("skills %v", problems)
	}
	tools := skill.Tools(all)
	if len(tools) != 1 || !strings.Contains(tools[0].Spec().Description, "- notes: How notes are written.") || strings.Contains(tools[0].Spec().Description, "Write short") {
		t.Fatalf("%+v", tools)
	}
	load := func(args string) (string, error) {
		plan, err := tools[0].Plan(t.Context(), &tool.Env{}, json.RawMessage(args))
		if err != nil {
			return "", err
		}
		result, err := plan.Do(t.Context(), &tool.Env{})
		if err != nil {
			return "", err
		}
		return result.Content, nil
	}
	for _, tt := range []struct{ args, want, fails string }{
		{`{"name": "notes"}`, "Write short notes.\n\nFiles of this skill", ""},
		{`{"name": "notes"}`, "- ref/a.md", ""},
		{`{"name": "notes", "file": "ref/a.md"}`, "Reference.", ""},
		{`{"name": "notes", "file": "../secret.txt"}`, "", "escapes"},
		{`{"name": "notes", "file": "link.md"}`, "", "escapes"},
		{`{"name": "notes", "file": "ref"}`, "", "not a file"},
		{`{"name": "mute"}`, "", "name"},
	} {
		got, err := load(tt.args)
		if !strings.Contains(got, tt.want) || (err != nil) != (tt.fails != "") || (err != nil && !strings.Contains(err.Error(), tt.fails)) {
			t.Errorf("%s: %q, %v", tt.args, got, err)
		}
	}
	chinese := t.TempDir()
	write(t, chinese, "long/SKILL.md", "---\nname: long\ndescription: "+strings.Repeat("技", 1024)+"\n---\nx")
	write(t, chinese, "longer/SKILL.md", "---\nname: longer\ndescription: "+strings.Repeat("技", 1025)+"\n---\nx")
	if of := skill.Read([]skill.Place{{Dir: chinese}}); of[0].Problem != "" || !strings.Contains(of[1].Problem, "1024 characters") {
		t.Errorf("descriptions are counted in bytes: %q, %q", of[0].Problem, of[1].Problem)
	}
	if skill.Tools(all[:1]) != nil {
		t.Error("a tool for skills that cannot be offered")
	}
}
