package definition

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentls/agentls/internal/fault"
)

// installation is an installation with two servers, of which one is connected, one
// retired model and one validator.
var installation = Installed{
	Models: func() []string { return []string{"flash", "pro"} },
	Retired: func(model string) (string, bool) {
		return map[string]string{"old-1": "flash"}[model], strings.HasPrefix(model, "old-")
	},
	Servers: func(string) []string { return []string{"github", "jira"} },
	ServerTools: func(_, server string) ([]string, bool) {
		return []string{"create_issue", "list_issues"}, server == "github"
	},
	Validator: func(folder, name string) bool { return name == "tone" && folder == "/w" },
	Expression: func(condition string, _ ...string) (int, error) {
		if strings.Count(condition, "(") != strings.Count(condition, ")") {
			return 1, errors.New("a bracket is not closed")
		}
		return 1, nil
	},
}

func known(name string) (string, bool) {
	return name, name == "flash" || name == "pro" || strings.HasPrefix(name, "old-")
}

func furnished(path, src string) Source {
	return Source{Path: path, Scope: Project, Folder: "/w", Data: []byte(src), Model: known, Installed: installation}
}

// TestFindingsOfTheInstallation: each finding that needs the settings, with its
// place and what was meant.
func TestFindingsOfTheInstallation(t *testing.T) {
	for _, test := range []struct {
		fields string
		want   []string // as told, and what was meant
	}{
		{"model: flash\n", nil},
		{"model: old-1\n", []string{"model-retired warning 5:8-5:13 flash"}},
		{"model: old-2\n", []string{"model-retired warning 5:8-5:13 "}},
		{"model: 😀\n", []string{"model-unknown warning 5:8-5:10 "}},
		{"model: flsh\n", []string{"model-unknown warning 5:8-5:12 flash"}},
		{"fallback_models: [pro, old-1, prp]\n", []string{"model-retired warning 5:24-5:29 flash", "model-unknown warning 5:31-5:34 pro"}},
		{"mcp: {servers: [github, jra, '😀', other]}\n", []string{"mcp-unknown error 5:25-5:28 jira", "mcp-unknown error 5:30-5:34 ", "mcp-unknown error 5:36-5:41 "}},
		{"mcp: {servers: '*'}\n", nil},
		{"tools: {allow: [mcp.github.create_issue, mcp.github.*, mcp.*, mcp.github.list*]}\n", nil},
		{"tools:\n  allow:\n    - mcp.github.create_isue\n    - mcp.gihub.x\n    - mcp.none.x\n    - mcp.jira.x\n    - mcp.github.zz*\n", []string{
			"tool-unknown error 7:7-7:29 mcp.github.create_issue", "tool-unknown error 8:7-8:18 mcp.github.x", "tool-unknown error 9:7-9:17 ",
			"tool-unverified hint 10:7-10:17 ", "tool-unknown error 11:7-11:21 "}},
		{"tools: {deny: ['bas[h]', 'b\\ash', bsh, '[', '[x]*'], confirmation: {require_confirmation: ['[gl]*']}}\n", []string{
			"tool-unknown warning 5:16-5:24 bash", "tool-unknown warning 5:26-5:33 bash", "tool-unknown error 5:35-5:38 bash", "tool-unknown error 5:40-5:43 ", "tool-unknown error 5:45-5:51 ", "tool-unknown warning 5:92-5:99 "}},
		{"tools: {allow: ['bas[h]']}\n", []string{"tool-unknown error 5:17-5:25 bash"}},
		{"guardrails: [{validator: 'builtin:no-secrets'}, {validator: 'builtin:max-length(10)'}, {validator: tone}, {name: tone, validator: custom}, {validator: 'agent:x'}]\n", nil},
		{"guardrails: {custom_validator: nope}\n", []string{"validator error 5:32-5:36 "}},
		{"guardrails: [{validator: 'builtin:max-length'}, {validator: custom}, {validator: 'expr:f('}, {validator: 'agent:X Y'}]\n",
			[]string{"validator error 5:26-5:46 ", "validator error 5:61-5:67 ", "expression error 5:82-5:91 ", "validator error 5:106-5:117 "}},
		{"guardrails: {output_schema: {type: strin}, on_failure: maybe, polcy: 1}\n",
			[]string{"schema error 5:29-5:42 ", "type error 5:56-5:61 ", "unknown-field hint 5:63-5:68 "}},
		{"handoffs:\n  - {to: b, when: conditional, condition: 'f('}\n  - {to: c, when: 'g)'}\n  - {to: d, when: conditional, condition: 'f()'}\n", []string{"expression error 6:43-6:47 ", "expression error 7:19-7:23 "}},
		{"guardrails: [{validator: 'builtin:no-secret'}]\n", []string{"validator error 5:26-5:45 builtin:no-secrets"}},
		{"triggers: {patterns: [" + strings.Repeat(`'`+strings.Repeat(`\pL`, 30)+`',`, 6) + "a]}\nhandoffs: [{to: b, condition: 'x', when: auto}, {to: c, when: 'y'}]\n", []string{"regex error 5:488-5:580 ", "expression error 6:31-6:34 "}},
		{"output:\n  schema:\n    pattern: x\n    examples: [{pattern: '(', $ref: 'http://x'}]\n    default: {pattern: '('}\n    properties: {const: {enum: [{pattern: '('}]}, examples: {pattern: a}}\n", nil},
		{"output: {schema: {properties: {examples: {pattern: '('}}}}\n", []string{"schema error 5:52-5:55 "}},
		{"output: {schema: {properties: {default: {$ref: 'http://x'}}}}\n", []string{"schema error 5:48-5:58 "}},
		{"output: {schema: {$ref: '#/examples/0', examples: [{pattern: '('}]}}\n", []string{"schema error 5:18-5:68 "}},
		{"output: {schema: {$ref: '#/default', default: {$ref: 'http://x'}}}\n", []string{"schema error 5:18-5:66 "}},
		{"output: {schema: {$ref: '#/examples/0', examples: [{pattern: 'x{999}x{999}x{999}x{999}x{999}x{999}'}]}}\n", []string{"schema error 5:62-5:100 "}},
		{"initial_messages: [{role: model, text: 12}, {role: user}]\n", []string{"type error 5:40-5:42 ", "type error 5:45-5:57 "}},
		{"descripton: x\n", []string{"unknown-field error 5:1-5:11 description"}},
	} {
		for _, ending := range []string{"\n", "\r\n"} {
			src := strings.ReplaceAll(own(test.fields), "\n", ending)
			d := Parse(furnished(ownPath, src))
			var got []string
			for i, place := range told(d) {
				got = append(got, place+" "+d.Problems[i].Meant)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%q:\ngot  %q\nwant %q", test.fields, got, test.want)
			}
			checkProblems(t, src, d)
		}
	}
	left := Parse(furnished(ownPath, own("handoffs: [{to: b, when: 'f('}, {to: c}]\n")))
	if len(left.Handoffs) != 1 || left.Handoffs[0].To != "c" {
		t.Errorf("a condition that does not compile: %+v", left.Handoffs)
	}
	judged := furnished(ownPath, own("handoffs: [{to: b, when: 'f('}]\n"))
	judged.Installed.Expression = func(string, ...string) (int, error) {
		return 1, fault.New(fault.Invalid, "condition.check", "it is empty")
	}
	if p := Parse(judged).Problems; len(p) != 1 || p[0].Message != "The condition does not compile: it is empty." {
		t.Error(p)
	}
	foreign := Parse(furnished("/w/.claude/agents/a.md", "---\nname: a\ndescription: x\nmcpServers: [jira, none]\nmodel: old-1\n---\nx\n"))
	if got := told(foreign); !slices.Equal(got, []string{"mcp-unknown hint 4:20-4:24", "model-retired warning 5:8-5:13"}) {
		t.Error(got)
	}
}

