package authority_test

import (
	"context"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/sandbox"
	"github.com/agentls/agentls/internal/settings"
)

// fake is a tool that is only offered.
type fake struct {
	name string
	risk tool.Risk
}

func (f fake) Spec() tool.Spec {
	return tool.Spec{Name: f.name, Risk: f.risk, Description: "Does " + f.name + ".", Parameters: json.RawMessage(`{"type":"object"}`)}
}

func (f fake) Plan(context.Context, *tool.Env, json.RawMessage) (*tool.Plan, error) {
	return nil, tool.Errorf(tool.CodeInternal, "%s is not meant to run", f.name)
}

// registered are all kinds of tools: the built-in ones, and what later features
// and servers register.
func registered() []tool.Tool {
	return append(builtin(), fake{"web_fetch", tool.Medium}, fake{"delete_file", tool.High}, fake{"git_commit", tool.Medium},
		fake{"delegate_to_agent", tool.Safe}, fake{"transfer_to_code-fixer", tool.Safe}, fake{"mcp.github.get", tool.Medium}, fake{"mcp.github.set", tool.Medium},
		fake{"read_file", tool.Catastrophic}) // a second one of a name does not count
}

// builtin has the names and tiers of the built-in tools.
func builtin() []tool.Tool {
	var all []tool.Tool
	for _, name := range []string{"read_file", "read_many_files", "ls", "glob", "grep", "bash", "write_todos", "ask_user"} {
		all = append(all, fake{name, tool.Safe})
	}
	return append(all, fake{"write_file", tool.Low}, fake{"edit_file", tool.Low})
}

func day() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// parse reads an agent of a project.
func parse(t testing.TB, text string) *definition.Definition {
	t.Helper()
	d := definition.Parse(definition.Source{Path: "/w/.gemini/agents/fixer.md", Folder: "/w", Scope: definition.Project, Data: []byte(text)})
	if ok, why := d.Usable(); !ok {
		t.Fatalf("%+v", why)
	}
	return d
}

// installation returns what is installed, with an agent in it.
func installation(t testing.TB, text string) authority.Input {
	values := settings.Defaults()
	values.Origins["agents.limits.modelCalls"] = settings.Origin{Scope: settings.UserScope, File: "/home/p/.gemini/settings.json", Line: 4}
	return authority.Input{
		File: parse(t, text), Text: text, Tools: registered(), Approval: guard.Asks, Trusted: true, CanAsk: true,
		Table: model.NewTable(day), Standard: "flash", Settings: values,
	}
}

const fixer = `---
kind: agent
name: fixer
title: Fixer
description: Mends code.
model: gemini-2.0-flash
tools:
  allow:
    - read_file
    - write_*
    - shell
    - mcp.github.*
    - mcp.jira.get
  deny:
    - mcp.github.set
  confirmation:
    require_confirmation: ["write_file"]
    timeout: 60
mcp:
  servers:
    - github
    - jira
handoffs:
  - to: code-reviewer
  - to: nobody
subagents:
  - code-reviewer
run:
  max_turns: 40
  max_cost: 0.5
temperature: 0.2
---
Mend what is broken.
`

// overridden is the fixer with two sections of settings over it.
func overridden(t testing.TB) authority.Input {
	in := installation(t, fixer)
	in.Settings.Overrides["fixer"] = []settings.Raw{
		{JSON: []byte(`{"model": "pro", "run": {"max_turns": 20}, "tools": {"deny": ["bash"]}}`), Origin: settings.Origin{Scope: settings.UserScope, File: "/home/p/.gemini/settings.json", Line: 10}},
		{JSON: []byte(`{"model": "flash-lite", "run": {"max_turns": 10}, "tools": {"allow": ["read_file", "bash", "write_file"]}}`), Origin: settings.Origin{Scope: settings.ProjectScope, File: "/w/.gemini/settings.json", Line: 3}},
	}
	in.Ignored = []string{"/w/.gemini/settings.json:3: agents.overrides.fixer.model can be set by your own settings only; it is ignored"}
	in.Only = []authority.List{{
		Names:  []string{"read_file", "bash", "write_file"},
		Origin: authority.Origin{File: "/w/.gemini/settings.json", Line: 3, What: "agents.overrides.fixer.tools.allow"},
	}}
	d := *in.File
	d.Model, d.MaxTurns, d.Tools.Deny = "pro", 10, append(slices.Clone(d.Tools.Deny), "bash")
	in.Definition = &d
	in.Exclude = []authority.List{{Names: []string{"git_*"}, Origin: authority.Origin{File: "/home/p/.gemini/settings.json", Line: 7, What: "tools.exclude"}}}
	in.Servers = []authority.Server{{Name: "github", Origin: authority.Origin{File: "/home/p/.gemini/settings.json", Line: 20, What: "mcpServers.github"}}}
	reviewer := *d0(t, "code-reviewer")
	in.Agents = []*definition.Definition{&reviewer}
	return in
}

