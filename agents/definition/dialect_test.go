package definition

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCanonicalTool: names, aliases, dashes, patterns (spec 4.1).
func TestCanonicalTool(t *testing.T) {
	tests := []struct {
		name, want string
		ok         bool
	}{
		{"read_file", "read_file", true}, {"read-file", "read_file", true}, {"web-search", "web_search", true},
		{"list_directory", "ls", true}, {"ripgrep", "grep", true}, {"replace", "edit_file", true}, {"memory", "save_memory", true},
		{"run_shell_command", "bash", true}, {"transfer_to_code-fixer", "transfer_to_code-fixer", true}, {"handoff_to_x", "transfer_to_x", true},
		{"handoff-to-x", "transfer_to_x", true}, {"transfer_to_", "transfer_to_", false}, {"transfer_to_A B", "transfer_to_A B", false},
		{"mcp.github.create_issue", "mcp.github.create_issue", true}, {"mcp.github", "mcp.github", false}, {"mcp..x", "mcp..x", false},
		{"mcp.github.*", "mcp.github.*", true}, {"*", "*", true}, {"read_*", "read_*", true}, {"read-*", "read_*", true}, {"zz*", "zz*", false}, {"*-", "*-", false},
		{"transfer_to_*", "transfer_to_*", true}, {"handoff_to_*", "transfer_to_*", true}, {"Read", "Read", false}, {"", "", false}, {"nope", "nope", false},
	}
	for _, test := range tests {
		if got, ok := CanonicalTool(test.name); got != test.want || ok != test.ok {
			t.Errorf("%q: %q %v", test.name, got, ok)
		}
	}
	seen := make(map[string]bool)
	for _, row := range ToolNames() {
		for _, name := range append([]string{row.Name}, row.Aliases...) {
			if got, ok := CanonicalTool(name); !ok || got != row.Name || seen[name] {
				t.Errorf("%s: %s %v", name, got, ok)
			}
			seen[name] = true
		}
	}
	for _, rows := range []map[string]foreign{foreignTools, copilotTools} {
		for name, row := range rows {
			for _, canonical := range append(append([]string{}, row.allow...), row.deny...) {
				if got, ok := CanonicalTool(canonical); !ok || got != canonical {
					t.Errorf("%s leads to %s, which is no tool", name, canonical)
				}
			}
			if name != strings.ToLower(name) {
				t.Errorf("%s is never found", name)
			}
		}
	}
}

// TestMatchTool: patterns.
func TestMatchTool(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "", true}, {"*", "mcp.a.b", true}, {"mcp.*", "mcp.a.b", true}, {"mcp.*.b", "mcp.a.b", true}, {"mcp.*.c", "mcp.a.b", false},
		{"a*b*c", "aXbYbZc", true}, {"a?c", "abc", true}, {"a?c", "ac", false}, {"", "", true}, {"", "a", false}, {"a", "a", true}, {"**a", "ba", true},
	} {
		if got := MatchTool(test.pattern, test.name); got != test.want {
			t.Errorf("%q %q: %v", test.pattern, test.name, got)
		}
	}
}

// TestDialects: place, else keys (spec 1.7).
func TestDialects(t *testing.T) {
	const here = "/w/.gemini/agents/a.md"
	for _, test := range []struct {
		path, fields string
		want         Dialect
	}{
		{here, "kind: agent\ndisallowedTools: Bash", Agentls}, {here, "kind: local", GeminiCLI}, {here, "display_name: X", GeminiCLI},
		{here, "disallowedTools: Bash", Claude}, {here, "permissionMode: plan", Claude}, {here, "tools: Read, Bash", Claude},
		{"/w/.gemini/agents/a.agent.md", "description: x", Copilot}, {here, "mcp-servers: {}", Copilot}, {here, "tools: [edit/editFiles]", Copilot},
		{here, "description: x", Claude}, {here, "description: x\ntitle: y\nversion: 1.2\ntemperature: 0.5\nscope: project", Claude}, {here, "description: x\ninputs: {a: {type: string}}", Agentls}, {here, "description: x\ninputs: [a]", Claude},
		{here, "description: x\noutput: context.md", Claude}, {here, "description: x\noutput: {schema: {}}", Agentls}, {here, "description: x\ntriggers: [a]", Claude}, {here, "", Agentls}, {here, "max_turns: 3", GeminiCLI},
		{here, "tools: {bash: false}", OpenCode}, {here, "tools: {allow: []}", Agentls}, {"/w/.claude/agents/a.md", "kind: agent", Claude},
		{"/w/.github/agents/a.md", "", Copilot}, {"/w/.opencode/agent/a.md", "", OpenCode},
	} {
		if d := parse(test.path, "---\nname: a\n"+test.fields+"\n---\nx\n"); d.Dialect != test.want {
			t.Errorf("%s %q: %s", test.path, test.fields, d.Dialect)
		}
	}
}

