package definition

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestWhatIsSaid: what is wrong, and what to do, in our words.
func TestWhatIsSaid(t *testing.T) {
	for fields, want := range map[string]string{
		// Text that is no YAML.
		"too\n":                               "This line has no colon after a key; write it as key: value, or remove it",
		"description: T\ntoo\nmodel: pro\n":   "This line has no colon after a key",
		"tools:\n  allow: [a]\n  deny\n":      "This line has no colon after a key",
		"description: T\n model: pro\n":       "This key is further in than the one above it",
		"tools:\n  allow:\n  - a\n deny: b\n": "This key is not as far in as the keys that it belongs to",
		"tools: {allow: [a, b\n":              "write ] at its end",
		"tools: {allow: [a}\n":                "A comma or ] is missing",
		"tools: {allow: [a]\nmodel: pro\n":    "A comma or } is missing",
		"- a\n":                               "An entry of a list does not belong here",
		"tools: - a\n":                        "An entry of a list must begin its own line",
		"description: \"a\\qb\"\n":            "A backslash between double quotes",
		"x: !foo a\n":                         "A tag (!) is not allowed",
		// Tools.
		"tools: {allow: [bsh]}\n":                                     "The tool bsh is not known; did you mean bash? It is left out, so the agent has no tools.",
		"tools: {deny: ['bas[h]']}\n":                                 "The tool bas[h] is not known; did you mean bash? It is denied as it is written.",
		"tool_confirmation: {require_confirmation: ['b[aeiou]sh']}\n": "The tool b[aeiou]sh is not known; correct it, or name an MCP server's tool as mcp.<server>.<tool>. It asks as it is written.",
		// Values.
		"handoffs: [reviewer]\n":               "An entry of handoffs must be an object; write to: reviewer.",
		"handoffs: [3]\n":                      "An entry of handoffs must be an object with to, not a number.",
		"handoffs: [null]\n":                   "An entry of handoffs is empty and must be an object with to",
		"handoffs: [{to: w2:Fix}]\n":           `A name has no capital letters, so "w2:Fix" is no agent's name`,
		"modle: flash\nmodel: pro\n":           "and model is there already; remove one.",
		"temprature: 1\ntemp: 1\n":             "and temperature is there already",
		"tool_confirmation: {timeout: soon}\n": "tools.confirmation.timeout must be seconds",
		"maxTurns: x\n":                        "run.max_turns must be a whole number",
		"inputs: {x: {required: 3}}\n":         "inputs.x.required must be true or false",
		"version: 1\n":                         "version must be a semantic version such as 1.0.0",
		"output: {schema: {type: foo}}\n":      "is not a valid JSON Schema: type must be array, boolean,",
		"output: {schema: {properties: []}}\n": "properties must be an object",
		"output: {schema: {$ref: '#/x'}}\n":    "a $ref leads to #/x, which is not there",
		"output: {schema: {pattern: '('}}\n":   "The pattern does not compile",
		// memory and tracing, by the table of fields.
		"memory: {enabled: 3}\n":              "memory.enabled must be true or false, not a number",
		"memory: {type: vektor}\n":            "memory.type must be vector or key_value; did you mean vector?",
		"memory: {foo: 1}\n":                  "The field memory.foo is not known",
		"memory: {backend: pinecone}\n":       "memory.backend: pinecone is not in this version; write local or redis.",
		"memory: {session: a}\n":              "memory.session must be a list of strings",
		"memory: {top_k: 0}\n":                "memory.top_k must be 1 or more",
		"memory: {long_term: {backend: x}}\n": "memory.long_term.backend must be vector_store or filesystem",
		"tracing: {enabled: x}\n":             "tracing.enabled must be true or false",
		"tracing: {backend: z}\n":             "tracing.backend must be console, file, otlp or langsmith",
		"tracing: {events: [tol]}\n":          "did you mean tool?",
		"tracing: {sample_rate: 2}\n":         "tracing.sample_rate must be from 0 to 1",
		"tracing: {backend: opentelemetry}\n": "counts in your own settings and agents only",
		"tracing: {captureContent: true}\n":   "it sends data elsewhere",
		"tracing: {foo: 3}\n":                 "The field tracing.foo is not known",
		"graph: 3\n":                          "graph must be an object",
		"description: 'x: y\n":                "the agent loads all the same",
		"description: a: b\n":                 "the agent loads all the same",
	} {
		d := parse(ownPath, own(fields))
		said := ""
		for _, p := range d.Problems {
			said += p.Message + "\n"
		}
		if !strings.Contains(said, want) {
			t.Errorf("%q: %swant %q", fields, said, want)
		}
	}
	for name, want := range map[string]string{
		"code fixer": "A name has no spaces; use code-fixer.", "Code": "A name has no capital letters; use code.",
		"é": "not “é”; write one such as code-fixer.", "2nd": "A name begins with a letter; use agent-2nd.", "a--b": "none twice in a row; use a-b.",
		strings.Repeat("a", 65): "at most 64 characters",
	} {
		d := parse(ownPath, "---\nkind: agent\nname: "+name+"\ntitle: T\n---\nx\n")
		if len(d.Problems) == 0 || !strings.Contains(d.Problems[0].Message, want) {
			t.Errorf("%s: %v, want %q", name, d.Problems, want)
		}
	}
	for fields := range map[string]bool{
		"memory: {enabled: true, type: vector, backend: redis, session: [a], long_term: {backend: filesystem, config: {a: b}}, scope: user, top_k: 3}\n": true,
		"tracing: {enabled: true, backend: console, events: [llm, tool], sample_rate: 0.5, captureContent: false}\n":                                     true,
		"handoffs: [{to: w2:fix}]\nsubagents: [w2:fix]\n": true,
	} {
		if d := parse(ownPath, own(fields)); len(d.Problems) > 0 {
			t.Errorf("%q: %v", fields, d.Problems)
		}
	}
	if d := parse(ownPath, own("handoffs: [{to: w2:fix}]\n")); len(d.Handoffs) != 1 || d.Handoffs[0].To != "w2:fix" {
		t.Errorf("%+v", d.Handoffs)
	}
}

