package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/internal/wire"
)

// explainable is a trusted folder with agents; it returns the folder.
func explainable(t *testing.T) string {
	t.Helper()
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	t.Setenv("GEMINI_API_KEY", "none")
	dir := t.TempDir()
	for name, text := range map[string]string{
		".gemini/agents/fixer.md":  "---\nkind: agent\nname: fixer\ntitle: Fixer\ntools:\n  allow: [read_file, shell]\nrun: {max_turns: 40}\n---\nFix it.\n",
		".gemini/agents/reader.md": "---\nkind: agent\nname: reader\ntitle: Reader\ntools:\n  allow: [read_file]\nrun: {max_turns: 40}\n---\nRead it.\n",
		".gemini/agents/many.md":   "---\nkind: agent\nname: many\ntitle: Many\nrun: {max_turns: 400}\n---\nFix it.\n",
		".gemini/agents/more.md":   "---\nkind: agent\nname: more\ntitle: More\nrun: {max_turns: 500}\n---\nFix it.\n",
		"a.go":                     "package a\n",
		".gemini/settings.json":    `{"agents": {"overrides": {"fixer": {"run": {"max_turns": 20}}}}}`,
		"other/fixer.md":           "---\nkind: agent\nname: fixer\ntitle: Fixer\ntools:\n  allow: [read_file]\n---\nFix it.\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if code, out, errs := command(t, dir, "trust"); code != 0 {
		t.Fatalf("trust: exit %d\n%s%s", code, out, errs)
	}
	return dir
}

func TestExplain(t *testing.T) {
	dir := explainable(t)
	code, out, errs := command(t, dir, "explain", "fixer")
	if code != 0 || errs != "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, want := range []string{
		"fixer · Fixer · project\n", "\n  run.max_turns ", "settings.json:1\n", "over fixer.md:7\n",
		"\n  ✓  bash             by command  ask   allowed by \"bash\" · fixer.md:6\n", "\nTools: 2 of ", " model calls, ≤ $",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it lacks %q:\n%s", want, out)
		}
	}
	code, raw, errs := command(t, dir, "explain", "fixer", "--json")
	var e wire.ExplainResult
	if err := json.Unmarshal([]byte(raw), &e); code != 0 || err != nil {
		t.Fatalf("exit %d: %s %v", code, errs, err)
	}
	if turns, _ := e.Value("run.max_turns"); turns.Value != 20.0 || turns.Origin.File != filepath.Join(dir, ".gemini", "settings.json") {
		t.Errorf("%+v", turns)
	}
	if authority.Text(&e.Explanation, 100) != out {
		t.Errorf("as JSON it is another:\n%s\n%s", authority.Text(&e.Explanation, 100), out)
	}
	if code, other, errs := command(t, dir, "explain", "other/fixer.md"); code != 0 || !strings.Contains(other, "Tools: 1 of ") {
		t.Errorf("a file elsewhere: exit %d: %s%s", code, other, errs)
	}
	for _, c := range []struct{ name, want string }{{"fixr", "Did you mean fixer"}, {"other/none.md", "there is no file"}, {"", "name"}} {
		if code, out, errs := command(t, dir, "explain", c.name); code != 1 || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("explain %q: exit %d %q %q", c.name, code, out, errs)
		}
	}
}