// TestFixes: what each fix makes of a file.
func TestFixes(t *testing.T) {
	const front = "---\nkind: agent\nname: code-fixer\ntitle: Code Fixer\n"
	for _, test := range []struct {
		name, path, src, code string
		want                  []string // each fix: the title, ! for one that is sure, > and what lies between front and the closing line, or else
	}{
		{"kind", ownPath, "---\nname: code-fixer\ntitle: T\n---\nx\n", "missing-field", []string{"!Add kind: agent>---\nkind: agent\nname: code-fixer\ntitle: T\n---\nx\n"}},
		{"empty kind", ownPath, "---\nkind:\nname: code-fixer\ntitle: T\n---\nx\n", "missing-field", []string{"!Add kind: agent>---\nkind: agent\nname: code-fixer\ntitle: T\n---\nx\n"}},
		{"title, indented, crlf", ownPath, "---\r\n  kind: agent\r\n  name: code-fixer # it\r\n---\r\nx\r\n", "missing-field", []string{"!Add title: Code Fixer>---\r\n  kind: agent\r\n  name: code-fixer # it\r\n  title: Code Fixer\r\n---\r\nx\r\n"}},
		{"name", ownPath, "---\nkind: agent\ntitle: T\n---\nx\n", "missing-field", []string{"Add name: code-fixer>---\nkind: agent\nname: code-fixer\ntitle: T\n---\nx\n"}},
		{"file name", "/w/.gemini/agents/other.md", own(""), "file-name", []string{"Rename the file to code-fixer.md>code-fixer", "Rename the agent to other>---\nkind: agent\nname: other\ntitle: Code Fixer\n---\nYou fix code.\n"}},
		{"name", ownPath, "---\nkind: agent\ntitle: T\nname: Code Fix\n---\nx\n", "name", []string{"Replace with code-fix>---\nkind: agent\ntitle: T\nname: code-fix\n---\nx\n", "Replace with code-fixer>---\nkind: agent\ntitle: T\nname: code-fixer\n---\nx\n"}},
		{"colon", ownPath, own("description: Use \"when\": never # really\n"), "yaml-repaired", []string{"!Put it in quotes>description: \"Use \\\"when\\\": never\" # really\n"}},
		{"colon, crlf", ownPath, strings.ReplaceAll(own("description: é: never\n"), "\n", "\r\n"), "yaml-repaired", []string{"!Put it in quotes>description: \"é: never\"\r\n"}},
		{"tab", ownPath, own("run:\n\tmax_turns: 3\n"), "yaml-repaired", []string{"!Write spaces>run:\n  max_turns: 3\n"}},
		{"smart quotes", ownPath, own("description: “Say \\ it”\n"), "yaml-repaired", []string{"!Put it in quotes>description: \"Say \\\\ it\"\n"}},
		{"smart quotes in a list", ownPath, own("triggers: {keywords: [“a b”, c]}\n"), "yaml-repaired", []string{"!Put it in quotes>triggers: {keywords: [\"a b\", c]}\n"}},
		{"bom", ownPath, "\ufeff" + own(""), "yaml-repaired", []string{"!Remove it>"}},
		{"empty lines", ownPath, "\n \n" + own(""), "yaml-repaired", []string{"!Remove it>"}},
		{"colour with alpha", ownPath, own("color: #12ab34ff # c\n"), "yaml-repaired", []string{"!Put it in quotes>color: \"#12ab34\" # c\n"}},
		{"colour", ownPath, own("color: #12ab34\n"), "yaml-repaired", []string{"!Put it in quotes>color: \"#12ab34\"\n"}},
		{"misspelt", ownPath, own("descripton: x\n"), "unknown-field", []string{"Replace with description>description: x\n"}},
		{"misspelt beside the right one", ownPath, own("descripton: x\ndescription: y\n"), "unknown-field", []string{"Remove descripton>description: y\n"}},
		{"unknown", ownPath, own("zzzzzz: x\n"), "unknown-field", nil},
		{"twice said", ownPath, own("temperature: 1\ntemp: 2\ntop_p: 1\n"), "unknown-field", []string{"!Remove temp>temperature: 1\ntop_p: 1\n"}},
		{"prompt twice", ownPath, own("system_prompt: |\n  a\n  b\nmodel: flash\n"), "prompt-twice", []string{"!Remove system_prompt, which has no effect>model: flash\n"}},
		{"retired", ownPath, own("model: 'old-1' # x\n"), "model-retired", []string{"!Replace with flash>model: 'flash' # x\n"}},
		{"model", ownPath, own("model: flsh\n"), "model-unknown", []string{"Replace with flash>model: flash\n", "Replace with inherit>model: inherit\n"}},
		{"tool", ownPath, own("tools: {allow: [ls, raed_file]}\n"), "tool-unknown", []string{"Replace with read_file>tools: {allow: [ls, read_file]}\n", "Remove raed_file>tools: {allow: [ls]}\n"}},
		{"tool without a like", ownPath, own("tools: {allow: [teleport-it, ls]}\n"), "tool-unknown", []string{"Remove teleport-it>tools: {allow: [ls]}\n"}},
		{"only tool", ownPath, own("tools:\n  allow:\n    - teleport-it\n  deny: [ls]\n"), "tool-unknown", []string{"Remove teleport-it>tools:\n  allow: []\n  deny: [ls]\n"}},
		{"denied", ownPath, own("tools: {deny: [ teleport-it ]}\n"), "tool-unknown", []string{"Remove teleport-it>tools: {deny: []}\n"}},
		{"conflict", ownPath, own("tools:\n  allow:\n    - ls # list\n    - bash # run\n  deny: [shell]\n"), "tool-conflict", []string{"!Remove bash>tools:\n  allow:\n    - ls # list\n  deny: [shell]\n"}},
		{"server", ownPath, own("mcp: {servers: [jra]}\n"), "mcp-unknown", []string{"Replace with jira>mcp: {servers: [jira]}\n", "Describe the MCP server jra in the settings>?jra", "Remove jra>mcp: {servers: []}\n"}},
		{"handoff to itself", ownPath, own("handoffs: [{to: code-fixer}]\n"), "handoff-target", nil},
		{"type", ownPath, own("description: 12\n"), "type", []string{"Put it in quotes>description: \"12\"\n"}},
		{"enum", ownPath, own("run: {mode: taks}\nthinking_level: hihg\n"), "type", []string{"Replace with task>run: {mode: task}\nthinking_level: hihg\n"}},
		{"placeholder", ownPath, own("inputs:\n  a: {type: string}\nquery: do ${b}\n"), "placeholder", []string{
			"Add the input b>inputs:\n  b: {type: string, required: true}\n  a: {type: string}\nquery: do ${b}\n", "Write $${b} for the text itself>inputs:\n  a: {type: string}\nquery: do $${b}\n"}},
		{"colour's name", ownPath, own("color: teal # like the sea\n"), "dialect", []string{"!Replace with #14B8A6>color: \"#14B8A6\" # like the sea\n"}},
		{"colour's name in another tool's file", "/w/.claude/agents/code-fixer.md", "---\nname: code-fixer\ndescription: x\ncolor: teal\n---\nx\n", "dialect", nil},
		{"plain list of tools", ownPath, own("tools: [read_file, ls]\n"), "dialect", []string{"Write it as tools.allow>tools: {allow: [read_file, ls]}\n"}},
		{"plain lines of tools", ownPath, own("tools:\n  # to read\n  - read_file\n  - ls\n"), "dialect", []string{"Write it as tools.allow>tools:\n  # to read\n  allow:\n  - read_file\n  - ls\n"}},
		{"plain list of another's tools", ownPath, own("tools: [ls, search/codebase]\n"), "dialect", nil},
		{"validator", ownPath, own("guardrails: [{validator: 'builtin:no-secret'}]\n"), "validator", []string{"Replace with builtin:no-secrets>guardrails: [{validator: \"builtin:no-secrets\"}]\n"}},
		{"anchor", ownPath, own("memory: &m {enabled: false}\n"), "yaml-feature", []string{"!Remove the anchor m>memory: {enabled: false}\n"}},
		{"anchor of lines", ownPath, own("run: &limits\n  max_turns: 3\n"), "yaml-feature", []string{"!Remove the anchor limits>run: \n  max_turns: 3\n"}},
		{"anchor with an alias", ownPath, own("query: &m hello\ndescription: *m\n"), "yaml-feature", nil},
		{"anchor of a key", ownPath, own("&m query: hello\n"), "yaml-feature", nil},
		{"hidden", ownPath, own("description: a\u200bb\n"), "hidden-text", []string{"Remove the hidden characters>description: ab\n"}},
		{"not closed", ownPath, "---\nname: x\ntools:\n  - a\n\nYou are x.\n", "yaml", []string{"Close the front-matter with --->---\nname: x\ntools:\n  - a\n---\n\nYou are x.\n"}},
		{"not closed, no body", ownPath, "---\nname: x", "yaml", []string{"Close the front-matter with --->---\nname: x\n---\n"}},
		{"yaml error", ownPath, own("x: [a\n"), "yaml", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := Parse(furnished(test.path, test.src))
			i := slices.IndexFunc(d.Problems, func(p Problem) bool { return p.Code == "agent/"+test.code })
			if i < 0 {
				t.Fatalf("no such problem: %v", d.Problems)
			}
			var got []string
			for _, fix := range Fixes(test.path, test.src, d.Problems[i]) {
				text := fix.Title + ">"
				if fix.Sure {
					text = "!" + text
				}
				after := Apply(test.src, fix.Edits)
				switch {
				case fix.Rename != "":
					text += fix.Rename
				case fix.Configure != "":
					text += "?" + fix.Configure
				case strings.HasPrefix(strings.ReplaceAll(after, "\r\n", "\n"), front) && test.code != "file-name":
					eol := strings.Repeat("\r", strings.Count(after, "\r")/max(1, strings.Count(after, "\n")))
					middle, _ := strings.CutPrefix(after, strings.ReplaceAll(front, "\n", eol+"\n"))
					text += middle[:strings.Index(middle, "---")]
				default:
					text += after
				}
				got = append(got, text)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%v\ngot  %q\nwant %q", d.Problems[i], got, test.want)
			}
		})
	}
}

