package language

import (
	"regexp"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
)

// in returns what a file has in a range.
func (f *File) in(r definition.Range) string {
	return f.Text[f.Index.Offset(r.Start):f.Index.Offset(r.End)]
}

func TestHover(t *testing.T) {
	w := team(t)
	for _, test := range []struct {
		name, text string
		over       string   // the text of the range; "" = there is no hover
		has        []string // in the Markdown
	}{
		{"a field", front("run:\n  max_tu‸rns: 3"), "max_turns", []string{"**run.max_turns** · integer", "How many turns", "Default: 100"}},
		{"another spelling", front("maxTu‸rns: 3"), "maxTurns", []string{"run.max_turns", "maxTurns is another spelling"}},
		{"an enumeration", front("run: {mo‸de: task}"), "mode", []string{"One of chat, task."}},
		{"a value", front("run: {mode: ta‸sk}"), "task", []string{"**run.mode**"}},
		{"nested in a list", front("handoffs:\n  - to: reviewer\n    wh‸en: auto"), "when", []string{"handoffs"}},
		{"an input's field", front("inputs:\n  goal:\n    typ‸e: string"), "type", []string{"The input's type"}},
		{"required", front("tit‸le: x\n"), "title", []string{"people see"}},
		{"an unknown field", front("wh‸at: 3"), "", nil},
		{"nothing", front("‸"), "", nil},
		{"a comment", front("# mo‸del"), "", nil},
		{"the name", "---\nkind: agent\nname: mi‸ne\ntitle: A *b*\n---\nx", "mine", []string{"**A `*b*`** · project", "gemini-3.8-flash"}},
		{"addresses", "---\nkind: agent\nname: mi‸ne\ntitle: 'Sign in: https://evil.example'\ndescription: '- www.evil.example <a@evil.example>'\n---\nx", "mine", []string{"**Sign in: `https://evil.example`** · project\n\n`- www.evil.example <a@evil.example>`\n\n"}},
		{"one value", "---\nki‸nd: agent\nname: mine\n---\nx", "kind", []string{"The only value is agent."}},
		{"a model", front("model: pr‸o"), "pro", []string{"**gemini-3.1-pro-preview** · also pro", "Window 1M tokens, answers up to 66k", "$2.00 in, $12.00 out, $0.20 cached (requests up to 200k); $4.00 in", "Thinks by level"}},
		{"a retired model", front("model: gemini-2.5-pro‸"), "gemini-2.5-pro", []string{"**Retired** since 2026-12-01: runs as gemini-3.8-flash."}},
		{"a model that the table does not have", front("model: gemini-9‸"), "gemini-9", []string{"not in the model table; by its name"}},
		{"a model of nobody", front("model: what‸"), "what", []string{"not in the model table"}},
		{"inherit", front("model: inh‸erit"), "inherit", []string{"By the settings", "**gemini-3.8-flash**"}},
		{"a fallback model", front("fallback_models: [flash, p‸ro]"), "pro", []string{"gemini-3.1-pro-preview"}},
		{"a tool", front("tools:\n  allow: [ls, gr‸ep]"), "grep", []string{"**grep** · safe: it only reads", "Does grep.", "Also search_file_content", "100 tokens"}},
		{"a tool by an alias", front("tools:\n  deny: [she‸ll]"), "shell", []string{"**bash** · by command: a command that is known to only read is not asked about; others are"}},
		{"a tool in quotes", front("tools:\n  deny: ['ba‸sh']"), "'bash'", []string{"**bash**"}},
		{"a tool before its quote", front("tools:\n  deny: [‸'bash']"), "'bash'", []string{"**bash**"}},
		{"a tool of a server", front("tools:\n  allow: [mcp.github.create_issue‸]"), "mcp.github.create_issue", []string{"Opens an issue."}},
		{"a tool that is not there", front("tools:\n  allow: [mcp.x.y‸]"), "mcp.x.y", []string{"is there now"}},
		{"no tool", front("tools:\n  allow: [gerp‸]"), "gerp", []string{"no tool of this name is known"}},
		{"a glob", front("tools:\n  allow: [read_‸*]"), "read_*", []string{"stands for read_file, read_many_files."}},
		{"a handoff's tool", front("tools:\n  allow: [transfer_to_rev‸iewer]"), "transfer_to_reviewer", []string{"**T reviewer**"}},
		{"a handoff", front("handoffs: [{to: rev‸iewer}]"), "reviewer", []string{"**T reviewer** · project", "Does `[x](http://evil)` for reviewer.", "Model gemini-3.1-pro-preview"}},
		{"what a handoff passes", front("handoffs: [{to: rev‸iewer, when: auto, condition: \"task.status == 'completed'\", payload: {schema: {properties: {file: {type: string}}}}}]"), "reviewer", []string{"passes by itself, when the work is done, while task.status == 'completed'.", "the conversation so far and file."}},
		{"a handoff without the conversation", front("handoffs: [{to: rev‸iewer, include_context: false}]"), "reviewer", []string{"when the model decides. Passed over: the request, a reason, a summary and what else the model adds as context."}},
		{"a handoff to a person", front("handoffs: [{to: us‸er}]"), "user", []string{"a person goes on"}},
		{"a handoff to nobody", front("handoffs: [{to: nob‸ody}]"), "nobody", []string{"no agent of this name"}},
		{"a subagent", front("subagents:\n  - code-f‸ixer"), "code-fixer", []string{"T code-fixer"}},
		{"all subagents", front("subagents: \"*‸\""), "\"*\"", []string{"every agent"}},
		{"a server", front("mcp: {servers: [git‸hub]}"), "github", []string{"**github** · MCP server · connected", "npx server"}},
		{"no server", front("mcp: {servers: [gi‸t]}"), "git", []string{"no such server"}},
		{"a placeholder", front("inputs: {goal: {type: integer, description: What *for*., required: true, default: 3}}") + "Do ${go‸al}.", "${goal}", []string{"**${goal}** · input, integer, required", "What `*for*.`", "Default: 3."}},
		{"a placeholder in the query", front("inputs: {goal: {}}\nquery: Do ${goal‸} now"), "${goal}", []string{"input, string"}},
		{"a placeholder of nothing", front("inputs: {goal: {}}") + "Do ${x‸}.", "${x}", []string{"there is no input"}},
		{"a placeholder of no input's name", front("inputs: {a-b: {}}") + "Do ${a‸-b}.", "${a-b}", []string{"there is no input"}},
		{"no placeholder", front("") + "Do ${x‸}.", "${x}", []string{"no inputs"}},
		{"a literal", front("inputs: {goal: {}}") + "Do $${goal‸}.", "${goal}", []string{"the text itself"}},
		{"an agent in the prompt", front("") + "Ask @revie‸wer-.", "@reviewer", []string{"T reviewer"}},
		{"no agent in the prompt", front("") + "Ask @nob‸ody.", "", nil},
		{"a handoff to another folder", front("handoffs: [{to: b:oth‸er}]"), "b:other", []string{"**T other**"}},
		{"a subagent of another folder", front("subagents: ['b:oth‸er']"), "'b:other'", []string{"**T other**"}},
		{"another folder's agent in the prompt", front("") + "Ask @b:oth‸er.", "@b:other", []string{"**T other**"}},
		{"its folder in the prompt", front("") + "Ask (@‸b:other, or others).", "@b:other", []string{"**T other**"}},
		{"no agent of another folder", front("") + "Ask @b:revie‸wer.", "", nil},
		{"a name before a colon", front("") + "Ask @revie‸wer: now.", "@reviewer", []string{"T reviewer"}},
		{"text", front("") + "He‸llo.", "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, at := marked(t, mine, test.text)
			h, ok := HoverAt(w, f, at)
			if ok != (test.over != "") || (ok && f.in(h.Range) != test.over) {
				t.Fatalf("%v over %q: %s", ok, f.in(h.Range), h.Markdown)
			}
			for _, part := range test.has {
				if !strings.Contains(h.Markdown, part) {
					t.Errorf("%q is not in %q", part, h.Markdown)
				}
			}
			bare := strings.ReplaceAll(codeSpans.ReplaceAllString(h.Markdown, ""), "[]", "")
			if strings.ContainsAny(bare, "[<\\`") || strings.Contains(bare, "://") || strings.Contains(bare, "www.") || strings.Contains(bare, "@") {
				t.Errorf("there is a link, markup or a backslash in %q", h.Markdown)
			}
		})
	}
}

