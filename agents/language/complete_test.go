package language

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
)

func labels(items []Item) []string {
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = item.Label
	}
	return names
}

// TestComplete: at each cursor some labels are offered and some are not, and one
// of them, taken, gives a line of the text.
func TestComplete(t *testing.T) {
	w := team(t)
	for _, test := range []struct {
		name, text string
		has, not   string // labels, with spaces between
		take       string // a label, and the text that it makes
		makes      string
	}{
		{"keys", front("‸"), "title description model tools handoffs run", "name kind disallowedTools allow max_turns", "title", "name: mine\ntitle: \n---"},
		{"keys typed", front("mo‸"), "model title", "", "model", "\nmodel: \n"},
		{"keys before others", "---\n‸\nname: mine\ntools:\n  allow: [ls]\n---\nx", "kind model", "name tools", "kind", "---\nkind: agent\nname"},
		{"keys, the file broken", "---\nname: mine\ntools: [ls\nmo‸", "model run", "name", "model", "\nmodel: "},
		{"keys not closed", "---\nname: mine\n‸", "model kind", "name", "run", "\nrun:\n  "},
		{"a key that has a value", front("mod‸: pro"), "model", "", "model", "\nmodel: pro\n"},
		{"keys again, in quotes", front("\"mo‸\": pro"), "model", "", "model", "\n\"model\": pro\n"},
		{"nested", front("tools:\n  ‸"), "allow deny confirmation", "name model", "deny", "tools:\n  deny: []\n"},
		{"nested, one is there", front("tools:\n  allow: [ls]\n  ‸"), "deny confirmation", "allow", "", ""},
		{"nested, one is below", front("tools:\n  ‸\n  allow: [ls]\nmodel: pro"), "deny", "allow model", "", ""},
		{"nested twice", front("tools:\n  confirmation:\n    ‸"), "timeout require_confirmation", "allow", "", ""},
		{"nested by another spelling", front("tool_confirmation:\n  ‸"), "timeout prompt_template", "allow", "", ""},
		{"in braces", front("tools: {allow: [ls], d‸}"), "deny confirmation", "allow", "deny", "{allow: [ls], deny: []}"},
		{"in braces not closed", front("run: {mode: task, ma‸"), "max_turns max_cost", "mode", "max_turns", "{mode: task, max_turns: \n"},
		{"an entry's keys", front("handoffs:\n  - to: reviewer\n    ‸"), "when condition", "to", "when", "to: reviewer\n    when: manual\n"},
		{"an entry's keys of several", front("handoffs:\n  - when: auto\n    to: a\n  - to: reviewer\n    ‸"), "when condition", "to", "", ""},
		{"an entry's first key", front("handoffs:\n  - t‸"), "to when", "model", "to", "handoffs:\n  - to: \n"},
		{"an entry's first key with others below", front("handoffs:\n  - w‸\n    to: reviewer"), "when", "to", "", ""},
		{"inputs", front("inputs:\n  goal:\n    ‸"), "type required enum", "name", "required", "    required: true\n"},
		{"carriage returns", "---\r\nname: mine\r\nmodel: pro\r\n‸\r\n---\r\nx", "title", "name model", "", ""},

		{"an enumeration", front("run:\n  mode: ‸"), "chat task", "manual", "task", "  mode: task\n"},
		{"an enumeration right behind the colon", front("scope:‸"), "project global", "", "global", "\nscope: global\n"},
		{"the next node", front("graph: {nodes: [{name: look, agent: reviewer}, {name: fix-it, tool: bash}], edges: [{from: look, to: ‸}]}"), "look fix-it END", "", "fix-it", "to: fix-it}"},
		{"the tool of a node", front("handoffs: [{to: reviewer}]\ngraph: {nodes: [{name: look, tool: ‸}]}"), "bash read_file", "* mcp.* mcp.github.* complete_task transfer_to_reviewer", "bash", "tool: bash}"},
		{"the agent of a node", front("graph: {nodes: [{name: look, agent: rev‸}]}"), "reviewer", "user", "reviewer", "agent: reviewer}"},
		{"keys of an edge", front("graph: {edges: [{from: a, ‸}]}"), "to condition else priority", "from", "", ""},
		{"reducers", front("graph: {state: {notes: {reducer: ‸}}}"), "last append sum merge", "", "merge", "reducer: merge}"},
		{"an enumeration in quotes", front("handoffs: [{to: reviewer, when: 'a‸'}]"), "manual auto conditional", "", "auto", "when: 'auto'}]"},
		{"a value before a comment", front("model: ‸# mine"), "pro", "", "pro", "model: pro # mine\n"},
		{"a boolean before a comment", front("routable: ‸# mine"), "false", "", "false", "routable: false # mine\n"},
		{"a value on the next line", front("model: >-\n  pr‸o"), "flash", "", "flash", "model: >-\n  flash\n"},
		{"in the spaces before a value on the next line", front("handoffs:\n  - to: >-\n  ‸    reviewer"), "", "", "", ""},
		{"at the start of a line of a text", front("handoffs:\n  - to: reviewer\n    when: |\n‸      auto"), "", "", "", ""},
		{"on an empty line of a text", front("handoffs:\n  - to: reviewer\n    when: |\n  ‸\n      auto"), "", "", "", ""},
		{"in the spaces before a line in quotes", front("model: 'a\n ‸  b'"), "", "", "", ""},
		{"on the head of a text", front("handoffs:\n  - to: >‸-\n      reviewer"), "", "", "", ""},
		{"behind the head of a text", front("subagents: >-‸\n  reviewer"), "", "", "", ""},
		{"on a head without a text", front("subagents: >-‸\nmodel: pro"), "*", "", "code-fixer", "subagents: [code-fixer]\nmodel"},
		{"a list in a text", front("subagents: >-\n  r‸eviewer"), "*", "", "code-fixer", "subagents: >-\n  code-fixer\n"},
		{"a colour in a text", front("color: |-\n  #3‸"), "#3B82F6", "", "#3B82F6", "color: |-\n  #3B82F6\n"},
		{"a boolean in a text", front("routable: >-\n  f‸alse"), "", "", "", ""},
		{"before a list in brackets", front("subagents: ‸[reviewer]"), "", "", "", ""},
		{"behind a list in brackets", front("subagents: [[reviewer]‸]"), "", "", "", ""},
		{"a value on the next line, in quotes", front("model: \"a\n  pr‸o\""), "flash", "", "flash", "model: \"a\n  flash\"\n"},
		{"behind the quotes, on the next line", front("model: \"a\n  pro\"‸"), "", "", "", ""},
		{"before the quotes, which are shut on the next line", front("model: ‸'a\n  pro'"), "", "", "", ""},
		{"a boolean", front("routable: f‸"), "true false", "", "false", "routable: false\n"},
		{"a type", front("inputs:\n  goal:\n    type: ‸"), "string string[]", "", "string[]", "type: string[]\n"},
		{"a type in braces", front("inputs:\n  goal: {type: ‸}"), "string[]", "", "string[]", "{type: \"string[]\"}"},
		{"the name", "---\nname: ‸\n---\nx", "mine", "", "mine", "name: mine\n"},
		{"the title", "---\nname: mine\ntitle: ‸\n---\nx", "Mine", "", "Mine", "title: Mine\n"},

		{"models", front("model: ‸"), "inherit auto flash pro gemini-3.8-flash gemini-2.5-pro", "gemini-embedding-001 embedding", "pro", "model: pro\n"},
		{"models in a word", front("model: fl‸ash # the fast one"), "flash", "", "pro", "model: pro # the fast one"},
		{"fallback models", front("fallback_models: [flash, ‸]"), "pro", "flash inherit", "pro", "[flash, pro]"},
		{"a list that is not begun", front("fallback_models: ‸"), "pro flash", "", "pro", "fallback_models: [pro]\n"},

		{"tools", front("tools:\n  allow: [‸]"), "read_file bash mcp.github.* mcp.db.* mcp.github.create_issue shell * mcp.*", "", "mcp.github.*", "[mcp.github.*]"},
		{"tools, all", front("tools:\n  allow: [‸]"), "*", "", "*", "[\"*\"]"},
		{"tools by an alias", front("tools:\n  allow: [search_file_‸]"), "search_file_content", "", "search_file_content", "allow: [grep]"},
		{"tools that are there", front("tools:\n  deny:\n    - bash\n    - ‸"), "grep", "bash shell", "grep", "- bash\n    - grep\n"},
		{"tools, not closed", front("tools:\n  allow: [ls, gr‸\nmodel: pro"), "grep", "", "grep", "[ls, grep\n"},
		{"tools that ask", front("tool_confirmation:\n  require_confirmation: [‸]"), "bash", "", "", ""},
		{"tools of an agent with handoffs", front("handoffs:\n  - to: reviewer\ntools:\n  allow: [‸]"), "transfer_to_reviewer", "", "", ""},
		{"tools of an agent with other handoffs", front("handoffs: [{to: user}, {to: reviewer, when: auto}, {to: reviewer}, {to: 'b:other'}]\ntools:\n  allow: [‸]"), "transfer_to_reviewer transfer_to_user", "transfer_to_b:other", "", ""},
		{"servers", front("mcp:\n  servers: [github, ‸]"), "db", "github *", "db", "[github, db]"},
		{"all servers", front("mcp:\n  servers: ‸"), "github db *", "", "*", "servers: \"*\"\n"},
		{"handoffs", front("handoffs:\n  - to: ‸"), "code-fixer reviewer user main other hidden", "mine broken *", "user", "- to: user\n"},
		{"subagents", front("subagents: [code-fixer, ‸]"), "reviewer", "code-fixer user *", "", ""},
		{"all subagents", front("subagents: ‸"), "* code-fixer", "user", "code-fixer", "subagents: [code-fixer]\n"},
		{"validators", front("guardrails:\n  custom_validator: ‸"), "builtin:no-secrets builtin:max-length(n) expr: command: agent:reviewer", "custom agent:mine", "agent:reviewer", "custom_validator: \"agent:reviewer\"\n"},
		{"validators of a list", front("guardrails:\n  - validator: buil‸"), "builtin:no-harmful-code custom", "", "builtin:no-secrets", "- validator: \"builtin:no-secrets\"\n"},
		{"a validator with a part", front("guardrails: [{validator: ‸}]"), "expr:", "", "expr:", "{validator: 'expr:'}"},
		{"a validator in quotes", front("guardrails: [{validator: \"‸\"}]"), "expr:", "", "builtin:max-length(n)", "{validator: \"builtin:max-length(4000)\"}"},
		{"colours", front("color: ‸"), "#3B82F6", "", "#3B82F6", "color: \"#3B82F6\"\n"},
		{"colours in quotes", front("color: \"#3‸\""), "#3B82F6", "", "#3B82F6", "color: \"#3B82F6\"\n"},
		{"colours before the quotes", front("color: ‸\"#123456\""), "#3B82F6", "", "#3B82F6", "color: \"#3B82F6\"\n"},
		{"colours behind the quotes", front("color: \"#123456\"‸"), "#3B82F6", "", "#3B82F6", "color: \"#3B82F6\"\n"},
		{"colours that YAML takes for a comment", front("color: #3‸"), "#3B82F6", "", "#3B82F6", "color: \"#3B82F6\"\n"},
		{"a comment", front("# mo‸"), "", "model", "", ""},
		{"a text", front("description: mo‸"), "", "model", "", ""},
		{"a field that is not known", front("what: ‸"), "", "model", "", ""},

		{"a placeholder", front("inputs:\n  goal: {type: string, description: What for.}\n  n: {type: integer}") + "Do ${‸", "goal n", "query", "goal", "Do ${goal}"},
		{"a placeholder that is closed", front("inputs: {goal: {}}") + "Do ${g‸}.", "goal", "", "goal", "Do ${goal}."},
		{"a placeholder of odd inputs", front("inputs: {\"\": {}, a-b: {}, ä: {}, 'c d': {}, goal: {}}") + "Do ${‸", "goal", "a-b ä", "goal", "Do ${goal}"},
		{"a field of an odd output", front("output:\n  text: It is ${‸\n  schema: {properties: {\"\": {}, score: {}}}"), "score", "", "score", "It is ${score}\n"},
		{"a placeholder in the query", front("inputs: {goal: {}}\nquery: Do ${‸"), "goal", "", "goal", "query: Do ${goal}\n"},
		{"a literal", front("inputs: {goal: {}}") + "Do $${‸", "", "goal", "", ""},
		{"a field of the output", front("output:\n  text: It is ${‸\n  schema: {type: object, properties: {score: {type: number}}}"), "score", "", "score", "It is ${score}\n"},
		{"a name in the question", front("tool_confirmation:\n  prompt_template: May {‸"), "tool_name agent", "", "agent", "May {agent}\n"},
		{"an agent in the prompt", front("") + "Ask @rev‸ about it.", "reviewer code-fixer hidden", "auto", "reviewer", "Ask @reviewer about it."},
		{"an address in the prompt", front("") + "Write to me@‸", "", "reviewer", "", ""},
		{"text", front("") + "Hello ‸", "", "reviewer model", "", ""},
		{"an empty file", "‸", "debugging code-review documentation test-generator security blank", "name", "blank", "name: mine\n"},
		{"an empty file's first line", "--‸\n", "code-review", "", "code-review", "title: Mine\n"},
		{"below the first line", "---\n‸", "name model", "blank", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, at := marked(t, mine, test.text)
			items := Complete(w, f, at).Items
			got := labels(items)
			for _, label := range strings.Fields(test.has) {
				if !slices.Contains(got, label) {
					t.Errorf("%s is not offered: %q", label, got)
				}
			}
			for _, label := range strings.Fields(test.not) {
				if slices.Contains(got, label) {
					t.Errorf("%s is offered", label)
				}
			}
			if test.has == "" && len(got) > 0 {
				t.Errorf("offered %q", got)
			}
			for _, item := range items {
				if item.Range.Start.Line != item.Range.End.Line || item.Range.Start.Line != at.Line || before(at, item.Range.Start) || before(item.Range.End, at) {
					t.Fatalf("%s takes the place of %v, which is not about %v", item.Label, item.Range, at)
				}
				if item.Label == test.take {
					if text := taken(f, item); !strings.Contains(text, test.makes) {
						t.Errorf("%s makes %q, without %q", test.take, text, test.makes)
					}
				}
			}
			if test.take != "" && !slices.Contains(got, test.take) {
				t.Errorf("%s cannot be taken", test.take)
			}
		})
	}
}

