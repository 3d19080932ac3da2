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
		"  allow: [ask_user, glob, grep, ls, read_file, \"mcp.github.*\"]\nmcp:\n  servers: [github]\n---\nYou mend.\n"
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

// TestCreateExtended asks for the rest too, and all of it has an effect.
func TestCreateExtended(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	t.Setenv("TERM", "xterm")
	dir := t.TempDir()
	code, shown := fillIn(t, dir, func(types func(string) func(), _ func()) []act {
		return []act{
			{at + "Name", types("\r")}, {at + "Title", types("\r")}, {at + "Description", types("\r")}, {at + "Model", types("\r")}, {at + "Scope", types("\r")}, {at + "Tools", types("\r")},
			{at + "Trigger keywords", types("\x15bug, crash，崩溃\r")}, {at + "Trigger examples", types("\r")}, {at + "Handoffs", types("x\r")}, {at + "Guardrail", types("no\r")},
			{"no JSON object", types("\x15{\"type\": 5}\r")}, {"output_schema", types("\x15{\"type\": \"object\"}\r")}, {at + "When the result", types("\r")}, {at + "Memory", types("j\r")}, {at + "Graph", types("\r")}, {at + "Trace", types("y")},
		}
	}, "create", "finder", "--template", "debug", "--extended")
	if code != 0 {
		t.Errorf("exit %d\n%q", code, shown)
	}
	if strings.Contains(strings.ToLower(shown), "no effect") {
		t.Errorf("something has no effect:\n%q", shown)
	}
	text, err := os.ReadFile(filepath.Join(dir, ".gemini", "agents", "finder.md"))
	if err != nil {
		t.Fatal(err)
	}
	has(t, string(text), "keywords: [bug, crash, \"崩溃\"]", "handoffs:\n  - to: user\n    when: auto\n", "output_schema:\n    type: object\n  on_failure: reject\n",
		"memory:\n  enabled: true\n  type: key_value\n  backend: local\n", "tracing:\n  enabled: true\n")
}

// TestCreateExtendedOfATemplate: its triggers are there to be changed; what is left
// is left in the file as it is written, and what is emptied goes.
func TestCreateExtendedOfATemplate(t *testing.T) {
	const triggers = "triggers:\n  keywords: ['one', 'two words']\n  patterns: ['x+']\n  examples:\n    - 'First, of all.'\n"
	const few = "triggers:\n  keywords: [one, 'two words']\n  examples: ['First, of all.']\n"
	for name, c := range map[string]struct {
		keywords, examples string // typed
		has, not           []string
	}{
		"left":         {"\r", "\r", []string{triggers}, nil},
		"none left":    {"\x15\r", "\x15\r", nil, []string{"triggers"}},
		"emptied":      {"\x15\r", "\x15\r", []string{"patterns: "}, []string{"keywords", "examples"}},
		"one word":     {", three\r", "\r", []string{"keywords: [one, two words, three]", "First, of all.", "patterns: "}, nil},
		"one example":  {"\r", "\x0aAnother.\r", []string{"one", "two words", "First, of all.", "Another.", "patterns: "}, nil},
		"another word": {"\x15four\r", "\r", []string{"keywords: [four]", "First, of all."}, []string{"one"}},
	} {
		t.Run(name, func(t *testing.T) {
			home := filepath.Join(t.TempDir(), "home")
			t.Setenv("GEMINI_HOME", home)
			t.Setenv("TERM", "xterm")
			lists := triggers
			if name == "none left" {
				lists = few
			}
			put(t, filepath.Join(home, "agents", "templates", "mine.md"), "---\nkind: agent\nname: mine\ntitle: M\n"+lists+"handoffs:\n  - to: user\n    when: auto\n---\nYou help.\n")
			dir := t.TempDir()
			code, shown := fillIn(t, dir, func(types func(string) func(), _ func()) []act {
				return []act{
					{at + "Name", types("a1\r")}, {at + "Title", types("\r")}, {at + "Description", types("\r")}, {at + "Model", types("\r")}, {at + "Scope", types("\r")}, {at + "Tools", types("\r")},
					{at + "Trigger keywords", func() {}}, {"one, two words", types(c.keywords)}, {at + "Trigger examples", func() {}}, {"First, of all.", types(c.examples)},
					{at + "Handoffs", func() {}}, {"None ticked: as in the template", types("\r")}, {at + "Guardrail", types("\r")}, {at + "When the result", types("\r")},
					{at + "Memory", types("\r")}, {at + "Graph", types("\r")}, {at + "Trace", types("n")},
				}
			}, "create", "--template", "mine", "--extended")
			text, err := os.ReadFile(filepath.Join(dir, ".gemini", "agents", "a1.md"))
			if code != 0 || err != nil {
				t.Fatalf("exit %d, %v\n%s", code, err, shown)
			}
			has(t, string(text), append(c.has, "to: user")...)
			for _, not := range c.not {
				if strings.Contains(string(text), not) {
					t.Errorf("%q is left in\n%s", not, text)
				}
			}
		})
	}
}

