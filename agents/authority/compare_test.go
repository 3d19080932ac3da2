package authority_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
)

// mirrored is the difference in the other direction, as it has to be.
func mirrored(d authority.Difference) map[string]int {
	lines := make(map[string]int)
	for _, c := range d.Lines {
		c.Sign = map[string]string{authority.Added: authority.Removed, authority.Removed: authority.Added, authority.Other: authority.Other}[c.Sign]
		c.From, c.To = c.To, c.From
		lines[c.Text()]++
	}
	return lines
}

func textsOf(d authority.Difference) map[string]int {
	lines := make(map[string]int)
	for _, c := range d.Lines {
		lines[c.Text()]++
	}
	return lines
}

func sameLines(a, b map[string]int) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

func TestCompare(t *testing.T) {
	const base = "kind: agent\nname: fixer\ntitle: F\n"
	for _, c := range []struct{ name, a, b, want string }{
		{"a tool", "tools: {allow: [ls]}", "tools: {allow: [ls, bash]}", "+ bash (tier by command)"},
		{"a tool that is denied", "tools: {deny: [bash]}", "", "+ bash (tier by command)"},
		{"an alias is no other tool", "tools: {allow: [shell]}", "tools: {allow: [bash]}", ""},
		{"a confirmation goes", "tool_confirmation: {require_confirmation: [write_file]}", "", "− confirmation of write_file (in mode edits, auto)"},
		{"a confirmation of what asks anyway", "tool_confirmation: {require_confirmation: [delete_file]}", "", "− confirmation of delete_file"},
		{"a confirmation of many", "", "tool_confirmation: {require_confirmation: [mcp.github.*]}",
			"+ confirmation of mcp.github.get (in mode auto)\n+ confirmation of mcp.github.set (in mode auto)\n+ confirmation of mcp.github.* (no such tool is registered now)"},
		{"a subagent", "", "subagents: [x]", "+ subagent x"},
		{"a server", "mcp: {servers: [a, b]}", "mcp: {servers: [b, c]}", "+ mcp server c\n− mcp server a"},
		{"a tool that is not there yet", "tools: {allow: []}", "tools: {allow: [mcp.jira.*]}", "+ mcp.jira.* (no such tool is registered now)"},
		{"a glob that becomes wider", "tools: {allow: [mcp.github.get, mcp.github.set]}", "tools: {allow: ['mcp.github.*']}", "+ mcp.github.* (no such tool is registered now)"},
		{"any tool", "tools: {allow: ['*']}", "", "+ every tool that is registered later"},
		{"turns", "run: {max_turns: 5}", "run: {max_turns: 6}", "+ run.max_turns 5 → 6"},
		{"no limit any more", "run: {max_cost: 1, max_tokens: 9}", "", "+ run.max_tokens 9 → none\n+ run.max_cost $1.00 → none"},
		{"a limit below a cent", "run: {max_cost: 0.001}", "run: {max_cost: 0.004}", "+ run.max_cost $0.001 → $0.004"},
		{"a limit", "", "run: {max_cost: 1}", "− run.max_cost none → $1.00"},
		{"a dearer model", "model: flash", "model: pro", "~ model gemini-3.8-flash → gemini-3.1-pro-preview"},
		{"a task", "run: {max_turns: 9, max_time: 60}", "run: {max_turns: 9, max_time: 60, mode: task}", "~ run.mode chat → task"},
		{"what a condition holds for", "handoffs: [{to: a, when: conditional, condition: 'turns > 2'}]", "handoffs: [{to: a}]", "~ handoff to a conditional (turns > 2) → manual"},
		{"a handoff by itself", "handoffs: [{to: a}]", "handoffs: [{to: a, when: auto}]", "~ handoff to a manual → auto"},
		{"for persons", "user_invocable: false", "", "+ runs that a person starts"},
		{"for agents", "disable-model-invocation: true", "", "+ runs that other agents start\n+ runs that routing starts"},
		{"by routing", "routable: false", "", "+ runs that routing starts"},
		{"memory", "memory_files: false", "", "+ memory files behind the prompt"},
		{"a long-term memory", "", "memory: {enabled: true}", "+ long-term memory of its own"},
		{"a memory of others", "memory: {enabled: true}", "memory: {enabled: true, scope: user}", "+ long-term memory of all your agents\n− long-term memory of its own"},
		{"all subagents", "subagents: [x]", "subagents: ['*']", "+ subagent *\n− subagent x"},
		{"a dearer fallback", "fallback_models: [flash]", "fallback_models: [pro]", "~ fallback_models gemini-3.8-flash → gemini-3.1-pro-preview"},
		{"the prompt", "", "description: Other.", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			of := func(fields string) *authority.Explanation {
				return authority.Explain(installation(t, "---\n"+base+fields+"\n---\nDo it.\n"))
			}
			a, b := of(c.a), of(c.b)
			d := authority.Compare(a, b)
			if d.Text() != c.want {
				t.Errorf("%q, want %q", d.Text(), c.want)
			}
			back := authority.Compare(b, a)
			if !sameLines(textsOf(back), mirrored(d)) {
				t.Errorf("back: %q", back.Text())
			}
		})
	}
}

