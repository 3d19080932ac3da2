package definition

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/graph"

	"github.com/agentls/agentls/internal/fault"
)

const ownPath = "/w/.gemini/agents/code-fixer.md"

// own is a file of ours with more fields, without findings.
func own(fields string) string {
	return "---\nkind: agent\nname: code-fixer\ntitle: Code Fixer\n" + fields + "---\nYou fix code.\n"
}

func parse(path, src string) *Definition {
	return Parse(Source{Path: path, Scope: Project, Folder: "/w", Data: []byte(src)})
}

// told lists problems as "code severity line:column-line:column", from 1.
func told(d *Definition) []string {
	list := []string{}
	for _, p := range d.Problems {
		list = append(list, fmt.Sprintf("%s %s %d:%d-%d:%d", strings.TrimPrefix(p.Code, "agent/"), p.Severity,
			p.Range.Start.Line+1, p.Range.Start.Character+1, p.Range.End.Line+1, p.Range.End.Character+1))
	}
	return list
}

// TestFindings: each finding of spec 1.5 that a file alone shows, with its place.
func TestFindings(t *testing.T) {
	tests := []struct {
		name, path, src string
		want            []string
		unusable        bool
	}{
		{"clean", ownPath, own(""), []string{}, false},
		{"crlf", ownPath, strings.ReplaceAll(own("temperature: 3\n"), "\n", "\r\n"), []string{"type error 5:14-5:15"}, true},
		{"no front-matter", ownPath, "Hello\n", []string{"yaml error 1:1-1:6"}, true},
		{"empty file", ownPath, "", []string{"yaml error 1:1-1:1"}, true},
		{"not closed", ownPath, "---\nname: x\n", []string{"yaml error 1:1-1:4"}, true},
		{"a list", ownPath, "---\n- a\n---\nx\n", []string{"yaml error 2:1-2:4"}, true},
		{"yaml error", ownPath, "---\nname: x\nfoo: [a\n---\nx\n", []string{"yaml error 3:6-3:8"}, true},
		{"bom", ownPath, "\ufeff" + own(""), []string{"yaml-repaired warning 1:1-1:2"}, false},
		{"nul", ownPath, own("color: \x00\n"), []string{"yaml error 5:8-5:9"}, true},
		{"invalid utf-8", ownPath, own("description: é\xff\n"), []string{"yaml error 5:15-5:16"}, true},
		{"missing name", ownPath, "---\nkind: agent\ntitle: T\n---\nx\n", []string{"missing-field error 1:1-1:4"}, true},
		{"empty name", ownPath, "---\nkind: agent\ntitle: T\nname:\n---\nx\n", []string{"missing-field error 1:1-1:4"}, true},
		{"no kind, no title", ownPath, "---\nname: code-fixer\nversion: 1.0.0\n---\nx\n", []string{"missing-field hint 1:1-1:4", "missing-field hint 2:7-2:17"}, false},
		{"name type", ownPath, "---\nkind: agent\ntitle: T\nname: 12\n---\nx\n", []string{"type error 4:7-4:9"}, true},
		{"name pattern", ownPath, "---\nkind: agent\ntitle: T\nname: Code Fixer\n---\nx\n", []string{"name error 4:7-4:17"}, true},
		{"name reserved", ownPath, "---\nkind: agent\ntitle: T\nname: main\n---\nx\n", []string{"name error 4:7-4:11", "file-name warning 4:7-4:11"}, true},
		{"file name", "/w/.gemini/agents/other.md", own(""), []string{"file-name warning 3:7-3:17"}, false},
		{"agent.md stem", "/w/.gemini/agents/code-fixer.agent.md", own(""), []string{}, false},
		{"utf-16 columns", ownPath, own("description: 😀 é\ninputs: {x: {type: '😀', bad: 1}}\n"), []string{"type error 6:20-6:24", "unknown-field hint 6:26-6:29"}, true},
		{"unknown field", ownPath, own("descripton: x\nzzz: 1\n"), []string{"unknown-field error 5:1-5:11", "unknown-field hint 6:1-6:4"}, true},
		{"empty body", ownPath, "---\nkind: agent\ntitle: T\nname: code-fixer\n---\n \n", []string{"prompt-empty error 5:1-5:4"}, true},
		{"systemPrompt", ownPath, "---\nkind: agent\ntitle: T\nname: code-fixer\nsystemPrompt: x\n---\n", []string{}, false},
		{"prompt twice", ownPath, own("system_prompt: x\n"), []string{"prompt-twice warning 5:16-5:17"}, false},
		{"placeholder with inputs", ownPath, own("inputs:\n  a: {type: string}\nquery: do ${b} and ${a} and $${c}\n"), []string{"placeholder error 7:11-7:15"}, true},
		{"placeholder without inputs", ownPath, own("query: do ${b}\n") + "echo ${HOME} ${HOME}\n", []string{"placeholder hint 5:11-5:15", "placeholder hint 8:6-8:13"}, false},
		{"tool conflict", ownPath, own("tools:\n  allow: [bash, ls]\n  deny: [shell]\n"), []string{"tool-conflict warning 6:11-6:15"}, false},
		{"tool unknown", ownPath, own("tools:\n  allow: [raed_file, mcp.x.y, transfer-to-b, read-file]\n"), []string{"tool-unknown error 6:11-6:20"}, false},
		{"allow empty", ownPath, own("tools:\n  allow:\n"), []string{"type error 6:3-6:8"}, true},
		{"anchors", ownPath, own("x: &a b\ny: *a\n"), []string{"yaml-feature error 5:4-5:8", "unknown-field hint 5:1-5:2", "yaml-feature error 6:4-6:6", "unknown-field hint 6:1-6:2"}, true},
		{"merge", ownPath, own("x: {<<: {a: b}}\n"), []string{"yaml-feature error 5:5-5:7", "unknown-field hint 5:1-5:2"}, true},
		{"tag", ownPath, own("description: !!binary aGk=\n"), []string{"yaml-feature error 5:14-5:27"}, true},
		{"duplicate key", ownPath, own("title: Again\n"), []string{"yaml-feature error 5:1-5:6"}, true},
		{"depth", ownPath, own("run: " + strings.Repeat("{a: ", 20) + "1" + strings.Repeat("}", 20) + "\n"), []string{"yaml-feature error 5:66-5:67", "unknown-field hint 5:7-5:8"}, true},
		{"temperature", ownPath, own("temperature: hot\ntop_p: 1.5\n"), []string{"type error 5:14-5:17", "type error 6:8-6:11"}, true},
		{"limits", ownPath, own("run: {max_turns: 0, max_time: -1, max_cost: 0, mode: loop, max_tokens: 1.5}\n"),
			[]string{"type error 5:18-5:19", "type error 5:31-5:33", "type error 5:45-5:46", "type error 5:54-5:58", "type error 5:72-5:75"}, true},
		{"color", ownPath, own("color: nocolor\n"), []string{"type error 5:8-5:15"}, true},
		{"color as comment", ownPath, own("color: #12ab34\n"), []string{"yaml-repaired warning 5:8-5:15"}, false},
		{"version", ownPath, own("version: 1.20\n"), []string{"type error 5:10-5:14"}, true},
		{"typing of no", ownPath, own("user_invocable: no\n"), []string{"type error 5:17-5:19"}, true},
		{"scope", ownPath, own("scope: global\n"), []string{"type warning 5:8-5:14"}, false},
		{"shapes", ownPath, own("graph: x\ntracing: []\nmemory: 1\nguardrails: x\ntriggers: 1\nhandoffs: {}\nmcp: x\ninputs: []\noutput: 1\n"),
			[]string{"type error 5:8-5:9", "type error 6:10-6:12", "type error 7:9-7:10", "type error 8:13-8:14", "type error 9:11-9:12", "type error 10:11-10:13", "type error 11:6-11:7", "type error 12:9-12:11", "type error 13:9-13:10"}, true},
		{"handoff to itself", ownPath, own("handoffs:\n  - to: code-fixer\n  - to: Bad Name\n  - {when: auto}\n"),
			[]string{"handoff-target error 6:9-6:19", "handoff-target error 7:9-7:17", "type error 8:5-8:17"}, true},
		{"regex", ownPath, own("triggers: {patterns: ['(', '(a+)+$', '(.{1000}){1000}'], keywords: [x]}\n"), []string{"regex error 5:23-5:26", "regex error 5:38-5:55"}, false},
		{"regex too long", ownPath, own("triggers: [{regex: '" + strings.Repeat("a", 1025) + "', priority: 5}]\n"), []string{"regex error 5:20-5:1047"}, false},
		{"schema", ownPath, own("output: {schema: {type: strin}}\n"), []string{"schema error 5:18-5:31"}, true},
		{"remote ref", ownPath, own("output: {schema: {$ref: 'https://example.com/s.json'}}\n"), []string{"schema error 5:25-5:53"}, true},
		{"payload", ownPath, own("handoffs: [{to: b, payload: {schema: {type: object, properties: {reason: {}}}}}]\n"), []string{"schema error 5:66-5:72"}, true},
		{"secret", ownPath, own("description: AKIAIOSFODNN7EXAMPL3\n"), []string{"secret warning 5:14-5:34"}, false},
		{"secret in body", ownPath, own("") + "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA0123456789abcdefGHIJ\nghp_abcdefghij0123456789ABCDEFGHIJklmnop\n", []string{"secret warning 7:1-7:32", "secret warning 9:1-9:41"}, false},
		{"secret with a head of its own", ownPath, own("") + "> -----BEGIN ENCRYPTED PRIVATE KEY-----\n> Proc-Type: 4,ENCRYPTED\n>\n> MIIEowIBAAKCAQEA0123456789abcdefGHIJ\n", []string{"secret warning 7:3-7:40"}, false},
		{"secret on one line", ownPath, own("") + `a certificate: -----BEGIN CERTIFICATE-----, "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA0123456789abcdefGHIJ"` + "\n", []string{"secret warning 7:46-7:112"}, false},
		{"no secret: what AWS documents", ownPath, own("description: AKIAIOSFODNN7EXAMPLE\n") + "ASIAIOSFODNN7EXAMPLE and AKIAI44QH8DHBEXAMPLE\n", nil, false},
		{"no secret: what to look for", ownPath, own("") + "Find `-----BEGIN (RSA|EC) PRIVATE KEY-----`, -----BEGIN [A-Z ]*PRIVATE KEY-----\nand -----BEGIN PRIVATE KEY-----\nanywhere in the repository, and report it. AKIA[0-9A-Z]{16} as well.\n", nil, false},
		{"hidden text", ownPath, own("") + "a\u202eb\u200b\u200bc 👩\u200d💻 \U0001F3F4\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F\n", []string{"hidden-text warning 7:2-7:3", "hidden-text warning 7:4-7:6"}, false},
		{"unquoted colon", ownPath, own("description: Use when: never\n"), []string{"yaml-repaired warning 5:14-5:29"}, false},
		{"tabs", ownPath, own("run:\n\tmax_turns: 3\n"), []string{"yaml-repaired warning 6:1-6:2"}, false},
		{"smart quotes", ownPath, own("description: “Use: it”\n"), []string{"yaml-repaired warning 5:14-5:23"}, false},
		{"smart quotes in valid yaml", ownPath, own("description: “Use it”\n"), []string{"yaml-repaired warning 5:14-5:22"}, false},
		{"quotes in quotes", ownPath, own("description: \"say \"hi\" now\\n\"\n"), []string{"yaml-repaired warning 5:14-5:30"}, false},
		{"empty lines first", ownPath, "\n\n" + own(""), []string{"yaml-repaired warning 1:1-3:1"}, false},
		{"empty line inside", ownPath, strings.Replace(own(""), "---\n", "---\n\n", 1), []string{}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := parse(test.path, test.src)
			checkProblems(t, test.src, d)
			if got := told(d); fmt.Sprint(got) != fmt.Sprint(sortPlaces(test.want, got)) {
				t.Errorf("got  %q\nwant %q", got, test.want)
				for _, p := range d.Problems {
					t.Log(p.Message)
				}
			}
			if ok, _ := d.Usable(); ok == test.unusable {
				t.Errorf("usable %v", ok)
			}
			for _, p := range d.Problems {
				if p.URI != FileURI(test.path) || !strings.ContainsAny(p.Message[len(p.Message)-1:], ".?") {
					t.Errorf("problem %+v", p)
				}
			}
		})
	}
}