func TestDiffAuthority(t *testing.T) {
	dir := explainable(t)
	outside := filepath.Join(t.TempDir(), "old.md")
	text, err := os.ReadFile(filepath.Join(dir, "other", "fixer.md"))
	if err == nil {
		err = os.WriteFile(outside, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"reader", "fixer"}, 0, "+ bash (tier by command)\n− run.max_turns 40 → 20\n"},
		{[]string{"fixer", "reader"}, 0, "+ run.max_turns 20 → 40\n− bash (tier by command)\n"},
		{[]string{"reader", "fixer", "--exit-code"}, 1, "+ bash (tier by command)\n− run.max_turns 40 → 20\n"},
		{[]string{"fixer", ".gemini/agents/fixer.md", "--exit-code"}, 0, "no difference in power\n"},
		{[]string{".gemini/agents/fixer.md", "other/fixer.md", "--exit-code"}, 0, "− bash (tier by command)\n"},
		{[]string{"other/fixer.md", ".gemini/agents/fixer.md", "--exit-code"}, 1, "+ bash (tier by command)\n"},
		{[]string{outside, "fixer", "--exit-code"}, 1, "+ bash (tier by command)\n"},
		{[]string{"fixer", outside}, 0, "− bash (tier by command)\n"},
		{[]string{"fixer", "fixer", "--json"}, 0, "{\n  \"grows\": false,\n  \"lines\": []\n}\n"},
	} {
		if code, out, errs := command(t, dir, append([]string{"diff-authority"}, c.args...)...); code != c.code || out != c.want || errs != "" {
			t.Errorf("%q: exit %d %q %q, want %d %q", c.args, code, out, errs, c.code, c.want)
		}
	}
	code, raw, _ := command(t, dir, "diff-authority", "reader", "fixer", "--json")
	var d authority.Difference
	if err := json.Unmarshal([]byte(raw), &d); code != 0 || err != nil || !d.Grows || len(d.Lines) != 2 || d.Lines[0].What != "bash" {
		t.Errorf("exit %d %s", code, raw)
	}
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"reader", "fixer"}, 0, "+ bash (tier by command)\n"},
		{[]string{"reader", "fixer", "--exit-code"}, 1, "+ bash (tier by command)\n"},
		{[]string{"many", "more", "--exit-code"}, 1, "+ run.max_turns 400 → 500\n"}, // no limit of what nobody reviewed hides it
		{[]string{"other/fixer.md", ".gemini/agents/fixer.md", "--exit-code"}, 1, "+ bash (tier by command)\n− run.max_turns 100 → 40\n"},
	} {
		if code, out, errs := command(t, dir, append([]string{"diff-authority"}, c.args...)...); code != c.code || out != c.want || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "not trusted") {
			t.Errorf("untrusted %q: exit %d %q %q", c.args, code, out, errs)
		}
	}
	if code, out, _ := command(t, dir, "explain", "fixer"); code != 0 || !strings.Contains(out, "Cannot run: its folder is not trusted") {
		t.Errorf("it counts as trusted afterwards: exit %d %s", code, out)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"a.go", "fixer"}, "a.go is no agent file\n  Name a Markdown file, NAME.md\n"}, {[]string{"fixer", "a.go"}, "a.go is no agent file"},
		{[]string{"z", "fixer"}, "there is no agent z\n  See `agentls list`\n"}, {[]string{"fixr", "fixer"}, "Did you mean fixer?\n"},
	} {
		if code, out, errs := command(t, dir, append([]string{"diff-authority"}, c.args...)...); code != 1 || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit %d %q %q", c.args, code, out, errs)
		}
	}
	if code, _, errs := command(t, dir, "diff-authority", "fixer"); code != 2 || !strings.Contains(errs, "diff-authority A B") {
		t.Errorf("exit %d %q", code, errs)
	}
}

// TestDoctorOnOverrides: what does not count of the overrides of agents is told, as
// what does not count of other settings.
func TestDoctorOnOverrides(t *testing.T) {
	dir := explainable(t)
	settings := filepath.Join(dir, ".gemini", "settings.json")
	for _, c := range []struct {
		settings string
		want     []string
	}{
		{`{"agents": {"overrides": {"fixer": {"run": {"max_turns": 20}}, "nobody": {"model": "pro"}}}}`, []string{"✓ settings: " + settings}},
		{`{"agents": {"overrides": {"fixer": {"model": "pro"}}}}`, []string{"✗ settings: " + settings + ":1: agents.overrides.fixer.model can be set by your own settings only; it is ignored\n"}},
		{`{"tools": {"allowed": ["bash"]}, "agents": {"overrides": {"fixer": {"model": "pro"}}}}`,
			[]string{"✗ settings: " + settings + ":1:12: a project cannot set tools.allowed", "✗ settings: " + settings + ":1: agents.overrides.fixer.model"}},
	} {
		if err := os.WriteFile(settings, []byte(c.settings), 0o644); err != nil {
			t.Fatal(err)
		}
		_, out, _ := command(t, dir, "doctor")
		var got []string
		for line := range strings.Lines(out) {
			if strings.Contains(line, " settings: ") {
				got = append(got, line)
			}
		}
		if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", c.settings, got, c.want)
		}
	}
}

// TestExplainOfWhatCannotBeRead: of an agent whose file or front-matter cannot be
// read nothing is known, so nothing is said of what it may use.
func TestExplainOfWhatCannotBeRead(t *testing.T) {
	dir := explainable(t)
	agents := filepath.Join(dir, ".gemini", "agents")
	outside := filepath.Join(t.TempDir(), "far.md")
	for path, text := range map[string]string{
		outside: "---\nkind: agent\nname: far\ntitle: F\n---\nx\n", filepath.Join(agents, "broke.md"): "---\nname: [\n---\nx\n",
		filepath.Join(agents, "odd.md"): "---\nkind: agent\nname: odd\ntitle: O\nrun: {max_turns: many}\n---\nx\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(agents, "folder.md"), 0o700), os.Symlink(outside, filepath.Join(agents, "far.md"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"folder", "far", "broke", filepath.Join(agents, "broke.md")} {
		for _, args := range [][]string{{"explain", name}, {"explain", name, "--json"}} {
			base := strings.TrimSuffix(filepath.Base(name), ".md")
			code, out, errs := command(t, dir, args...)
			if code != exitFailed || out != "" || !strings.Contains(errs, "cannot be explained: ") || !strings.Contains(errs, base+".md:") {
				t.Errorf("%q: exit %d\n%s%s", args, code, out, errs)
			}
		}
	}
	for _, name := range []string{"odd", "main", filepath.Join(agents, "odd.md")} {
		if code, out, errs := command(t, dir, "explain", name); code != 0 || !strings.Contains(out, "Tools: ") {
			t.Errorf("%s: exit %d\n%s%s", name, code, out, errs)
		}
	}
}