func d0(t testing.TB, name string) *definition.Definition {
	return parse(t, "---\nkind: agent\nname: "+name+"\ntitle: T\n---\nDo it.\n")
}

// TestOrigins: each value has the line that it comes from, and what it overrode.
func TestOrigins(t *testing.T) {
	e := authority.Explain(overridden(t))
	const own, mine, project = "/w/.gemini/agents/fixer.md", "/home/p/.gemini/settings.json", "/w/.gemini/settings.json"
	for _, c := range []struct {
		key, text string
		origin    authority.Origin
		overrode  []authority.Origin
	}{
		{"model", "pro → gemini-3.1-pro-preview", authority.Origin{File: mine, Line: 10, What: "agents.overrides.fixer.model"},
			[]authority.Origin{{File: own, Line: 6, What: "model"}, {What: "default"}}},
		{"run.max_turns", "10", authority.Origin{File: project, Line: 3, What: "agents.overrides.fixer.run.max_turns"},
			[]authority.Origin{{File: mine, Line: 10, What: "agents.overrides.fixer.run.max_turns"}, {File: own, Line: 29, What: "run.max_turns"}, {What: "default of chat runs"}}},
		{"run.max_cost", "$0.50", authority.Origin{File: own, Line: 30, What: "run.max_cost"}, []authority.Origin{{What: "default"}}},
		{"run.mode", "chat", authority.Origin{What: "default"}, []authority.Origin{}},
		{"temperature", "0.2", authority.Origin{File: own, Line: 31, What: "temperature"}, []authority.Origin{{What: "the model's own"}}},
		{"tools.confirmation.require_confirmation", "write_file", authority.Origin{File: own, Line: 17, What: "tools.confirmation.require_confirmation"}, []authority.Origin{{What: "default"}}},
		{"tools.confirmation.timeout", "1m", authority.Origin{File: own, Line: 18, What: "tools.confirmation.timeout"}, []authority.Origin{{What: "default"}}},
		{"limits.modelCalls", "200", authority.Origin{File: mine, Line: 4, What: "agents.limits.modelCalls"}, []authority.Origin{}},
	} {
		v, ok := e.Value(c.key)
		if !ok || v.Text != c.text {
			t.Errorf("%s: %q, want %q", c.key, v.Text, c.text)
		}
		if diff := cmp.Diff(c.origin, v.Origin); diff != "" {
			t.Errorf("%s: %s", c.key, diff)
		}
		if diff := cmp.Diff(c.overrode, v.Overrode); diff != "" {
			t.Errorf("%s overrode: %s", c.key, diff)
		}
	}
	tools := make(map[string]authority.Tool)
	for _, one := range e.Tools {
		tools[one.Name] = one
	}
	for _, c := range []struct {
		name, why string
		offered   bool
		file      string
		line      int
	}{
		{"read_file", `allowed by "read_file"`, true, own, 9},
		{"write_file", `allowed by "write_*"`, true, own, 10},
		{"bash", `denied by "bash"`, false, mine, 10},
		{"mcp.github.get", "not in the project's list", false, project, 3},
		{"git_commit", "not in the project's list", false, project, 3},
	} {
		got := tools[c.name]
		if got.Offered != c.offered || got.Why != c.why || got.Origin.File != c.file || got.Origin.Line != c.line {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	plain := authority.Explain(installation(t, fixer))
	for _, one := range plain.Tools {
		switch one.Name {
		case "bash":
			if !one.Offered || one.Origin.Line != 11 || !one.Command {
				t.Errorf("bash, which the file calls shell: %+v", one)
			}
		case "mcp.github.set":
			if one.Offered || one.Origin.Line != 15 {
				t.Errorf("denied: %+v", one)
			}
		}
	}
	if got := plain.Model; got.ID != "gemini-3.5-flash-lite" || !got.Retired || got.Name != "gemini-2.0-flash" {
		t.Errorf("a retired model: %+v", got)
	}
	if want := (authority.Open{Allow: []string{"mcp.github.*", "mcp.jira.get", "write_*"}}); !cmp.Equal(want, plain.Open) {
		t.Errorf("open: %s", cmp.Diff(want, plain.Open))
	}
	if line := e.Handoffs[1]; line.Known || line.Origin.Line != 25 || e.Handoffs[0].Origin.Line != 24 || !e.Handoffs[0].Known {
		t.Errorf("handoffs: %+v", e.Handoffs)
	}
	if s := e.Servers; len(s) != 2 || !s[0].Known || s[0].Origin.Line != 21 || s[1].Known || s[1].Text != "not configured" {
		t.Errorf("servers: %+v", s)
	}
}

// TestAsksIsTheGates: what is told of each tool in each mode is what the gate
// says, in every circumstance.
func TestAsksIsTheGates(t *testing.T) {
	agree := func(verdict guard.Verdict) authority.Verdict {
		return map[guard.Verdict]authority.Verdict{guard.Auto: authority.Auto, guard.Ask: authority.Ask, guard.Refuse: authority.Refuse}[verdict]
	}
	seen := make(map[authority.Verdict]bool)
	for _, trusted := range []bool{true, false} {
		for _, person := range []bool{true, false} {
			for _, confined := range []bool{true, false} {
				in := installation(t, "---\nkind: agent\nname: fixer\ntitle: F\ntool_confirmation:\n  require_confirmation: [\"grep\", \"web_*\"]\n---\nDo it.\n")
				in.Trusted, in.CanAsk, in.Sandbox = trusted, person, walled(confined)
				for _, one := range authority.Explain(in).Tools {
					if one.Command {
						continue // TestBash
					}
					var spec tool.Spec
					for _, r := range in.Tools {
						if spec = r.Spec(); spec.Name == one.Name {
							break
						}
					}
					outside, access := strings.HasPrefix(one.Name, "mcp."), sandbox.Access("")
					if one.Name == "git_commit" {
						access = sandbox.Write
					}
					for mode, got := range map[guard.Approval]authority.Verdict{guard.Plan: one.Asks.Plan, guard.Asks: one.Asks.Ask, guard.Edits: one.Asks.Edits, guard.Free: one.Asks.Auto} {
						d := guard.New().Authorize(guard.Request{
							Plan:     &tool.Plan{Tool: one.Name, Args: json.RawMessage(`{}`), Risk: spec.Risk, Spawns: outside || one.Name == "git_commit", Leaves: outside, Access: access},
							Approval: mode, Trusted: trusted, CanAsk: person, Sandbox: walled(confined), Require: in.File.Confirmation.Require,
						})
						if got != agree(d.Verdict) {
							t.Errorf("%s in mode %s (trusted %t, person %t, confined %t): %s", one.Name, mode, trusted, person, confined, got)
						}
						seen[got] = true
					}
					if one.Asks.Now != one.Asks.Ask || one.Require != (one.Name == "grep" || strings.HasPrefix(one.Name, "web_")) {
						t.Errorf("%s: %+v", one.Name, one)
					}
				}
			}
		}
	}
	if len(seen) != 3 {
		t.Errorf("only %v was seen", seen)
	}
}

// walled is a sandbox that is there, or not.
func walled(yes bool) guard.Sandbox {
	if yes {
		return guard.Sandbox{Wall: sandbox.Bubblewrap}
	}
	return guard.Sandbox{Wall: sandbox.None}
}

// TestBash: a command that changes files is what is told.
func TestBash(t *testing.T) {
	for _, c := range []struct {
		confined, trusted bool
		want              authority.Asks
	}{
		{false, true, authority.Asks{Plan: "refuse", Ask: "ask", Edits: "ask", Auto: "ask", Now: "ask"}},
		{true, true, authority.Asks{Plan: "refuse", Ask: "ask", Edits: "auto", Auto: "auto", Now: "ask"}},
		{true, false, authority.Asks{Plan: "refuse", Ask: "refuse", Edits: "refuse", Auto: "refuse", Now: "refuse"}},
	} {
		in := installation(t, fixer)
		in.Sandbox, in.Trusted = walled(c.confined), c.trusted
		e := authority.Explain(in)
		i := slices.IndexFunc(e.Tools, func(one authority.Tool) bool { return one.Name == "bash" })
		if got := e.Tools[i]; got.Asks != c.want || !got.Command || got.Tier != "medium" {
			t.Errorf("confined %t, trusted %t: %+v", c.confined, c.trusted, got)
		}
		if len(e.Refused) == 0 == !c.trusted {
			t.Errorf("trusted %t: refused %q", c.trusted, e.Refused)
		}
	}
}

// TestRules: a rule of the settings about a whole tool answers for it.
func TestRules(t *testing.T) {
	in := installation(t, fixer)
	rule := func(text string) tool.Rule {
		r, err := tool.ParseRule(text, definition.CanonicalTool)
		if err != nil {
			t.Fatal(err)
		}
		r.Origin = authority.Origin{File: "/s.json", Line: 2, What: "tools"}
		return r
	}
	in.Allow, in.Deny = []tool.Rule{rule("mcp.github.get"), rule("write_file(docs/**)")}, []tool.Rule{rule("bash(git push)")}
	e := authority.Explain(in)
	for _, one := range e.Tools {
		switch one.Name {
		case "mcp.github.get":
			if one.Asks.Now != authority.Auto {
				t.Errorf("%+v", one)
			}
		case "write_file":
			if one.Asks.Now != authority.Ask {
				t.Errorf("a rule about some calls counts for all: %+v", one)
			}
		}
	}
	var rules []string
	for _, v := range e.Values {
		if v.Key == "tools.exclude" || v.Key == "tools.allowed" {
			rules = append(rules, v.Text)
		}
	}
	if want := []string{"bash(git push)", "mcp.github.get", "write_file(docs/**)"}; !slices.Equal(rules, want) {
		t.Errorf("rules %q", rules)
	}
}

// offeredBy is what [tool.NewSet] leaves of tools for an agent, after a project's
// list.
func offeredBy(d *definition.Definition, tools []tool.Tool, exclude, only []string) []string {
	if only != nil {
		tools = slices.DeleteFunc(slices.Clone(tools), func(one tool.Tool) bool {
			return !slices.ContainsFunc(only, func(pattern string) bool {
				if canonical, ok := definition.CanonicalTool(pattern); ok {
					pattern = canonical
				}
				ok, err := path.Match(pattern, one.Spec().Name)
				return ok && err == nil
			})
		})
	}
	return tool.NewSet(tool.SetConfig{
		Tools: tools, Exclude: exclude, Deny: d.Tools.Deny, Allow: d.Tools.Allow, Restricted: d.Tools.Given, Canonical: definition.CanonicalTool,
	}).Names()
}

// explained is what the explanation has of registered tools.
func explained(e *authority.Explanation) []string {
	var names []string
	for _, one := range e.Tools {
		if one.Offered && !one.Added {
			names = append(names, one.Name)
		}
	}
	return names
}

// TestEveryCallIsExplained: for the public agent files and made-up ones, with and
// without settings, the offered tools are those that a run's set has. That a run
// has this set holds agents.TestEveryCallIsExplained.
func TestEveryCallIsExplained(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "data", "agents", "*", "*.md"))
	t.Logf("%d public files", len(files))
	type agent struct{ path, text string }
	var all []agent
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, agent{file, string(data)})
	}
	for _, tools := range []string{
		"", "tools: {}", "tools: {allow: []}", "tools: {allow: ['*']}", "tools: {allow: [shell, read-file]}", "tools: {deny: ['*']}", "tools: {allow: ['mcp.*', ls], deny: ['mcp.github.set']}",
		"tools: {deny: [bash, write_*, '[']}", "tools: {allow: ['[', ls, nothing]}", "run: {mode: task}", "output: {name: r, schema: {type: object}}",
	} {
		all = append(all, agent{"/w/.gemini/agents/made.md", "---\nkind: agent\nname: made\ntitle: M\n" + tools + "\n---\nDo it.\n"})
	}
	some := 0
	for _, a := range all {
		d := definition.Parse(definition.Source{Path: a.path, Folder: "/w", Scope: definition.Project, Data: []byte(a.text)})
		for _, s := range []struct {
			exclude, only []string
		}{{nil, nil}, {[]string{"bash", "mcp.*"}, nil}, {[]string{"["}, nil}, {nil, []string{"read_*", "shell", "["}}} {
			in := installation(t, fixer)
			in.File, in.Text = d, a.text
			if s.exclude != nil {
				in.Exclude = []authority.List{{Names: s.exclude}}
			}
			if s.only != nil {
				in.Only = []authority.List{{Names: s.only, Origin: authority.Origin{File: "p.json", Line: 1}}}
			}
			e := authority.Explain(in)
			want := offeredBy(d, in.Tools, s.exclude, s.only)
			if got := explained(e); !slices.Equal(got, want) {
				t.Errorf("%s %+v: explained %q, offered %q", a.path, s, got, want)
			}
			some += len(want)
			if task := e.Model.ID != "" && slices.ContainsFunc(e.Tools, func(one authority.Tool) bool { return one.Added }); task != (d.Output != nil || d.Mode == definition.Task) {
				t.Errorf("%s: complete_task explained: %t", a.path, task)
			}
			checkExplanation(t, e)
		}
	}
	if some == 0 {
		t.Error("nothing was offered to anybody")
	}
}

