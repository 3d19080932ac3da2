package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCreateAsks: a line each; an answer that will not do is said at once, and asked
// for again.
func TestCreateAsks(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	dir := t.TempDir()
	code, shown := perform(t, dir, func(types func(string) func()) []act {
		return []act{
			{"Name, ", types("Bad Name\n")}, {"cannot be an agent's", func() {}}, {"Name, ", types("fixer\n")},
			{"Template (", types("nothing\n")}, {"there is no template nothing", func() {}}, {"Template (", types("\n")},
			{"Description, ", types("Mends: code.\n")}, {"Tools: ", types("read_fil\n")}, {"Did you mean read_file?", func() {}}, {"Tools: ", types("read\n")},
			{"Instructions, ", types("You mend.\n")},
		}
	}, "create")
	text, err := os.ReadFile(filepath.Join(dir, ".gemini", "agents", "fixer.md"))
	const want = "---\nkind: agent\nname: fixer\ntitle: Fixer\ndescription: \"Mends: code.\"\nmodel: inherit\ntools:\n  allow: [read_file, glob, grep, ls]\n---\nYou mend.\n"
	if code != 0 || err != nil || string(text) != want {
		t.Errorf("exit %d, %v\n%s\n%s", code, err, text, shown)
	}
	has(t, shown, "Created .gemini/agents/fixer.md", "agentls run fixer")
}

// TestCreateAsksForTheRest alone: what flags say is not asked, and what Enter leaves is
// the template's.
func TestCreateAsksForTheRest(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	for name, c := range map[string]struct {
		args []string
		acts func(types func(string) func()) []act
		has  []string
	}{
		"a template": {
			[]string{"--template", "debugging"},
			func(types func(string) func()) []act {
				return []act{{"Name, ", types("a1\n")}, {"Description, ", types("\n")}, {"Tools: ", types("all\n")}}
			},
			[]string{"name: a1\n", "triggers:"},
		},
		"extended": {
			[]string{"a1", "--extended", "--tools", "ls"},
			func(types func(string) func()) []act {
				return []act{
					{"Template (", types("debugging\n")}, {"Description, ", types("\n")}, {"Title, ", types("One\n")}, {"Model, ", types("flash\n")}, {"Scope: ", types("nowhere\n")},
					{"Scope: ", types("project\n")}, {"Keywords ", types("bug, crash，崩溃\n")}, {"Agents that ", types("user\n")},
				}
			},
			[]string{"title: One\n", "model: flash\n", "allow: [ls]", "keywords: [bug, crash, \"崩溃\"]", "handoffs:\n  - to: user\n    when: auto\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			code, shown := perform(t, dir, c.acts, append([]string{"create"}, c.args...)...)
			text, err := os.ReadFile(filepath.Join(dir, ".gemini", "agents", "a1.md"))
			if code != 0 || err != nil || strings.Contains(shown, "Instructions") {
				t.Fatalf("exit %d, %v\n%s", code, err, shown)
			}
			has(t, string(text), c.has...)
			if all := strings.Contains(string(text), "tools:"); all == (name == "a template") {
				t.Errorf("the tools are\n%s", text)
			}
		})
	}
}

// TestCreateLeft: of a person who leaves nothing is written.
func TestCreateLeft(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	for name, leave := range map[string]func(types func(string) func()) func(){
		"the input ends": func(types func(string) func()) func() { return types("\x04") }, "Ctrl-C": func(func(string) func()) func() { return interrupt },
	} {
		dir := t.TempDir()
		code, shown := perform(t, dir, func(types func(string) func()) []act {
			return []act{{"Name, ", types("fixer\n")}, {"Description, ", leave(types)}}
		}, "create", "--template", "debug")
		if _, err := os.Stat(filepath.Join(dir, ".gemini")); code != exitInterrupted || err == nil {
			t.Errorf("%s: exit %d\n%s", name, code, shown)
		}
		has(t, shown, "Nothing was written.")
	}
}

