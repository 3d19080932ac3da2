package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const ourAgent = "---\nkind: agent\nname: fixer\ntitle: Fixer\ndescription: Mends.\ntools: {allow: [read_file, read_many_files, set_state]}\n---\nYou mend.\n"

// TestExport: what is written where, what is refused, and what is told.
func TestExport(t *testing.T) {
	costly := strings.Replace(ourAgent, "title:", "run: {max_cost: 0.5}\ntitle:", 1)
	agent := map[string]string{".gemini/agents/fixer.md": ourAgent}
	for _, c := range []struct {
		name  string
		files map[string]string
		args  []string
		code  int
		want  []string // on standard error
		made  map[string]string
	}{
		{
			"into the tool's folder", agent, []string{"fixer", "--to", "claude"}, 0,
			[]string{"ok        fixer → .claude/agents/fixer.md\n            warning: tools: Claude Code has no counterpart for set_state.\n"},
			map[string]string{".claude/agents/fixer.md": "---\nname: fixer\ndescription: Mends.\ntools: Read\n---\nYou mend.\n"},
		},
		{"for Copilot", agent, []string{"--all", "--to", "copilot"}, 0, nil, map[string]string{".github/agents/fixer.agent.md": ""}},
		{"for opencode", agent, []string{"fixer", "--to", "opencode"}, 0, nil, map[string]string{".opencode/agent/fixer.md": ""}},
		{"for gemini-cli", agent, []string{"fixer", "--to", "gemini-cli", "--out", "deep/out"}, 0, []string{"→ deep/out/fixer.md"}, map[string]string{"deep/out/fixer.md": ""}},
		{"for gemini-cli among ours", agent, []string{"fixer", "--to", "gemini-cli"}, 2, []string{"lie where ours do", "--out DIR"}, nil},
		{"over itself", agent, []string{"fixer", "--to", "gemini-cli", "--out", ".gemini/agents", "--force"}, 1, []string{"is the agent itself"}, map[string]string{".gemini/agents/fixer.md": ourAgent}},
		{
			"over another's", map[string]string{".gemini/agents/fixer.md": ourAgent, ".claude/agents/fixer.md": "mine"}, []string{"fixer", "--to", "claude"}, 1,
			[]string{"refused   fixer: .claude/agents/fixer.md is there already; replace it with --force", "0 written, 1 refused"}, map[string]string{".claude/agents/fixer.md": "mine"},
		},
		{
			"over another's by force", map[string]string{".gemini/agents/fixer.md": ourAgent, ".claude/agents/fixer.md": "mine"}, []string{"fixer", "--to", "claude", "--force"}, 0,
			nil, map[string]string{".claude/agents/fixer.md": "---\nname: fixer\ndescription: Mends.\ntools: Read\n---\nYou mend.\n"},
		},
		{
			"a restriction", map[string]string{".gemini/agents/fixer.md": costly}, []string{"fixer", "--to", "claude", "--force"}, 1,
			[]string{"refused   fixer: ", "more than 0.5 USD", "leave it out with --drop-restrictions"}, map[string]string{".claude/agents/fixer.md": "-"},
		},
		{
			"a restriction that is dropped", map[string]string{".gemini/agents/fixer.md": costly}, []string{"fixer", "--to", "claude", "--drop-restrictions"}, 0,
			[]string{"            error: run: Claude Code cannot be kept from it: there the agent may have more than 0.5 USD."}, map[string]string{".claude/agents/fixer.md": ""},
		},
		{
			"one refused, the others not", map[string]string{".gemini/agents/fixer.md": ourAgent, ".gemini/agents/bad.md": "---\nkind: agent\nname: bad\n---\n", ".gemini/agents/dear.md": strings.Replace(costly, "fixer", "dear", 1)},
			[]string{"--all", "--to", "claude"}, 1, []string{"refused   bad: ", "refused   dear: ", "ok        fixer", "3 agents for Claude Code: 1 written, 2 refused."}, map[string]string{".claude/agents/fixer.md": "", ".claude/agents/dear.md": "-"},
		},
		{
			"what somebody made up as an original", map[string]string{".gemini/agents/fixer.md": strings.Replace(ourAgent, "---\nYou", "imported: {from: claude, file: fixer.md, front: \"name: fixer\\ntools: Read\\npermissionMode: bypassPermissions\\nmcpServers: {x: {command: sh}}\\n\"}\n---\nYou", 1)},
			[]string{"fixer", "--to", "claude"}, 0,
			[]string{"            warning: permissionMode: bypassPermissions has no effect here; there Claude Code may ask less for it.\n", "            warning: mcpServers: The MCP servers that it describes are not started here; there Claude Code starts them: x.\n"}, nil,
		},
		{"one's own by name", map[string]string{"~/.gemini/agents/fixer.md": ourAgent}, []string{"fixer", "--to", "claude"}, 0, nil, map[string]string{".claude/agents/fixer.md": ""}},
		{
			"all of one's own", map[string]string{"~/.gemini/agents/fixer.md": ourAgent, ".gemini/agents/not.md": strings.Replace(ourAgent, "fixer", "not", 1)}, []string{"--all", "--global", "--to", "claude"}, 0,
			nil, map[string]string{".claude/agents/fixer.md": "", ".claude/agents/not.md": "-"},
		},
		{"no such agent", agent, []string{"fixr", "--to", "claude"}, 1, []string{"there is no agent fixr\n  Did you mean fixer?"}, nil},
		{"nobody like that", nil, []string{"zzzzzz", "--to", "claude"}, 1, []string{"there is no agent zzzzzz\n  See `agentls list`"}, nil},
		{"an invalid one", map[string]string{".gemini/agents/bad.md": "---\nkind: agent\nname: bad\n---\n"}, []string{"bad", "--to", "claude"}, 1, []string{"bad is not usable\n  See why with agentls validate bad"}, nil},
		{"built in", nil, []string{"main", "--to", "claude"}, 1, []string{"main is built in and has no file"}, nil},
		{"none in the folder", nil, []string{"--all", "--to", "claude"}, 1, []string{"this folder has no agents to export", "--global"}, nil},
		{"none of one's own", agent, []string{"--all", "--global", "--to", "claude"}, 1, []string{"you have no agents of your own"}, nil},
		{"nothing named", agent, []string{"--to", "claude"}, 2, []string{"name the agents, or give --all"}, nil},
		{"both", agent, []string{"fixer", "--all", "--to", "claude"}, 2, []string{"not both"}, nil},
		{"no tool", agent, []string{"fixer"}, 2, []string{"--to is missing\n  Use claude, copilot, opencode or gemini-cli"}, nil},
		{"a wrong tool", agent, []string{"fixer", "--to", "cursor"}, 2, []string{`invalid --to "cursor"`}, nil},
		{"several on one output", agent, []string{"fixer", "other", "--to", "claude", "--stdout"}, 2, []string{"--stdout is for one agent"}, nil},
		{"output and folder", agent, []string{"fixer", "--to", "claude", "--stdout", "--out", "x"}, 2, []string{"--stdout writes no file"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folderWith(t, c.files)
			code, out, errs := command(t, dir, append([]string{"export"}, c.args...)...)
			if code != c.code || out != "" {
				t.Errorf("exit %d, stdout %q\n%s", code, out, errs)
			}
			for _, want := range c.want {
				if !strings.Contains(errs, want) {
					t.Errorf("it does not say %q:\n%s", want, errs)
				}
			}
			files := filesIn(t, dir)
			for name, want := range c.made {
				switch got, there := files[name]; {
				case want == "-" && there:
					t.Errorf("%s was written", name)
				case (want != "-" && !there) || (want != "" && want != "-" && got != want):
					t.Errorf("%s is there: %t\n%s", name, there, got)
				}
			}
		})
	}
}