// TestForeignKeys: a key of somebody else's that has the name of one of ours, and not its
// shape, costs a hint; in a file of ours it is the mistake that it looks like.
func TestForeignKeys(t *testing.T) {
	const here, head = "/w/.gemini/agents/a.md", "---\nname: Code Reviewer\ndescription: Reads code.\n"
	for _, field := range []string{
		"output: context.md", "triggers: [a, b]", "triggers: review", "inputs: [a]", "inputs: {a: text}", "title: [a]", "version: {major: 1}", "scope: [src]",
		"temperature: low", "run: always", "graph: yes", "initial_messages: [hello]", "query: [a]", "routable: maybe", "subagents: {a: b}", "mcp: [github]",
	} {
		d := parse(here, head+field+"\n---\nx\n")
		hints := 0
		for _, p := range d.Problems {
			if p.Severity != Hint {
				t.Errorf("%s: %s", field, p.Message)
			}
			if p.Code == "agent/dialect" && strings.Contains(p.Message, "another tool's field") {
				hints++
			}
		}
		if d.Dialect != Claude || d.Name != "code-reviewer" || hints != 1 {
			t.Errorf("%s: read as %s, %d hints: %v", field, d.Dialect, hints, d.Problems)
		}
		if d := parse(here, "---\nkind: agent\nname: a\ntitle: A\n"+field+"\n---\nx\n"); !slices.ContainsFunc(d.Problems, func(p Problem) bool { return p.Severity == Error }) {
			t.Errorf("%s: no error in a file of ours", field)
		}
	}
	for _, field := range []string{"title: The Reviewer", "version: 1.2", "version: 1.0.0", "temperature: 0.2", "scope: project", "scope: src"} {
		if d := parse(here, head+field+"\n---\nx\n"); d.Dialect != Claude || slices.ContainsFunc(d.Problems, func(p Problem) bool { return p.Severity != Hint }) {
			t.Errorf("%s: read as %s: %v", field, d.Dialect, d.Problems)
		}
	}
}