// TestCompleteOtherTools: a file of another tool is offered its own keys, and
// lists with commas are completed name by name.
func TestCompleteOtherTools(t *testing.T) {
	w := team(t)
	f, at := marked(t, "/w/.claude/agents/mine.md", "---\nname: mine\ndescription: d\n‸\n---\nx\n")
	got := labels(Complete(w, f, at).Items)
	if got[0] != "disallowedTools" || !slices.Contains(got, "permissionMode") || slices.Contains(got, "permission") {
		t.Errorf("offered %q", got)
	}
	f, at = marked(t, "/w/.claude/agents/mine.md", "---\nname: mine\ndescription: d\ntools: Read, ba‸, Grep\n---\nx\n")
	for text, want := range map[string]string{
		"tools: 'Re‸ad, Grep'": "tools: 'bash, Grep'", "tools: 'Read, Grep‸'": "tools: 'Read, bash'", "tools: ‸'Read'": "tools: bash", "tools: \"Read\"‸": "tools: bash",
		"tools: ‸'Read, Grep'": "", "tools: \"Read, Grep\"‸": "", "tools: Read, Grep‸": "tools: Read, bash",
		"tools: [Read, 'Write']‸ #x": "tools: bash #x", "tools: [Read, 'Wr‸ite']": "tools: [Read, 'bash']", "tools: ‸[Read]": "", "tools: >-\n  Read, Wr‸ite": "tools: >-\n  Read, bash",
		"tools: >‸-\n  Read": "",
	} {
		f, at := marked(t, "/w/.claude/agents/mine.md", "---\nname: mine\ndescription: d\n"+text+"\n---\nx\n")
		items := Complete(w, f, at).Items
		i := slices.IndexFunc(items, func(i Item) bool { return i.Label == "bash" })
		if i < 0 != (want == "") || (i >= 0 && !strings.Contains(taken(f, items[i]), "\n"+want+"\n")) {
			t.Errorf("%s: %d items", text, len(items))
		}
	}
	for _, item := range Complete(w, f, at).Items {
		if item.Label == "bash" && !strings.Contains(taken(f, item), "tools: Read, bash, Grep\n") {
			t.Errorf("bash makes %q", taken(f, item))
		}
	}
}

