package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// folderWith returns a folder of its own with files in it, and gives the person an
// empty home beside it.
func folderWith(t *testing.T, files map[string]string) string {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("GEMINI_HOME", filepath.Join(home, ".gemini"))
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			path = filepath.Join(home, rest)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// filesIn returns the names of all files below a folder, with their texts.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir+"/")] = string(data)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return files
}

// TestImportPublicAgents: each public agent file is imported, or refused with a
// reason; with the originals gone an export gives each back to the byte.
func TestImportPublicAgents(t *testing.T) {
	collections, err := filepath.Glob("../../../shared/data/agents/*")
	if err != nil || len(collections) == 0 {
		t.Skip("the collections of agent files are not beside this checkout")
	}
	for i, collection := range collections { // the folder that they are relative to changes
		if collections[i], err = filepath.Abs(collection); err != nil {
			t.Fatal(err)
		}
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%-18s %6s %6s %9s %8s\n", "collection", "files", "ok", "repaired", "refused")
	for _, collection := range collections {
		place, to := ".claude/agents", "claude"
		if filepath.Base(collection) == "copilot" {
			place, to = ".github/agents", "copilot"
		}
		dir := folderWith(t, nil)
		originals := filesIn(t, collection)
		if err := os.CopyFS(filepath.Join(dir, place), os.DirFS(collection)); err != nil {
			t.Fatal(err)
		}
		code, out, errs := command(t, dir, "import", "--json")
		var r importReport
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatalf("%v\n%s%s", err, out, errs)
		}
		if (code == 1) != (r.Refused > 0) || len(r.Files) != len(originals) {
			t.Errorf("%s: exit %d, %d of %d files, %d refused", collection, code, len(r.Files), len(originals), r.Refused)
		}
		fmt.Fprintf(&table, "%-18s %6d %6d %9d %8d\n", filepath.Base(collection), len(r.Files), r.OK, r.Repaired, r.Refused)
		for _, f := range r.Files {
			switch {
			case f.Status == "refused" && len(f.Reason) < 20:
				t.Errorf("%s is refused without a reason: %+v", f.File, f)
			case f.Status == "refused":
				delete(originals, filepath.Base(f.File))
				fmt.Fprintf(&table, "  refused: %s: %s\n", filepath.Base(f.File), f.Reason)
			}
			for _, reason := range f.Repaired {
				fmt.Fprintf(&table, "  repaired: %s: %s\n", filepath.Base(f.File), reason)
			}
		}
		if err := os.RemoveAll(filepath.Join(dir, place)); err != nil {
			t.Fatal(err)
		}
		if code, _, errs := command(t, dir, "export", "--all", "--to", to); code != 0 {
			t.Errorf("%s: exit %d\n%s", collection, code, errs)
		}
		if back := filesIn(t, filepath.Join(dir, place)); !maps.Equal(back, originals) {
			for name, text := range originals {
				if back[name] != text {
					t.Errorf("%s/%s does not return:\n%s", collection, name, back[name])
				}
			}
			t.Errorf("%d files return of %d", len(back), len(originals))
		}
	}
	t.Log("\n" + table.String())
}

const claudeAgent = "---\nname: reviewer\ndescription: Reviews.\ntools: Read, Grep, Telepathy\nmodel: opus\nvibe: calm # as it was\n---\nYou review.\n"

