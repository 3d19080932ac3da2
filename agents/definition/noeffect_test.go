package definition

import (
	"strings"
	"testing"
)

// useSample puts a table in the place of the real one, from which rows go.
func useSample() (restore func()) {
	restore = UseNoEffect(false)
	noEffect = []noEffectRow{
		{field: "mcp.servers", tools: []string{"mcp.*"}}, {field: "subagents", tools: []string{"delegate_to_agent"}},
		{field: "memory", tools: []string{"store_memory", "recall_memory"}}, {tools: []string{"symbols", "references"}},
	}
	for _, field := range []string{"triggers", "handoffs", "memory_files", "tracing", "routable"} {
		noEffect = append(noEffect, noEffectRow{field: field})
	}
	return restore
}

// TestNoEffect: what has no effect in this version is told once at its key: as a
// warning, and in another tool's file as a hint. A value that says nothing is left alone.
func TestNoEffect(t *testing.T) {
	defer useSample()()
	claude := "/w/.claude/agents/x.md"
	for _, c := range []struct{ path, fields, told string }{
		{ownPath, "triggers: {keywords: [a]}", "no-effect warning triggers"},
		{ownPath, "triggers: [{intent: a, keywords: [a]}]", "no-effect warning triggers"},
		{ownPath, "handoffs: [{to: b}, {to: c}]", "no-effect warning handoffs"},
		{ownPath, "memory: {enabled: true}", "no-effect warning memory"},
		{ownPath, "memory_files: false", "no-effect warning memory_files"},
		{ownPath, "tracing: {enabled: true}", "no-effect warning tracing"},
		{ownPath, "mcp: {servers: [github]}", "no-effect warning servers"},
		{ownPath, "subagents: [b, c]", "no-effect warning subagents"},
		{ownPath, "routable: false", "no-effect warning routable"},
		{ownPath, "tools: {allow: [read_file, delegate-to-agent, 'store_*', 'mcp.github.*', 'read_*', '*']}",
			"no-effect warning delegate-to-agent, no-effect warning 'store_*', no-effect warning 'mcp.github.*'"},
		{ownPath, "tools: {allow: [read_file], deny: [delegate_to_agent]}", ""},
		{ownPath, "triggers:\nhandoffs: []\nguardrails: []\nmemory: {}\nsubagents: []\nmcp: {servers: []}", ""},
		{claude, "description: d\ntools: Read, Task", "no-effect hint Task"},
		{claude, "description: d\nmcpServers: [github]", "no-effect hint mcpServers"},
		{claude, "description: d\nmemory: user", "unknown-field hint memory"},
		{"/w/.github/agents/x.agent.md", "handoffs: [{label: a, agent: b}]\nagents: [b]", "unknown-field hint handoffs, no-effect hint agents"},
	} {
		src := "---\nkind: agent\nname: code-fixer\ntitle: T\n" + c.fields + "\n---\nx\n"
		if c.path != ownPath {
			src = "---\nname: code-fixer\n" + c.fields + "\n---\nx\n"
		}
		index := NewIndex(src)
		var told []string
		d := Parse(Source{Path: c.path, Scope: Project, Data: []byte(src)})
		for _, p := range d.Problems {
			told = append(told, strings.TrimPrefix(p.Code, "agent/")+" "+string(p.Severity)+" "+src[index.Offset(p.Range.Start):index.Offset(p.Range.End)])
			if strings.HasPrefix(p.Code, "agent/no-effect") && !strings.Contains(p.Message, "has no effect in this version") {
				t.Errorf("%q: %s", c.fields, p.Message)
			}
		}
		if got := strings.Join(told, ", "); got != c.told {
			t.Errorf("%q:\ngot  %s\nwant %s", c.fields, got, c.told)
		}
		if usable, why := d.Usable(); !usable {
			t.Errorf("%q: %s", c.fields, why.Message)
		}
	}
}

// TestNoEffectRemoved: each finding has a fix that removes its field or its tool.
func TestNoEffectRemoved(t *testing.T) {
	defer useSample()()
	const src = "---\nkind: agent\nname: a\ntitle: A\ntools:\n  allow: [ls, symbols, grep, references] # kept\nmcp: {servers: [a]}\n" +
		"triggers: # gone\n  keywords: [a]\nhandoffs:\n  - to: b\nrun: {max_turns: 3}\n---\nx\n"
	got := WithoutNoEffect(src)
	const want = "---\nkind: agent\nname: a\ntitle: A\ntools:\n  allow: [ls, grep] # kept\nrun: {max_turns: 3}\n---\nx\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	UseNoEffect(false)
	if got := WithoutNoEffect(src); got != src {
		t.Errorf("with an empty table:\n%s", got)
	}
}

// TestNoEffectTable: each row is of a field, or of tools, that there are.
func TestNoEffectTable(t *testing.T) {
	for _, row := range noEffectTable {
		if _, ok := FieldAt(row.field); row.field != "" && !ok {
			t.Errorf("there is no field %s", row.field)
		}
		for _, name := range row.tools {
			if canonical, ok := CanonicalTool(strings.TrimSuffix(name, "*")); (!ok && !strings.HasSuffix(name, "*")) || !strings.HasPrefix(name, canonical) {
				t.Errorf("there is no tool %s", name)
			}
		}
	}
	defer useSample()()
	field, _ := FieldAt("triggers.keywords")
	if !strings.HasSuffix(field.Text(), field.Doc+" It has no effect in this version.") {
		t.Error(field.Text())
	}
	UseNoEffect(false)
	if field.Text() != field.Doc || HasNoEffect("triggers") || ToolHasNoEffect("mcp.a.b") {
		t.Error("an empty table says something")
	}
}
