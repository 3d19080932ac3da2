package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSEC09EditApprovesOnlyThePersonsText: what another program makes of the file
// while the editor is open is neither approved nor replaced, and what the person
// wrote meanwhile is kept for them.
func TestSEC09EditApprovesOnlyThePersonsText(t *testing.T) {
	for name, c := range map[string]struct {
		editor  string
		code    int
		said    string
		state   string
		content string // at the end of the file
	}{
		"they look":  {`printf 'Evil.\n' >> "$REAL"`, 0, "Nothing was changed.", "review", "You write.\nEvil.\n"},
		"they write": {`printf 'Evil.\n' >> "$REAL"; printf 'Mine.\n' >> "$1"`, exitFailed, "writer.md was changed by another program while you edited it\n  Your text is not lost: it is in ", "review", "You write.\nEvil.\n"},
		"it is gone": {`rm "$REAL"; printf 'Mine.\n' >> "$1"`, exitFailed, "Your text is not lost: it is in ", "", ""},
		"a link takes its place": {
			`mv "$REAL" "$REAL.old"; ln -s writer.md.old "$REAL"; printf 'Mine.\n' >> "$1"`, exitFailed, "is a symbolic link", "", "",
		},
		"the editor fails":          {`printf 'Mine.\n' >> "$1"; exit 1`, exitFailed, "did not end well (exit status 1)\n  Your text is not lost: it is in ", "ok", "You write.\n"},
		"control: nobody else does": {`printf 'Mine.\n' >> "$1"`, 0, "", "ok", "You write.\nMine.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
			t.Setenv("TMPDIR", t.TempDir())
			dir := writer(t)
			unedited(t)
			path := filepath.Join(dir, ".gemini", "agents", "writer.md")
			t.Setenv("REAL", path)
			if code, _, errs := command(t, dir, "trust"); code != 0 {
				t.Fatal(errs)
			}
			useEditor(t, c.editor)
			code, out, errs := command(t, dir, "edit", "writer")
			if code != c.code || !strings.Contains(errs, c.said) {
				t.Errorf("exit %d\n%s%s", code, out, errs)
			}
			if kept := regexp.MustCompile(`it is in (\S+)`).FindStringSubmatch(errs); code != 0 {
				if kept == nil {
					t.Fatalf("it does not say where the text is: %s", errs)
				}
				text, err := os.ReadFile(kept[1])
				if info, _ := os.Stat(kept[1]); err != nil || !strings.HasSuffix(string(text), "You write.\nMine.\n") || info.Mode().Perm() != 0o600 {
					t.Errorf("%v\n%s", err, text)
				}
			}
			if c.state == "" {
				if text, err := os.ReadFile(path + ".old"); err == nil && strings.Contains(string(text), "Mine.") {
					t.Errorf("it is written through the link: %s", text)
				}
				return
			}
			if text, err := os.ReadFile(path); err != nil || !strings.HasSuffix(string(text), c.content) {
				t.Errorf("%v\n%s", err, text)
			}
			if _, out, _ := command(t, dir, "list", "--json"); !strings.Contains(out, `"state": "`+c.state+`"`) {
				t.Errorf("the agent is not %s:\n%s", c.state, out)
			}
			if left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "agentls-edit-*")); len(left) > 0 {
				t.Errorf("copies are left: %q", left)
			}
		})
	}
}

// TestEditSaysWhatIsWrong with the editor, and that a review goes on.
func TestEditSaysWhatIsWrong(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	dir := writer(t)
	unedited(t)
	for editor, want := range map[string]string{
		"nonexist": "nothing was changed: there is no editor nonexist\n  Set VISUAL or EDITOR to a program that is there",
		"/nowhere": "nothing was changed: there is no editor /nowhere",
		"false":    "nothing was changed: the editor false did not end well (exit status 1)",
		"rm":       "the editor rm left no file, so nothing was changed",
	} {
		t.Setenv("EDITOR", editor)
		if code, _, errs := command(t, dir, "edit", "writer"); code != exitFailed || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d\n%s", editor, code, errs)
		}
	}
	if code, _, errs := command(t, dir, "trust"); code != 0 {
		t.Fatal(errs)
	}
	path := filepath.Join(dir, ".gemini", "agents", "writer.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, string(text)+"Not the person's.\n")
	useEditor(t, `printf 'Mine.\n' >> "$1"`)
	if code, _, errs := command(t, dir, "edit", "writer"); code != 0 || !strings.Contains(errs, "It waits for a review") {
		t.Errorf("exit %d\n%s", code, errs)
	}
}