// codeSpans are those of texts without backquotes.
var codeSpans = regexp.MustCompile("`[^`]*`")

// TestHoverOtherTools: hover says what each key and name of another tool was read
// as.
func TestHoverOtherTools(t *testing.T) {
	w := team(t)
	for _, test := range []struct{ path, text, over, has string }{
		{"/w/.claude/agents/m.md", "---\nname: m\ndescription: d\nto‸ols: Read, Bash\n---\nx\n", "tools", "Read as tools.allow: read_file, read_many_files, bash."},
		{"/w/.claude/agents/m.md", "---\nname: m\ndescription: d\ntools: Read, Ba‸sh, Grep\n---\nx\n", "Bash", "**Bash** is read as bash."},
		{"/w/.claude/agents/m.md", "---\nname: m\ndescription: d\ntools: ‸\"Bash, Read\"\n---\nx\n", "\"Bash", "**Bash** is read as bash."},
		{"/w/.claude/agents/m.md", "---\nname: m\ndescription: d\ntools: 'Bash, Glob'‸\n---\nx\n", "Glob'", "**Glob** is read as glob."},
		{"/w/.claude/agents/m.md", "---\nname: m\ndescription: d\ntools: ‸' Bash, Glob'\n---\nx\n", "' Bash", "**Bash** is read as bash."},
		{"/w/.claude/agents/m.md", "---\nname: m\ndescription: d\ntools: Read, Exit‸PlanMode\n---\nx\n", "ExitPlanMode", "no counterpart here"},
		{"/w/.claude/agents/m.md", "---\nname: m\ndescription: d\ndisallowed‸Tools: Bash\n---\nx\n", "disallowedTools", "Read as tools.deny: bash, git_commit"},
		{"/w/.claude/agents/m.md", "---\nname: m\ndescription: d\ncolor: bl‸ue\n---\nx\n", "blue", "is read as #3B82F6"},
		{"/w/.claude/agents/m.md", "---\nname: M‸ M\ndescription: d\n---\nx\n", "M M", "is read as m-m"},
		{"/w/.claude/agents/m.md", "---\nname: m\ndescription: d\nmodel: son‸net\n---\nx\n", "sonnet", "the default model is used"},
		{"/w/.github/agents/m.agent.md", "---\ndescription: d\ntools: ['search/code‸base']\n---\nx\n", "'search/codebase'", "is read as grep"},
		{"/w/.gemini/agents/m.md", "---\nkind: local\nname: m\ndescription: d\ntools: [read_f‸ile]\n---\nx\n", "read_file", "**read_file** · safe"},
		{"/w/.gemini/agents/m.md", "---\nkind: local\nname: m\ndescription: d\n---\nIt is ${to‸day}.\n", "${today}", "gemini-cli's own"},
	} {
		before, after, _ := strings.Cut(test.text, cursor)
		model := func(name string) (string, bool) { return name, strings.HasPrefix(name, "gemini") }
		f := Open(definition.Source{Path: test.path, Folder: "/w", Scope: definition.Project, Data: []byte(before + after), Model: model})
		h, ok := HoverAt(w, f, f.Index.Position(len(before)))
		if !ok || f.in(h.Range) != test.over || !strings.Contains(h.Markdown, test.has) {
			t.Errorf("%q: over %q %q", test.text, f.in(h.Range), h.Markdown)
		}
	}
}

