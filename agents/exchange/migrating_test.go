package exchange

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/internal/fault"
)

// theirKey is a row of docs/migrating.md: a key of another tool's with a value,
// and its other spellings. What it becomes is not said here: an import says.
type theirKey struct {
	key, value string
	also       []string
}

var theirKeys = map[definition.Dialect][]theirKey{
	definition.Claude: {
		{"name", "Code Reviewer", nil}, {"description", "Reviews changes.", nil},
		{"tools", "Read, Grep", nil}, {"tools", "[]", nil}, {"disallowedTools", "Write, Bash", []string{"disallowed-tools", "disallowed_tools"}},
		{"model", "inherit", nil}, {"model", "sonnet", nil}, {"model", "claude-sonnet-4-5", nil},
		{"permissionMode", "default", []string{"permission-mode"}}, {"permissionMode", "plan", nil}, {"permissionMode", "dontAsk", nil},
		{"permissionMode", "acceptEdits", nil}, {"permissionMode", "bypassPermissions", nil}, {"permissionMode", "auto", nil}, {"permissionMode", "delegate", nil}, {"permissionMode", "another", nil},
		{"mcpServers", "[github]", nil}, {"mcpServers", "{github: {command: github-mcp}}", nil},
		{"hooks", "{PreToolUse: [{matcher: Bash}]}", nil}, {"hooks", "{PostToolUse: [{matcher: Edit}]}", nil},
		{"isolation", "worktree", nil}, {"maxTurns", "20", nil}, {"effort", "high", nil}, {"color", "blue", nil},
		{"memory", "project", nil}, {"skills", "[deploy]", nil}, {"background", "true", nil}, {"initialPrompt", "Begin.", nil},
		{"emoji", "🦊", nil}, {"vibe", "calm", nil}, {"author", "Somebody", nil}, {"license", "MIT", nil}, {"metadata", "{team: web}", nil},
		{"tags", "[web]", nil}, {"category", "web", nil}, {"when_to_use", "Often.", nil}, {"input_schema", "{type: object}", nil},
	},
	definition.Copilot: {
		{"name", "Code Reviewer", nil}, {"description", "Reviews changes.", nil},
		{"tools", "[read, search/codebase]", nil}, {"tools", "[]", nil},
		{"model", "GPT-5", nil}, {"agents", "[Tester]", nil}, {"agents", "[]", nil}, {"agents", `"*"`, nil},
		{"user-invocable", "false", []string{"user_invocable", "userInvocable", "user-invokable"}},
		{"disable-model-invocation", "true", []string{"disableModelInvocation"}}, {"infer", "false", nil},
		{"mcp-servers", "{github: {type: http}}", []string{"mcpServers", "mcp_servers"}},
		{"handoffs", "[{label: Test it, agent: tester, prompt: Test it.}]", nil},
		{"argument-hint", "What to review", []string{"argumentHint"}}, {"target", "vscode", nil}, {"mode", "agent", nil}, {"hidden", "true", nil},
	},
	definition.OpenCode: {
		{"name", "Code Reviewer", nil}, {"description", "Reviews changes.", nil}, {"prompt", "You review.", nil},
		{"tools", "{write: false, bash: false}", nil}, {"tools", `{"*": false, read: true}`, nil},
		{"permission", "{edit: deny, bash: ask}", []string{"permissions"}}, {"permission", "{webfetch: allow}", nil}, {"permission", "ask", nil},
		{"permission", `{bash: {"*": ask, git status: allow}}`, nil}, {"permission", "{external_directory: deny}", nil}, {"permission", "{doom_loop: ask}", nil}, {"permission", "{teleport: deny}", nil},
		{"model", "anthropic/claude-sonnet-4-5", nil}, {"model", "google/gemini-2.5-pro", nil},
		{"temperature", "0.2", []string{"temp"}}, {"top_p", "0.9", []string{"topP"}}, {"reasoningEffort", "xhigh", []string{"reasoning_effort"}},
		{"steps", "20", []string{"maxSteps"}}, {"disable", "true", []string{"disabled"}}, {"enabled", "false", nil},
		{"color", "accent", nil}, {"mode", "subagent", nil}, {"hidden", "true", nil},
	},
	definition.GeminiCLI: {
		{"kind", "local", nil}, {"kind", "remote", nil}, {"name", "code-reviewer", nil}, {"display_name", "Reviewer", []string{"displayName"}}, {"description", "Reviews changes.", nil},
		{"tools", "[read_file, run_shell_command]", nil}, {"tools", "[mcp_github_*]", nil}, {"tools", `["*"]`, nil},
		{"mcp_servers", "{github: {command: github-mcp}}", []string{"mcpServers"}},
		{"model", "gemini-2.5-flash", nil}, {"model", "inherit", nil}, {"temperature", "0.2", nil},
		{"max_turns", "20", nil}, {"timeout_mins", "5", nil}, {"agent_card_url", "https://example.com/card", nil},
		{"sandbox", "true", []string{"sandbox_mode", "sandboxMode"}},
	},
}