// TestImport: what is found, what is written, and what is said.
func TestImport(t *testing.T) {
	named := func(name string) string { return strings.Replace(claudeAgent, "reviewer", name, 1) }
	other := named("other")
	for _, c := range []struct {
		name  string
		files map[string]string
		args  []string
		code  int
		want  []string // in what is printed
		not   []string
		made  string // the new files, by name
	}{
		{
			"without a path", map[string]string{
				".claude/agents/reviewer.md": claudeAgent, ".claude/agents/deep/other.md": other, ".claude/agents/README.md": "# Ours\n", ".claude/agents/_off.md": other,
				".github/agents/helper.agent.md": "---\nname: Some Helper\ndescription: x\n---\nHelp.\n", ".opencode/agent/o.md": "---\ndescription: x\n---\nHelp.\n",
			}, nil, 0,
			[]string{
				".claude/agents (Claude Code)\n  ok        reviewer.md → .gemini/agents/reviewer.md\n", "\nIn several files (all of it with --verbose)\n  hint: ",
				"  hint: tools: The tool Telepathy is not known here; correct it, or remove it. It is left out. (other.md, reviewer.md)\n", "hint: vibe: The field vibe", "hint: model: The model opus is not available", ".claude/agents/deep (Claude Code)\n", ".github/agents (GitHub Copilot)\n", "some-helper.md", ".opencode/agent (opencode)\n",
				"4 files: 4 imported, 0 refused.\n", "This folder is not trusted",
			}, []string{"README", "_off", "already"}, "o.md other.md reviewer.md some-helper.md",
		},
		{"nothing there", nil, nil, 1, []string{"no agents of other tools in .claude/agents, .github/agents, .opencode/agent", "agentls import PATH", "--global"}, nil, ""},
		{
			"all of it", map[string]string{".claude/agents/reviewer.md": claudeAgent, ".claude/agents/other.md": other}, []string{"--verbose"}, 0,
			[]string{"→ .gemini/agents/reviewer.md\n            hint: tools: The tool Telepathy is", "→ .gemini/agents/other.md\n            hint: tools: The tool Telepathy is"}, []string{"In several"}, "other.md reviewer.md",
		},
		{
			"many lose the same", map[string]string{".claude/agents/a.md": named("a"), ".claude/agents/b.md": named("b"), ".claude/agents/c.md": named("c"), ".claude/agents/d.md": named("d")}, nil, 0,
			[]string{"\n  hint: vibe: The field vibe has no counterpart here and has no effect. (4 files)\n"}, []string{"            hint"}, "a.md b.md c.md d.md",
		},
		{
			"tools of which none is known", map[string]string{"r.md": strings.Replace(claudeAgent, "Read, Grep, ", "", 1)}, []string{"r.md"}, 0,
			[]string{"            warning: tools: None of these tools has a counterpart here", "            hint: tools: The tool Telepathy"}, nil, "reviewer.md",
		},
		{"nothing of that tool", map[string]string{".claude/agents/a.md": claudeAgent}, []string{"--from", "copilot"}, 1, []string{"in .github/agents\n"}, []string{".claude"}, ""},
		{"gemini-cli's own", nil, []string{"--from", "gemini-cli"}, 1, []string{"load from .gemini/agents as they are"}, nil, ""},
		{
			"one refused, the others not", map[string]string{"theirs/a.md": "no front-matter", "theirs/b.md": "---\nname: b\ndescription: x: y\n---\nx\n", "theirs/c.md": "---\nname: c\ntools: {a: [\n---\n"},
			[]string{"--from", "claude", "theirs"}, 1,
			[]string{"refused   a.md, line 1: ", "repaired  b.md → .gemini/agents/b.md\n            repaired: A text with a colon", "refused   c.md, line ", "3 files: 1 imported, 1 repaired, 2 refused.\n"}, nil, "b.md",
		},
		{"a file that is not there", nil, []string{"a.md", "b.md"}, 1, []string{"  refused   a.md: there is no such file\n  refused   b.md: there is no such file\n\n2 files: 0 imported, 2 refused."}, []string{"Run one", "/\n"}, ""},
		{"a folder without agents", map[string]string{"x/y.txt": ""}, []string{"x"}, 1, []string{"no agent files in x"}, nil, ""},
		{"another project", map[string]string{"p/.claude/agents/reviewer.md": claudeAgent, "p/NOTES.md": "x"}, []string{"p"}, 0, []string{"p/.claude/agents (Claude Code)\n", "1 file: 1 imported"}, nil, "reviewer.md"},
		{
			"ours is refused", map[string]string{"x/a.md": "---\nkind: agent\nname: a\n---\nx\n"}, []string{"x/a.md"}, 1,
			[]string{"refused   a.md looks like a file of our own format, which needs no import; copy it, or say whose format it is in: --from TOOL\n"}, nil, "",
		},
		{"a name that is there", map[string]string{"r.md": claudeAgent, ".gemini/agents/reviewer.md": "---\nkind: agent\nname: reviewer\n---\nMine.\n"}, []string{"r.md"}, 1,
			[]string{".gemini/agents/reviewer.md is there already; replace it with --force, or import this one under another name: --name NAME"}, nil, "reviewer.md"},
		{"a name that another file has", map[string]string{"r.md": claudeAgent, ".gemini/agents/mine.md": "---\nkind: agent\nname: reviewer\n---\nMine.\n"}, []string{"r.md", "--force"}, 1,
			[]string{"the name reviewer is taken by mine.md in .gemini/agents"}, nil, "mine.md"},
		{"another name", map[string]string{"r.md": claudeAgent, ".gemini/agents/mine.md": "---\nkind: agent\nname: reviewer\n---\nMine.\n"}, []string{"r.md", "--name", "second"}, 0,
			[]string{"→ .gemini/agents/second.md", "agentls run second"}, nil, "mine.md second.md"},
		{"a name that is reserved", map[string]string{"r.md": strings.Replace(claudeAgent, "reviewer", "main", 1)}, []string{"r.md"}, 1, []string{"The name main is reserved; choose another, or import it under another name: --name NAME\n"}, nil, ""},
		{"a bad name", map[string]string{"r.md": claudeAgent}, []string{"r.md", "--name", "No Name"}, 1, []string{"refused   r.md: ", "name"}, nil, ""},
		{"a name for two", map[string]string{"r.md": claudeAgent, "s.md": other}, []string{"r.md", "s.md", "--name", "x"}, 2, []string{"--name is for one file, and these are 2"}, nil, ""},
		{"two of one name", map[string]string{"a/r.md": claudeAgent, "b/r.md": claudeAgent + "More.\n"}, []string{"a", "b", "--force"}, 1,
			[]string{"refused   r.md: a/r.md has the name reviewer too; import one of them alone", "2 files: 1 imported, 1 refused"}, nil, "reviewer.md"},
		{"one file twice", map[string]string{"a/r.md": claudeAgent}, []string{"a", "a/r.md"}, 0, []string{"1 file: 1 imported"}, nil, "reviewer.md"},
		{"a dry run", map[string]string{"r.md": claudeAgent}, []string{"r.md", "--dry-run"}, 0, []string{"1 file: 1 would be imported, 0 refused."}, []string{"Run one"}, ""},
		{"a dry run where it is taken", map[string]string{"r.md": claudeAgent, ".gemini/agents/reviewer.md": "x"}, []string{"r.md", "--dry-run"}, 1, []string{"0 would be imported, 1 refused."}, nil, "reviewer.md"},
		{"too large", map[string]string{"r.md": claudeAgent + strings.Repeat("x", 300<<10)}, []string{"r.md"}, 1, []string{"256 KiB"}, nil, ""},
		{"escapes", map[string]string{"r\x1b[1m.md": "---\nname: r\ndescription: x\n\"v\\e[2mibe\": 1\n---\nx\n"}, []string{"r\x1b[1m.md", "--from", "claude"}, 0, nil, []string{"\x1b"}, "r.md"},
		{
			"a restriction", map[string]string{"r.md": strings.Replace(claudeAgent, "vibe:", "isolation: worktree\nvibe:", 1)}, []string{"r.md"}, 0,
			[]string{"warning: isolation: This restriction cannot be kept here", "1 file: 1 imported, 0 refused.\nNot to be run yet, for a restriction that cannot be kept here: 1."}, nil, "reviewer.md",
		},
		{"a wrong tool", nil, []string{"--from", "cursor"}, 2, []string{"invalid --from \"cursor\"\n  Use claude, copilot, opencode or gemini-cli"}, nil, ""},
		{"a wrong scope", nil, []string{"--scope", "system"}, 2, []string{`invalid --scope "system"`}, nil, ""},
		{"two scopes", nil, []string{"--scope", "project", "--global"}, 2, []string{"do not go together"}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folderWith(t, c.files)
			code, out, errs := command(t, dir, append([]string{"import"}, c.args...)...)
			if code != c.code {
				t.Errorf("exit %d\n%s%s", code, out, errs)
			}
			for _, want := range c.want {
				if !strings.Contains(out+errs, want) {
					t.Errorf("it does not say %q:\n%s%s", want, out, errs)
				}
			}
			for _, not := range c.not {
				if strings.Contains(out+errs, not) {
					t.Errorf("it says %q:\n%s%s", not, out, errs)
				}
			}
			if made := strings.Join(slices.Sorted(maps.Keys(filesIn(t, filepath.Join(dir, ".gemini", "agents")))), " "); made != c.made {
				t.Errorf("the folder has %q, want %q", made, c.made)
			}
			if old := c.files[".gemini/agents/reviewer.md"]; old != "" && filesIn(t, dir)[".gemini/agents/reviewer.md"] != old {
				t.Error("what was there was replaced")
			}
		})
	}
}