// TestCreateRefusesBeforeItAsks what flags say: no answer is typed in vain.
func TestCreateRefusesBeforeItAsks(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	for flag, want := range map[string]string{"--tools=bsh": "did you mean bash?", "--mcp=github": "github", "--template=nothing": "there is no template nothing"} {
		code, shown := perform(t, t.TempDir(), func(func(string) func()) []act { return nil }, "create", flag)
		if code != exitFailed || !strings.Contains(strings.ToLower(shown), want) || strings.Contains(shown, "Name, ") {
			t.Errorf("%s: exit %d\n%s", flag, code, shown)
		}
	}
}

// TestEdit: the file is checked when the editor ends; what was approved stays so,
// and what was not does not become it.
func TestEdit(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	dir := writer(t)
	unedited(t)
	if code, _, errs := command(t, dir, "edit", "writer"); code != exitFailed || !strings.Contains(errs, "Set VISUAL or EDITOR") {
		t.Errorf("no editor: exit %d\n%s", code, errs)
	}
	useEditor(t, `echo More. >> "$1"`)
	t.Setenv("VISUAL", os.Getenv("VISUAL")+" ") // an editor may have arguments
	listed := func(state string) {
		t.Helper()
		if _, out, _ := command(t, dir, "list", "--json"); !strings.Contains(out, `"state": "`+state+`"`) {
			t.Errorf("the agent is not %s:\n%s", state, out)
		}
	}
	if code, out, errs := command(t, dir, "edit", "writer"); code != 0 || !strings.HasSuffix(out, "Validation: 6/6 passed\n") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	listed("untrusted")
	if code, _, errs := command(t, dir, "trust"); code != 0 {
		t.Fatal(errs)
	}
	if code, out, errs := command(t, dir, "edit", "writer"); code != 0 {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	listed("ok")
	path := filepath.Join(dir, ".gemini", "agents", "writer.md")
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), "More.") != 2 {
		t.Errorf("%v\n%s", err, text)
	}
	put(t, path, string(text)+"Not the person's.\n")
	if code, out, errs := command(t, dir, "edit", "writer"); code != 0 {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	listed("review")
	useEditor(t, `sed -i 's/ls,/lss,/' "$1"`)
	if code, out, _ := command(t, dir, "edit", "writer"); code != exitFailed || !strings.Contains(out, "✗ tools available") {
		t.Errorf("exit %d\n%s", code, out)
	}
	useEditor(t, "exit 3")
	if code, _, errs := command(t, dir, "edit", "writer"); code != exitFailed || !strings.Contains(errs, "did not end well (exit status 3)") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if code, _, errs := command(t, dir, "edit", "main"); code != exitFailed || !strings.Contains(errs, "main is built in and has no file to edit") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	// On a terminal it asks whether to go on.
	useEditor(t, `if grep -q lss "$1"; then sed -i 's/lss,/ls,/' "$1"; else sed -i 's/ls,/lss,/' "$1"; fi`)
	put(t, path, strings.ReplaceAll(string(text), "lss", "ls"))
	code, shown := perform(t, dir, func(types func(string) func()) []act {
		return []act{{"Edit it again? [Y/n] ", types("\n")}}
	}, "edit", "writer")
	if code != 0 || strings.Count(shown, "Validation:") != 2 {
		t.Errorf("exit %d\n%s", code, shown)
	}
}

// TestDeleteAsks, and only a yes is one.
func TestDeleteAsks(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	dir := writer(t)
	path := filepath.Join(dir, ".gemini", "agents", "writer.md")
	for _, typed := range []string{"\n", "n\n", "what\n", "\x04", "y\n"} {
		code, shown := perform(t, dir, func(types func(string) func()) []act {
			return []act{{"Delete .gemini/agents/writer.md, and what writer remembers? [y/N] ", types(typed)}}
		}, "delete", "writer")
		_, err := os.Stat(path)
		if gone := err != nil; code != 0 || gone != (typed == "y\n") {
			t.Errorf("%q: exit %d, %v\n%s", typed, code, err, shown)
		}
	}
}