// theirTools are the names that other tools have for tools, as they write them.
var theirTools = map[definition.Dialect][]string{
	definition.Claude: {
		"Read", "Write", "Edit", "MultiEdit", "NotebookEdit", "NotebookRead", "Bash", "BashOutput", "KillShell", "KillBash", "Glob", "Grep", "LS", "LSP", "WebFetch", "WebSearch",
		"TodoWrite", "TodoRead", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "Task", "Agent", "Task(tester)", "Bash(git:*)", "AskUserQuestion", "ExitPlanMode", "Skill", "SlashCommand", "SendMessage", "ToolSearch",
		"mcp__github", "mcp__github__get_issue",
	},
	definition.Copilot: {
		"read", "edit", "search", "execute", "shell", "web", "todo", "todos", "agent", "custom-agent", "vscode",
		"read/readFile", "read/problems", "search/codebase", "search/fileSearch", "search/textSearch", "search/listDirectory", "search/readFile", "search/usages",
		"edit/editFiles", "edit/createFile", "edit/createDirectory", "edit/rename", "edit/editNotebook", "web/fetch", "web/search",
		"execute/runInTerminal", "runCommands/runInTerminal", "execute/getTerminalOutput", "runCommands/getTerminalOutput", "agent/runSubagent", "vscode/askQuestions", "vscode/memory",
		"codebase", "fileSearch", "textSearch", "listDirectory", "readFile", "usages", "problems", "findTestFiles", "searchResults", "editFiles", "createFile",
		"fetch", "runCommands", "runInTerminal", "run_in_terminal", "terminal", "terminalCommand", "terminalLastCommand", "terminalSelection", "runSubagent", "askQuestions",
		"runTasks", "runTests", "runNotebooks", "testFailure", "changes", "extensions", "githubRepo", "new", "openSimpleBrowser", "vscodeAPI", "renderMermaidDiagram",
		"github/*", "github/get_issue",
	},
	definition.OpenCode:  {"read", "write", "edit", "patch", "bash", "glob", "grep", "list", "lsp", "webfetch", "websearch", "todowrite", "todoread", "question", "task", "skill"},
	definition.GeminiCLI: {"read_file", "read_many_files", "list_directory", "glob", "grep_search", "search_file_content", "write_file", "replace", "run_shell_command", "web_fetch", "google_web_search", "save_memory", "write_todos", "ask_user", "codebase_investigator", "activate_skill", "get_internal_docs", "enter_plan_mode", "exit_plan_mode", "mcp_github_*", "mcp_github_get_issue", "*"},
}

// ourKeys are the rows of what our fields become elsewhere.
var ourKeys = []string{
	"title: Careful Reviewer", "description: Reviews changes.", "systemPrompt: You review.", "model: flash", "model: gemini-2.5-pro", "model: claude-sonnet-4-5", "fallback_models: [flash]",
	`color: "#3B82F6"`, "version: 1.0.0", "tools: {allow: [read_file, read_many_files, grep, bash]}", "tools: {allow: [read_file, ls, glob, grep]}", "tools: {allow: []}", "tools: {deny: [bash]}",
	"tools: {allow: [bash], confirmation: {require_confirmation: [bash]}}", "mcp: {servers: [github]}", "subagents: [tester]", "run: {max_turns: 20}", "run: {max_time: 5m}", "run: {max_tokens: 50000}", "run: {max_cost: 0.5}", "run: {mode: task}",
	"temperature: 0.2", "top_p: 0.9", "thinking_budget: 1024", "thinking_level: high", "inputs: {goal: {type: string}}", "output: {name: report, schema: {type: object}}", "query: Begin.", "initial_messages: [{role: user, text: Hello.}]",
	"triggers: {keywords: [review]}", "handoffs: [{to: tester}]", "guardrails: {on_failure: warn}", "memory: {enabled: true}", "memory_files: false", "graph: {entry: a, nodes: [{name: a, agent: b}], edges: [{from: a, to: END}]}", "tracing: {enabled: true}",
	"user_invocable: false", "routable: false",
}