// TestHoverExplains: on name, key and value, is the whole explanation.
func TestHoverExplains(t *testing.T) {
	w := team(t)
	w.Explain = func(d *definition.Definition) string { return "All of " + d.Name }
	for _, text := range []string{"---\nna‸me: mine\n---\nx", "---\nname: mi‸ne\n---\nx"} {
		f, at := marked(t, mine, text)
		if h, _ := HoverAt(w, f, at); h.Markdown != "All of mine" {
			t.Errorf("%q: %q", text, h.Markdown)
		}
	}
}

func TestHints(t *testing.T) {
	w := team(t)
	w.Worst = func(d *definition.Definition) string { return "≤ 240 model calls, ≤ $1.90" }
	whole := definition.Range{End: definition.Position{Line: 1000}}
	show := func(f *File, in definition.Range) string {
		var b strings.Builder
		for _, h := range Hints(w, f, in) {
			at := f.Index.Offset(h.Position)
			b.WriteString(strings.TrimSpace(f.Text[f.lineStart(at):at]) + " ← " + h.Label + "\n")
		}
		return b.String()
	}
	open := func(text string) *File {
		return Open(definition.Source{Path: mine, Folder: "/w", Scope: definition.Project, Data: []byte(text)})
	}
	full := open("---\nkind: agent\nname: mine\ntitle: M\nmodel: pro # mine\ntools:\n  allow: [ls, grep]\n---\n" + strings.Repeat("word ", 80))
	want := "name: mine ← ≤ 240 model calls, ≤ $1.90\nmodel: pro ← gemini-3.1-pro-preview\ntools: ← 2 tools, 200 tokens\n--- ← ≈ 100 tokens\n"
	if got := show(full, whole); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := show(full, definition.Range{Start: definition.Position{Line: 4}, End: definition.Position{Line: 4, Character: 50}}); got != "model: pro ← gemini-3.1-pro-preview\n" {
		t.Errorf("in a range: %q", got)
	}
	bare := open("---\nkind: agent\nname: mine\ntitle: M\n---\nDo it.\n")
	want = "name: mine ← gemini-3.8-flash · 29 tools, 2.8k tokens · ≤ 240 model calls, ≤ $1.90\n--- ← ≈ 2 tokens\n"
	if got := show(bare, whole); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	w.Offered = func(*definition.Definition) []string { return []string{"ls"} }
	if got := show(open(front("model: gemini-3.8-flash\ntools: {deny: [bash]}")), whole); !strings.Contains(got, "tools: {deny: [bash]} ← 1 tool, 100 tokens\n") || strings.Contains(got, "flash ←") {
		t.Errorf("got\n%s", got)
	}
	for _, text := range []string{"", "---\nname: mine\n", "---\nname: [\n---\n"} {
		if got := show(open(text), whole); got != "" {
			t.Errorf("%q has %q", text, got)
		}
	}
}

