package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSEC54NothingIsWrittenThroughALink: where a link stands in the place of a new
// file, or of its folder, nothing is written, with and without force, whether
// something lies where it leads or not. A file in its place is replaced by force.
func TestSEC54NothingIsWrittenThroughALink(t *testing.T) {
	for name, c := range map[string]struct {
		link, to string
		args     []string
		control  string // what is written without the link
	}{
		"import":           {".gemini/agents/reviewer.md", "../../.git/hooks/pre-commit", []string{"import", "r.md"}, ".gemini/agents/reviewer.md"},
		"import, folder":   {".gemini/agents", "../.git/hooks", []string{"import", "r.md"}, ".gemini/agents/reviewer.md"},
		"import, global":   {"~/.gemini/agents/reviewer.md", "../../.profile", []string{"import", "r.md", "--global"}, "~/.gemini/agents/reviewer.md"},
		"export":           {".claude/agents/fixer.md", "../../.git/hooks/pre-commit", []string{"export", "fixer", "--to", "claude"}, ".claude/agents/fixer.md"},
		"export, folder":   {".claude/agents", "../.git/hooks", []string{"export", "fixer", "--to", "claude"}, ".claude/agents/fixer.md"},
		"export elsewhere": {"out/fixer.md", "../.git/hooks/pre-commit", []string{"export", "fixer", "--to", "claude", "--out", "out"}, "out/fixer.md"},
		"create":           {".gemini/agents/c1.md", "../../.git/hooks/pre-commit", []string{"create", "c1", "--prompt", "You help."}, ".gemini/agents/c1.md"},
		"create, global":   {"~/.gemini/agents/c1.md", "../../.profile", []string{"create", "c1", "--prompt", "You help.", "--global"}, "~/.gemini/agents/c1.md"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, there := range []bool{false, true} {
				for _, force := range []bool{false, true} {
					dir := folderWith(t, map[string]string{
						"r.md": claudeAgent, "agents/x": "", ".git/hooks/x": "", "out/x": "", ".claude/x": "", ".gemini/x": "", "~/.gemini/agents/x": "",
					})
					home := os.Getenv("HOME")
					path := func(name string) string {
						if rest, ok := strings.CutPrefix(name, "~/"); ok {
							return filepath.Join(home, rest)
						}
						return filepath.Join(dir, name)
					}
					if (!strings.HasPrefix(name, "export, ") && strings.HasPrefix(name, "export")) || name == "export, folder" {
						put(t, path(".gemini/agents/fixer.md"), ourAgent)
					}
					if err := os.MkdirAll(filepath.Dir(path(c.link)), 0o755); err != nil {
						t.Fatal(err)
					}
					target := filepath.Join(filepath.Dir(path(c.link)), c.to)
					file := target
					if strings.HasSuffix(name, "folder") {
						file = filepath.Join(target, filepath.Base(c.control))
					}
					if there {
						put(t, file, "theirs")
					}
					if err := os.Symlink(c.to, path(c.link)); err != nil {
						t.Fatal(err)
					}
					args := c.args
					if force {
						args = append(args[:len(args):len(args)], "--force")
					}
					code, out, errs := command(t, dir, args...)
					text, err := os.ReadFile(file)
					if code == 0 || (there && string(text) != "theirs") || (!there && err == nil) {
						t.Errorf("there %t, force %t: exit %d, %q, %v\n%s%s", there, force, code, text, err, out, errs)
					}
					if (!force && there && name != "export elsewhere" && !strings.Contains(out+errs, "is there already") && !strings.Contains(out+errs, "symbolic link")) || (force && !strings.Contains(out+errs, "symbolic link")) {
						t.Errorf("there %t, force %t: it does not say why\n%s%s", there, force, out, errs)
					}
					if err := os.Remove(path(c.link)); err != nil {
						t.Fatal(err)
					}
					code, out, errs = command(t, dir, args...)
					if _, err := os.Stat(path(c.control)); code != 0 || err != nil {
						t.Errorf("control: without the link: exit %d, %v\n%s%s", code, err, out, errs)
					}
				}
			}
		})
	}
}