// sortPlaces returns want in got's order, if they hold the same.
func sortPlaces(want, got []string) []string {
	if len(want) != len(got) {
		return want
	}
	count := make(map[string]int)
	for i := range want {
		count[want[i]]++
		count[got[i]]--
	}
	for _, n := range count {
		if n != 0 {
			return want
		}
	}
	return got
}

// TestSEC120Caps: both caps are checked before YAML sees a byte.
func TestSEC120Caps(t *testing.T) {
	big := parse(ownPath, own("")+strings.Repeat("x", MaxFile))
	if got := told(big); fmt.Sprint(got) != "[too-large error 1:1-1:1]" || big.Name != "code-fixer" || !big.Guessed {
		t.Errorf("file: %v %+v", got, big)
	}
	wide := parse(ownPath, own("description: "+strings.Repeat("x", MaxFrontMatter)+"\n"))
	if got := told(wide); fmt.Sprint(got) != "[too-large error 1:1-1:4]" {
		t.Errorf("front-matter: %v", got)
	}
	if ok, reason := wide.Usable(); ok || reason.Code != "agent/too-large" {
		t.Errorf("usable %v %v", ok, reason)
	}
	if ok, _ := parse(ownPath, own("")+strings.Repeat("x ", MaxFile/2-100)).Usable(); !ok {
		t.Error("a file under the cap is refused")
	}
}

