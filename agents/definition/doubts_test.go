package definition

import (
	"strings"
	"testing"
)

// TestDoubts: what does not do what it says is told at its place.
func TestDoubts(t *testing.T) {
	installed := installation
	installed.Sampling = func(model string) bool { return model != "flash" }
	head := "---\nkind: agent\nname: code-fixer\ntitle: T\n"
	for _, c := range []struct {
		fields string // below the head, ‹ and › around what is told
		code   string // with the severity; "" = nothing is told
		says   string
	}{
		{"model: flash\n‹temperature›: 0.2\n", "no-effect warning", "The model flash takes no temperature"},
		{"‹topP›: 0.2\nmodel: flash\n", "no-effect warning", "The model flash takes no top_p"},
		{"model: pro\ntemperature: 0.2\n", "", ""},
		{"temperature: 0.2\n", "", ""},
		{"thinking_budget: 100\n‹thinking_level›: low\n", "no-effect warning", "both given"},
		{"thinking_level: low\n", "", ""},
		{"temperature: 0.1\n‹temp›: 0.2\n", "unknown-field hint", "temp says the same as temperature"},
		{"fallback_models: [pro]\n‹fallbackModels›: [flash]\n", "unknown-field hint", "says the same"},
		{"user_invocable: true\n‹userInvocable›: false\n", "unknown-field hint", "says the same"},
		{"run: {max_turns: 3}\n‹maxTurns›: 4\n", "unknown-field hint", "maxTurns limits the same as run.max_turns, and the smaller counts"},
		{"run: {max_turns: 3, ‹maxTurns›: 4}\n", "unknown-field hint", "run.maxTurns limits the same as run.max_turns"},
		{"handoffs: [{to: b, include_context: true, ‹includeContext›: false}]\n", "unknown-field hint", "says the same"},
		{"inputs: {a: {enum: [x, y], default: ‹z›}}\n", "type error", "The default of input a is none of its values"},
		{"inputs: {a: {type: 'string[]', default: ‹[x, z]›, enum: [x, y]}}\n", "type error", "none of its values"},
		{"inputs: {a: {type: 'number[]', default: [1, 2], enum: [1, 2, 3]}}\n", "", ""},
		{"inputs: {a: {enum: [x, y]}}\n", "", ""},
		{"output: {text: 'Is ‹${nope}› ${b} $${c}', schema: {type: object, properties: {b: {}}}}\n", "placeholder warning", "The output has no field nope"},
		{"output: {text: '${nope}', schema: {type: object, properties: {b: {}}, additionalProperties: true}}\n", "", ""},
		{"output: {text: '${value}', schema: {type: string}}\n", "", ""},
		{"tools: {confirmation: {prompt_template: 'go {tool_name}, ‹{nope}›? {a b}'}}\n", "placeholder warning", "{nope} is no placeholder of a question"},
		{"tools: {allow: [ls]}\nsubagents: [b]\n", "", ""},
		{"tools: {allow: ['*'], deny: [delegate_to_agent]}\n‹subagents›: [b]\n", "no-effect warning", "without the tool delegate_to_agent"},
		{"tools: {allow: [ls, ‹delegate_to_agent›]}\n", "no-effect warning", "is not offered delegate_to_agent without the field subagents"},
		{"tools: {allow: [ls]}\n‹memory›: {enabled: true}\n", "no-effect warning", "without the tool store_memory or recall_memory"},
		{"tools: {allow: [recall_memory, 'delegate*']}\nsubagents: ['*']\nmemory: {enabled: true}\n", "", ""},
		{"tools: {deny: [ls]}\nsubagents: [b]\n", "", ""},
		{"tools: {allow: [ls]}\n‹mcp›: {servers: [github]}\n", "no-effect warning", "add mcp.github.*, or remove mcp"},
		{"tools: {allow: [mcp.github.create_issue]}\nmcp: {servers: [github]}\n", "", ""},
		{"tools: {allow: ['*']}\nmcp: {servers: [github]}\n", "", ""},
		{"‹scope: system›\n", "type warning", "so its scope is project, not system"},
	} {
		src := head + c.fields + "---\nx\n"
		want := Span{}
		if c.code != "" {
			src, want = marked(src)
		}
		d := Parse(Source{Path: ownPath, Scope: Project, Folder: "/w", Data: []byte(src), Model: known, Installed: installed})
		if c.code == "" {
			if len(d.Problems) > 0 {
				t.Errorf("%q: %+v", c.fields, d.Problems)
			}
			continue
		}
		if c.fields == "‹scope: system›\n" {
			want.Start += len("scope: ") // of the value
		}
		if len(d.Problems) != 1 {
			t.Errorf("%q: %+v", c.fields, d.Problems)
			continue
		}
		p, index := d.Problems[0], NewIndex(src)
		got := Span{index.Offset(p.Range.Start), index.Offset(p.Range.End)}
		if strings.TrimPrefix(p.Code, "agent/")+" "+string(p.Severity) != c.code || got != want || !strings.Contains(p.Message, c.says) {
			t.Errorf("%q: %s %s at %q: %s", c.fields, p.Code, p.Severity, src[got.Start:got.End], p.Message)
		}
	}
	for _, title := range []string{"title:\n", "title: ''\n", "title: ' '\n"} {
		d := parse(ownPath, "---\nkind: agent\nname: code-fixer\n"+title+"---\nx\n")
		if got := told(d); len(got) != 1 || !strings.HasPrefix(got[0], "type warning 4:1-") || d.Title == "" {
			t.Errorf("%q: %q, %q", title, got, d.Title)
		}
	}
	router := "---\nkind: agent\nscope: system\nname: router\ntitle: R\n---\nx\n"
	if d := parse("/w/.gemini/agents/router.md", router); len(d.Problems) > 0 {
		t.Errorf("one that replaces the router: %+v", d.Problems)
	}
}