// TestTranslation: nothing that restricts power is lost, and power never grows
// (spec 1.7).
func TestTranslation(t *testing.T) {
	const claude, copilot, opencode, gemini = "/w/.claude/agents/a.md", "/w/.github/agents/a.agent.md", "/w/.opencode/agent/a.md", "/w/.gemini/agents/a.md"
	none := Tools{Given: true}
	plan := []string{"read_file", "read_many_files", "ls", "glob", "grep", "diagnostics", "symbols", "definition", "references", "recall_memory", "write_todos", "get_state", "set_state", "ask_user", "delegate_to_agent", "complete_task"}
	tests := []struct {
		name, path, fields string
		check              func(d *Definition) any
		want               any
	}{
		{"claude tools", claude, "tools: Read, Write, Bash, Grep", tools, Tools{Given: true, Allow: []string{"read_file", "read_many_files", "write_file", "bash", "grep"}}},
		{"claude list", claude, "tools: [LS, Glob, WebFetch, TodoWrite, MultiEdit]", tools, Tools{Given: true, Allow: []string{"ls", "glob", "web_fetch", "write_todos", "edit_file"}}},
		{"maps to nothing", claude, "tools: Foo, NotebookEdit", tools, none},
		{"empty", claude, "tools:", tools, none},
		{"empty list", claude, "tools: []", tools, none},
		{"arguments limited", claude, "tools: Bash(git:*), Read", tools, Tools{Given: true, Allow: []string{"read_file", "read_many_files"}}},
		{"absent", claude, "model: inherit", tools, Tools{}},
		{"disallowed", claude, "disallowedTools: Bash, Write, mcp__github__push, Unknown", tools,
			Tools{Deny: []string{"bash", "git_commit", "delete_file", "move_file", "write_file", "apply_patch", "mcp.github.push", "Unknown"}}},
		{"disallowed by argument", claude, "disallowedTools: [Bash(rm:*)]", tools, Tools{Deny: []string{"bash", "git_commit", "delete_file", "move_file"}}},
		{"task", claude, "tools: Task", subagents, []string{"*"}},
		{"task limited", claude, "tools: Read, Task(code-reviewer, Test Runner)", subagents, []string{"code-reviewer", "test-runner"}},
		{"mcp server", claude, "tools: Read, mcp__github__get, mcp__slack", servers, []string{"github", "slack"}},
		{"mcp tools", claude, "tools: mcp__github__get, mcp__slack", tools, Tools{Given: true, Allow: []string{"mcp.github.get", "mcp.slack.*"}}},
		{"plan", claude, "permissionMode: plan", tools, Tools{Given: true, Allow: plan}},
		{"plan and list", claude, "permissionMode: plan\ntools: Read, Bash, mcp__a__b", tools, Tools{Given: true, Allow: []string{"read_file", "read_many_files"}}},
		{"dontAsk", claude, "permissionMode: dontAsk\ntools: Edit, Grep", tools, Tools{Given: true, Allow: []string{"grep"}}},
		{"bypass adds nothing", claude, "permissionMode: bypassPermissions\ntools: Read", tools, Tools{Given: true, Allow: []string{"read_file", "read_many_files"}}},
		{"unknown mode", claude, "permissionMode: quiet", authority, 1},
		{"hooks", claude, "hooks: {PreToolUse: [{matcher: Bash}], Stop: []}", authority, 1},
		{"isolation", claude, "isolation: worktree", authority, 1},
		{"skills are comfort", claude, "skills: [a]\nmemory: user\nbackground: true", authority, 0},
		{"max turns", claude, "maxTurns: 4", func(d *Definition) any { return d.MaxTurns }, 4},
		{"name", claude, "description: x", func(d *Definition) any { return d.Name + "/" + d.Title }, "a/A"},
		{"copilot sets", copilot, "tools: ['read', 'edit', 'search/codebase', 'execute/runInTerminal', 'web/fetch', 'vscodeAPI']", tools,
			Tools{Given: true, Allow: []string{"read_file", "read_many_files", "ls", "diagnostics", "edit_file", "write_file", "apply_patch", "grep", "glob", "symbols", "bash", "web_fetch"}}},
		{"copilot server", copilot, "tools: ['github/*', 'github/create_issue', 'microsoft/playwright-mcp/click']\nmcp-servers: {x: {}}", tools,
			Tools{Given: true, Allow: []string{"mcp.github.*", "mcp.github.create_issue", "mcp.playwright-mcp.click"}}},
		{"copilot agents", copilot, "tools: [agent, read]\nagents: ['SWE', 'QA']", subagents, []string{"swe", "qa"}},
		{"copilot no agents", copilot, "tools: [agent]\nagents: []", subagents, []string(nil)},
		{"copilot invocation", copilot, "disable-model-invocation: true\nuser-invocable: false", func(d *Definition) any { return fmt.Sprint(d.UserInvocable, d.Routable, d.Delegable) }, "false false false"},
		{"copilot handoffs are buttons", copilot, "handoffs: [{label: Go, agent: b, send: true}]", func(d *Definition) any { return len(d.Handoffs) }, 0},
		{"opencode switches", opencode, "tools: {write: false, bash: false, 'gh_*': false}", tools,
			Tools{Deny: []string{"write_file", "apply_patch", "move_file", "delete_file", "bash", "git_commit", "gh_*"}}},
		{"opencode only", opencode, "tools: {'*': false, read: true, grep: true}", tools, Tools{Given: true, Allow: []string{"read_file", "read_many_files", "grep"}}},
		{"opencode permission", opencode, "permission: {edit: deny, bash: {'*': allow, 'git push': ask}, webfetch: allow}", func(d *Definition) any { return [2][]string{d.Tools.Deny, d.Confirmation.Require} },
			[2][]string{{"edit_file", "write_file", "apply_patch", "delete_file", "move_file"}, {"bash", "git_commit", "delete_file", "move_file"}}},
		{"opencode bash deny", opencode, "permission: {bash: {'*': deny, 'git diff': allow}}", tools, Tools{Deny: []string{"bash", "git_commit", "delete_file", "move_file"}}},
		{"opencode unknown deny", opencode, "permission: {teleport: deny}", authority, 1},
		{"opencode disable", opencode, "disable: true", authority, 1},
		{"gemini tools", gemini, "kind: local\ntools: [read_file, run_shell_command, 'mcp_git-hub_*', mcp_a_b_c, mcp_x]\nmcp_servers: {a_b: {command: x}}", tools,
			Tools{Given: true, Allow: []string{"read_file", "bash", "mcp.git-hub.*", "mcp.a_b.c"}}},
		{"gemini servers", gemini, "kind: local\ntools: ['mcp_*']", servers, []string{"*"}},
		{"gemini limits", gemini, "kind: local\ntimeout_mins: 3\nmax_turns: 9", func(d *Definition) any { return fmt.Sprint(d.MaxTime == 3*time.Minute, d.MaxTurns) }, "true 9"},
		{"our list", gemini, "kind: agent\ntools: [read_file]\npermissionMode: plan", tools, Tools{Given: true, Allow: []string{"read_file"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			src := "---\nname: a\n" + test.fields + "\n---\nx\n"
			d := parse(test.path, src)
			checkProblems(t, src, d)
			if ok, reason := d.Usable(); !ok {
				t.Errorf("not usable: %v", reason)
			}
			if got := test.check(d); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %v\nwant %v\n%v", got, test.want, told(d))
			}
			for _, p := range d.Problems {
				if p.Severity == Error {
					t.Errorf("error in another tool's file: %v", p)
				}
			}
		})
	}
}

