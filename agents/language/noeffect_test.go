package language

import (
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/template"
)

// TestNoEffect: hover, completion and validation say of what has no effect in this
// version that it has none, and what is made of a template has nothing of it. With an
// empty table they say what they say of any other field.
func TestNoEffect(t *testing.T) {
	defer definition.UseNoEffect(true)()
	const none = "no effect in this version"
	w := team(t)
	hover := func(text string) string {
		at := strings.Index(text, "‸")
		f := openText("/w/.gemini/agents/x.md", strings.Replace(text, "‸", "", 1))
		h, _ := HoverAt(w, f, f.Index.Position(at))
		return h.Markdown
	}
	file := "---\nkind: agent\nname: x\ntitle: X\ntools:\n  allow: [read_file]\ntracing: {enabled: true}\n---\np\n"
	guarded := strings.Replace(file, "tracing:", "guardrails: {output_schema: {type: object}}\ntracing:", 1)
	const few = "✓ front-matter valid\n✓ required fields present\n✓ model exists\n✓ tools available\n✓ MCP servers configured\n✓ system prompt not empty\n"
	for _, c := range []struct {
		on    bool
		hover bool
		text  string
		valid string
	}{
		{true, true, file, few + "Validation: 6/6 passed\n"},
		{true, true, guarded, few + "✗ restrictions can be kept: line 7: This restriction cannot be kept here (guardrails has no effect in this version, and nothing would be checked), so the agent does not run; remove the field to run the agent without it.\nValidation: 6/7 passed\n"},
		{false, false, guarded, "✓ front-matter valid\n✓ required fields present\n✓ model exists\n✓ tools available\n✓ MCP servers configured\n✓ system prompt not empty\n✓ guardrails exist\nValidation: 7/7 passed\n"},
	} {
		definition.UseNoEffect(c.on)
		for _, key := range []string{"guardrails‸: {}", "guardrails: {on_fail‸ure: warn}"} {
			if got := hover(front(key)); strings.Contains(got, none) != c.hover || got == "" {
				t.Errorf("%t %s: %s", c.on, key, got)
			}
		}
		if got := hover(front("mo‸del: pro")); strings.Contains(got, none) {
			t.Errorf("%t model: %s", c.on, got)
		}
		if r := Validate(&World{}, openText("/w/.gemini/agents/x.md", c.text)); r.Text() != c.valid {
			t.Errorf("%t: %s", c.on, r.Text())
		}
	}
	definition.UseNoEffect(true)
	list, err := template.List("")
	if err != nil {
		t.Fatal(err)
	}
	for _, tpl := range list {
		made, err := New(&World{}, Answers{Name: "x", Template: &tpl, Dir: "/w/.gemini/agents", Folder: "/w", Scope: definition.Project})
		if err != nil || len(made.Problems) > 0 || tpl.Name != "blank" && strings.Contains(made.Text, "triggers:") == definition.HasNoEffect("triggers") {
			t.Errorf("%s: %v %+v\n%s", tpl.Name, err, made.Problems, made.Text)
		}
	}
}