// TestImportAgain: the same import changes nothing, what a person edited is only
// replaced by force.
func TestImportAgain(t *testing.T) {
	dir := folderWith(t, map[string]string{".claude/agents/reviewer.md": claudeAgent})
	command(t, dir, "import")
	first := filesIn(t, dir)
	code, out, _ := command(t, dir, "import")
	if code != 0 || !strings.Contains(out, "unchanged reviewer.md → .gemini/agents/reviewer.md") || !strings.Contains(out, "1 file: 0 imported, 1 there already, 0 refused.\n") {
		t.Errorf("exit %d\n%s", code, out)
	}
	code, out, _ = command(t, dir, "import", "--dry-run")
	if code != 0 || !strings.Contains(out, "unchanged reviewer.md → .gemini/agents/reviewer.md") || !strings.Contains(out, "1 file: 0 would be imported, 1 there already, 0 refused.\n") {
		t.Errorf("a dry run: exit %d\n%s", code, out)
	}
	var r importReport
	if _, out, _ = command(t, dir, "import", "--dry-run", "--json"); json.Unmarshal([]byte(out), &r) != nil || len(r.Files) != 1 || !r.Files[0].There || r.Files[0].Written {
		t.Errorf("a dry run for programs:\n%s", out)
	}
	path := filepath.Join(dir, ".gemini", "agents", "reviewer.md")
	if err := os.WriteFile(path, []byte(first[".gemini/agents/reviewer.md"]+"Mine.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, _ := command(t, dir, "import"); code != 1 || !strings.HasSuffix(filesIn(t, dir)[".gemini/agents/reviewer.md"], "Mine.\n") {
		t.Errorf("exit %d, or an edit is lost", code)
	}
	if code, _, _ := command(t, dir, "import", "--force"); code != 0 || !maps.Equal(filesIn(t, dir), first) {
		t.Errorf("by force: exit %d", code)
	}
}

// TestImportGlobal: the person's own places are read, and their own folder written.
func TestImportGlobal(t *testing.T) {
	dir := folderWith(t, map[string]string{
		"~/.claude/agents/reviewer.md": claudeAgent, "~/.config/opencode/agent/deep/o.md": "---\ndescription: x\ntools: {write: false}\n---\nHelp.\n",
		"~/.copilot/agents/c.agent.md": "---\nname: c\ndescription: x\n---\nHelp.\n", ".claude/agents/not.md": claudeAgent,
	})
	code, out, errs := command(t, dir, "import", "--global", "--json")
	var r importReport
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || r.Scope != "global" || r.OK != 3 || r.Files[0].Losses == nil {
		t.Fatalf("exit %d: %v %+v\n%s%s", code, err, r, out, errs)
	}
	var from []string
	for _, f := range r.Files {
		from = append(from, string(f.From)+" "+f.Name)
	}
	if got := strings.Join(from, ", "); got != "claude reviewer, copilot c, opencode o" {
		t.Error(got)
	}
	made := filesIn(t, filepath.Join(os.Getenv("GEMINI_HOME"), "agents"))
	if got := strings.Join(slices.Sorted(maps.Keys(made)), " "); got != "c.md o.md reviewer.md" || len(filesIn(t, filepath.Join(dir, ".gemini"))) > 0 {
		t.Errorf("made %s", got)
	}
}

// TestImportIsNotApproved: in a trusted folder an imported agent waits for the
// person, and that is said.
func TestImportIsNotApproved(t *testing.T) {
	dir := folderWith(t, map[string]string{".claude/agents/reviewer.md": claudeAgent})
	command(t, dir, "trust")
	code, out, _ := command(t, dir, "import")
	if code != 0 || !strings.Contains(out, "need your review before they run: agentls trust\n") {
		t.Errorf("exit %d\n%s", code, out)
	}
	_, out, _ = command(t, dir, "list", "--json")
	var list struct {
		Agents []struct{ Name, State string }
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	for _, a := range list.Agents {
		if a.Name == "reviewer" && a.State != "review" {
			t.Errorf("it is %s", a.State)
		}
	}
}

// noLink fails a test that could not make a symbolic link, but on Windows, where
// not everybody may.
func noLink(t *testing.T, err error) {
	t.Helper()
	if runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	t.Skip("links are not for everybody here: ", err)
}

// TestImportStaysInTheFolder: a link does not lead an import out.
func TestImportStaysInTheFolder(t *testing.T) {
	dir, outside := folderWith(t, map[string]string{"r.md": claudeAgent}), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, ".gemini")); err != nil {
		noLink(t, err)
	}
	code, out, errs := command(t, dir, "import", "r.md")
	if code != 1 || len(filesIn(t, outside)) > 0 {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

// TestImportFollowsTheFolder: another tool's folder may be a link.
func TestImportFollowsTheFolder(t *testing.T) {
	dir := folderWith(t, map[string]string{"shared/reviewer.md": claudeAgent, ".claude/x": ""})
	if err := os.Symlink(filepath.Join(dir, "shared"), filepath.Join(dir, ".claude", "agents")); err != nil {
		noLink(t, err)
	}
	if code, out, errs := command(t, dir, "import"); code != 0 || !strings.Contains(out, ".claude/agents (Claude Code)\n  ok        reviewer.md") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

// TestImportFollowsNoFileOut: a link among a project's agents that leads out of it
// is taken only by a person who names it.
func TestImportFollowsNoFileOut(t *testing.T) {
	dir := folderWith(t, map[string]string{"near.md": strings.Replace(claudeAgent, "name: reviewer", "name: near", 1), ".claude/agents/x": "", "~/far.md": claudeAgent})
	for link, to := range map[string]string{"near.md": "../../near.md", "far.md": filepath.Join(os.Getenv("HOME"), "far.md")} {
		if err := os.Symlink(to, filepath.Join(dir, ".claude", "agents", link)); err != nil {
			noLink(t, err)
		}
	}
	code, out, errs := command(t, dir, "import")
	if files := filesIn(t, dir); code != exitFailed || !strings.Contains(out, "it is a link that leads out of its folder") || files[".gemini/agents/reviewer.md"] != "" || files[".gemini/agents/near.md"] == "" {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if code, out, errs := command(t, dir, "import", ".claude/agents"); code != exitFailed || filesIn(t, dir)[".gemini/agents/reviewer.md"] != "" {
		t.Errorf("its folder is named: exit %d\n%s%s", code, out, errs)
	}
	if code, out, errs := command(t, dir, "import", ".claude/agents/far.md"); code != 0 || filesIn(t, dir)[".gemini/agents/reviewer.md"] == "" {
		t.Errorf("named: exit %d\n%s%s", code, out, errs)
	}
}

// TestImportNamesALinkBesideItsFolder: a link that leads out is taken where the
// person names it, in whatever order they name its folder too.
func TestImportNamesALinkBesideItsFolder(t *testing.T) {
	for _, args := range [][]string{{".claude/agents", ".claude/agents/far.md"}, {".claude/agents/far.md", ".claude/agents"}} {
		dir := folderWith(t, map[string]string{".claude/agents/near.md": strings.Replace(claudeAgent, "name: reviewer", "name: near", 1), "~/far.md": claudeAgent})
		if err := os.Symlink(filepath.Join(os.Getenv("HOME"), "far.md"), filepath.Join(dir, ".claude", "agents", "far.md")); err != nil {
			noLink(t, err)
		}
		code, out, errs := command(t, dir, append([]string{"import"}, args...)...)
		made := strings.Join(slices.Sorted(maps.Keys(filesIn(t, filepath.Join(dir, ".gemini", "agents")))), " ")
		if code != 0 || made != "near.md reviewer.md" || !strings.Contains(out, "2 files: 2 imported") {
			t.Errorf("%q: exit %d, made %s\n%s%s", args, code, made, out, errs)
		}
	}
}

// TestImportFollowsThePersonsLinks: what lies behind links in the person's own
// places is theirs, whether they name the place, a folder in it, or none. A
// project that has a place of the same name is none of theirs.
func TestImportFollowsThePersonsLinks(t *testing.T) {
	for name, c := range map[string]struct {
		link string // in the home, or in the folder
		arg  string
		code int
	}{
		"no path":                  {"~/.claude/agents/rev.md", "", 0},
		"the place":                {"~/.claude/agents/rev.md", "~/.claude/agents", 0},
		"a folder in it":           {"~/.config/opencode/agent/deep/rev.md", "~/.config/opencode/agent/deep", 0},
		"control: in a project":    {".claude/agents/rev.md", ".claude/agents", exitFailed},
		"control: beside":          {"~/.claude/agents2/rev.md", "~/.claude/agents2", exitFailed},
		"control: project in home": {"~/p/.claude/agents/rev.md", "~/p/.claude/agents", exitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folderWith(t, map[string]string{"~/dot/rev.md": claudeAgent})
			home := os.Getenv("HOME")
			path := func(name string) string {
				if rest, ok := strings.CutPrefix(name, "~/"); ok {
					return filepath.Join(home, rest)
				}
				return filepath.Join(dir, name)
			}
			if err := os.MkdirAll(filepath.Dir(path(c.link)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(home, "dot", "rev.md"), path(c.link)); err != nil {
				noLink(t, err)
			}
			args := []string{"import", "--global"}
			if c.arg != "" {
				args = append(args, path(c.arg))
			}
			code, out, errs := command(t, dir, args...)
			if _, err := os.Stat(filepath.Join(home, ".gemini", "agents", "reviewer.md")); code != c.code || (err == nil) != (code == 0) || (code != 0 && !strings.Contains(out, "a link that leads out")) {
				t.Errorf("exit %d, %v\n%s%s", code, err, out, errs)
			}
		})
	}
}

// TestImportKnowsModels: a model that the person's table has is kept.
func TestImportKnowsModels(t *testing.T) {
	dir := folderWith(t, map[string]string{
		"r.md": claudeAgent, "~/.gemini/settings.json": `{"model": {"table": [{"id": "gemini-best", "aliases": ["opus"]}]}}`,
	})
	code, out, errs := command(t, dir, "import", "r.md")
	if code != 0 || strings.Contains(out, "hint: model") || !strings.Contains(filesIn(t, dir)[".gemini/agents/reviewer.md"], "\nmodel: opus\n") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

// TestImportUnderAnotherName says nothing of the name that the agent would have had.
func TestImportUnderAnotherName(t *testing.T) {
	dir := folderWith(t, map[string]string{"cr.md": strings.Replace(claudeAgent, "name: reviewer", "name: Code Reviewer", 1)})
	const hint = "is read as code-reviewer"
	if code, out, errs := command(t, dir, "import", "--from", "claude", "--dry-run", "cr.md"); code != 0 || !strings.Contains(out, hint) {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	for _, flag := range []string{"--dry-run", "--json"} {
		if code, out, errs := command(t, dir, "import", "--from", "claude", "--name", "rev2", flag, "cr.md"); code != 0 || strings.Contains(out, hint) || !strings.Contains(out, "rev2.md") {
			t.Errorf("%s: exit %d\n%s%s", flag, code, out, errs)
		}
	}
}