// plainly returns a definition without what a sure fix may change: places, the
// text, findings, a retired model's name, tools that are denied anyway.
func plainly(d *Definition) Definition {
	c := *d
	c.Digest, c.NameRange, c.Problems, c.front = "", Range{}, nil, ""
	c.DescriptionRange, c.TriggersRange, c.ExamplesRange = Range{}, Range{}, Range{}
	c.Created, c.Updated = time.Time{}, time.Time{}
	c.Handoffs = slices.Clone(c.Handoffs)
	for i := range c.Handoffs {
		c.Handoffs[i].Range = Range{}
	}
	current := func(model string) string {
		if next, retired := installation.Retired(model); retired && next != "" {
			return next
		}
		return model
	}
	c.Model = current(c.Model)
	c.FallbackModels = slices.Clone(c.FallbackModels)
	for i := range c.FallbackModels {
		c.FallbackModels[i] = current(c.FallbackModels[i])
	}
	c.Tools.Allow = slices.DeleteFunc(append([]string{}, c.Tools.Allow...), func(name string) bool {
		return slices.ContainsFunc(c.Tools.Deny, func(deny string) bool { return MatchTool(deny, name) })
	})
	return c
}

// checkFixAll holds [FixAll] to its promise for one file.
func checkFixAll(t interface {
	Helper()
	Errorf(string, ...any)
}, path, src string) (changed bool) {
	t.Helper()
	source := furnished(path, src)
	before := Parse(source)
	text := FixAll(source)
	source.Data = []byte(text)
	after := Parse(source)
	if left := sure(path, text, after.Problems); len(left) > 0 {
		t.Errorf("%q became %q, which leaves %v", src, text, left)
	}
	if Worse(before, after) {
		t.Errorf("%q became %q with %v", src, text, after.Problems)
	}
	if a, b := plainly(before), plainly(after); !reflect.DeepEqual(a, b) {
		t.Errorf("%q became %q:\n%+v\n%+v", src, text, a, b)
	}
	return text != src
}