func TestLenses(t *testing.T) {
	w := team(t)
	w.Last = func(*definition.Definition) string { return "12k tok, 3.1 s" }
	show := func(f *File) string {
		var parts []string
		for _, l := range Lenses(w, f) {
			if f.in(l.Range) != "---" {
				t.Errorf("a lens is over %q", f.in(l.Range))
			}
			parts = append(parts, l.Title+" "+l.Command)
		}
		return strings.Join(parts, " · ")
	}
	for _, e := range w.Agents.Entries() {
		d := e.Definition
		if d.Path == "" {
			continue
		}
		f := Open(definition.Source{Path: d.Path, Folder: d.Folder, Scope: d.Scope, Data: []byte("---\nkind: agent\nname: " + d.Name + "\ntitle: x\n---\nx\n")})
		want := "Run agentls.run · Validate agentls.validate · Last run 12k tok, 3.1 s agentls.showTranscript"
		if d.Name == "broken" {
			// What the catalogue has is what would run.
			want = strings.TrimPrefix(want, "Run agentls.run · ")
		}
		if got := show(f); got != want {
			t.Errorf("%s: %s", d.Name, got)
		}
	}
	// Elsewhere the name alone would be another agent, or none that is certain.
	twins := newFixture(t, map[string]string{
		"a/fixer.md": front("title: A"), "b/fixer.md": front("title: B"), "c/own.md": "---\nkind: agent\nname: own\ntitle: O\n---\nx\n",
		"c/bad.md": "---\nkind: [agent\nname: bad\n---\nx\n", "d/bad.md": "---\nkind: agent\nname: bad\ntitle: B\n---\nx\n",
	})
	for name, want := range map[string]string{"a/fixer.md": twins.dir + "/a:mine", "b/fixer.md": twins.dir + "/b:mine", "c/own.md": "own", "d/bad.md": twins.dir + "/d:bad"} {
		f := twins.file(name)
		run := Lenses(twins.world, f)[0]
		if run.Title != "Run" || run.Args[0] != want {
			t.Fatalf("%s: %+v, want %s", name, run, want)
		}
		if e, err := twins.world.Agents.Lookup("", want); err != nil || e.Definition.Path != f.Path {
			t.Errorf("%s runs %+v, %v", want, e, err)
		}
	}
	hidden := w.agent("", "hidden").Definition
	f := Open(definition.Source{Path: hidden.Path, Data: []byte("---\nname: hidden\nuser_invocable: false\n---\nx\n")})
	if got := show(f); strings.Contains(got, "Run ") {
		t.Errorf("an agent that nobody may call has %s", got)
	}
}