// place is a range of one line.
func place(line, from, to uint32) Range {
	return Range{Position{line, from}, Position{line, to}}
}

// allFields has every field of spec 1.2.
const allFields = `description: Fixes it.
model: flash
fallback_models: [pro, openai/gpt]
color: "#12ab34"
scope: project
version: 1.2.3-rc.1
tools:
  allow: [read-file, search_file_content, "mcp.github.*", handoff_to_x, recall_memory]
  deny: [shell]
  confirmation: {require_confirmation: [edit], prompt_template: "go {tool_name}?", timeout: 90s}
tool_confirmation: {require_confirmation: ["mcp.*"]}
mcp: {servers: [github]}
triggers: {keywords: [fix], patterns: ['fix\b'], examples: [fix it], priority: 80}
handoffs:
  - {to: reviewer, description: Review}
  - {to: user, when: auto, include_context: false}
  - {to: tester, when: conditional, condition: "task.status == 'done'"}
  - {to: other, when: "output.ok", payload: {schema: {type: object, properties: {n: {type: integer}}}}}
guardrails: [{name: g, policy: warn, validator: "builtin:no-secrets"}]
memory: {enabled: true}
memory_files: false
graph: {entry: a, nodes: [{name: a, agent: b}], edges: [{from: a, to: END}]}
tracing: {enabled: true}
inputs:
  goal: {type: string, description: What, required: true, enum: [a, b]}
  tags: {type: "string[]", default: [x], enum: [x, y]}
output: {name: report, description: R, schema: {type: object}, text: "${x}"}
query: Do ${goal}
initial_messages: [{role: user, text: hi}, {role: model, text: yes}]
temperature: 0.1
top_p: 1
thinking_budget: -1
thinking_level: high
run: {max_turns: 7, max_time: 5m, max_tokens: 1000, max_cost: 1.5, mode: task}
subagents: "*"
user_invocable: false
routable: false
`