// TestEditSaysWhatWaits for a review, and only that: whatever the state of the
// file was before, it says of what list shows after.
func TestEditSaysWhatWaits(t *testing.T) {
	const waits = "It waits for a review"
	for name, c := range map[string]struct {
		before, after string // what another program writes, and the person makes of it
		state         string
	}{
		"invalid, mended":         {"title: [\n", "title: Mine\n", "review"},
		"invalid, and stays so":   {"title: [\n", "title: [Mine\n", "invalid"},
		"invalid, as it was":      {"title: [\n", "title: The Writer\n", "ok"},
		"changed, as it was":      {"title: Theirs\n", "title: The Writer\n", "ok"},
		"changed":                 {"title: Theirs\n", "title: Mine\n", "review"},
		"control: nobody changed": {"title: The Writer\n", "title: Mine\n", "ok"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
			dir := writer(t)
			unedited(t)
			if code, _, errs := command(t, dir, "trust"); code != 0 {
				t.Fatal(errs)
			}
			path := filepath.Join(dir, ".gemini", "agents", "writer.md")
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			put(t, path, strings.Replace(string(text), "title: The Writer\n", c.before, 1))
			useEditor(t, `sed -i 's/^title: .*/`+strings.TrimSpace(c.after)+`/' "$1"`)
			code, out, errs := command(t, dir, "edit", "writer")
			if (code == 0) != (c.state != "invalid") || strings.Contains(errs, waits) != (c.state == "review") {
				t.Errorf("exit %d\n%s%s", code, out, errs)
			}
			if _, out, _ := command(t, dir, "list", "--json"); !strings.Contains(out, `"state": "`+c.state+`"`) {
				t.Errorf("the agent is not %s:\n%s", c.state, out)
			}
		})
	}
	// What the person broke, and mends, is approved.
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	dir := writer(t)
	if code, _, errs := command(t, dir, "trust"); code != 0 {
		t.Fatal(errs)
	}
	for _, title := range []string{"[", "Mine"} {
		useEditor(t, `sed -i 's/^title: .*/title: `+title+`/' "$1"`)
		if _, out, errs := command(t, dir, "edit", "writer"); strings.Contains(errs, waits) {
			t.Errorf("%s\n%s%s", title, out, errs)
		}
	}
	if _, out, _ := command(t, dir, "list", "--json"); !strings.Contains(out, `"state": "ok"`) {
		t.Errorf("the agent is not ok:\n%s", out)
	}
}

// TestFileOfABuiltInName: a file that took the name of a built-in agent is invalid,
// and what is done to files is done to it: it is looked at, mended and deleted.
func TestFileOfABuiltInName(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	dir := writer(t)
	path := filepath.Join(dir, ".gemini", "agents", "writer.md")
	useEditor(t, `sed -i 's/^name: .*/name: main/' "$1"`)
	if code, out, errs := command(t, dir, "edit", "writer"); code != exitFailed || !strings.Contains(out, "The name main is reserved") {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	if code, out, errs := command(t, dir, "validate", "main"); code != exitFailed || !strings.Contains(out, "✗ required fields present: line 3: The name main is reserved") {
		t.Errorf("validate: exit %d\n%s%s", code, out, errs)
	}
	if code, out, errs := command(t, dir, "edit", "main", "--scope", "global"); code != exitFailed || !strings.Contains(errs, "there is no global agent main") {
		t.Errorf("edit of another scope: exit %d\n%s%s", code, out, errs)
	}
	useEditor(t, `sed -i 's/^name: .*/name: writer/' "$1"`)
	if code, out, errs := command(t, dir, "edit", "main"); code != 0 || !strings.HasSuffix(out, "Validation: 6/6 passed\n") {
		t.Errorf("edit: exit %d\n%s%s", code, out, errs)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, strings.Replace(string(text), "name: writer", "name: main", 1))
	if code, out, errs := command(t, dir, "delete", "main", "--yes"); code != 0 || out != filepath.Join(".gemini", "agents", "writer.md")+" is deleted.\n" {
		t.Errorf("delete: exit %d\n%s%s", code, out, errs)
	}
	// Without such a file the name is the built-in's.
	for _, args := range [][]string{{"edit", "main"}, {"validate", "main"}, {"delete", "main", "--yes"}} {
		if code, _, errs := command(t, dir, args...); code != exitFailed || !strings.Contains(errs, "main is built in and ") {
			t.Errorf("%v: exit %d\n%s", args, code, errs)
		}
	}
}

// TestDeleteTellsWhoNamesIt, and without a terminal what is wrong with the name
// before what is missing.
func TestDeleteTellsWhoNamesIt(t *testing.T) {
	lead := "---\nkind: agent\nname: lead\ntitle: Lead\nhandoffs: [{to: fixer}]\n---\nYou lead.\n"
	dir := folderWith(t, map[string]string{".gemini/agents/fixer.md": ourAgent, ".gemini/agents/lead.md": lead})
	if code, _, errs := command(t, dir, "delete", "nope"); code != exitFailed || !strings.Contains(errs, "nope") || strings.Contains(errs, "--yes") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if code, _, errs := command(t, dir, "delete", "fixer"); code != exitUsage || !strings.Contains(errs, "agentls delete fixer --yes") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if code, out, errs := command(t, dir, "delete", "fixer", "--yes"); code != 0 || !strings.Contains(out, "fixer.md is deleted") || !strings.Contains(errs, "fixer is still handed over to by lead: ") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if code, _, errs := command(t, dir, "delete", "lead", "--yes"); code != 0 || errs != "" {
		t.Errorf("exit %d\n%s", code, errs)
	}
}

// TestCreateByForce says what it did, and how to say it here.
func TestCreateByForce(t *testing.T) {
	dir := folderWith(t, nil)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"create", "one", "--prompt", "You help.", "--force"}, 0, "Created .gemini/agents/one.md"},
		{[]string{"create", "one", "--prompt", "You help."}, exitFailed, "or replace it with --force"},
		{[]string{"create", "one", "--prompt", "You help.", "--force"}, 0, "Replaced .gemini/agents/one.md"},
		{[]string{"create", "Q", "--prompt", "You help."}, exitFailed, `the agent's name is "Q", which cannot be an agent's: `},
	} {
		if code, out, errs := command(t, dir, c.args...); code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%q: exit %d\n%s%s", c.args, code, out, errs)
		}
	}
}
