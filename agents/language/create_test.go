package language

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/template"
	"github.com/agentls/agentls/internal/fault"
)

func TestNewOfEachTemplate(t *testing.T) {
	h := newFixture(t, map[string]string{"a/code-fixer.md": strings.Replace(fixer, "‸", "", 1)})
	dir := filepath.Join(h.dir, "a/.gemini/agents")
	for _, one := range builtin(t) {
		for _, w := range []*World{h.world, {}, newFixture(t, map[string]string{"a/z.md": "---\nname: z\n---\nx\n"}).world} {
			made, err := New(w, Answers{Name: "my-agent", Template: &one, Dir: dir, Folder: filepath.Join(h.dir, "a"), Scope: definition.Project})
			if err != nil {
				t.Errorf("%s: %v", one.Name, err)
				continue
			}
			f := Open(definition.Source{Path: made.Path, Folder: filepath.Join(h.dir, "a"), Scope: definition.Project, Data: []byte(made.Text)})
			d := f.Definition
			if ok, why := d.Usable(); !ok || d.Name != "my-agent" || d.Title != "My Agent" || made.Path != filepath.Join(dir, "my-agent.md") || len(d.Problems) > 0 {
				t.Errorf("%s: %v %v %s %v", one.Name, ok, why, made.Path, d.Problems)
			}
			hands := one.Name == "debugging" && (w == h.world || w.Agents == nil)
			if hands != (len(d.Handoffs) == 1) {
				t.Errorf("%s: handoffs %v", one.Name, d.Handoffs)
			}
			if r := Validate(w, f); !r.Valid() || r.Total < 6 {
				t.Errorf("%s:\n%s", one.Name, r.Text())
			}
		}
	}
}

func TestNewOfAnswers(t *testing.T) {
	own := template.Template{Name: "own", Text: []byte("---\r\n# header\r\nname: own # the name\r\ntitle: Own\r\nkind: agent\r\ntools:\r\n  deny: [bash]\r\n  allow: [ls]\r\nmodel: pro\r\nzeta: 1\r\n---\r\nBody.\r\n")}
	hands := template.Template{Name: "hands", Text: []byte("---\nkind: agent\nname: hands\ntitle: H\nhandoffs:\n  - to: user\n---\nBody.\n")}
	gone := template.Template{Name: "gone", Text: []byte("---\nkind: agent\nname: gone\ntitle: G\nhandoffs:\n  - to: nobody\n  - to: user\n  - to: no-one\n---\nBody.\n")}
	here := newFixture(t, map[string]string{"a/code-fixer.md": strings.Replace(fixer, "‸", "", 1)}).world
	for _, c := range []struct {
		name    string
		answers Answers
		want    string
	}{
		{"a template with handoffs to agents that are not here", Answers{Template: &gone},
			"---\nkind: agent\nname: x\ntitle: X\nhandoffs:\n  - to: user\n---\nBody.\n"},
		{"a template with handoffs", Answers{Template: &hands, Fields: map[string]any{"model": "flash"}},
			"---\nkind: agent\nname: x\ntitle: X\nmodel: flash\nhandoffs:\n  - to: user\n---\nBody.\n"},
		{"no template", Answers{Fields: map[string]any{"description": "Mends: code", "model": "flash"}, Prompt: "Mend it.\n\n"},
			"---\nkind: agent\nname: x\ntitle: X\ndescription: \"Mends: code\"\nmodel: flash\n---\nMend it.\n"},
		{"nested", Answers{Fields: map[string]any{
			"title": "true", "tools": map[string]any{"allow": []any{"ls", "mcp.github.*"}, "confirmation": map[string]any{"timeout": 30.0}}, "mcp": map[string]any{"servers": []any{"github"}},
			"handoffs": []any{map[string]any{"to": "user", "when": "auto"}}, "run": map[string]any{"max_turns": 3.0}, "user_invocable": false, "inputs": map[string]any{},
		}, Prompt: "p"},
			"---\nkind: agent\nname: x\ntitle: \"true\"\ntools:\n  allow: [ls, \"mcp.github.*\"]\n  confirmation:\n    timeout: 30\nmcp:\n  servers: [github]\nhandoffs:\n  - to: user\n    when: auto\ninputs: {}\nrun:\n  max_turns: 3\nuser_invocable: false\n---\np\n"},
		{"long list", Answers{Fields: map[string]any{"triggers": map[string]any{"examples": []any{strings.Repeat("a", 60), strings.Repeat("b", 60)}}}, Prompt: "p"},
			"---\nkind: agent\nname: x\ntitle: X\ntriggers:\n  examples:\n    - " + strings.Repeat("a", 60) + "\n    - " + strings.Repeat("b", 60) + "\n---\np\n"},
		{"template", Answers{Template: &own, Fields: map[string]any{"tools": map[string]any{"allow": []any{"grep"}}, "model": nil, "title": "New"}},
			"---\r\nkind: agent\r\n# header\r\nname: x # the name\r\ntitle: New\r\ntools:\r\n  allow: [grep]\r\n  deny: [bash]\r\nzeta: 1\r\n---\r\nBody.\r\n"},
	} {
		c.answers.Name, c.answers.Dir, c.answers.Scope = "x", "/w/.gemini/agents", definition.Project
		world := &World{}
		if c.answers.Template == &gone {
			world = here
		}
		made, err := New(world, c.answers)
		if err != nil || made.Text != c.want {
			t.Errorf("%s: %v\n%q\nwant\n%q", c.name, err, made.Text, c.want)
		}
	}
}

