package exchange

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/internal/fault"
)

// TestImportText: what an import writes, whole.
func TestImportText(t *testing.T) {
	const text = `---
name: Release Helper
description: Prepares a release: notes, tags
tools: Read, Bash(git:*), Grep, mcp__github__get
model: opus
color: purple
isolation: worktree   # apart from the rest
maxTurns: 12
vibe: calm
---

You prepare releases.
`
	const want = `---
kind: agent
name: release-helper
title: Release Helper
description: "Prepares a release: notes, tags"
model: inherit
color: "#A855F7"
tools:
  allow: [read_file, read_many_files, grep, mcp.github.get]
mcp:
  servers: [github]
run:
  max_turns: 12
isolation: worktree
imported:
  from: claude
  file: release.md
  front: |
    name: Release Helper
    description: Prepares a release: notes, tags
    tools: Read, Bash(git:*), Grep, mcp__github__get
    model: opus
    color: purple
    isolation: worktree   # apart from the rest
    maxTurns: 12
    vibe: calm
---

You prepare releases.
`
	im, err := Import("/w/.claude/agents/release.md", []byte(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if string(im.Text) != want {
		t.Errorf("got\n%s", im.Text)
	}
	if im.Name != "release-helper" || im.From != definition.Claude || len(im.Repaired) != 1 {
		t.Errorf("%+v", im)
	}
	var got []string
	for _, l := range im.Loss {
		got = append(got, l.Key+" "+string(l.Severity))
	}
	if fmt.Sprint(got) != "[name hint tools hint model hint color hint isolation warning vibe hint]" {
		t.Errorf("%v", im.Loss)
	}
	d := definition.Parse(definition.Source{Path: "release-helper.md", Data: im.Text})
	if len(d.Authority) != 1 {
		t.Errorf("the restriction does not stop a run: %v", d.Authority)
	}
	for _, p := range d.Problems {
		if p.Code != "agent/authority" {
			t.Errorf("%v", p)
		}
	}
}

// TestImportEach: a file of each tool, where the keys are its own.
func TestImportEach(t *testing.T) {
	for _, test := range []struct {
		path, front, body string
		want              []string // lines of ours
		lost              []string // beginnings of messages
	}{
		{"/w/.gemini/agents/a.md", "kind: local\nname: a\ndisplay_name: The A\ndescription: x\ntools: [read_file, mcp_git_*, get_internal_docs]\nmcp_servers: {git: {command: run}}\nmax_turns: 9\ntimeout_mins: 1.5\ntemperature: 0.2\nmodel: gemini-3-pro",
			"Today is ${today}.", []string{"title: The A", "model: gemini-3-pro", "  allow: [read_file, \"mcp.git.*\"]", "  servers: [git]", "  max_turns: 9", `  max_time: "1m30s"`, "temperature: 0.2"},
			[]string{"The tool get_internal_docs has no counterpart", "An agent file cannot start the MCP server git", "The placeholder ${today}"}},
		{"/w/.opencode/agent/Look Around.md", "description: x\nmode: subagent\nsteps: 4\nmodel: google/gemini-3-pro\ntools: {write: false, edit: false}\npermission: {bash: ask}\ntop_p: 0.5",
			"Look.", []string{"name: look-around", "model: gemini-3-pro", "  deny: [write_file, apply_patch, move_file, delete_file, edit_file]", "    require_confirmation: [bash, git_commit, delete_file, move_file]", "top_p: 0.5"},
			[]string{"The file has no name and is called look-around", "The field mode has no counterpart", "Without a list of tools"}},
		{"/w/.claude/agents/c.md", "name: c\ndescription: x\ntools: [Read, 'mcp__gh__[ab]']\ndisallowedTools: ['Foo[1]', 'a\\b']",
			"Help.", []string{`  allow: [read_file, read_many_files, "mcp.gh.\\[ab]"]`, `  deny: ["Foo\\[1]", "a\\\\b"]`}, nil}, // brackets are no class there
		{"/w/.github/agents/plan.agent.md", "name: Plan It\ndescription: x\ntools: [read/readFile, agent, github/*]\nagents: [Writer]\ndisable-model-invocation: true\nuser-invocable: false\nhandoffs: [{label: Go, agent: writer, prompt: Do}]",
			"Plan.", []string{"name: plan-it", "title: Plan It", "  allow: [read_file, delegate_to_agent, \"mcp.github.*\"]", "  servers: [github]", "subagents: [writer]", "user_invocable: false", "routable: false", "disable-model-invocation: true"},
			[]string{"The name", "The field handoffs has no counterpart"}},
	} {
		text := "---\n" + test.front + "\n---\n" + test.body + "\n"
		im, err := Import(test.path, []byte(text), Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		checkImported(t, test.path, []byte(text), im)
		checkReturns(t, test.path, []byte(text), im)
		lines := strings.Split(string(im.Text), "\n")
		for _, want := range test.want {
			if !slices.Contains(lines, want) {
				t.Errorf("%s: no line %s in\n%s", test.path, want, im.Text)
			}
		}
		for _, want := range test.lost {
			if !slices.ContainsFunc(im.Loss, func(l Loss) bool { return strings.HasPrefix(l.Message, want) }) {
				t.Errorf("%s: %q is not told: %v", test.path, want, im.Loss)
			}
		}
	}
}

// TestImportKeepsModel: a model that the installation has is taken over, and the
// original's own name for it returns although nobody can read it at export.
func TestImportKeepsModel(t *testing.T) {
	text := "---\nname: a\ndescription: x\nmodel: [Claude Sonnet 4 (copilot), Other]\n---\nx\n"
	im, err := Import("a.agent.md", []byte(text), Options{From: definition.Copilot, Model: func(name string) (string, bool) {
		return "ours/" + name, true
	}})
	if err != nil || !strings.Contains(string(im.Text), "\nmodel: ours/claude-sonnet-4\nfallback_models: [ours/other]\n") {
		t.Fatalf("%v\n%s", err, im.Text)
	}
	out, err := Export("a.md", im.Text, definition.Copilot, Options{})
	if err != nil || string(out.Data) != text || len(out.Loss) > 0 {
		t.Errorf("%v %v\n%s", err, out.Loss, out.Data)
	}
}

// TestRefused: files that are not imported, with the reason that a person reads.
func TestRefused(t *testing.T) {
	for _, test := range []struct {
		name, text string
		o          Options
		want       string
	}{
		{"no front-matter", "You help.\n", Options{}, "漢字.md, line 1: The front-matter is missing"},
		{"not closed", "---\nname: a\n", Options{}, "漢字.md, line 1: The front-matter is not closed"},
		{"no text", "\xff\xfe", Options{}, "not valid UTF-8"},
		{"no prompt", "---\nname: a\ndescription: x\n---\n", Options{}, "漢字.md, line 4: The system prompt is empty"},
		{"reserved", "---\nname: user\ndescription: x\n---\nx", Options{}, "line 2: The name user is reserved"},
		{"no letters", "---\nname: 漢字\ndescription: x\n---\nx", Options{}, "No name can be made of"},
		{"no name", "---\ndescription: x\ntools: Read\n---\nx", Options{}, "line 1: The field name is missing"},
		{"anchor", "---\nname: &a b\ndescription: x\n---\nx", Options{}, "Anchors are not allowed"},
		{"type", "---\nname: a\ndescription: [x]\n---\nx", Options{}, "line 3: description must be a string"},
		{"remote", "---\nname: a\nkind: remote\nagent_card_url: http://x\n---\nx", Options{}, "kind must be agent"},
		{"ours", "---\nname: a\nkind: agent\n---\nx", Options{}, "our own format"},
		{"unclear", "---\ntitle: a\nname: a\n---\nx", Options{}, "our own format"},
		{"too large", "---\nname: a\ndescription: " + strings.Repeat("x", 40<<10) + "\n---\nx", Options{}, "too large"},
		{"too large with what is kept", "---\nname: a\ndescription: " + strings.Repeat("x", 20<<10) + "\n---\n" + strings.Repeat("x", 225<<10), Options{}, "larger than 256 KiB"},
		{"bad new name", "---\nname: a\ndescription: x\n---\nx", Options{Name: "Not One"}, "A name has no capital letters; use not-one"},
	} {
		t.Run(test.name, func(t *testing.T) {
			im, err := Import("漢字.md", []byte(test.text), test.o)
			if err == nil {
				t.Fatalf("imported:\n%s", im.Text)
			}
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestNamed: a name that the caller gives mends a file without one, and the
// original still returns.
func TestNamed(t *testing.T) {
	for _, text := range []string{"---\nname: user\ndescription: x\n---\nx\n", "---\ndescription: x\ntools: Read\n---\nx\n", "---\nname: fine\ndescription: x\n---\nx\n"} {
		im, err := Import("main.md", []byte(text), Options{From: definition.Claude, Name: "given"})
		if err != nil {
			t.Fatal(err)
		}
		if im.Name != "given" {
			t.Errorf("%s", im.Name)
		}
		out, err := Export("given.md", im.Text, definition.Claude, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if want := definition.Parse(source(out.File, string(out.Data), definition.Claude)); want.Name != "given" {
			t.Errorf("exported as %s:\n%s", want.Name, out.Data)
		}
	}
}

// TestExportOwn: an agent of ours for each tool: what is written, and what is
// lost.
func TestExportOwn(t *testing.T) {
	const text = `---
kind: agent
name: front-desk
title: The Desk
description: Answers, or knows who does.
model: gemini-3-pro
color: "#3B82F6"
tools:
  allow: [read_file, read_many_files, grep, bash, mcp.github.get, delegate_to_agent]
  deny: [mcp.github.push]
mcp:
  servers: [github]
subagents: [helper]
temperature: 0.5
thinking_level: low
handoffs:
  - to: user
guardrails:
  - name: json
    schema: {type: object}
inputs:
  goal: {type: string}
triggers: {keywords: [desk]}
---
You are the desk. ${goal}
`
	for to, want := range map[definition.Dialect]string{
		definition.Claude:  "name: front-desk\ndescription: \"Answers, or knows who does.\"\ntools: Read, Bash, Grep, Task(helper), mcp__github__get\neffort: low\ncolor: blue\n",
		definition.Copilot: "name: front-desk\ndescription: \"Answers, or knows who does.\"\ntools: [execute, agent, read/readFile, search/textSearch, github/get]\nagents: [helper]\n",
		definition.OpenCode: "description: \"Answers, or knows who does.\"\nmodel: google/gemini-3-pro\ntools:\n  \"*\": false\n  read: true\n  bash: true\n  grep: true\ntemperature: 0.5\n" +
			"reasoningEffort: low\ncolor: \"#3B82F6\"\n",
		definition.GeminiCLI: "kind: local\nname: front-desk\ndisplay_name: The Desk\ndescription: \"Answers, or knows who does.\"\nmodel: gemini-3-pro\n" +
			"tools: [read_file, read_many_files, grep_search, run_shell_command, mcp_github_get]\ntemperature: 0.5\n",
	} {
		t.Run(string(to), func(t *testing.T) {
			out, err := Export("front-desk.md", []byte(text), to, Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := strings.TrimSuffix(strings.TrimPrefix(string(out.Data), "---\n"), "---\nYou are the desk. ${goal}\n")
			if got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
			lost := make(map[string]definition.Severity)
			for _, l := range out.Loss {
				lost[l.Key] = l.Severity
			}
			for _, key := range []string{"handoffs", "guardrails", "inputs"} {
				if lost[key] != definition.Warning {
					t.Errorf("%s is not told: %v", key, out.Loss)
				}
			}
			if lost["triggers"] != definition.Hint {
				t.Errorf("triggers are not told: %v", out.Loss)
			}
			if (lost["title"] == definition.Hint) != (to != definition.GeminiCLI) || (lost["color"] == definition.Hint) != (to == definition.Copilot || to == definition.GeminiCLI) {
				t.Errorf("%v", out.Loss)
			}
		})
	}
}

// TestExportCovered: a tool that does nothing which other tools of the agent do not
// keeps none of these from it, unless the agent's file is about that tool or about
// one of those.
func TestExportCovered(t *testing.T) {
	const all = "allow: [read_file, ls, glob, grep]"
	for _, test := range []struct {
		tools   string
		covered bool
	}{
		{all, true},
		{"allow: [read_file, grep, glob]", true},
		{"allow: [read_f*, gre?, ls]", true},
		{all + ", deny: [bash]", true},
		{"allow: [read_file, ls, glob]", false},
		{"allow: [read_file, grep]", false},
		{"allow: [ls, glob, grep]", false},
		{all + ", deny: [read_many_files]", false},
		{all + ", deny: ['*many*']", false},
		{all + ", deny: [grep]", false},
		{all + ", confirmation: {require_confirmation: [read_many_files]}", false},
		{all + ", confirmation: {require_confirmation: ['read_many*']}", false},
		{all + ", confirmation: {require_confirmation: ['[']}", false},
		{all + ", confirmation: {require_confirmation: [grep]}", false},
	} {
		for to, read := range map[definition.Dialect]string{definition.Claude: "Read", definition.OpenCode: "read: true"} {
			text := "---\nkind: agent\nname: a\ntitle: a\ntools: {" + test.tools + "}\n---\nx\n"
			out, _ := Export("a.md", []byte(text), to, Options{Force: true})
			if got := strings.Contains(string(out.Data), read); got != test.covered {
				t.Errorf("%s to %s: %v %v\n%s", test.tools, to, got, out.Loss, out.Data)
			}
			if told := slices.ContainsFunc(out.Loss, func(l Loss) bool { return l.Key == "tools" }); test.covered && told {
				t.Errorf("%s to %s: told %v", test.tools, to, out.Loss)
			}
		}
		out, _ := Export("a.md", []byte("---\nkind: agent\nname: a\ntitle: a\ntools: {"+test.tools+"}\n---\nx\n"), definition.GeminiCLI, Options{Force: true})
		if strings.Contains(string(out.Data), "read_many_files") {
			t.Errorf("%s: a tool is added\n%s", test.tools, out.Data)
		}
	}
}

// TestExportRestrictions: what restricts here and cannot be said there stops an
// export, but for one by force, which tells of it.
func TestExportRestrictions(t *testing.T) {
	all := []definition.Dialect{definition.Claude, definition.Copilot, definition.OpenCode, definition.GeminiCLI}
	for _, test := range []struct {
		fields string
		can    []definition.Dialect
	}{
		{"run: {max_turns: 3}", []definition.Dialect{definition.Claude, definition.OpenCode, definition.GeminiCLI}},
		{"run: {max_time: 90}", []definition.Dialect{definition.GeminiCLI}},
		{"run: {max_tokens: 5000}", nil},
		{"run: {max_cost: 0.5}", nil},
		{"tool_confirmation: {require_confirmation: [bash]}", []definition.Dialect{definition.OpenCode}},
		{"tool_confirmation: {require_confirmation: [bash]}\ntools: {allow: [grep]}", all},
		{"tool_confirmation: {require_confirmation: [bash]}\ntools: {deny: [bash]}", all},
		{"isolation: worktree", []definition.Dialect{definition.Claude}},
		{"hooks: {PreToolUse: [{matcher: Bash}]}", []definition.Dialect{definition.Claude}},
		{"disable: true", []definition.Dialect{definition.OpenCode}},
		{"sandbox: true", nil},
		{"disable-model-invocation: true", []definition.Dialect{definition.Copilot}},
		{"tools: {deny: [delete_file]}", all},
		{"tools: {allow: []}", all},
		{"subagents: [b]", all},
	} {
		text := "---\nkind: agent\nname: a\ntitle: A\n" + test.fields + "\n---\nx\n"
		for _, to := range all {
			out, err := Export("a.md", []byte(text), to, Options{})
			can := false
			for _, d := range test.can {
				can = can || d == to
			}
			if can != (err == nil) {
				t.Errorf("%s to %s: %v", test.fields, to, err)
				continue
			}
			if err == nil {
				continue
			}
			if fault.KindOf(err) != fault.Denied || out == nil {
				t.Errorf("%s to %s: %v", test.fields, to, err)
			}
			forced, err := Export("a.md", []byte(text), to, Options{Force: true})
			if err != nil || !told(forced.Loss) {
				t.Errorf("%s to %s by force: %v %v", test.fields, to, err, forced)
			}
		}
	}
}

func told(loss []Loss) bool {
	for _, l := range loss {
		if l.Severity == definition.Error {
			return true
		}
	}
	return false
}

// TestNoTools: a list of no tools is never no list.
func TestNoTools(t *testing.T) {
	for _, to := range dialects {
		out, err := Export("a.md", []byte("---\nkind: agent\nname: a\ntools: {allow: [set_state]}\n---\nx\n"), to, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d := definition.Parse(source(out.File, string(out.Data), to)); !d.Tools.Given || len(d.Tools.Allow) > 0 {
			t.Errorf("%s:\n%s", to, out.Data)
		}
	}
}

// TestExportOthers: an agent that lies among ours in another tool's format is
// exported too, to that tool as it is.
func TestExportOthers(t *testing.T) {
	const text = "---\nname: Some One\ndescription: x\ntools: Read, Bash\nvibe: calm\n---\nYou help.\n"
	out, err := Export("/w/.gemini/agents/some-one.md", []byte(text), definition.Claude, Options{})
	if err != nil || string(out.Data) != text || out.File != "some-one.md" {
		t.Errorf("%v %+v", err, out)
	}
	out, err = Export("/w/.gemini/agents/some-one.md", []byte(text), definition.GeminiCLI, Options{})
	if err != nil || !strings.Contains(string(out.Data), "kind: local\nname: some-one\ndisplay_name: Some One\ndescription: x\ntools: [read_file, read_many_files, run_shell_command]\n") {
		t.Errorf("%v %s", err, out.Data)
	}
	for _, to := range []definition.Dialect{definition.Agentls, "", "cursor"} {
		if _, err := Export("a.md", []byte(text), to, Options{}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", to, err)
		}
	}
	if _, err := Export("a.md", []byte("---\nkind: agent\n---\nx"), definition.Claude, Options{}); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("%v", err)
	}
}

// TestKeptDamaged: a person may have spoiled what a file keeps.
func TestKeptDamaged(t *testing.T) {
	im, err := Import("a.md", []byte("---\n{name: a, description: x}\n---\nx\n"), Options{From: definition.Claude})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(im.Text), "description: x", "description: other", 1)
	if _, err := Export("a.md", []byte(text), definition.Claude, Options{}); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "one key a line") {
		t.Errorf("an edit of front-matter in one line: %v", err)
	}
	for _, front := range []string{"|\n    ---\n    x", `"name: [a\n"`, "3"} {
		i := strings.Index(text, "  front: ")
		end := i + strings.Index(text[i:], "\n---\n")
		spoiled := text[:i] + "  front: " + front + text[end:]
		out, err := Export("a.md", []byte(spoiled), definition.Claude, Options{})
		switch {
		case front == "3" && (err != nil || !strings.Contains(string(out.Data), "description: other")):
			t.Errorf("without a text it is an agent like any other: %v", err)
		case front != "3" && fault.KindOf(err) != fault.Invalid:
			t.Errorf("%s: %v", front, err)
		}
	}
}

// TestFolder: each dialect has its place, which decides the dialect.
func TestFolder(t *testing.T) {
	for _, d := range []definition.Dialect{definition.Claude, definition.Copilot, definition.OpenCode} {
		got := definition.Parse(definition.Source{Path: "/w/" + Folder(d) + "/" + fileOf("a", d), Data: []byte("---\nname: a\n---\nx\n")})
		if got.Dialect != d || got.Name != "a" {
			t.Errorf("%s: %s %s", d, got.Dialect, got.Name)
		}
	}
}