// TestAllFields: every field of spec 1.2 arrives, in its usual spelling.
func TestAllFields(t *testing.T) {
	d := parse(ownPath, own(allFields))
	if got := told(d); !slices.Equal(got, []string{"no-effect warning 37:1-37:15"}) { // the level, beside the budget
		t.Fatalf("%v %v", got, d.Problems)
	}
	d.Problems = nil
	temperature, topP, budget := 0.1, 1.0, -1
	want := &Definition{
		Path: ownPath, Folder: "/w", Scope: Project, Dialect: Agentls, Digest: d.Digest, NameRange: d.NameRange,
		DescriptionRange: place(4, 13, 22), TriggersRange: place(16, 10, 82), ExamplesRange: place(16, 59, 67),
		Name: "code-fixer", Title: "Code Fixer", Description: "Fixes it.", Prompt: "You fix code.", Model: "flash", Color: "#12ab34", Version: "1.2.3-rc.1",
		Tools:        Tools{Allow: []string{"read_file", "grep", "mcp.github.*", "transfer_to_x", "recall_memory"}, Deny: []string{"bash"}, Given: true},
		Confirmation: Confirmation{Require: []string{"edit_file", "mcp.*"}, Prompt: "go {tool_name}?", Timeout: 90 * time.Second, Given: true},
		MCPServers:   []string{"github"}, Subagents: []string{"*"},
		Handoffs: []Handoff{
			{To: "reviewer", Range: place(18, 9, 17), When: "manual", Description: "Review", IncludeContext: true},
			{To: "user", Range: place(19, 9, 13), When: "auto"},
			{To: "tester", Range: place(20, 9, 15), When: "conditional", Condition: "task.status == 'done'", IncludeContext: true},
			{To: "other", Range: place(21, 9, 14), When: "conditional", Condition: "output.ok", IncludeContext: true, Payload: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)},
		},
		Inputs:          json.RawMessage(`{"type":"object","properties":{"goal":{"type":"string","description":"What","enum":["a","b"]},"tags":{"type":"array","items":{"enum":["x","y"],"type":"string"},"default":["x"]}},"required":["goal"],"additionalProperties":false}`),
		Output:          &Output{Name: "report", Description: "R", Schema: json.RawMessage(`{"type":"object"}`), Text: "${x}"},
		Query:           "Do ${goal}",
		InitialMessages: []Exchange{{"user", "hi"}, {"model", "yes"}},
		Temperature:     &temperature, TopP: &topP, ThinkingBudget: &budget, ThinkingLevel: "high",
		Mode: Task, MaxTurns: 7, MaxTime: 5 * time.Minute, MaxTokens: 1000, MaxCost: 1.5, FallbackModels: []string{"pro", "openai/gpt"},
		Delegable: true, front: d.front, Tracing: &Tracing{Enabled: new(true), Project: true},
		Memory:   &Memory{Kind: "vector", Backend: "local", Scope: "agent", TopK: DefaultTopK, Range: place(23, 8, 23)},
		Graph:    &Graph{Plan: &graph.Plan{Entry: "a", Nodes: []graph.Node{{Name: "a", Kind: graph.Agent, Of: "b"}}, Edges: []graph.Edge{{From: "a", To: "END"}}}, Ranges: []Range{place(25, 43, 44)}, Links: []Range{place(25, 56, 74)}},
		Guards:   []Guard{{Name: "g", Range: place(22, 13, 69), Policy: Warn, Validator: "builtin:no-secrets"}},
		Triggers: []Trigger{{Keywords: []string{"fix"}, Patterns: []string{`fix\b`}, Priority: 80}}, Examples: []string{"fix it"}, Priority: 80,
	}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("got  %+v\nwant %+v", d, want)
	}
	for _, name := range KeysUnder("") {
		r := begin(Source{Path: ownPath})
		if k, v := (&key{name: name}), (&node{}); !r.field(k, v) && !r.foreignField(k, v) {
			t.Errorf("the known field %s is not read", name)
		}
	}
}