// TestCompareGrows: which changes are power.
func TestCompareGrows(t *testing.T) {
	of := func(fields string) *authority.Explanation {
		in := installation(t, "---\nkind: agent\nname: fixer\ntitle: F\n"+fields+"\n---\nDo it.\n")
		price := func(in, cached, out float64) []model.Price {
			return []model.Price{{Input: in, Cached: cached, Output: out}}
		}
		in.Table = model.NewTable(day, model.Entry{ID: "cheap", Prices: price(1, 0.1, 9)}, model.Entry{ID: "reading", Prices: price(2, 0.1, 9)},
			model.Entry{ID: "remembering", Prices: price(1, 0.2, 9)}, model.Entry{ID: "writing", Prices: price(1, 0.1, 10)})
		return authority.Explain(in)
	}
	for _, c := range []struct {
		a, b  string
		grows bool
	}{
		{"model: flash", "model: pro", true}, {"model: pro", "model: flash", false},
		{"model: flash", "model: gemini-9-none", true}, {"model: gemini-9-none", "model: flash", false},
		{"run: {max_turns: 5}", "run: {max_turns: 4}", false}, {"run: {max_time: 5}", "run: {max_time: 6}", true},
		{"run: {mode: chat, max_turns: 9, max_time: 60}", "run: {mode: task, max_turns: 9, max_time: 60}", false},
		{"handoffs: [{to: a}]", "handoffs: [{to: a}, {to: b}]", true},
		{"fallback_models: [pro]", "fallback_models: [flash-lite]", false}, {"fallback_models: [flash-lite]", "fallback_models: [pro]", true},
		{"", "fallback_models: [flash-lite, x/one, x/two]", true}, {"", "fallback_models: [flash-lite, pro, flash-lite]", true}, {"", "fallback_models: [flash-lite]", false},
		{"fallback_models: [flash-lite, pro]", "fallback_models: [pro, flash-lite]", true}, {"fallback_models: [pro, flash-lite]", "fallback_models: [flash-lite, pro]", false},
		{"model: pro", "model: pro\nfallback_models: [pro]", false}, {"fallback_models: [x/one]", "fallback_models: [x/two]", true},
		{"model: gemini-9-none", "model: gemini-8-none", true}, {"model: flash", "model: auto", true}, {"model: pro", "model: auto", true}, {"model: auto", "model: flash", false},
		{"model: cheap", "model: reading", true}, {"model: reading", "model: cheap", false}, {"model: cheap", "model: remembering", true},
		{"model: reading", "model: writing", true}, {"model: writing", "model: reading", true},
		{"user_invocable: false", "", true}, {"", "user_invocable: false", false}, {"disable-model-invocation: true", "", true}, {"routable: false", "", true}, {"memory_files: false", "", true},
		{"handoffs: [{to: a}]", "handoffs: [{to: a, when: auto}]", true}, {"handoffs: [{to: a, when: auto}]", "handoffs: [{to: a}]", false},
		{"handoffs: [{to: a, when: 'turns > 2'}]", "handoffs: [{to: a, when: 'turns > 1'}]", true}, {"handoffs: [{to: a, when: 'turns > 2'}]", "handoffs: [{to: a}]", true},
		{"subagents: ['*']", "subagents: [x]", false}, {"subagents: [x]", "subagents: ['*']", true},
		{"tools: {deny: [mcp.x.*]}", "tools: {deny: []}", true}, {"tools: {deny: []}", "tools: {deny: [mcp.x.*]}", false},
		{"tools: {allow: [mcp.x.get]}", "", true}, {"", "tools: {allow: [mcp.x.get]}", false},
	} {
		if d := authority.Compare(of(c.a), of(c.b)); d.Grows != c.grows || len(d.Lines) == 0 {
			t.Errorf("%s → %s: grows %t: %s", c.a, c.b, d.Grows, d.Text())
		}
	}
	// Where the file lies, and whether it runs at all.
	in := installation(t, fixer)
	project := authority.Explain(in)
	own := *in.File
	own.Scope = definition.Global
	in.File = &own
	if d := authority.Compare(project, authority.Explain(in)); !d.Grows || !strings.HasPrefix(d.Text(), "+ questions about protected places") {
		t.Errorf("an agent of the person's own: %s", d.Text())
	}
	own.Authority = []string{"a hook that may refuse"}
	if d := authority.Compare(authority.Explain(in), authority.Explain(installation(t, fixer))); !d.Grows || !strings.HasPrefix(d.Text(), "− restriction: a hook that may refuse (no run begins with it)\n") {
		t.Errorf("an agent that may run now: %s", d.Text())
	}
}