// TestCreateTicksWhatItMayUse: what is ticked is what the agent may use, also where
// its template does not say which tools; none is none. What is not known any more
// can be unticked.
func TestCreateTicksWhatItMayUse(t *testing.T) {
	const (
		server, listed = "mcp:\n  servers: [here]\n", "tools:\n  allow: [ls]\n"
		all, none      = "[•] safe    ask_user", "[ ] safe    ask_user"
	)
	for name, c := range map[string]struct {
		has    string // of the template's front-matter
		flags  []string
		shown  string // with the tools, "" where they are not asked for
		tools  string // typed
		server string // on the screen with the servers, of which there is one
		typed  string
		want   string // in the new file, "" for no tools
	}{
		"all, as they were":      {"", nil, all, "\r", "[ ] here", "\r", ""},
		"all but the first":      {"", nil, all, "x\r", "[ ] here", "\r", "\ntools:\n  allow:\n    - definition\n    - delegate_to_agent\n    - diagnostics\n    - get_state\n    - glob\n"},
		"none, by the flag":      {server, []string{"--tools", ""}, none, "\r", "[•] here", "\r", "\ntools:\n  allow: []\n"},
		"one, by the flag":       {"", []string{"--tools", "ls"}, none, "\r", "[ ] here", "\r", "\ntools:\n  allow: [ls]\n"},
		"none, unticked":         {"tools:\n  allow: [ask_user]\n", nil, all, "x\r", "[ ] here", "\r", "\ntools:\n  allow: []\n"},
		"what is denied is none": {"tools:\n  deny: [ask_*]\n", nil, "is left out: ask_*", "\r", "[ ] here", "\r", "\ntools:\n  deny: [ask_*]\n---"},
		"allowed and denied":     {"tools:\n  allow: [ask_user, bash, ls]\n  deny: [\"as[k]_*\"]\n", nil, "[•] safe    ls", "x\r", "[ ] here", "\r", "\ntools:\n  allow: [definition, ls, bash]\n  deny: "},
		"all denied":             {"tools:\n  deny: [\"*\"]\n", nil, "", "", "[ ] here", "\r", "\ntools:\n  deny: [\"*\"]\n---"},
		"a tool not known":       {"tools:\n  allow: [ask_user, old_tool]\n", nil, "old_tool is not known", "Gxgx\r", "[ ] here", "\r", "\ntools:\n  allow: []\n"},
		"a server's":             {server + "subagents: [helper]\n", nil, all, "x\r", "[•] here", "\r", "\n    - \"mcp.here.*\"\nmcp:\n  servers: [here]\n"},
		"a server's, unticked":   {server, nil, all, "x\r", "[•] here", "x\r", "\nmcp:\n  servers: []\n"},
		"a server's, of all":     {"", nil, all, "\r", "[ ] here", "x\r", ""},
		"a server's, of a list":  {listed + server, nil, none, "\r", "[•] here", "\r", "\ntools:\n  allow: [ls]\n"},
		"all servers":            {listed + "mcp:\n  servers: \"*\"\n", nil, none, "\r", "[•] here", "\r", "\nmcp:\n  servers: \"*\"\n"},
		"one server, by the flag": {
			listed + "mcp:\n  servers: \"*\"\n", []string{"--mcp", "here"}, none, "\r", "[•] here", "\r", "\nmcp:\n  servers: [here]\n",
		},
		"all servers, by the flag": {listed, []string{"--mcp", "*"}, none, "\r", "[•] here", "\r", "\nmcp:\n  servers: [\"*\"]\n"},
		"all servers, unticked":    {listed, []string{"--mcp", "*"}, none, "\r", "[•] here", "x\r", "\nmcp:\n  servers: []\n"},
		"a server not known":       {listed + "mcp:\n  servers: [gone]\n", nil, none, "\r", "gone is not configured", "Gx\r", "\n  allow: [ls]\nmcp:\n  servers: []\n"},
	} {
		t.Run(name, func(t *testing.T) {
			home := filepath.Join(t.TempDir(), "home")
			t.Setenv("GEMINI_HOME", home)
			t.Setenv("TERM", "xterm")
			put(t, filepath.Join(home, "settings.json"), `{"mcpServers": {"here": {"command": "x"}}}`)
			put(t, filepath.Join(home, "agents", "templates", "mine.md"), "---\nkind: agent\nname: mine\ntitle: M\n"+c.has+"---\nYou help.\n")
			dir := t.TempDir()
			code, shown := fillIn(t, dir, func(types func(string) func(), _ func()) []act {
				acts := []act{{at + "Name", types("a1\r")}, {at + "Title", types("\r")}, {at + "Description", types("\r")}, {at + "Model", types("\r")}, {at + "Scope", types("\r")}}
				if c.shown != "" {
					acts = append(acts, act{at + "Tools", func() {}}, act{" bash ", func() {}}, act{c.shown, types(c.tools)}) // none is out of sight
				}
				return append(acts, act{at + "MCP servers", func() {}}, act{c.server, types(c.typed)})
			}, append([]string{"create", "--template", "mine"}, c.flags...)...)
			text, err := os.ReadFile(filepath.Join(dir, ".gemini", "agents", "a1.md"))
			if code != 0 || err != nil || !strings.Contains(string(text), c.want) || (c.want == "" && strings.Contains(string(text), "tools:")) {
				t.Errorf("exit %d, %v, want %q in\n%s\n%s", code, err, c.want, text, shown)
			}
		})
	}
}

