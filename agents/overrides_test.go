package agents

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/settings"
)

// mine and theirs are sections of the person's settings and of a project's.
func mine(json string) settings.Raw {
	return settings.Raw{JSON: []byte(json), Origin: settings.Origin{Scope: settings.UserScope, File: "user.json", Line: 3}}
}

func theirs(json string) settings.Raw {
	return settings.Raw{JSON: []byte(json), Origin: settings.Origin{Scope: settings.ProjectScope, File: "project.json", Line: 7}}
}

func TestOverrideByThePerson(t *testing.T) {
	d := &definition.Definition{Name: "a", Model: "flash", MaxTurns: 5, ThinkingLevel: "low", Mode: definition.Chat,
		Tools: definition.Tools{Given: true, Allow: []string{"ls"}, Deny: []string{"bash"}}}
	before := *d
	got := override(d, []settings.Raw{
		mine(`{"model": "pro", "temperature": 0.5, "top_p": 1, "thinking_budget": -1,
 "run": {"max_turns": 500, "max_time": "5m", "max_tokens": 9, "max_cost": 1.5, "mode": "task"},
 "tools": {"allow": ["ls", "web_search"], "deny": ["grep"]}, "enabled": true}`),
		mine(`{"model": null, "run": {"max_time": 1.5}}`),
	})
	want := before
	want.Model, want.Temperature, want.TopP, want.ThinkingBudget, want.ThinkingLevel = "pro", new(0.5), new(1.0), new(-1), ""
	want.MaxTurns, want.MaxTime, want.MaxTokens, want.MaxCost, want.Mode = 500, 1500*time.Millisecond, 9, 1.5, definition.Task
	want.Tools = definition.Tools{Given: true, Allow: []string{"ls", "web_search"}, Deny: []string{"bash", "grep"}}
	same := cmpopts.IgnoreUnexported(definition.Definition{})
	if diff := cmp.Diff(&want, got.Definition, same); diff != "" || got.Off != (authority.Origin{}) || got.Only != nil || got.Problems != nil {
		t.Errorf("%s %+v", diff, got.Problems)
	}
	if diff := cmp.Diff(&before, d, same); diff != "" {
		t.Errorf("the agent itself was changed: %s", diff)
	}
	if got := override(d, nil); got.Definition != d {
		t.Error("without a section the agent is another")
	}
}