// TestFixAllSaysTheSame: with every sure fix applied, no finding has one, there is
// no new error, and the definition is the same. Public files and made-up ones.
func TestFixAllSaysTheSame(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/data/agents/*/*.md")
	changed := 0
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{"/w/.gemini/agents/", "/w/.claude/agents/", "/w/.github/agents/"} {
			if checkFixAll(t, dir+filepath.Base(name), string(data)) {
				changed++
			}
		}
	}
	t.Logf("%d public files, %d changed", len(files), changed)
	lines := []string{
		"name: code-fixer", "name: 'code-fixer' # me", "kind: agent", "kind:", "title: T", "title: “T”", "description: Use it: well", "description: \"say \"no\" to\\n it\"",
		"description: é“ü” #1", "description: “Über” 😀", "color: #12ab34", "model: old-1", "model: \"old-1\"", "fallback_models: [old-1, pro, 'old-1']", "temp: 1", "temperature: 0.5",
		"systemPrompt: x: y", "system_prompt: |\n  a\n  b", "tools: {allow: [bash, nopes, ls], deny: [shell, ls]}", "tools:\n  allow:\n    - bash\n    - teleports\n  deny: [bash]",
		"tools:\n\tallow: [ls]", "tools: [Read, Nopes]", "tools: {allow: [\n    zzzzzz, # one\n    bash], deny: [bash]}", "displayName: D", "run:\n\tmax_turns: 3", "query: a\n  b: c",
		"handoffs:\n- to: x: y\n- to: b", "# a note: here", "", "triggers: {keywords: [“a”, ‘b’]}", "user_invocable: yes", "top_p: 1\ntopP: 2", "version: *x", "x: @y", "initial_messages:\n  - {role: user, text: “a”}",
	}
	rapid.Check(t, func(t *rapid.T) {
		src := rapid.SampledFrom([]string{"", "", "", "\ufeff", "\n\n"}).Draw(t, "head") + "---\n"
		for _, line := range rapid.SliceOfNDistinct(rapid.SampledFrom(lines), 1, 8, rapid.ID[string]).Draw(t, "lines") {
			src += line + rapid.SampledFrom([]string{"", "", "", "  ", " # why"}).Draw(t, "tail") + "\n"
		}
		src += "---\n" + rapid.SampledFrom([]string{"Body\n", "", "\n\nBody ${x}"}).Draw(t, "body")
		if rapid.IntRange(0, 3).Draw(t, "crlf") == 0 {
			src = strings.ReplaceAll(src, "\n", "\r\n")
		}
		checkFixAll(t, rapid.SampledFrom([]string{ownPath, "/w/.claude/agents/a.md"}).Draw(t, "path"), src)
	})
}

// TestYAMLText: what is written is read as the same text, in lines and in
// brackets.
func TestYAMLText(t *testing.T) {
	check := func(s string) {
		t.Helper()
		written := YAMLText(s)
		d := parse(ownPath, own(fmt.Sprintf("description: %s\nfallback_models: [%s, x]\n", written, written)))
		if s == "" {
			return
		}
		if d.Description != s || len(d.FallbackModels) != 2 || d.FallbackModels[0] != s {
			t.Errorf("%q as %s: %q %q", s, written, d.Description, d.FallbackModels)
		}
	}
	for _, s := range []string{"", "a", "a b", "true", "no", "null", "a: b", "a #b", "- a", "12", "1.0", "é", "\"", "\\n", "a\nb", "\t", "a ", "~", "“a", "a, b", "[a]", "\u2028x\u0085", "😀\u0001"} {
		check(s)
	}
	rapid.Check(t, func(t *rapid.T) { check(rapid.StringMatching(`[ -~é€😀\n\t“]{1,12}`).Draw(t, "text")) })
}

// TestDifference: the edit makes one text of the other and touches no line before
// the first and after the last that differ.
func TestDifference(t *testing.T) {
	for _, test := range []struct{ from, to, want string }{
		{"a\nb\nc\n", "a\nb\nc\n", "[]"},
		{"a\nb\nc\n", "a\nx\nc\n", `[{{{1 0} {2 0}} "x\n"}]`},
		{"a\nb\nc\nd\n", "a\nc\nd\n", `[{{{1 0} {2 0}} ""}]`},
		{"a\r\nb\r\nc", "a\r\nq\r\nb\r\nc", `[{{{1 0} {1 0}} "q\r\n"}]`},
		{"a", "", `[{{{0 0} {0 1}} ""}]`},
		{"", "a\n", `[{{{0 0} {0 0}} "a\n"}]`},
	} {
		edits := Difference(test.from, test.to)
		if got := fmt.Sprintf("%v", quotedEdits(edits)); got != test.want || Apply(test.from, edits) != test.to {
			t.Errorf("%q to %q: %s", test.from, test.to, got)
		}
	}
	text := rapid.StringMatching(`([aé😀]?(\n|\r\n|\r|b))*`)
	rapid.Check(t, func(t *rapid.T) {
		from, to := text.Draw(t, "from"), text.Draw(t, "to")
		if got := Apply(from, Difference(from, to)); got != to {
			t.Errorf("%q to %q: %q by %v", from, to, got, Difference(from, to))
		}
	})
}

func quotedEdits(edits []Edit) []string {
	list := []string{}
	for _, e := range edits {
		list = append(list, fmt.Sprintf("{%v %q}", e.Range, e.Text))
	}
	return list
}

// TestNoSecondTitle: a title whose key is written wrong is not added again.
func TestNoSecondTitle(t *testing.T) {
	src := Source{Path: "/w/.gemini/agents/x.md", Folder: "/w", Scope: Project, Data: []byte("---\nkind: agent\nname: x\ntitel: X\n---\nx\n")}
	d, fixes := Parse(src), 0
	for _, p := range d.Problems {
		fixes += len(Fixes(src.Path, string(src.Data), p))
	}
	if len(d.Problems) != 2 || fixes != 1 {
		t.Errorf("%d fixes of %+v", fixes, d.Problems)
	}
	if got := FixAll(src); got != string(src.Data) {
		t.Error(got)
	}
}
