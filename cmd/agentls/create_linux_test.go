package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCreateAsks: on a terminal the questions come in the order of spec 1.6; a
// name and a model that will not do are told at once.
func TestCreateAsks(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	t.Setenv("GEMINI_HOME", home)
	t.Setenv("TERM", "xterm")
	put(t, filepath.Join(home, "settings.json"), `{"mcpServers": {"github": {"command": "x"}}}`)
	dir := t.TempDir()
	code, shown := fillIn(t, dir, func(types func(string) func(), _ func()) []act {
		return []act{
			{at + "Name", types("Bad Name\r")}, {"cannot be an agent's", types("\x15fixer\r")}, {at + "Title", types("\r")}, {at + "Description", types("Mends: code.\r")},
			{"inherit (now gemini-", func() {}}, {at + "Model", types("flsh\r")}, {"is not known", types("\x15flash\r")}, {at + "Scope", types("\r")},
			{at + "Tools", types("x\r")}, {at + "MCP servers", types("x\r")}, {at + "System prompt", types("You mend.\r")},
		}
	}, "create")
	if code != 0 {
		t.Errorf("exit %d\n%s", code, shown)
	}
	text, err := os.ReadFile(filepath.Join(dir, ".gemini", "agents", "fixer.md"))
	const want = "---\nkind: agent\nname: fixer\ntitle: Fixer\ndescription: \"Mends: code.\"\nmodel: flash\ntools:\n" +
		"  allow: [ask_user, glob, grep, ls, read_file]\nmcp:\n  servers: [github]\n---\nYou mend.\n"
	if err != nil || string(text) != want {
		t.Errorf("%v\n%s", err, text)
	}
	has(t, shown, "Created .gemini/agents/fixer.md", "agentls run fixer")
}

// TestCreateLeft: a person who leaves has made nothing.
func TestCreateLeft(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	t.Setenv("TERM", "xterm")
	dir := t.TempDir()
	code, shown := fillIn(t, dir, func(types func(string) func(), _ func()) []act {
		return []act{{at + "Name", types("fixer\r")}, {at + "Title", types("\x03")}}
	}, "create", "--template", "debug")
	if _, err := os.Stat(filepath.Join(dir, ".gemini")); code != exitInterrupted || err == nil {
		t.Errorf("exit %d\n%s", code, shown)
	}
	has(t, shown, "Nothing was written.")
}

// TestCreateIsEnded: a signal ends a form, and leaves nothing behind.
func TestCreateIsEnded(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	t.Setenv("TERM", "xterm")
	dir := t.TempDir()
	code, shown := fillIn(t, dir, func(_ func(string) func(), ends func()) []act {
		return []act{{at + "Name", ends}}
	}, "create", "--template", "debug")
	if _, err := os.Stat(filepath.Join(dir, ".gemini")); code != exitInterrupted || err == nil {
		t.Errorf("exit %d\n%s", code, shown)
	}
}

// TestCreateExtended asks for the rest too, and keeps what the template has of
// what was left empty.
func TestCreateExtended(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	t.Setenv("TERM", "xterm")
	dir := t.TempDir()
	code, shown := fillIn(t, dir, func(types func(string) func(), _ func()) []act {
		return []act{
			{at + "Name", types("\r")}, {at + "Title", types("\r")}, {at + "Description", types("\r")}, {at + "Model", types("\r")}, {at + "Scope", types("\r")}, {at + "Tools", types("\r")},
			{at + "Trigger keywords", types("bug, crash，崩溃\r")}, {at + "Trigger examples", types("\r")}, {at + "Handoffs", types("x\r")}, {at + "Guardrail", types("no\r")},
			{"no JSON object", types("\x15{\"type\": \"object\"}\r")}, {at + "When the result", types("\r")}, {at + "Memory", types("j\r")}, {at + "Graph", types("\r")}, {at + "Trace", types("y")},
		}
	}, "create", "finder", "--template", "debug", "--extended")
	if code != 0 {
		t.Errorf("exit %d\n%q", code, shown)
	}
	text, err := os.ReadFile(filepath.Join(dir, ".gemini", "agents", "finder.md"))
	if err != nil {
		t.Fatal(err)
	}
	has(t, string(text), "keywords: [bug, crash, \"崩溃\"]", "  examples:\n", "handoffs:\n  - to: user\n    when: auto\n", "output_schema:\n    type: object\n  on_failure: reject\n",
		"memory:\n  enabled: true\n  type: key_value\n  backend: local\n", "tracing:\n  enabled: true\n")
}

// TestCreateOnADumbTerminal asks nothing: there is nothing to show a form on.
func TestCreateOnADumbTerminal(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	t.Setenv("TERM", "dumb")
	code, shown := perform(t, t.TempDir(), func(func(string) func()) []act { return nil }, "create")
	if code != exitUsage {
		t.Errorf("exit %d\n%s", code, shown)
	}
	has(t, shown, "there is no terminal to ask on")
}

// TestEdit: the file is checked when the editor ends; what was approved stays so,
// and what was not does not become it.
func TestEdit(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	dir := writer(t)
	unedited(t)
	if code, _, errs := command(t, dir, "edit", "writer"); code != exitFailed || !strings.Contains(errs, "set VISUAL or EDITOR") {
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
	if code, _, errs := command(t, dir, "edit", "writer"); code != exitFailed || !strings.Contains(errs, "did not end well (exit status 3), so nothing was changed") {
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