// TestCreateOffersServersOfAFolder that is not trusted: its settings describe them.
func TestCreateOffersServersOfAFolder(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	t.Setenv("TERM", "xterm")
	dir := t.TempDir()
	put(t, filepath.Join(dir, ".gemini", "settings.json"), `{"mcpServers": {"docs": {"command": "x"}}}`)
	code, shown := fillIn(t, dir, func(types func(string) func(), _ func()) []act {
		return []act{
			{at + "Name", types("a1\r")}, {at + "Title", types("\r")}, {at + "Description", types("\r")}, {at + "Model", types("\r")}, {at + "Scope", types("\r")},
			{at + "Tools", types("\r")}, {at + "MCP servers", func() {}}, {"[ ] docs", types("x\r")}, {at + "System prompt", types("You help.\r")},
		}
	}, "create")
	text, err := os.ReadFile(filepath.Join(dir, ".gemini", "agents", "a1.md"))
	if code != 0 || err != nil || !strings.Contains(string(text), "\nmcp:\n  servers: [docs]\n") {
		t.Errorf("exit %d, %v\n%s\n%s", code, err, text, shown)
	}
}

// TestCreateForServersToCome: all servers that the person names by a flag are all,
// also where none is configured yet, so that no list of them is shown.
func TestCreateForServersToCome(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	t.Setenv("TERM", "xterm")
	dir := t.TempDir()
	code, shown := fillIn(t, dir, func(types func(string) func(), _ func()) []act {
		return []act{
			{at + "Name", types("a1\r")}, {at + "Title", types("\r")}, {at + "Description", types("\r")}, {at + "Model", types("\r")}, {at + "Scope", types("\r")},
			{at + "Tools", types("\r")}, {at + "System prompt", types("You help.\r")},
		}
	}, "create", "--mcp", "*")
	text, err := os.ReadFile(filepath.Join(dir, ".gemini", "agents", "a1.md"))
	if code != 0 || err != nil || !strings.Contains(string(text), "\nmcp:\n  servers: [\"*\"]\n") {
		t.Errorf("exit %d, %v\n%s\n%s", code, err, text, shown)
	}
}

// TestCreateRefusesBeforeItAsks what flags say, and what the form could not change of
// the template: no answer is typed in vain.
func TestCreateRefusesBeforeItAsks(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	t.Setenv("GEMINI_HOME", home)
	t.Setenv("TERM", "xterm")
	put(t, filepath.Join(home, "agents", "templates", "mine.md"), "---\nkind: agent\nname: mine\ntitle: M\ntools:\n  allow: [lss]\n  deny: [bsh]\n---\nYou help.\n")
	for flag, want := range map[string]string{
		"--tools=bsh": "agentls: The tool bsh is not known; did you mean bash?\r\n", "--mcp=github": "agentls: The MCP server github ",
		"--template=mine": "agentls: The tool bsh is not known; did you mean bash? It is denied as it is written",
	} {
		code, shown := fillIn(t, t.TempDir(), func(func(string) func(), func()) []act { return nil }, "create", flag)
		if code != exitFailed || !strings.Contains(shown, want) {
			t.Errorf("%s: exit %d\n%s", flag, code, shown)
		}
	}
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
