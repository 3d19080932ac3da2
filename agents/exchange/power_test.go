package exchange

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentls/agentls/agents/definition"
)

// probes are names of tools that an agent may have: all of ours, and tools of
// MCP servers and handoffs that no list names, as well as those that one does.
func probes(defs ...*definition.Definition) []string {
	names := []string{"transfer_to_somebody", "mcp.unheard.of", "mcp.github.unheard"}
	for _, t := range definition.ToolNames() {
		names = append(names, t.Name)
	}
	for _, d := range defs {
		for _, list := range [][]string{d.Tools.Allow, d.Tools.Deny, d.Confirmation.Require} {
			for _, name := range list {
				names = append(names, name, strings.NewReplacer("*", "some", "?", "s").Replace(name), strings.NewReplacer("*", "", "?", "t").Replace(name))
			}
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" }) // no tool is called so
}

// may reports whether a list lets a tool be called, by the rules of spec 4.2.
func may(d *definition.Definition, name string) bool {
	for _, p := range d.Tools.Deny {
		if definition.MatchTool(p, name) {
			return false
		}
	}
	if !d.Tools.Given {
		return true
	}
	for _, p := range d.Tools.Allow {
		if definition.MatchTool(p, name) {
			return true
		}
	}
	return false
}

// asks reports whether a tool always asks.
func asks(d *definition.Definition, name string) bool {
	return slices.ContainsFunc(d.Confirmation.Require, func(p string) bool { return definition.MatchTool(p, name) })
}

// gains returns what to may do that from may not, one tool at a time, or "". It
// is written apart from what it tests.
func gains(from, to *definition.Definition) string {
	for _, name := range probes(from, to) {
		if may(to, name) && !may(from, name) {
			return "the tool " + name
		}
		if may(to, name) && asks(from, name) && !asks(to, name) {
			return "the tool " + name + " without a question"
		}
	}
	all := func(names []string) bool { return slices.Contains(names, "*") }
	for _, s := range to.MCPServers {
		if !all(from.MCPServers) && !slices.Contains(from.MCPServers, s) {
			return "the MCP server " + s
		}
	}
	for _, s := range to.Subagents {
		if !all(from.Subagents) && !slices.Contains(from.Subagents, s) {
			return "the subagent " + s
		}
	}
	if len(to.Handoffs) > len(from.Handoffs) {
		return "handoffs"
	}
	if len(from.Authority) > len(to.Authority) {
		return fmt.Sprintf("a run, though %v", from.Authority)
	}
	if from.MaxTurns > 0 && (to.MaxTurns == 0 || to.MaxTurns > from.MaxTurns) || from.MaxTime > 0 && (to.MaxTime == 0 || to.MaxTime > from.MaxTime) {
		return "time or turns"
	}
	if !from.Delegable && to.Delegable {
		return "callers"
	}
	return ""
}

var dialects = []definition.Dialect{definition.Claude, definition.Copilot, definition.OpenCode, definition.GeminiCLI}

// foreignName draws an entry of another tool's list, known or not.
func foreignName(d definition.Dialect) *rapid.Generator[string] {
	known := append(natives(d), "Read", "Bash", "MultiEdit", "NotebookEdit", "Nonsense", "search/codebase", "editFiles", "shell", "*", "read_file",
		"Bash(git:*)", "Edit(src/**)", "Task(a-b, c)", "Task", "mcp__github", "mcp__github__get", "mcp__a_b__c", "github/*", "github/issue", "mcp_x_*", "mcp_x_y", "mcp_*",
		"mcp.github.get", "gh_*", "transfer_to_x", "microsoft/playwright/click", "web_*", "read-file", "", " ", "a, b", "it's", `say "x"`, "#x", "漢")
	return rapid.OneOf(rapid.SampledFrom(known), rapid.SampledFrom(known), rapid.StringMatching(`[A-Za-z_./*?-]{1,12}`))
}

// foreignFile draws a file of a dialect, with lists, switches, modes and limits.
func foreignFile(t *rapid.T, d definition.Dialect) string {
	lines := []string{"name: Some Agent", "description: 'Does: things'", "emoji: 🦊 # as it was"}
	pick := func(what string) bool { return rapid.Bool().Draw(t, what) }
	names := func(what string) []string { return rapid.SliceOfN(foreignName(d), 0, 6).Draw(t, what) }
	if d == definition.GeminiCLI {
		lines = append(lines, "kind: local")
	}
	if pick("tools given") {
		switch {
		case d == definition.OpenCode:
			lines = append(lines, "tools:")
			seen := map[string]bool{}
			for _, n := range append(names("tools"), "bash") {
				if !seen[n] {
					seen[n] = true
					lines = append(lines, fmt.Sprintf("  %s: %v", definition.YAMLText(n), pick("on")))
				}
			}
		case pick("in one text"):
			lines = append(lines, "tools: "+definition.YAMLText(strings.Join(names("tools"), ", ")))
		default:
			lines = append(lines, "tools: "+listOf(names("tools")))
		}
	}
	if pick("denied") {
		lines = append(lines, "disallowedTools: "+listOf(names("denied tools")))
	}
	if pick("mode") {
		lines = append(lines, "permissionMode: "+rapid.SampledFrom([]string{"plan", "dontAsk", "acceptEdits", "bypassPermissions", "default", "strange"}).Draw(t, "mode"))
	}
	if pick("permission") {
		verdict := rapid.SampledFrom([]string{"allow", "ask", "deny", "perhaps", `{"*": ask, "rm *": deny}`, `{"*": allow, "git push": ask}`})
		if pick("one for all") {
			lines = append(lines, "permission: "+rapid.SampledFrom([]string{"allow", "ask", "deny"}).Draw(t, "verdict"))
		} else {
			lines = append(lines, "permission:")
			for _, n := range []string{"edit", "bash", "webfetch", "teleport", "external_directory"} {
				if pick(n) {
					lines = append(lines, "  "+n+": "+verdict.Draw(t, "verdict"))
				}
			}
		}
	}
	if pick("servers") {
		lines = append(lines, "mcpServers: "+rapid.SampledFrom([]string{"[github, x]", "{github: {command: run}}", "[]", "[github, {x: {command: y}}]"}).Draw(t, "servers"))
	}
	if pick("agents") {
		lines = append(lines, "agents: "+rapid.SampledFrom([]string{"[]", "[SWE, qa]", `"*"`}).Draw(t, "agents"))
	}
	if pick("authority") {
		lines = append(lines, rapid.SampledFrom([]string{"hooks: {PreToolUse: [{matcher: Bash}], Stop: []}", "isolation: worktree", "sandbox: true", "disable: true", "hooks: [x]"}).Draw(t, "authority"))
	}
	if pick("limits") {
		lines = append(lines, rapid.SampledFrom([]string{"maxTurns: 7", "steps: 3", "timeout_mins: 900000", "max_time: 90s\nmaxCost: 0.5\nmaxTokens: 90071992547409"}).Draw(t, "limits"))
	}
	if pick("invocation") {
		lines = append(lines, "disable-model-invocation: true", "user-invocable: false")
	}
	return "---\n" + strings.Join(lines, "\n") + "\n---\n\nYou help.\n"
}

func listOf(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = definition.YAMLText(n)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// TestNothingGainsPower: over any lists of tools, modes, permissions, servers and
// limits: what an import makes may do no more than the file, each tool at a time;
// nor what an export of that makes than it; and the original returns.
func TestNothingGainsPower(t *testing.T) {
	imported, exported, denied := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.SampledFrom(dialects).Draw(t, "from")
		text := foreignFile(t, from)
		file := fileOf("some-agent", from)
		original := definition.Parse(source(file, text, from))
		im, err := Import(file, []byte(text), Options{From: from})
		if err != nil {
			if ok, _ := original.Usable(); ok {
				t.Fatalf("a usable file is refused: %v\n%s", err, text)
			}
			return
		}
		imported++
		ours := definition.Parse(definition.Source{Path: im.Name + ".md", Data: im.Text})
		if ok, why := ours.Usable(); !ok {
			t.Fatalf("%v\n%s", why, im.Text)
		}
		if gained := gains(original, ours); gained != "" {
			t.Fatalf("import gains %s\n%s\n%s", gained, text, im.Text)
		}
		if original.Tools.Given && !ours.Tools.Given {
			t.Fatalf("no tools became all\n%s\n%s", text, im.Text)
		}
		if len(original.Authority) != len(ours.Authority) {
			t.Fatalf("authority %v became %v\n%s", original.Authority, ours.Authority, im.Text)
		}
		back, err := Export(im.Name+".md", im.Text, from, Options{})
		if err != nil || string(back.Data) != text || back.File != file {
			t.Fatalf("does not return: %v\n%s\n%s", err, text, im.Text)
		}
		for _, to := range dialects {
			if to != from { // what returns is the original, as was seen
				exportGainsNothing(t, ours, im.Text, to, &exported, &denied)
			}
		}
	})
	if imported == 0 || exported == 0 || denied == 0 {
		t.Errorf("%d imported, %d exported, %d denied: too few to say anything", imported, exported, denied)
	}
}

func exportGainsNothing(t *rapid.T, ours *definition.Definition, text []byte, to definition.Dialect, exported, denied *int) {
	out, err := Export(ours.Name+".md", text, to, Options{})
	if err != nil {
		*denied++
		if !restricted(ours) {
			t.Fatalf("to %s: refused without a restriction: %v\n%s", to, err, text)
		}
		forced, again := Export(ours.Name+".md", text, to, Options{Force: true})
		if again != nil {
			t.Fatalf("to %s by force: %v", to, again)
		}
		if !slices.ContainsFunc(forced.Loss, func(l Loss) bool { return l.Severity == definition.Error }) {
			t.Fatalf("to %s by force nothing is told: %v", to, forced.Loss)
		}
		return
	}
	*exported++
	theirs := definition.Parse(source(out.File, string(out.Data), to))
	if ok, why := theirs.Usable(); !ok {
		t.Fatalf("to %s: %v\n%s", to, why, out.Data)
	}
	if gained := gains(ours, theirs); gained != "" {
		t.Fatalf("export to %s gains %s\n%s\n%s", to, gained, text, out.Data)
	}
	if ours.Tools.Given && !theirs.Tools.Given {
		t.Fatalf("to %s: a list became all\n%s", to, out.Data)
	}
}

// restricted reports whether an agent has a restriction beyond its lists of tools,
// servers and subagents, which every tool can express by a shorter list.
func restricted(d *definition.Definition) bool {
	return len(d.Confirmation.Require) > 0 || len(d.Authority) > 0 || !d.Delegable || d.MaxTurns > 0 || d.MaxTime > 0 || d.MaxTokens > 0 || d.MaxCost > 0
}

// TestOwnAgentsGainNoPower: the same for agents of ours that were never another
// tool's.
func TestOwnAgentsGainNoPower(t *testing.T) {
	var names []string
	for _, row := range definition.ToolNames() {
		names = append(names, row.Name)
	}
	names = append(names, "*", "read_*", "mcp.github.*", "mcp.github.get", "mcp.x.y", "mcp.*", "*file*", "web_?etch", "transfer_to_b", "mcp.*.get")
	exported, denied := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SliceOfN(rapid.SampledFrom(names), 0, 10)
		lines := []string{"kind: agent", "name: ours", "title: Ours"}
		pick := func(what string) bool { return rapid.Bool().Draw(t, what) }
		var tools []string
		if pick("allow") {
			tools = append(tools, "  allow: "+listOf(some.Draw(t, "allowed")))
		}
		if pick("deny") {
			tools = append(tools, "  deny: "+listOf(some.Draw(t, "denied")))
		}
		if pick("confirm") {
			tools = append(tools, "  confirmation: {require_confirmation: "+listOf(rapid.SliceOfN(rapid.SampledFrom(names), 0, 2).Draw(t, "confirmed"))+"}")
		}
		if len(tools) > 0 {
			lines = append(lines, "tools:")
		}
		lines = append(lines, tools...)
		lines = append(lines, rapid.SampledFrom([]string{"mcp: {servers: [github]}", `mcp: {servers: "*"}`, "query: x"}).Draw(t, "servers"))
		lines = append(lines, rapid.SampledFrom([]string{"subagents: [b, c]", `subagents: "*"`, "temperature: 1"}).Draw(t, "subagents"))
		if pick("limit") {
			lines = append(lines, "run: {max_turns: 5}")
		}
		text := "---\n" + strings.Join(lines, "\n") + "\n---\nYou help.\n"
		ours := definition.Parse(definition.Source{Path: "ours.md", Data: []byte(text)})
		if ok, why := ours.Usable(); !ok {
			t.Fatalf("%v\n%s", why, text)
		}
		for _, to := range dialects {
			exportGainsNothing(t, ours, []byte(text), to, &exported, &denied)
		}
	})
	if exported == 0 || denied == 0 {
		t.Errorf("%d exported, %d denied: too few to say anything", exported, denied)
	}
}