// TestTriggers: each entry of a list weighs by its own priority; what is wrong in one is
// left out and the rest counts.
func TestTriggers(t *testing.T) {
	for fields, want := range map[string]string{
		"triggers:":               "[] [] 50",
		"triggers: {priority: 7}": "[] [] 7",
		"triggers: {keywords: [a, '性能'], patterns: ['x+', '('], examples: [b c, 'd']}": "[{ [a 性能] [x+] 50}] [b c d] 50",
		"triggers: {patterns: '\\bx'}":                                                            "[{ [] [\\bx] 50}] [] 50",
		"triggers: {keywords: [a, 1], priority: 101}":                                             "[{ [a] [] 50}] [] 50",
		"triggers: [{intent: i, regex: [a, b], priority: 0}, {}, {keywords: [c], priority: 7.5}]": "[{i [] [a b] 0} { [c] [] 75}] [] 50",
	} {
		d := parse(ownPath, own(fields+"\n"))
		if got := fmt.Sprint(d.Triggers, d.Examples, d.Priority); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", fields, got, want)
		}
	}
}

// TestOtherSpellings: the spellings that spec 1.2 lists mean the same.
func TestOtherSpellings(t *testing.T) {
	d := parse(ownPath, "---\nname: code-fixer\nkind: agent\ndisplayName: T\ntemp: 1\nthinkingBudget: 5\nmaxTokens: 9\nmaxCost: 2\nmax_time_minutes: 2\nrun: {max_time: 300, max_tokens: 20}\n"+
		"triggers: [{intent: x, keywords: [a], regex: 'b', priority: 9}]\nguardrails: {on_failure: reject, custom_validator: no-secrets}\nmemory: {session: [a], long_term: {backend: vector_store}}\n---\nx\n")
	if len(d.Problems) != 2 || !strings.Contains(d.Problems[1].Message, "run.max_tokens limits the same as maxTokens") {
		t.Fatal(d.Problems)
	}
	if want := []Trigger{{Intent: "x", Keywords: []string{"a"}, Patterns: []string{"b"}, Priority: 90}}; !reflect.DeepEqual(d.Triggers, want) || d.Priority != DefaultPriority {
		t.Errorf("%+v, %d", d.Triggers, d.Priority)
	}
	if d.Title != "T" || *d.Temperature != 1 || *d.ThinkingBudget != 5 || d.MaxTokens != 9 || d.MaxCost != 2 || d.MaxTime != 2*time.Minute {
		t.Errorf("%+v", d)
	}
	twice := parse(ownPath, own("temperature: 1\ntemp: 2\ndisplayName: Other\n"))
	if *twice.Temperature != 1 || twice.Title != "Code Fixer" || fmt.Sprint(told(twice)) != "[unknown-field hint 6:1-6:5 unknown-field hint 7:1-7:12]" {
		t.Errorf("%v %v", told(twice), twice.Title)
	}
}