// TestSEC129OverridesOfAProjectTakeAwayOnly has a project's settings ask for
// more of everything.
func TestSEC129OverridesOfAProjectTakeAwayOnly(t *testing.T) {
	for _, c := range []struct {
		name     string
		agent    definition.Definition
		sections []settings.Raw
		want     definition.Definition
		off      authority.Origin
		problems []string // what each begins with
	}{
		{name: "raised limits", agent: definition.Definition{MaxTurns: 5, MaxTime: time.Minute, MaxTokens: 7, MaxCost: 1},
			sections: []settings.Raw{theirs(`{"run": {"max_turns": 6, "max_time": 61, "max_tokens": 8, "max_cost": 1.01}}`)},
			want:     definition.Definition{MaxTurns: 5, MaxTime: time.Minute, MaxTokens: 7, MaxCost: 1},
			problems: []string{"run.max_cost is raised", "run.max_time is raised", "run.max_tokens is raised", "run.max_turns is raised"}},
		{name: "lowered limits", agent: definition.Definition{MaxTurns: 5, MaxTime: time.Minute, MaxTokens: 7, MaxCost: 1},
			sections: []settings.Raw{theirs(`{"run": {"max_turns": 4, "max_time": 59, "max_tokens": 6, "max_cost": 0.5}}`)},
			want:     definition.Definition{MaxTurns: 4, MaxTime: 59 * time.Second, MaxTokens: 6, MaxCost: 0.5}},
		{name: "limits where there is none", agent: definition.Definition{Mode: definition.Chat},
			sections: []settings.Raw{theirs(`{"run": {"max_turns": 100, "max_time": 99999, "max_tokens": 6, "max_cost": 0.5}}`)},
			want:     definition.Definition{Mode: definition.Chat, MaxTurns: 100, MaxTime: 99999 * time.Second, MaxTokens: 6, MaxCost: 0.5}},
		{name: "above the mode's own", agent: definition.Definition{Mode: definition.Task},
			sections: []settings.Raw{theirs(`{"run": {"max_turns": 16, "max_time": "5m1s"}}`)},
			want:     definition.Definition{Mode: definition.Task}, problems: []string{"run.max_time is raised", "run.max_turns is raised"}},
		{name: "above the own of a task by its output", agent: definition.Definition{Output: &definition.Output{Name: "x"}},
			sections: []settings.Raw{theirs(`{"run": {"max_turns": 16, "max_time": "5m1s"}}`)},
			want:     definition.Definition{Output: &definition.Output{Name: "x"}}, problems: []string{"run.max_time is raised", "run.max_turns is raised"}},
		{name: "above the person's", sections: []settings.Raw{mine(`{"run": {"max_turns": 3}}`), theirs(`{"run": {"max_turns": 4}}`)},
			want: definition.Definition{MaxTurns: 3}, problems: []string{"run.max_turns is raised"}},
		{name: "a model and a mode", agent: definition.Definition{Model: "flash"},
			sections: []settings.Raw{theirs(`{"model": "pro", "run": {"mode": "chat"}}`)},
			want:     definition.Definition{Model: "flash"}, problems: []string{"model can be set by your own", "run.mode can be set by your own"}},
		{name: "switched off", sections: []settings.Raw{theirs(`{"enabled": false}`)}, off: off("project.json", 7)},
		{name: "switched on again", sections: []settings.Raw{mine(`{"enabled": false}`), theirs(`{"enabled": true}`)}, off: off("user.json", 3),
			problems: []string{"enabled can be set by your own"}},
		{name: "on where it is", sections: []settings.Raw{theirs(`{"enabled": true}`)}},
		{name: "sampling", sections: []settings.Raw{theirs(`{"temperature": 2, "top_p": 0, "thinking_budget": 100}`)},
			want: definition.Definition{Temperature: new(2.0), TopP: new(0.0), ThinkingBudget: new(100)}},
		{name: "denied", agent: definition.Definition{Tools: definition.Tools{Deny: []string{"a"}}}, sections: []settings.Raw{theirs(`{"tools": {"deny": ["b"]}}`)},
			want: definition.Definition{Tools: definition.Tools{Deny: []string{"a", "b"}}}},
	} {
		c.agent.Name, c.want.Name = "a", "a"
		got := override(&c.agent, c.sections)
		if diff := cmp.Diff(&c.want, got.Definition, cmpopts.IgnoreUnexported(definition.Definition{}), cmpopts.EquateEmpty()); diff != "" || got.Off != c.off {
			t.Errorf("%s: %s off %v", c.name, diff, got.Off)
		}
		says(t, c.name, got.Problems, "project.json:7: agents.overrides.a.", c.problems)
	}
}

// off is where a file switches the agent off.
func off(file string, line int) authority.Origin {
	return authority.Origin{File: file, Line: line, What: "agents.overrides.a.enabled"}
}

func says(t *testing.T, name string, problems []string, prefix string, want []string) {
	t.Helper()
	ok := len(problems) == len(want)
	for i := range min(len(problems), len(want)) {
		ok = ok && strings.HasPrefix(problems[i], prefix+want[i]) && strings.HasSuffix(problems[i], "; it is ignored")
	}
	if !ok {
		t.Errorf("%s: %q, want %q", name, problems, want)
	}
}

func TestOverrideIgnoresWhatItCannotRead(t *testing.T) {
	d := &definition.Definition{Name: "a"}
	got := override(d, []settings.Raw{mine(`{"enabled": 1, "model": 2, "temperature": 3, "top_p": "x", "thinking_budget": 1.5, "tools": [],
 "run": {"max_turns": 0, "max_time": "soon", "max_tokens": "9", "max_cost": -1, "mode": "plan", "turns": 1}, "color": "red"}`),
		mine(`{"tools": {"allow": "ls", "require": []}, "thinking_budget": -2, "run": {"max_time": 1e10}}`)})
	says(t, "a", got.Problems, "user.json:3: agents.overrides.a.", []string{
		"color is not a key", "enabled must be true or false", "model must be a string", "run.max_cost must be over 0", "run.max_time must be seconds",
		"run.max_tokens must be a whole number", "run.max_turns must be over 0", "run.mode must be chat or task", "run.turns is not a key",
		"temperature must be a number from 0 to 2", "thinking_budget must be a whole number", "tools must be an object", "top_p must be a number",
		"run.max_time is too long", "thinking_budget must be a number of tokens", "tools.allow must be a list of strings", "tools.require is not a key",
	})
	if diff := cmp.Diff(d, got.Definition, cmpopts.IgnoreUnexported(definition.Definition{}), cmpopts.EquateEmpty()); diff != "" || got.Off != (authority.Origin{}) || got.Only != nil {
		t.Error(diff)
	}
}

