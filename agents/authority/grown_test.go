package authority_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/exchange"
)

// drawn is an agent whose limits are below the standard ones, so that none is
// always more.
func drawn(t *rapid.T, of *definition.Definition) *definition.Definition {
	d := *of
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"bash", "write_file", "edit_file", "read_file", "ls", "delete_file", "mcp.github.get", "mcp.github.*", "mcp.*", "write_*", "*", "mcp.jira.get", "nothing"}), 0, 4)
	few := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "*"}), 0, 2)
	flag := func(what string) bool { return rapid.Bool().Draw(t, what) }
	d.Tools = definition.Tools{Given: flag("given"), Deny: names.Draw(t, "deny")}
	if d.Tools.Given {
		d.Tools.Allow = slices.DeleteFunc(names.Draw(t, "allow"), func(name string) bool { // exchange does not look whether it is denied
			return slices.ContainsFunc(d.Tools.Deny, func(denied string) bool { return definition.MatchTool(denied, name) })
		})
	}
	d.Confirmation.Require = names.Draw(t, "require")
	d.MCPServers, d.Subagents = few.Draw(t, "servers"), few.Draw(t, "subagents")
	d.Handoffs = nil
	for _, to := range few.Draw(t, "handoffs") {
		d.Handoffs = append(d.Handoffs, definition.Handoff{To: to, When: "manual"})
	}
	d.Authority = rapid.SliceOfN(rapid.SampledFrom([]string{"hooks", "isolation"}), 0, 2).Draw(t, "authority")
	d.MaxTurns, d.MaxTime = rapid.IntRange(0, 3).Draw(t, "turns"), time.Duration(rapid.IntRange(0, 3).Draw(t, "time"))*time.Second
	d.MaxTokens, d.MaxCost = rapid.IntRange(0, 3).Draw(t, "tokens"), float64(rapid.IntRange(0, 3).Draw(t, "cost"))
	d.Delegable = flag("delegable")
	return &d
}

// TestCompareKnowsWhatExchangeDoes: in whatever an import or export would say that
// an agent may do more, the comparison says so, too.
func TestCompareKnowsWhatExchangeDoes(t *testing.T) {
	in := installation(t, "---\nkind: agent\nname: fixer\ntitle: F\n---\nDo it.\n")
	of := func(d *definition.Definition) *authority.Explanation {
		in := in
		in.File = d
		return authority.Explain(in)
	}
	fields := map[string]string{"mcp": "mcp.servers", "tools": "tools.", "run": "run."}
	seen := make(map[string]int)
	rapid.Check(t, func(t *rapid.T) {
		from, to := drawn(t, in.File), drawn(t, in.File)
		if rapid.Bool().Draw(t, "only the tools") { // else the smaller ones are never alone
			both := *from
			both.Tools, both.Confirmation = to.Tools, to.Confirmation
			to = &both
		}
		d := authority.Compare(of(from), of(to))
		for _, key := range exchange.Gains(from, to) {
			seen[key]++
			field := key
			if fields[key] != "" {
				field = fields[key]
			}
			if !slices.ContainsFunc(d.Lines, func(c authority.Change) bool {
				return c.Grows && strings.HasPrefix(c.Field, field) && (field != "" || c.Field == "")
			}) {
				t.Fatalf("%q grows by exchange.Grown, and not here:\n%s", key, d.Text())
			}
		}
	})
	for _, key := range []string{"", "mcp", "tools", "run", "subagents", "handoffs", "disable-model-invocation"} {
		if seen[key] == 0 {
			t.Errorf("%q never grew", key)
		}
	}
}