// TestDefaults: what a file does not say (spec 1.2).
func TestDefaults(t *testing.T) {
	d := parse(ownPath, "---\nkind: agent\nname: code-fixer\n---\nx\n")
	if d.Title != "Code Fixer" || d.Model != "inherit" || d.Mode != Chat || !d.UserInvocable || !d.Routable || !d.MemoryFiles || !d.Delegable || d.Tools.Given || d.Confirmation.Given || d.Query != "" {
		t.Errorf("%+v", d)
	}
}

// TestRepairedMeaning: a repaired text is what its writer meant.
func TestRepairedMeaning(t *testing.T) {
	tests := map[string]string{
		"description: a: b # c\n":              "a: b",
		"description: \"say \"hi\" now\\n\"\n": "say \"hi\" now\n",
		"description: 'it's so'\n":             "it's so",
		"description: \"Foo\" and bar\n":       "\"Foo\" and bar",
		"description: [x] y\n":                 "[x] y",
		"description: @x\n":                    "@x",
		"description: **bold** text\n":         "**bold** text",
		"description: “a: b”\n":                "a: b",
		"description: ‘a: \"b\"’\n":            "a: \"b\"",
		"description: Use. Examples:\n\n<example>\nuser: \"Hi\"\nassistant: yes\n</example>\n": "Use. Examples:\n\n<example>\nuser: \"Hi\"\nassistant: yes\n</example>",
		"description: a: b\n  (c d)\n": "a: b (c d)",
		"description:\ta: b\n":         "a: b",
		"description: C:\\x: \"y\"\n":  `C:\x: "y"`,
	}
	for fields, want := range tests {
		d := parse(ownPath, own(fields+"model: pro\n"))
		if ok, reason := d.Usable(); !ok || d.Description != want || d.Model != "pro" {
			t.Errorf("%q: %q, want %q; %v", fields, d.Description, want, reason)
		}
		if len(d.Problems) != 1 || d.Problems[0].Code != "agent/yaml-repaired" {
			t.Errorf("%q: %v", fields, told(d))
		}
	}
	// A key in quotes is no part of the value before it.
	quoted := parse(ownPath, "---\nkind: agent\n'name': code-fixer\n\"title\": T\ndescription: a: b\n---\nx\n")
	if got := told(quoted); quoted.Name != "code-fixer" || quoted.Title != "T" || fmt.Sprint(got) != "[yaml-repaired warning 5:14-5:18]" {
		t.Error(quoted.Name, got)
	}
	// A repair moves no other place: what follows it is found where it stands.
	d := parse(ownPath, own("description: \"a \"b\" c\"\ntemperature: 5\n"))
	if got := told(d); fmt.Sprint(got) != "[yaml-repaired warning 5:14-5:23 type error 6:14-6:15]" {
		t.Error(got)
	}
	// What cannot be repaired is told as the parser has it, at its place.
	d = parse(ownPath, own("description: a: b\nfoo: [x\n"))
	if ok, reason := d.Usable(); ok || reason.Code != "agent/yaml" {
		t.Errorf("%v", told(d))
	}
}