// TestImportBesideOthersOfTheName says what becomes of them.
func TestImportBesideOthersOfTheName(t *testing.T) {
	mine := strings.Replace(ourAgent, "name: fixer", "name: reviewer", 1)
	for name, c := range map[string]struct {
		files map[string]string
		args  []string
		want  string
	}{
		"the person's": {map[string]string{"r.md": claudeAgent, "~/.gemini/agents/reviewer.md": mine}, []string{"import", "r.md"}, "warning: It takes the place of "},
		"the folder's": {map[string]string{"r.md": claudeAgent, ".gemini/agents/reviewer.md": mine}, []string{"import", "r.md", "--global"}, "/.gemini/agents/reviewer.md keeps the name.\n"},
		"nobody's":     {map[string]string{"r.md": claudeAgent}, []string{"import", "r.md"}, ""},
	} {
		dir := folderWith(t, c.files)
		code, out, errs := command(t, dir, c.args...)
		if code != 0 || !strings.Contains(out, c.want) || (c.want == "" && strings.Contains(out, "place of")) {
			t.Errorf("%s: exit %d\n%s%s", name, code, out, errs)
		}
	}
}

// TestLinkedAgents: an agent file that is a link is checked and edited as what it
// leads to, and told where that is no agent file of the folder.
func TestLinkedAgents(t *testing.T) {
	plain := strings.Replace(ourAgent, ", set_state", "", 1) // which has no effect yet
	dir := folderWith(t, map[string]string{
		"real.md": strings.Replace(plain, "name: fixer", "name: in", 1), "bad.md": "---\nkind: agent\nname: bad\ntitle: B\ntools: {allow: [bsh]}\n---\nx\n",
		"~/dot/mine.md": strings.Replace(plain, "name: fixer", "name: mine", 1), "~/secret.md": "---\nkind: agent\nname: out\ntitle: S\n---\nSecret.\n",
		".gemini/agents/fixer.md": ourAgent, "~/.gemini/agents/x": "",
	})
	home := os.Getenv("HOME")
	for link, to := range map[string]string{
		filepath.Join(dir, ".gemini", "agents", "in.md"): "../../real.md", filepath.Join(dir, ".gemini", "agents", "bad.md"): "../../bad.md",
		filepath.Join(dir, ".gemini", "agents", "out.md"): filepath.Join(home, "secret.md"), filepath.Join(home, ".gemini", "agents", "mine.md"): "../../dot/mine.md",
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, errs := command(t, dir, "trust"); code != 0 {
		t.Fatal(errs)
	}
	code, out, errs := command(t, dir, "validate")
	for _, want := range []string{"in: ✓ Valid\n", "mine: ✓ Valid\n", "bad: ✗ Invalid (The tool bsh is not known; did you mean bash? It is left out, so the agent has no tools), but it runs\n", "out: ✗ Invalid (The file is a link that leads out of its workspace folder, so it is not read; copy the file)\n"} {
		if code != exitFailed || !strings.Contains(out, want) {
			t.Errorf("exit %d, %q is not in\n%s%s", code, want, out, errs)
		}
	}
	if code, out, errs := command(t, dir, "validate", "bad"); code != exitFailed || !strings.Contains(out, "✗ tools available: line 5: ") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	useEditor(t, `printf 'More.\n' >> "$1"`)
	for name, path := range map[string]string{"in": filepath.Join(dir, "real.md"), "mine": filepath.Join(home, "dot", "mine.md")} {
		code, out, errs := command(t, dir, "edit", name)
		if text, err := os.ReadFile(path); code != 0 || err != nil || !strings.HasSuffix(string(text), "More.\n") {
			t.Errorf("%s: exit %d, %v\n%s%s%s", name, code, err, text, out, errs)
		}
	}
	if _, out, _ := command(t, dir, "list", "--json"); strings.Contains(out, `"state": "review"`) {
		t.Errorf("what the person edited is not approved:\n%s", out)
	}
	if code, _, errs := command(t, dir, "edit", "out"); code != exitFailed || !strings.Contains(errs, ".gemini/agents/out.md leads out of its workspace folder, so it is not followed\n  Copy the file, or see to "+filepath.Join(home, "secret.md")+" itself") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	code, out, errs = command(t, dir, "export", "--all", "--to", "copilot")
	if code != exitFailed || !strings.Contains(errs, "refused   out: The file is a link that leads out of its workspace folder, so it is not read; copy the file.") || !strings.Contains(errs, "ok        in ") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	for name, text := range filesIn(t, dir) {
		if strings.HasPrefix(name, ".github/") && strings.Contains(text, "Secret.") {
			t.Errorf("%s has what lies outside", name)
		}
	}
	if text, err := os.ReadFile(filepath.Join(home, "secret.md")); err != nil || strings.Contains(string(text), "More.") {
		t.Errorf("%v\n%s", err, text)
	}
}