// TestExportPrinted: the file on standard output, the report beside it.
func TestExportPrinted(t *testing.T) {
	dir := folderWith(t, map[string]string{".gemini/agents/fixer.md": ourAgent})
	code, out, errs := command(t, dir, "export", "fixer", "--to", "gemini-cli", "--stdout")
	if code != 0 || out != "---\nkind: local\nname: fixer\ndisplay_name: Fixer\ndescription: Mends.\ntools: [read_file, read_many_files]\n---\nYou mend.\n" || !strings.Contains(errs, "set_state") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	code, out, errs = command(t, dir, "export", "fixer", "--to", "claude", "--stdout", "--json")
	var r exportReport
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || errs != "" || r.OK != 1 || r.Files[0].Text == nil || len(r.Files[0].Losses) != 1 || r.Files[0].Written {
		t.Errorf("exit %d: %v %+v\n%s", code, err, r, errs)
	}
}

// TestExportTwice: the same again changes nothing; two agents with one file there
// do not replace each other.
func TestExportTwice(t *testing.T) {
	dir := folderWith(t, map[string]string{".gemini/agents/fixer.md": ourAgent, "a/some.md": claudeAgent, "b/some.md": strings.Replace(claudeAgent, "reviewer", "second", 1)})
	command(t, dir, "export", "fixer", "--to", "claude")
	if code, _, errs := command(t, dir, "export", "fixer", "--to", "claude"); code != 0 || !strings.Contains(errs, "unchanged fixer → .claude/agents/fixer.md") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if code, out, errs := command(t, dir, "import", "--from", "claude", "a", "b"); code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	code, _, errs := command(t, dir, "export", "reviewer", "second", "--to", "claude", "--force")
	if code != 1 || !strings.Contains(errs, "second is called some.md there, as reviewer is") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if data, err := os.ReadFile(filepath.Join(dir, ".claude", "agents", "some.md")); err != nil || string(data) != claudeAgent {
		t.Errorf("%v %s", err, data)
	}
}