// TestUnreadable: a file that cannot be read is a definition all the same.
func TestUnreadable(t *testing.T) {
	d := Unreadable(Source{Path: "/w/.gemini/agents/My File.md", Scope: Global}, "Permission denied.")
	if ok, reason := d.Usable(); ok || reason.Message != "Permission denied." || d.Name != "my-file" || d.Title != "My File" {
		t.Errorf("%+v", d)
	}
}

// TestExpand: placeholders as spec 1.4 has them.
func TestExpand(t *testing.T) {
	d := &Definition{Inputs: json.RawMessage(`{}`)}
	got, err := d.Expand("a ${x} $${x} ${n} ${l} ${ x} $x ${x", map[string]any{"x": "1", "n": 2.5, "l": []any{"a", true}})
	if err != nil || got != `a 1 ${x} 2.5 ["a",true] ${ x} $x ${x` {
		t.Errorf("%q %v", got, err)
	}
	_, err = d.Expand("${a} ${b} ${a}", nil)
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "a, b;") {
		t.Error(err)
	}
	plain := &Definition{}
	if got, err := plain.Expand("${a} $${b}", map[string]any{"a": "x"}); err != nil || got != "${a} $${b}" {
		t.Errorf("%q %v", got, err)
	}
	gemini := &Definition{Dialect: GeminiCLI}
	if got, err := gemini.Expand("${today} ${HOME} $${query} ${query}", map[string]any{"today": "now", "HOME": "x"}); err != nil || got != "now ${HOME} $${query} ${query}" {
		t.Errorf("%q %v", got, err)
	}
}

// TestModelHook: the installation says which models there are.
func TestModelHook(t *testing.T) {
	model := func(name string) (string, bool) {
		if name == "claude-sonnet-4.5" || name == "sonnet" {
			return "anthropic/sonnet", true
		}
		return "", name == "x"
	}
	for _, test := range []struct{ path, src, model, codes string }{
		{ownPath, own("model: nope\n"), "nope", "[model-unknown warning 5:8-5:12]"},
		{ownPath, own("model: sonnet\n"), "anthropic/sonnet", "[]"},
		{"/w/.claude/agents/a.md", "---\nname: a\ndescription: b\nmodel: sonnet\n---\nx\n", "anthropic/sonnet", "[]"},
		{"/w/.github/agents/a.md", "---\nname: a\nmodel: [Claude Sonnet 4.5 (copilot), GPT-5]\n---\nx\n", "anthropic/sonnet", "[dialect hint 3:38-3:43]"},
		{"/w/.claude/agents/a.md", "---\nname: a\nmodel: opus\n---\nx\n", "inherit", "[dialect hint 3:8-3:12]"},
	} {
		d := Parse(Source{Path: test.path, Data: []byte(test.src), Scope: Project, Model: model})
		if d.Model != test.model || fmt.Sprint(told(d)) != test.codes {
			t.Errorf("%s: %s %v", test.src, d.Model, told(d))
		}
	}
}

