package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/internal/wire"
)

// TestCreateOfEachTemplate: what a template makes is valid at once and without a
// warning, in a folder that has nothing yet.
func TestCreateOfEachTemplate(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	for _, template := range []string{"debugging", "debug", "code-review", "review", "documentation", "docs", "test-generator", "test", "testing", "security", "blank"} {
		dir := t.TempDir()
		code, out, errs := command(t, dir, "create", "x", "--template", template)
		if code != 0 || out != "Created "+filepath.Join(".gemini", "agents", "x.md")+"\n\n  agentls validate x\n  agentls run x \"your request\"\n" {
			t.Errorf("%s: exit %d\n%s%s", template, code, out, errs)
		}
		if code, out, errs := command(t, dir, "validate", "x"); code != 0 || strings.Contains(out, marks[odd]) {
			t.Errorf("%s: exit %d\n%s%s", template, code, out, errs)
		}
	}
}

func TestCreateByFlags(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	t.Setenv("GEMINI_HOME", home)
	dir := t.TempDir()
	code, out, errs := command(t, dir, "create", "fixer", "--global", "--title", "The: Fixer", "--description", "Mends.", "--model", "flash",
		"--tools", "read_file, edit_file", "--prompt", "You mend.")
	if code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	text, err := os.ReadFile(filepath.Join(home, "agents", "fixer.md"))
	const want = "---\nkind: agent\nname: fixer\ntitle: \"The: Fixer\"\ndescription: Mends.\nmodel: flash\ntools:\n  allow: [read_file, edit_file]\n---\nYou mend.\n"
	if err != nil || string(text) != want {
		t.Errorf("%v\n%s", err, text)
	}
	put := func(file, text string) {
		if err := os.WriteFile(filepath.Join(home, "agents", file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("there.md", "mine")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"fixer", "--global"}, exitFailed, "is there already\n  Choose another name, or replace it with --force"},
		{[]string{"there", "--scope", "global", "--template", "debug"}, exitFailed, "is there already"},
		{[]string{"x", "--template", "nothing"}, exitFailed, "--template cannot be used: there is no template nothing\n  There are debugging"},
		{[]string{"x", "--template", "debuging"}, exitFailed, "there is no template debuging\n  Did you mean debugging?\n"},
		{[]string{"x", "--template", "Tset"}, exitFailed, "there is no template Tset\n  Did you mean test?\n"},
		{[]string{"x", "--tools", "bsh"}, exitFailed, "Did you mean bash?"},
		{[]string{"x", "--mcp", "github"}, exitFailed, "github"},
		{[]string{"Not Good"}, exitFailed, "which cannot be an agent's: "},
		{[]string{"main"}, exitFailed, "reserved"},
		{nil, exitUsage, "agentls create NAME --template"},
		{[]string{"x", "--extended"}, exitUsage, "--extended asks"},
		{[]string{"x", "--scope", "system"}, exitUsage, "Use project or global"},
		{[]string{"x", "--scope", "project", "--global"}, exitUsage, "do not go together"},
		{[]string{"x", "y"}, exitUsage, `unexpected argument "y"`},
	} {
		code, out, errs := command(t, dir, append([]string{"create"}, c.args...)...)
		if code != c.code || !strings.Contains(errs, c.says) || out != "" {
			t.Errorf("%v: exit %d\n%s%s", c.args, code, out, errs)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, ".gemini")); err == nil {
		t.Error("something was written into the folder")
	}
	if text, err := os.ReadFile(filepath.Join(home, "agents", "there.md")); err != nil || string(text) != "mine" {
		t.Errorf("a file that was there became %q, %v", text, err)
	}
	if code, _, errs := command(t, dir, "create", "there", "--global", "--force", "--prompt", "New."); code != 0 {
		t.Errorf("--force: exit %d\n%s", code, errs)
	}
	if text, _ := os.ReadFile(filepath.Join(home, "agents", "there.md")); !strings.HasSuffix(string(text), "\n---\nNew.\n") {
		t.Errorf("--force left %q", text)
	}
	// What was left empty is as if it was not said.
	if code, _, errs := command(t, dir, "create", "plain", "--global", "--title", " ", "--description", "", "--model", "flash ", "--tools", "", "--prompt", "You help."); code != 0 {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if text, _ := os.ReadFile(filepath.Join(home, "agents", "plain.md")); string(text) != "---\nkind: agent\nname: plain\ntitle: Plain\nmodel: flash\ntools:\n  allow: []\n---\nYou help.\n" {
		t.Errorf("what was left empty gives %q", text)
	}
	// The setting says where those go that name no scope.
	if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(`{"agents": {"defaultScope": "global"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := command(t, dir, "create", "mine"); code != 0 || !strings.Contains(out, filepath.Join(home, "agents", "mine.md")) {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

// TestValidateAll: a line an agent, and exit 1 when one is not valid; also a file
// by its path, and in a folder that nobody trusts.
func TestValidateAll(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	dir := writer(t)
	if code, out, errs := command(t, dir, "validate", "--all"); code != 0 || out != "writer: ✓ Valid\n" {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	for name, text := range map[string]string{
		"bad.md": "---\nkind: agent\nname: bad\ntitle: B\ntools: {allow: [bsh]}\n---\nx\n", "none.md": "no front-matter",
		"other\x1b.md": "---\nkind: agent\nname: [\n---\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, ".gemini", "agents", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	code, out, _ := command(t, dir, "validate", "--all")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != exitFailed || len(lines) != 4 || lines[0] != "bad: ✗ Invalid (The tool bsh is not known; did you mean bash? It is left out, so the agent has no tools), but it runs" ||
		!strings.HasPrefix(lines[1], "none: ✗ Invalid (The front-matter is missing") || strings.Contains(out, "\x1b") || lines[3] != "writer: ✓ Valid" {
		t.Errorf("exit %d\n%s", code, out)
	}
	code, out, _ = command(t, dir, "validate", filepath.Join(".gemini", "agents", "bad.md"))
	if code != exitFailed || !strings.Contains(out, "✗ tools available: line 5: The tool bsh is not known") || !strings.HasSuffix(out, "Validation: 5/6 passed\n") {
		t.Errorf("exit %d\n%s", code, out)
	}
	// Two files of one name are told apart, a folder is no valid file, and a file that
	// is meant to be an agent's name says so.
	text, err := os.ReadFile(filepath.Join(dir, ".gemini", "agents", "writer.md"))
	if err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(os.Getenv("GEMINI_HOME"), "agents")
	if err := errors.Join(os.MkdirAll(mine, 0o700), os.WriteFile(filepath.Join(mine, "writer.md"), text, 0o600), os.Mkdir(filepath.Join(dir, ".gemini", "agents", "folder.md"), 0o700)); err != nil {
		t.Fatal(err)
	}
	code, out, _ = command(t, dir, "validate")
	for _, want := range []string{"\nwriter (.gemini/agents/writer.md): ✓ Valid\n", "\nwriter (" + filepath.Join(mine, "writer.md") + "): ✓ Valid\n", "\nfolder: ✗ Invalid (This is a folder with the name of an agent file; rename it)\n"} {
		if code != exitFailed || !strings.Contains(out, want) {
			t.Errorf("exit %d, %q is not in\n%s", code, want, out)
		}
	}
	if code, out, errs := command(t, dir, "validate", "folder"); code != exitFailed || !strings.HasPrefix(out, "✗ front-matter valid: line 1: This is a folder") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if code, _, errs := command(t, dir, "validate", "writer.md"); code != exitFailed || !strings.HasSuffix(errs, "Did you mean the agent writer?\n") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if err := os.RemoveAll(mine); err != nil {
		t.Fatal(err)
	}
	code, out, _ = command(t, dir, "validate", "bad", "--json")
	var r wire.ValidateResult
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitFailed || len(r.Results) != 1 || r.Results[0].Passed != 5 || r.Results[0].Checks[3].Range == nil {
		t.Errorf("exit %d, %v\n%s", code, err, out)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"nobody"}, exitFailed, "See `agentls list`"},
		{[]string{"main"}, exitFailed, "built in"},
		{[]string{"nothing.md"}, exitFailed, "there is no file"},
		{[]string{"writer", "--all"}, exitUsage, "--all checks every agent"},
	} {
		if code, _, errs := command(t, dir, append([]string{"validate"}, c.args...)...); code != c.code || !strings.Contains(errs, c.says) {
			t.Errorf("%v: exit %d\n%s", c.args, code, errs)
		}
	}
	if code, out, _ := command(t, t.TempDir(), "validate", "--all"); code != 0 || !strings.Contains(out, "There are no agent files here") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// TestCreateOfThePersonsOwn: where the person's own folder is the one that they
// work in, a new agent is theirs and runs, and nothing is to be trusted for it.
func TestCreateOfThePersonsOwn(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GEMINI_HOME", filepath.Join(dir, ".gemini"))
	if code, out, errs := command(t, dir, "create", "h"); code != 0 || strings.Contains(errs, "trust") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if code, _, errs := command(t, t.TempDir(), "create", "h", "--scope", "project"); code != 0 || !strings.Contains(errs, "is not trusted, so the agent does not run yet") {
		t.Errorf("in another folder: exit %d\n%s", code, errs)
	}
}

// TestCreateSaysWhenItAsks: an empty prompt is none, so that without a terminal the
// template blank is taken; the help says both.
func TestCreateSaysWhenItAsks(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	dir := t.TempDir()
	var texts []string
	for _, args := range [][]string{{"create", "x", "--force"}, {"create", "x", "--force", "--prompt", ""}} {
		code, out, errs := command(t, dir, args...)
		text, err := os.ReadFile(filepath.Join(dir, ".gemini", "agents", "x.md"))
		if code != 0 || err != nil {
			t.Errorf("%q: exit %d, %v\n%s%s", args, code, err, out, errs)
		}
		texts = append(texts, string(text))
	}
	if texts[0] != texts[1] {
		t.Errorf("without a prompt it is\n%s\nwith an empty one\n%s", texts[0], texts[1])
	}
	_, help, _ := command(t, dir, "create", "--help")
	help = strings.Join(strings.Fields(help), " ")
	for _, want := range []string{"it asks on a terminal for what no flag says", "An empty prompt is as if none was given"} {
		if !strings.Contains(help, want) {
			t.Errorf("the help does not say %q", want)
		}
	}
}

// TestValidateWarns: what is no error does not fail a check, and is told below the
// checks with its line; of several files how much of it there is.
func TestValidateWarns(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	dir := writer(t)
	text := "\ufeff---\nkind: agent\nname: odd\ntitle: O\ndescription: a: b\nmodel: nosuch\n---\nYou help.\nAIza" + strings.Repeat("Sy4x", 9)[:35] + " \u200b\u200b\n"
	outside := filepath.Join(t.TempDir(), "far.md")
	for _, path := range []string{filepath.Join(dir, ".gemini", "agents", "even.md"), outside} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, out, errs := command(t, dir, "validate", "odd")
	checks, warnings, _ := strings.Cut(out, "! ")
	if code != exitFailed || !strings.HasPrefix(out, "✓ front-matter valid\n") || !strings.HasSuffix(checks, "✓ system prompt not empty\n") || !strings.HasSuffix(out, "\nValidation: 5/6 passed\n") ||
		strings.Count(out, "not known") != 1 {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	for _, want := range []string{"line 1: ", "line 3: ", "line 5: ", "\n! line 9: "} {
		if !strings.Contains("\n! "+warnings, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
	several := strings.Count(out, "\n! ")
	if _, out, _ := command(t, dir, "validate", "--all"); several < 4 || (!strings.Contains(out, fmt.Sprintf(") (%d warnings)\n", several)) && !strings.Contains(out, fmt.Sprintf(", but it runs (%d warnings)\n", several))) || !strings.HasSuffix(out, "writer: ✓ Valid\n") {
		t.Errorf("%d warnings\n%s", several, out)
	}
	if _, out, errs := command(t, dir, "validate", outside); !strings.Contains(out, "\n! line 9: ") || !strings.HasSuffix(out, "\nValidation: 5/6 passed\n") {
		t.Errorf("a file elsewhere\n%s%s", out, errs)
	}
	var r struct {
		Results []struct {
			Passed   int
			Warnings []definition.Problem
		}
	}
	if _, out, _ := command(t, dir, "validate", "odd", "--json"); json.Unmarshal([]byte(out), &r) != nil || len(r.Results) != 1 || r.Results[0].Passed != 5 || len(r.Results[0].Warnings) != several || several == 0 || r.Results[0].Warnings[0].Message == "" {
		t.Errorf("as JSON\n%s", out)
	}
	if _, out, _ := command(t, dir, "validate", "writer", "--json"); !strings.Contains(out, `"warnings": []`) {
		t.Errorf("as JSON\n%s", out)
	}
}

// TestCreateForServersOfAFolder that is not trusted: those that its settings describe
// are configured, though they do not run yet.
func TestCreateForServersOfAFolder(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, ".gemini"), 0o700), os.WriteFile(filepath.Join(dir, ".gemini", "settings.json"), []byte(`{"mcpServers": {"docs": {"command": "x"}}}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := command(t, dir, "create", "a1", "--mcp", "docs", "--prompt", "You help."); code != 0 || strings.Contains(errs, "not configured") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if code, _, errs := command(t, dir, "create", "a2", "--mcp", "other", "--prompt", "You help."); code != exitFailed || !strings.Contains(errs, "other") {
		t.Errorf("exit %d\n%s", code, errs)
	}
}

// TestModelsThatAreOffered are those that write.
func TestModelsThatAreOffered(t *testing.T) {
	offered := models()
	for _, name := range []string{"embedding", "gemini-embedding-001"} {
		if slices.Contains(offered, name) {
			t.Errorf("%s is offered in %q", name, offered)
		}
	}
	for _, name := range []string{"flash", "auto", "inherit"} {
		if !slices.Contains(offered, name) {
			t.Errorf("%s is not offered in %q", name, offered)
		}
	}
}

// TestDelete: never without a yes, and only what is the person's own.
func TestDelete(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	dir := writer(t)
	path := filepath.Join(dir, ".gemini", "agents", "writer.md")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"writer"}, exitUsage, "agentls delete writer --yes"},
		{[]string{"main", "--yes"}, exitFailed, "main is built in and cannot be deleted"},
		{[]string{"nobody", "--yes"}, exitFailed, "See `agentls list`"},
		{[]string{"writer", "--scope", "global", "--yes"}, exitFailed, "there is no global agent writer"},
		{[]string{"writer", "--scope", "all", "--yes"}, exitUsage, "Use project or global"},
	} {
		if code, _, errs := command(t, dir, append([]string{"delete"}, c.args...)...); code != c.code || !strings.Contains(errs, c.says) {
			t.Errorf("%v: exit %d\n%s", c.args, code, errs)
		}
		if _, err := os.Stat(path); err != nil {
			t.Fatal(c.args, err)
		}
	}
	if code, out, errs := command(t, dir, "delete", "writer", "--yes"); code != 0 || out != filepath.Join(".gemini", "agents", "writer.md")+" is deleted.\n" {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is still there")
	}
}