// nameOnly is a tool that is only a name.
type nameOnly struct {
	tool.Tool
	name string
}

func (n nameOnly) Spec() tool.Spec { return tool.Spec{Name: n.name} }

// TestSEC129AProjectsAllowListOnlyNarrows: whatever a project names, no tool
// comes to those that the agent has without it.
func TestSEC129AProjectsAllowListOnlyNarrows(t *testing.T) {
	var all []tool.Tool
	for _, n := range []string{"bash", "grep", "ls", "read_file", "write_file", "mcp.x.get", "mcp.x.set"} {
		all = append(all, nameOnly{name: n})
	}
	agents := map[string]definition.Tools{
		"open": {}, "none": {Given: true}, "some": {Given: true, Allow: []string{"ls", "mcp.x.*"}}, "denied": {Deny: []string{"bash"}},
	}
	for name, tools := range agents {
		for _, subagent := range []bool{false, true} {
			offered := func(o ...settings.Raw) []string {
				got := override(&definition.Definition{Name: "a", Tools: tools}, o)
				return tool.NewSet(tool.SetConfig{
					Tools: got.tools(all), Allow: got.Tools.Allow, Deny: got.Tools.Deny, Restricted: got.Tools.Given, Subagent: subagent,
					Canonical: definition.CanonicalTool,
				}).Names()
			}
			before := offered()
			for _, list := range []string{`[]`, `["*"]`, `["bash"]`, `["mcp.x.get", "run_shell_command"]`, `["mcp.*"]`, `["ls", "grep", "["]`} {
				named := offered(theirs(`{"tools": {"allow": ` + list + `}}`))
				for _, n := range named {
					if !slices.Contains(before, n) {
						t.Errorf("%s agent, subagent %v: %s adds %s", name, subagent, list, n)
					}
				}
				if all := list == `["*"]`; all != (len(named) == len(before)) && len(before) > 1 {
					t.Errorf("%s agent, subagent %v: %s leaves %v of %v", name, subagent, list, named, before)
				}
			}
		}
	}
	if got := override(&definition.Definition{Name: "a"}, []settings.Raw{theirs(`{"tools": {"allow": ["run_shell_command", "read*"]}}`)}); len(got.tools(all)) != 2 {
		t.Errorf("%v", got.tools(all))
	}
}

// FuzzSEC129OverrideOfAProject holds that no bytes of a project's settings make
// an agent more powerful.
func FuzzSEC129OverrideOfAProject(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"enabled": false}`, `{"run": {"max_turns": 1, "max_time": "5m", "mode": "task"}}`, `{"tools": {"allow": ["*"], "deny": ["x"]}}`,
		`{"model": "pro", "thinking_budget": -1, "temperature": 1e400}`, `{"run": null, "tools": {"deny": null}}`, `[`, `{"run": {"max_time": 1e30}}`,
	} {
		f.Add([]byte(s), 5, 10)
	}
	f.Fuzz(func(t *testing.T, json []byte, turns, tokens int) {
		d := &definition.Definition{Name: "a", Model: "flash", MaxTurns: turns & 0xff, MaxTokens: tokens & 0xffff, MaxTime: time.Minute, MaxCost: 1,
			Tools: definition.Tools{Given: true, Allow: []string{"ls"}, Deny: []string{"bash"}}}
		got := override(d, []settings.Raw{{JSON: json, Origin: settings.Origin{Scope: settings.ProjectScope, File: "f", Line: 1}}})
		lower := func(was, is int) bool { return is == was || (is > 0 && (was == 0 || is < was)) }
		if got.Model != d.Model || got.Mode != d.Mode || !lower(d.MaxTurns, got.MaxTurns) || !lower(d.MaxTokens, got.MaxTokens) ||
			got.MaxTime > d.MaxTime || got.MaxTime <= 0 || got.MaxCost > d.MaxCost || got.MaxCost <= 0 ||
			!slices.Equal(got.Tools.Allow, d.Tools.Allow) || !got.Tools.Given || len(got.Tools.Deny) < 1 || got.Tools.Deny[0] != "bash" {
			t.Errorf("%s: %+v", json, got.Definition)
		}
	})
}