// TestCompletionsAreSound: each whole file that is offered is a valid agent, and
// each key that is offered at the top leaves YAML that can be read.
func TestCompletionsAreSound(t *testing.T) {
	w := team(t)
	f, at := marked(t, mine, cursor)
	files := Complete(w, f, at).Items
	if len(files) != 6 {
		t.Errorf("%d files are offered", len(files))
	}
	for _, item := range files {
		d := Open(definition.Source{Path: mine, Scope: definition.Project, Data: []byte(item.Plain())}).Definition
		if ok, why := d.Usable(); !ok || d.Name != "mine" || d.Title != "Mine" {
			t.Errorf("%s: %v, %s %s", item.Label, why, d.Name, d.Title)
		}
	}
	f, at = marked(t, mine, front(cursor))
	keys := Complete(w, f, at).Items
	if len(keys) < 25 {
		t.Errorf("%d keys are offered", len(keys))
	}
	for _, item := range keys {
		made := Open(definition.Source{Path: mine, Scope: definition.Project, Data: []byte(taken(f, item))})
		if made.Tree.Root == nil || made.Tree.Find(item.Label) == nil || made.Tree.Repaired {
			t.Errorf("%s makes %q", item.Label, made.Text)
		}
	}
	for _, yaml := range []string{"tools:\n  ", "run:\n  ", "mcp:\n  ", "handoffs:\n  - to: user\n    ", "inputs:\n  x:\n    ", "output:\n  ", "memory:\n  "} {
		f, at := marked(t, mine, front(yaml+cursor))
		items := Complete(w, f, at).Items
		if len(items) == 0 {
			t.Errorf("nothing is offered below %q", yaml)
		}
		for _, item := range items {
			if made := Open(definition.Source{Path: mine, Scope: definition.Project, Data: []byte(taken(f, item))}); made.Tree.Root == nil {
				t.Errorf("%s below %q makes %q", item.Label, yaml, made.Text)
			}
		}
	}
}