// TestTemplatesAreCompleted, the person's own too.
func TestTemplatesAreCompleted(t *testing.T) {
	home := t.TempDir()
	t.Setenv("GEMINI_HOME", home)
	dir := filepath.Join(home, "agents", "templates")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "house.md"), []byte("---\nkind: agent\nname: house\ntitle: H\n---\nx\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	names, _ := completeTemplates(nil, nil, "")
	if !slices.Equal(names, []string{"blank", "code-review", "debugging", "documentation", "house", "security", "test-generator"}) {
		t.Error(names)
	}
}

// TestAgentThatNoRunAccepts: its list says why, proposes another, and validate fails.
func TestAgentThatNoRunAccepts(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	dir := t.TempDir()
	agents := filepath.Join(dir, ".gemini", "agents")
	if err := os.MkdirAll(agents, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(agents, "claude.md"), []byte("---\nname: claude\ndescription: d\ntools: Read\nhooks: {PreToolUse: []}\n---\nx\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := command(t, dir, "trust"); code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	const advice = "emove the field, and limit the agent with tools.allow and tools.deny"
	if _, out, _ := command(t, dir, "list"); !strings.Contains(out, "claude.md:5:9: This restriction cannot be kept here") || !strings.Contains(out, advice) || !strings.HasSuffix(out, "Run one: agentls run main \"your request\"\n") {
		t.Errorf("listed:\n%s", out)
	}
	if code, out, _ := command(t, dir, "validate", "claude"); code != exitFailed || !strings.Contains(out, "✗ restrictions can be kept: line 5: ") || !strings.Contains(out, advice) {
		t.Errorf("exit %d\n%s", code, out)
	}
	if code, _, errs := command(t, dir, "run", "claude", "hello"); code == 0 || !strings.Contains(errs, advice) {
		t.Errorf("exit %d\n%s", code, errs)
	}
}