// random is an agent with lists by chance.
func random(t *testing.T, r *rand.Rand) authority.Input {
	in := installation(t, "---\nkind: agent\nname: fixer\ntitle: F\n---\nDo it.\n")
	names := []string{"bash", "write_file", "edit_file", "read_file", "ls", "web_fetch", "delete_file", "mcp.github.get", "mcp.github.set", "mcp.*", "write_*", "*", "nothing", "mcp.jira.get", "shell"}
	some := func(most int) []string {
		list := make([]string, 0, most)
		for range r.IntN(most + 1) {
			list = append(list, names[r.IntN(len(names))])
		}
		return list
	}
	d := *in.File
	d.Tools = definition.Tools{Given: r.IntN(3) > 0, Allow: some(8), Deny: some(3)}
	d.Confirmation.Require = some(3)
	d.MCPServers, d.Subagents = some(2), some(2)
	d.MaxTurns, d.MaxCost = r.IntN(3), float64(r.IntN(3))
	d.Model = []string{"", "pro", "flash", "gemini-9-none", "auto"}[r.IntN(5)]
	in.File = &d
	in.Trusted, in.CanAsk, in.Sandbox = r.IntN(4) > 0, r.IntN(4) > 0, walled(r.IntN(2) > 0)
	return in
}

// with is the input with another file.
func with(in authority.Input, change func(d *definition.Definition)) authority.Input {
	d := *in.File
	d.Tools.Allow, d.Tools.Deny = slices.Clone(d.Tools.Allow), slices.Clone(d.Tools.Deny)
	d.Confirmation.Require = slices.Clone(d.Confirmation.Require)
	change(&d)
	in.File = &d
	return in
}

// TestCompareLaws: nothing differs from itself; the way back has the same lines
// the other way round; taking away and asking more never grows, giving does.
func TestCompareLaws(t *testing.T) {
	given, taken := 0, 0
	for seed := range uint64(250) {
		r := rand.New(rand.NewPCG(seed, 1))
		in := random(t, r)
		a := authority.Explain(in)
		if d := authority.Compare(a, a); d.Grows || len(d.Lines) > 0 {
			t.Fatalf("seed %d: differs from itself: %s", seed, d.Text())
		}
		other := random(t, r)
		other.Trusted, other.CanAsk, other.Sandbox = in.Trusted, in.CanAsk, in.Sandbox
		b := authority.Explain(other)
		there, back := authority.Compare(a, b), authority.Compare(b, a)
		if !sameLines(textsOf(back), mirrored(there)) {
			t.Fatalf("seed %d: there %q, back %q", seed, there.Text(), back.Text())
		}
		grows := make(map[string]bool)
		for _, c := range there.Lines {
			grows[c.What] = c.Grows
		}
		for _, c := range back.Lines {
			if c.Grows && grows[c.What] && c.Sign == authority.Other && c.What != "model" { // neither of two without a price is the dearer one
				t.Fatalf("seed %d: %s grows in both directions", seed, c.What)
			}
		}
		less := map[string]authority.Input{
			"denied": with(in, func(d *definition.Definition) { d.Tools.Deny = append(d.Tools.Deny, "write_file", "mcp.x.*") }),
			"confirmed": with(in, func(d *definition.Definition) {
				d.Confirmation.Require = append(d.Confirmation.Require, "write_file", "ls")
			}),
			"fewer": with(in, func(d *definition.Definition) {
				if n := len(d.Tools.Allow); n > 0 && d.Tools.Given {
					d.Tools.Allow = slices.Delete(d.Tools.Allow, r.IntN(n), n)
				}
			}),
			"none": with(in, func(d *definition.Definition) { d.Tools.Given, d.Tools.Allow = true, nil }),
		}
		for how, after := range less {
			d := authority.Compare(a, authority.Explain(after))
			if d.Grows {
				t.Fatalf("seed %d: %s grows: %s", seed, how, d.Text())
			}
			if len(d.Lines) > 0 {
				taken++
			}
			if more := authority.Compare(authority.Explain(after), a); more.Grows != (len(d.Lines) > 0) {
				t.Fatalf("seed %d: back from %s: grows %t: %s", seed, how, more.Grows, more.Text())
			}
		}
		// A tool that was not offered, and is.
		if i := slices.IndexFunc(a.Tools, func(one authority.Tool) bool { return !one.Offered }); i >= 0 {
			name := a.Tools[i].Name
			more := authority.Explain(with(in, func(d *definition.Definition) {
				d.Tools = definition.Tools{Given: true, Allow: append(a.ToolNames(), append(a.Open.Allow, name)...)}
			}))
			if d := authority.Compare(a, more); !d.Grows || !strings.Contains(d.Text(), "+ "+name+" ") {
				t.Fatalf("seed %d: %s is new: %s", seed, name, d.Text())
			}
			given++
		}
	}
	if given < 100 || taken < 100 {
		t.Errorf("only %d were given and %d taken", given, taken)
	}
}