// TestRetiredModels: they come last, are struck through and say what runs.
func TestRetiredModels(t *testing.T) {
	f, at := marked(t, mine, front("model: ‸"))
	items := Complete(team(t), f, at).Items
	last := items[len(items)-1]
	if !last.Retired || !strings.HasPrefix(last.Detail, "retired, runs as gemini-") {
		t.Errorf("last is %+v", last)
	}
	seen := false
	for _, item := range items {
		if seen && !item.Retired {
			t.Errorf("%s comes after retired ones", item.Label)
		}
		seen = seen || item.Retired
	}
}

func TestPlain(t *testing.T) {
	for insert, want := range map[string]string{
		"a: $0": "a: ", "${1:b}c$2": "bc", "x ${1|y,z|}": "x y", `\$a \} \\`: `$a } \`, `${1:a\}b}c`: "a}bc", "$": "$", "${1": "", `a\`: `a\`,
	} {
		if got := (Item{Insert: insert, Snippet: true}).Plain(); got != want {
			t.Errorf("%q is %q, not %q", insert, got, want)
		}
	}
	if got := (Item{Insert: "$0"}).Plain(); got != "$0" {
		t.Error(got)
	}
}

// TestCompleteOneLine: what an editor gets that takes one line.
func TestCompleteOneLine(t *testing.T) {
	for _, test := range []struct{ text, label, want string }{
		{front("‸"), "tools", "tools:"},
		{front("‸"), "inputs", "inputs:"},
		{front("‸"), "model", "model: "},
		{front("tools: ‸"), "allow", " {allow: []}"},
		{"‸", "blank", ""},
	} {
		f, at := marked(t, mine, test.text)
		items := Complete(team(t), f, at).Items
		i := slices.IndexFunc(items, func(i Item) bool { return i.Label == test.label })
		if i < 0 {
			t.Fatalf("%s is not offered", test.label)
		}
		if got, ok := items[i].OneLine(); got != test.want || ok != (test.want != "") {
			t.Errorf("%s: %q, %v", test.label, got, ok)
		}
	}
}

// TestCompleteManyAgents: of too many, those that fit what was typed are offered,
// and the list says that there are more.
func TestCompleteManyAgents(t *testing.T) {
	w := known(t, thousand(t, 1000).world)
	for _, test := range []struct {
		typed, first string
		items        int
	}{
		{"", "", maxAgents}, {"agent-", "", maxAgents}, {"agent-99", "agent-99", 0}, {"AGT999", "agent-999", 1}, {"zzz", "", 0},
	} {
		f, at := marked(t, mine, front("handoffs:\n  - to: "+test.typed+"‸"))
		got := Complete(w, f, at)
		agents := slices.DeleteFunc(slices.Clone(got.Items), func(i Item) bool { return i.Kind != AgentItem })
		if !got.Partial || (test.items != 0 && len(agents) != test.items) || len(agents) > maxAgents {
			t.Errorf("%q: %d, partial %v", test.typed, len(agents), got.Partial)
		}
		if test.first != "" && (len(agents) == 0 || !strings.HasPrefix(agents[0].Label, test.first)) {
			t.Errorf("%q: %q", test.typed, labels(agents))
		}
	}
	f, at := marked(t, mine, front("handoffs:\n  - to: zzz‸"))
	if got := Complete(team(t), f, at); got.Partial || !slices.Contains(labels(got.Items), "reviewer") {
		t.Errorf("of few: %q", labels(got.Items))
	}
}