// TestMigratingPage holds docs/migrating.md to what imports and exports do: its
// tables are what they make of each key and each name of a tool. With -update
// they are written anew.
func TestMigratingPage(t *testing.T) {
	page := filepath.Join("..", "..", "docs", "migrating.md")
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]string{"ours": exportTable(t)}
	for _, d := range dialects {
		tables[string(d)+" keys"], tables[string(d)+" tools"] = keyTable(t, d), toolTable(d)
	}
	text := string(data)
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		begin, end := "<!-- table: "+name+" -->\n", "<!-- end -->\n"
		from := strings.Index(text, begin)
		if from < 0 {
			t.Errorf("the page has no table %s", name)
			continue
		}
		from += len(begin)
		to := from + strings.Index(text[from:], end)
		if text[from:to] != tables[name] && !*update {
			t.Errorf("the table %s is stale; with -update it is written anew:\n%s", name, tables[name])
		}
		text = text[:from] + tables[name] + text[to:]
	}
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range dialects {
		if !strings.Contains(text, "`"+Folder(d)+"`") || !strings.Contains(text, "\n## "+Title(d)+"\n") {
			t.Errorf("the page does not say where agents of %s lie", Title(d))
		}
	}
	checkExample(t, text)
	for _, name := range []string{"query", "cliVersion", "activeModel", "today"} {
		if !strings.Contains(text, "`${"+name+"}`") {
			t.Errorf("the page does not tell of the placeholder %s", name)
		}
	}
	for _, m := range regexp.MustCompile("(?m)^agentls .*?--(from|to) ([a-z-]+)").FindAllStringSubmatch(text, -1) {
		if Folder(definition.Dialect(m[2])) == "" {
			t.Errorf("there is no tool %s", m[2])
		}
	}
}

// checkExample: the page's example becomes what the page says.
func checkExample(t *testing.T, page string) {
	t.Helper()
	block := func(kind string) string {
		_, rest, _ := strings.Cut(page, "\n```"+kind+"\n")
		text, _, found := strings.Cut(rest, "\n```\n")
		if !found {
			t.Fatalf("the page has no %s", kind)
		}
		return text + "\n"
	}
	im, err := Import(".claude/agents/reviewer.md", []byte(block("markdown")), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := "---\n" + block("yaml"); !strings.HasPrefix(string(im.Text), want) || im.Name != "code-reviewer" || len(im.Repaired) != 1 {
		t.Errorf("the example becomes\n%s", im.Text)
	}
	for i, want := range []string{"Bash cannot be limited to (git diff:*)", "NotebookRead has no counterpart", "model sonnet", "plan is read as: only tools that read", "vibe"} {
		if !slices.ContainsFunc(im.Loss, func(l Loss) bool { return strings.Contains(l.Message, want) }) {
			t.Errorf("%d: the example does not tell of %s: %v", i, want, im.Loss)
		}
	}
}

// TestMigratingPageIsWhole: each key and each tool's name that agents/definition
// reads in other tools' files has a row.
func TestMigratingPageIsWhole(t *testing.T) {
	known := make(map[string]bool)
	for _, rows := range theirKeys {
		for _, r := range rows {
			known[r.key] = true
			for _, k := range r.also {
				known[k] = true
			}
		}
	}
	for _, key := range strings.Fields("title systemPrompt system_prompt fallback_models fallbackModels scope version tool_confirmation mcp triggers guardrails " +
		"memory_files graph tracing imported inputs output query initial_messages thinking_budget thinkingBudget thinking_level thinkingLevel run " +
		"max_time max_time_minutes max_tokens maxTokens max_cost maxCost subagents routable") {
		known[key] = true // our own, as a person may have added them to another tool's file
	}
	for _, file := range []string{"fields.go", "foreignfields.go"} {
		for _, key := range casesOf(t, file, "aboutField", "partField", "modelFields", "limitField", "foreignField") {
			if !known[key] {
				t.Errorf("the key %s has no row", key)
			}
		}
	}
	names := make(map[string]bool)
	for _, list := range theirTools {
		for _, name := range list {
			names[strings.ToLower(name)] = true
		}
	}
	rows := 0
	for _, name := range keysOf(t, "foreign.go", "foreignTools", "copilotTools") {
		if rows++; !names[name] {
			t.Errorf("the tool %s has no row", name)
		}
	}
	if rows < 90 {
		t.Errorf("only %d names of tools were found: this test no longer knows where they are", rows)
	}
	said := strings.Join(ourKeys, "\n") + "\n"
	for _, f := range definition.Fields() {
		if f.Dialects == nil && !strings.Contains(f.Path, ".") && !strings.Contains(f.Path, "[") && f.Path != "kind" && f.Path != "name" && f.Path != "scope" && !strings.Contains("\n"+said, "\n"+f.Path+":") && f.Path != "tool_confirmation" {
			t.Errorf("our field %s has no row", f.Path)
		}
	}
}

// casesOf returns the texts of the cases in some functions of agents/definition.
func casesOf(t *testing.T, file string, functions ...string) []string {
	t.Helper()
	var found []string
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "definition", file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range parsed.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || !slices.Contains(functions, f.Name.Name) {
			continue
		}
		for _, stmt := range f.Body.List {
			s, ok := stmt.(*ast.SwitchStmt)
			if !ok {
				continue
			}
			for _, c := range s.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					found = append(found, literalOf(e)...)
				}
			}
		}
	}
	if len(found) < 20 {
		t.Errorf("%s: only %d keys were found: this test no longer knows where they are", file, len(found))
	}
	return found
}