// TestUnfinishedIsNotRepaired: a key that is being written becomes no text of the
// line above it, and what may be one is not written by fix-all.
func TestUnfinishedIsNotRepaired(t *testing.T) {
	for _, fields := range []string{
		"description: T\ntoo\n", "description: T\n model: pro\n", "too\n", "description: T\nmodl\nmodel: pro\n", "description: \"T\n",
		"description: Use.\n\n<example>\nuser: \"Hi\"\n</example>\n",
	} {
		text := own(fields)
		if got := FixAll(Source{Path: ownPath, Scope: Project, Data: []byte(text)}); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	d := parse(ownPath, "---\nkind: agent\n name: ind\ntitle: T\n---\nx\n")
	if len(d.Problems) != 1 || d.Problems[0].Code != "agent/yaml" || d.Problems[0].Range.Start.Line != 2 {
		t.Errorf("%v", d.Problems)
	}
}

// TestFixesOfTypes: fixes for values of a wrong type give a file without the
// problem.
func TestFixesOfTypes(t *testing.T) {
	for fields, title := range map[string]string{
		"version: 1\n": "Replace with 1.0.0", "version: 1.2\n": "Replace with 1.2.0", "title2: x\nquery: 3\n": "Put it in quotes",
		"handoffs: [reviewer]\n": "Write it as {to: reviewer}", "handoffs:\n- reviewer\n": "Write it as to: reviewer",
		"tools: {allow: read_file}\n": "Write it as a list", "tools:\n  allow: read_file, grep\n": "Write it as a list",
		"kind2: x\nmemory: {type: vektor}\n": "Replace with vector",
	} {
		text := own(fields)
		d := parse(ownPath, text)
		fixed := false
		for _, p := range d.Problems {
			for _, fix := range Fixes(ownPath, text, p) {
				if p.Code == "agent/type" && fix.Title == title {
					after := parse(ownPath, Apply(text, fix.Edits))
					fixed = !strings.Contains(fmt.Sprint(told(after)), "type ")
				}
			}
		}
		if !fixed {
			t.Errorf("%q: %v", fields, d.Problems)
		}
	}
	for _, fields := range []string{"color: 3\n", "thinking_level: 1\n", "scope: true\n"} {
		text := own(fields)
		for _, p := range parse(ownPath, text).Problems {
			if fixes := Fixes(ownPath, text, p); len(fixes) > 0 {
				t.Errorf("%q: %v", fields, fixes)
			}
		}
	}
	text := "---\nkind: agnt\nname: code-fixer\ntitle: T\n---\nx\n"
	if d := parse(ownPath, text); len(d.Problems) != 1 || d.Problems[0].Meant != "agent" {
		t.Errorf("%v", d.Problems)
	}
}

// TestOtherToolsServersAndNames: an MCP server that is not configured, and a name
// that is misspelt, are found in other tools' files as in ours, and mended in their
// spelling.
func TestOtherToolsServersAndNames(t *testing.T) {
	const claude, gemini = "/w/.claude/agents/code-fixer.md", "/w/.gemini/agents/code-fixer.md"
	installed := Installed{
		Servers:     func(string) []string { return []string{"github", "on", "mcp-github"} },
		ServerTools: func(_, server string) ([]string, bool) { return []string{"list_issues"}, server == "on" },
	}
	const copilot = "/w/.github/agents/code-fixer.agent.md"
	for _, c := range []struct{ path, fields, found, fixes string }{
		{copilot, "tools: [mcp-gihub/search]\n", "tool-unknown mcp-gihub→mcp-github/search", "Replace with mcp-github/search, Remove mcp-gihub/search"},
		{claude, "tools: mcp__gthub__foo, Read\n", "tool-unknown gthub→mcp__github__foo", "Replace with mcp__github__foo, Remove mcp__gthub__foo"},
		{claude, "tools: mcp__other__foo\n", "tool-unknown other→", ""},
		{claude, "tools: mcp__github__foo\n", "tool-unverified github→", ""},
		{claude, "tools: Read, mcp__on__list_isues\n", "tool-unknown on→mcp__on__list_issues", "Replace with mcp__on__list_issues, Remove mcp__on__list_isues"},
		{claude, "tools: mcp__on__list_issues\n", "", ""},
		{claude, "tools: Bash, Bsh\n", "tool-unknown Bsh→Bash", "Replace with Bash, Remove Bsh"},
		{claude, "tools: [Bash, Bsh]\n", "tool-unknown Bsh→Bash", "Replace with Bash, Remove Bsh"},
		{claude, "disallowedTools: Bsh, Read\n", "tool-unknown Bsh→Bash", "Replace with Bash"},
		{gemini, "kind: local\ntools: [mcp_x_*]\n", "tool-unknown x→", "Remove mcp_x_*"},
		{gemini, "kind: local\ntools: [mcp_on_*, read_fil]\n", "tool-unknown read_fil→read_file", "Replace with read_file, Remove read_fil"},
		{gemini, "kind: local\ntools: [mcp_x_*]\nmcpServers: {x: {command: y}}\n", "", ""},
	} {
		text := "---\nname: code-fixer\ndescription: x\n" + c.fields + "---\nx\n"
		d := Parse(Source{Path: c.path, Scope: Project, Data: []byte(text), Installed: installed})
		var found, fixes []string
		for _, p := range d.Problems {
			if !strings.HasPrefix(p.Code, "agent/tool-") {
				continue
			}
			if p.Severity != Hint {
				t.Errorf("%q: %v", c.fields, p)
			}
			_, name, _ := strings.Cut(p.Message, "server ")
			if name == "" {
				_, name, _ = strings.Cut(p.Message, "tool ")
			}
			name, _, _ = strings.Cut(name, " ")
			found = append(found, strings.TrimPrefix(p.Code, "agent/")+" "+name+"→"+p.Meant)
			for _, fix := range Fixes(c.path, text, p) {
				fixes = append(fixes, fix.Title)
				after := Parse(Source{Path: c.path, Scope: Project, Data: []byte(Apply(text, fix.Edits)), Installed: installed})
				if strings.Contains(fmt.Sprint(told(after)), "tool-unknown") {
					t.Errorf("%q: %s leaves %v", c.fields, fix.Title, told(after))
				}
			}
		}
		if got := strings.Join(found, ", "); got != c.found || (strings.Join(fixes, ", ") != c.fixes && c.fixes != "") {
			t.Errorf("%q: %s; %s", c.fields, got, strings.Join(fixes, ", "))
		}
	}
}

// TestLimitsAreCalledAsWritten: what another tool's file says of limits is told by
// the key that stands there.
func TestLimitsAreCalledAsWritten(t *testing.T) {
	for fields, want := range map[string]string{
		"kind: local\ntimeout_mins: x\n": "timeout_mins must be a number, not a string.", "kind: local\ntimeout_mins: 0\n": "timeout_mins must be over 0.",
		"kind: local\nmax_turns: 0\n": "max_turns must be 1 or more.", "tools: Read\nmaxTurns: x\n": "maxTurns must be a whole number, not a string.",
		"tools: Read\nrun: {max_cost: 0}\n": "run.max_cost must be over 0.", "kind: agent\nmaxCost: 0\n": "run.max_cost must be over 0.",
		"kind: agent\ntimeout_mins: x\n": "timeout_mins must be a number, not a string.",
	} {
		var said []string
		for _, p := range parse(ownPath, "---\nname: code-fixer\ndescription: x\n"+fields+"---\nx\n").Problems {
			if p.Code == "agent/type" {
				said = append(said, p.Message)
			}
		}
		if !slices.Equal(said, []string{want}) {
			t.Errorf("%q: %q", fields, said)
		}
	}
}