// checkExplanation holds what holds for each explanation.
func checkExplanation(t *testing.T, e *authority.Explanation) {
	t.Helper()
	if _, err := json.Marshal(e); err != nil {
		t.Error(err)
	}
	for _, one := range e.Tools {
		if one.Why == "" || one.Why == "its lists do not allow it" || one.Tier == "" || (one.Origin.What == "" && one.Origin.File == "" && strings.HasPrefix(one.Why, "denied")) {
			t.Errorf("%s: %+v", e.File, one)
		}
		if (one.Asks.Now == authority.Auto) != (one.Reason == "") {
			t.Errorf("%s: a reason that is none: %+v", e.File, one)
		}
	}
	for _, v := range e.Values {
		if v.Text == "" || v.Origin.What == "" || strings.ContainsAny(v.Text, "\n\x1b") {
			t.Errorf("%s: %+v", e.File, v)
		}
	}
	if d := authority.Compare(e, e); d.Grows || len(d.Lines) != 0 {
		t.Errorf("%s differs from itself: %s", e.File, d.Text())
	}
	for _, columns := range []int{70, 80, 100, 200} {
		for line := range strings.SplitSeq(authority.Text(e, columns), "\n") {
			if line == tool.Escape(e.File) || slices.ContainsFunc(e.Memory, func(file string) bool { return line == "  "+tool.Escape(file) }) {
				continue
			}
			rest := line[:strings.LastIndex(line, " ")+1] // a word may be wider than what is left for it
			if n := len([]rune(rest)); len([]rune(line)) > columns && n > columns {
				t.Errorf("%s: %d columns of %d: %s", e.File, n, columns, line)
			}
		}
	}
	for _, most := range []int{0, 1, 5, 1000} {
		if n := strings.Count(authority.Markdown(e, most), "\n") + 1; n > max(most, 1) {
			t.Errorf("%s: %d lines of %d", e.File, n, most)
		}
	}
}