func tools(d *Definition) any     { return d.Tools }
func subagents(d *Definition) any { return d.Subagents }
func servers(d *Definition) any   { return d.MCPServers }
func authority(d *Definition) any { return len(d.Authority) }

// TestPlacesInCommaText: findings about a text with commas are at the word.
func TestPlacesInCommaText(t *testing.T) {
	d := parse("/w/.claude/agents/a.md", "---\nname: a\ntools: \"Read, Nope , Bash(x, y)\"\n---\nx\n")
	if got := told(d); fmt.Sprint(got) != "[tool-unknown hint 3:15-3:19 tool-unknown hint 3:22-3:32]" {
		t.Error(got)
	}
}

// TestSlug: names of other tools become ours, always valid or empty.
func TestSlug(t *testing.T) {
	for name, want := range map[string]string{
		"Senior Cloud Architect": "senior-cloud-architect", "SE: Product Manager": "se-product-manager", "powershell-5.1-expert": "powershell-5-1-expert",
		"3D Artist": "agent-3d-artist", "中文": "", "Customer's Friend": "customers-friend", "Ünïx": "n-x", "": "", "--a__b--": "a-b",
		strings.Repeat("long-name-", 10): "long-name-long-name-long-name-long-name-long-name-long-name-long",
	} {
		got := slug(name)
		if got != want || (got != "" && !validName(got)) {
			t.Errorf("%q: %q", name, got)
		}
	}
	d := parse("/w/.claude/agents/helper.md", "---\nname: 助手\ndescription: x\n---\nx\n")
	if d.Name != "helper" || d.Title != "助手" {
		t.Errorf("%s %s", d.Name, d.Title)
	}
	unnamed := parse("/w/.github/agents/My Helper.agent.md", "---\ndescription: x\n---\nx\n")
	if ok, _ := unnamed.Usable(); !ok || unnamed.Name != "my-helper" || unnamed.Guessed {
		t.Errorf("%+v", unnamed)
	}
}