// keysOf returns the keys of some maps of agents/definition.
func keysOf(t *testing.T, file string, variables ...string) []string {
	t.Helper()
	var found []string
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "definition", file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && slices.Contains(variables, v.Names[0].Name) {
			for _, e := range v.Values[0].(*ast.CompositeLit).Elts {
				found = append(found, literalOf(e.(*ast.KeyValueExpr).Key)...)
			}
		}
		return true
	})
	return found
}

func literalOf(e ast.Expr) []string {
	if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
		if s, err := strconv.Unquote(l.Value); err == nil {
			return []string{s}
		}
	}
	return nil
}

// theirFile is a file of another tool's with a key in it.
func theirFile(d definition.Dialect, key, value string) string {
	lines := ""
	for _, l := range [][2]string{{"kind", "local"}, {"name", "sample"}, {"description", "Samples."}} {
		if l[0] != key && (l[0] != "kind" || d == definition.GeminiCLI) {
			lines += l[0] + ": " + l[1] + "\n"
		}
	}
	if key != "" {
		lines += key + ": " + value + "\n"
	}
	body := "You help.\n"
	if key == "prompt" {
		body = ""
	}
	return "---\n" + lines + "---\n" + body
}

// became is what an import makes of a file beyond what it makes of another.
func became(t *testing.T, d definition.Dialect, key, value string) (here, lost string) {
	t.Helper()
	options := Options{From: d}
	plain, err := Import(fileOf("sample", d), []byte(theirFile(d, "", "")), options)
	if err != nil {
		t.Fatal(err)
	}
	im, err := Import(fileOf("sample", d), []byte(theirFile(d, key, value)), options)
	if err != nil {
		_, why, _ := strings.Cut(fault.Message(err), ": ")
		return "**refused**", why
	}
	var keys, losses []string
	was, _ := definition.ReadTree("", string(plain.Text))
	is, _ := definition.ReadTree("", string(im.Text))
	ours := definition.Parse(definition.Source{Path: "sample.md", Data: im.Text})
	for i, k := range is.Root.Keys {
		v := &is.Root.Items[i]
		if old := was.Root.Get(k.Name); k.Name != "imported" && (old == nil || flow(old) != flow(v) || (k.Name == key && k.Name != "kind")) {
			keys = append(keys, "`"+k.Name+": "+flow(v)+"`")
		}
	}
	for _, l := range im.Loss {
		if !slices.Contains(plain.Loss, l) {
			losses = append(losses, l.Message)
		}
	}
	if here = strings.Join(keys, ", "); here == "" {
		here = "–"
	}
	if len(ours.Authority) > 0 {
		here = "**stops runs**, kept as " + here
	}
	return here, strings.Join(losses, " ")
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func keyTable(t *testing.T, d definition.Dialect) string {
	var b strings.Builder
	b.WriteString("| theirs | here | what to know |\n| --- | --- | --- |\n")
	for _, r := range theirKeys[d] {
		here, lost := became(t, d, r.key, r.value)
		also := ""
		for i, k := range r.also {
			if other, _ := became(t, d, k, r.value); other != here && strings.ReplaceAll(other, k, r.key) != here {
				t.Errorf("%s: %s becomes %s, and %s becomes %s", d, r.key, here, k, other)
			}
			also += map[bool]string{true: ", also `", false: ", `"}[i == 0] + k + "`"
		}
		fmt.Fprintf(&b, "| `%s: %s`%s | %s | %s |\n", r.key, cell(r.value), also, cell(here), cell(lost))
	}
	return b.String()
}

func toolTable(d definition.Dialect) string {
	var b strings.Builder
	b.WriteString("| theirs | allowed, it allows | denied, it denies |\n| --- | --- | --- |\n")
	names := func(list []string) string {
		if len(list) == 0 {
			return "–"
		}
		return "`" + strings.Join(list, "` `") + "`"
	}
	for _, name := range theirTools[d] {
		allow := meaning(d, name)
		deny := sample(d, "disallowedTools: ["+definition.YAMLText(name)+"]").Tools.Deny
		if d == definition.OpenCode {
			deny = sample(d, "tools: {"+definition.YAMLText(name)+": false}").Tools.Deny
		}
		if d == definition.GeminiCLI {
			deny = nil // its files have no list of what is denied
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, names(allow.Allow), names(deny))
	}
	if d == definition.GeminiCLI {
		return strings.ReplaceAll(strings.ReplaceAll(b.String(), " | – |\n", " |\n"), "| theirs | allowed, it allows | denied, it denies |\n| --- | --- | --- |", "| theirs | allows |\n| --- | --- |")
	}
	return b.String()
}

// exportTable has what our fields become in each other tool's file.
func exportTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| ours | Claude Code | GitHub Copilot | opencode | gemini-cli |\n| --- | --- | --- | --- | --- |\n")
	for _, line := range ourKeys {
		fmt.Fprintf(&b, "| `%s` |", cell(line))
		for _, to := range dialects {
			fmt.Fprintf(&b, " %s |", cell(exported(t, line, to)))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func exported(t *testing.T, line string, to definition.Dialect) string {
	t.Helper()
	file := func(line string) []byte {
		body := "You help.\n"
		if strings.HasPrefix(line, "systemPrompt") {
			body = ""
		}
		if strings.HasPrefix(line, "inputs") {
			body = "You reach ${goal}.\n"
		}
		if !strings.HasPrefix(line, "description") {
			line = "description: Samples.\n" + line
		}
		return []byte("---\nkind: agent\nname: sample\n" + line + "\n---\n" + body)
	}
	plain, err := Export("sample.md", file("routable: true"), to, Options{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := Export("sample.md", file(line), to, Options{})
	if fault.KindOf(err) == fault.Denied {
		return "**refused**"
	}
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	was, _ := definition.ReadTree("", string(plain.Data))
	is, _ := definition.ReadTree("", string(out.Data))
	var keys []string
	for i, k := range is.Root.Keys {
		if old := was.Root.Get(k.Name); old == nil || flow(old) != flow(&is.Root.Items[i]) {
			keys = append(keys, "`"+k.Name+": "+flow(&is.Root.Items[i])+"`")
		}
	}
	key, _, _ := strings.Cut(line, ":")
	for _, l := range out.Loss {
		switch {
		case slices.Contains(plain.Loss, l):
		case l.Severity == definition.Hint:
			keys = append(keys, "left out")
		default:
			keys = append(keys, "left out, with a warning")
		}
	}
	if key == "systemPrompt" {
		return "the text below the front-matter"
	}
	if len(keys) == 0 {
		return "as without it"
	}
	return strings.Join(keys, ", ")
}