func TestNewRefused(t *testing.T) {
	h := newFixture(t, map[string]string{"a/code-fixer.md": strings.Replace(fixer, "‸", "", 1), "a/file.md": "---\nkind: agent\nname: named\ntitle: N\n---\nx\n"})
	broken := template.Template{Text: []byte("no front-matter")}
	for _, c := range []struct {
		says    string
		answers Answers
	}{
		{"no capital letters; use not-good", Answers{Name: "Not Good", Prompt: "x"}},
		{"reserved", Answers{Name: "main", Prompt: "x"}},
		{"there already", Answers{Name: "code-fixer", Prompt: "x"}},
		{"taken by file.md", Answers{Name: "named", Prompt: "x", Force: true}},
		{"system prompt is empty", Answers{Name: "new"}},
		{"tool bsh is not known", Answers{Name: "new", Prompt: "x", Fields: map[string]any{"tools": map[string]any{"allow": []any{"bsh"}}}}},
		{"temperature", Answers{Name: "new", Prompt: "x", Fields: map[string]any{"temperature": 3.0}}},
		{"cannot be changed", Answers{Name: "new", Prompt: "x", Template: &broken}},
	} {
		c.answers.Dir, c.answers.Folder, c.answers.Scope = filepath.Join(h.dir, "a/.gemini/agents"), filepath.Join(h.dir, "a"), definition.Project
		made, err := New(h.world, c.answers)
		if err == nil || fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), c.says) || made.Text != "" {
			t.Errorf("%s: %v %q", c.says, err, made.Text)
		}
	}
	if _, err := New(h.world, Answers{Name: "code-fixer", Prompt: "x", Force: true, Dir: filepath.Join(h.dir, "a/.gemini/agents"), Folder: filepath.Join(h.dir, "a"), Scope: definition.Project}); err != nil {
		t.Error(err)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct{ name, text, want, line string }{
		{"good", "---\nkind: agent\nname: x\ntitle: X\n---\np\n",
			"✓ front-matter valid\n✓ required fields present\n✓ model exists\n✓ tools available\n✓ MCP servers configured\n✓ system prompt not empty\nValidation: 6/6 passed\n", "x: ✓ Valid"},
		{"one", "---\nkind: agent\nname: x\ntitle: X\ntools:\n  allow: [bsh]\n---\np\n",
			"✓ front-matter valid\n✓ required fields present\n✓ model exists\n✗ tools available: line 6: The tool bsh is not known; did you mean bash? It is left out, so the agent has no tools.\n✓ MCP servers configured\n✓ system prompt not empty\nValidation: 5/6 passed\n",
			"x: ✗ Invalid (The tool bsh is not known; did you mean bash? It is left out, so the agent has no tools), but it runs"},
		{"a plain list of tools", "---\nname: x\ntools: [x]\n---\np\n",
			"✗ tools available: line 3: The tool x is not known here; correct it, or remove it. It is left out, so the agent has no tools.\n✓ MCP servers configured\n✓ system prompt not empty\nValidation: 5/6 passed\n", ""},
		{"several", "---\nkind: agent\nname: x\ntitle: X\ntools:\n  allow: [bsh, gerp, lss]\n---\np\n",
			"✗ tools available: line 6: The tool bsh is not known; did you mean bash? It is left out, so the agent has no tools. (and 2 more)\n✓ MCP servers configured\n✓ system prompt not empty\nValidation: 5/6 passed\n", ""},
		{"a schema of the output", "---\nkind: agent\nname: x\ntitle: X\noutput: {schema: {type: 3}}\nguardrails: {custom_validator: 'builtin:no-secrets'}\n---\np\n",
			"✓ guardrails exist\nValidation: 7/8 passed\n", ""},
		{"a schema of the guards", "---\nkind: agent\nname: x\ntitle: X\noutput: {schema: {type: object}}\nguardrails: {output_schema: {type: 3}}\n---\np\n",
			"✓ output schema valid\n✗ guardrails exist: line 6: guardrails.output_schema is not a valid JSON Schema: type must be array, boolean, integer, null, number, object or string.\nValidation: 7/8 passed\n", ""},
		{"a graph that leads nowhere", "---\nkind: agent\nname: x\ntitle: X\ngraph: {entry: nope, nodes: [{name: a, agent: b}], edges: [{from: a, to: END}]}\n---\np\n", "✗ graph valid: line 5: The graph has no node nope; add it to nodes, or correct the name.\nValidation: 6/7 passed\n",
			"x: ✗ Invalid (The graph has no node nope; add it to nodes, or correct the name)"},
		{"a restriction that cannot be kept", "---\nname: x\ndescription: d\ntools: Read\nhooks: {PreToolUse: []}\n---\np\n",
			"✗ restrictions can be kept: line 5: This restriction cannot be kept here (its PreToolUse hook may refuse what it does), so the agent does not run; remove the field, and limit the agent with tools.allow and tools.deny.\nValidation: 6/7 passed\n", "x: ✗ Invalid (This restriction cannot be kept here (its PreToolUse hook may refuse what it does), so the agent does not run; remove the field, and limit the agent with tools.allow and tools.deny)"},
		{"more fields", "---\nkind: agent\nname: x\ntitle: X\ntriggers: {patterns: ['(']}\ninputs: {a: {type: string}}\nhandoffs: [{to: user}]\n---\n${b}\n", "Validation: 7/9 passed\n", ""},
		{"unread", "nothing", "Validation: 0/6 passed\n", ""},
		{"no name", "---\nkind: agent\ntitle: X\n---\n", "Validation: 4/6 passed\n", ""},
	} {
		r := Validate(&World{}, openText("/w/.gemini/agents/x.md", c.text))
		if !strings.HasSuffix(r.Text(), c.want) || r.Valid() != !strings.Contains(r.Text(), "✗") || (c.line != "" && r.Line() != c.line) {
			t.Errorf("%s:\n%s%s", c.name, r.Text(), r.Line())
		}
	}
	// Every error of a file fails some check.
	h := newFixture(t, map[string]string{"a/x.md": "---\nkind: agent\nname: ‸x\ntitle: X\nhandoffs: [{to: nobody}]\nguardrails: {custom_validator: 'builtin:none'}\noutput: {schema: {type: 3}}\n---\np\n"})
	r := Validate(h.world, h.cursor)
	var failed []string
	for _, check := range r.Checks {
		if !check.OK {
			failed = append(failed, check.Code)
		}
	}
	if want := []string{"agent/handoff-target", "agent/schema", "agent/validator"}; !slices.Equal(slices.Sorted(slices.Values(failed)), want) && r.Passed != 6 {
		t.Errorf("%v\n%s", failed, r.Text())
	}
}

// TestNameOfFile: a name of the file's stem, where that can be a name.
func TestNameOfFile(t *testing.T) {
	for path, want := range map[string]string{"/a/My Agent.md": "my-agent", "a.agent.md": "a", `c:\x\y.md`: "y", "/a/1foo.md": "", "/a/-.md": ""} {
		got := nameOfFile(path)
		if got != want {
			t.Errorf("%s: %q", path, got)
		}
		if got != "" && CheckName(got) != nil {
			t.Errorf("%s: %q is no name", path, got)
		}
	}
}