// everyText returns the hostile inputs and the public files.
func everyText(t *testing.T) (texts []string) {
	texts = hostile()
	dirs, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "data", "agents", "*", "*.md"))
	for _, file := range dirs {
		texts = append(texts, readFile(t, file))
	}
	return texts
}

// TestScratchLeavesNoTrace: what was read before with the same memory, or is
// read after, changes nothing.
func TestScratchLeavesNoTrace(t *testing.T) {
	shared := new(Scratch)
	var with []*Definition
	texts := everyText(t)
	// Each in its place twice: what is left behind is seen when the same place says another thing.
	for _, text := range []string{"enabled: false, sample_rate: 0.5, captureContent: false", "enabled: true, sample_rate: 1, captureContent: true"} {
		lines := strings.ReplaceAll(text, ", ", "\n  ")
		texts = append(texts, "---\nname: a\ntracing:\n  "+lines+"\nmemory:\n  enabled: true\n  similarity_threshold: 0."+fmt.Sprint(len(texts)%10)+"\n---\nx\n")
	}
	source := func(i int, scratch *Scratch) Source {
		return Source{Path: fmt.Sprintf("/p/.gemini/agents/a%d.md", i), Scope: Project, Data: []byte(texts[i]), Scratch: scratch}
	}
	for i := range texts {
		src := source(i, shared)
		with = append(with, Parse(src))
		clear(src.Data) // it is the caller's again
	}
	for i := range texts {
		if alone := Parse(source(i, nil)); !reflect.DeepEqual(with[i], alone) {
			t.Errorf("%.60q\nwith    %+v\nwithout %+v", texts[i], with[i], alone)
		}
	}
}

// TestFrontMatterIsWhatWasRead: read again, it is as it was read in the file.
func TestFrontMatterIsWhatWasRead(t *testing.T) {
	some := 0
	for _, text := range everyText(t) {
		var want map[string]any
		r := begin(Source{Path: ownPath})
		if r.text.src = text; len(text) <= MaxFile && r.checkBytes() {
			if from, to, ok := r.split(); ok && to > from && to-from <= MaxFrontMatter {
				if root, ok := r.readYAML(from, to); ok {
					want = root.object()
				}
			}
		}
		d := Parse(Source{Path: ownPath, Scope: Project, Data: []byte(text)})
		got := d.FrontMatter()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%.60q\ngot  %v\nwant %v", text, got, want)
		}
		if some += len(want); want != nil && len(want) < 100 {
			got["name"] = "changed"
			if again := d.FrontMatter(); !reflect.DeepEqual(again, want) {
				t.Errorf("%.60q: the caller's change is kept", text)
			}
		}
	}
	if some < 50 {
		t.Errorf("only %d keys", some)
	}
	if d := Unreadable(Source{Path: ownPath}, "No."); d.FrontMatter() != nil {
		t.Error("front-matter of nothing")
	}
}

// BenchmarkParse reads a typical file of 3 KB, one after another as a catalogue
// is read: 9 allocations, nearly all of it kept (76 and 12.4 KB before a Scratch).
func BenchmarkParse(b *testing.B) {
	src := []byte(own("description: Use this agent to fix code that fails its tests.\nmodel: flash\ntools:\n  allow: [read_file, edit_file, bash, grep, glob]\n  deny: [web_fetch]\nrun:\n  max_turns: 20\n  mode: task\ntriggers:\n  keywords:\n    - fix\n    - repair\n") + strings.Repeat("You read the code first, then you change as little as you can.\n", 42))
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	scratch := new(Scratch)
	for b.Loop() {
		Parse(Source{Path: ownPath, Scope: Project, Data: src, Scratch: scratch})
	}
}
