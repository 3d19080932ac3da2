package authority

import (
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool"
)

// guards lists the agent's guardrails with what each checks, and what it does. One
// whose judge is not there, or whose entry is wrong, is not known: it refuses
// everything.
func (x *explainer) guards() {
	for _, g := range x.def.Guards {
		what := "the result"
		if g.Input {
			what = "what the agent is asked"
		}
		if g.Parallel {
			what += ", while the model answers"
		}
		var by []string
		if g.Schema != nil {
			by = append(by, "its schema")
		}
		if g.Validator != "" {
			by = append(by, g.Validator)
		}
		does := map[string]string{
			definition.Reject: "ends the run",
			definition.Repair: "has the model repair it, twice at most, then ends the run",
			definition.Warn:   "goes on and says so",
		}[g.Policy]
		// "" for a guard that asks no agent.
		judge := g.Judge()
		x.e.Guards = append(x.e.Guards, Reference{
			Name: tool.Escape(g.Name), Known: (judge == "" || x.in.ByName[judge] != nil) && !x.faulty(g),
			Origin: Origin{File: x.in.File.Path, Line: int(g.Range.Start.Line) + 1, What: "guardrails"},
			Text:   tool.Escape("checks " + what + " by " + strings.Join(by, " and ") + "; what it refuses: " + does),
		})
	}
}

// faulty reports whether something in a guard's entry is wrong, so that it cannot judge.
func (x *explainer) faulty(g definition.Guard) bool {
	return slices.ContainsFunc(x.def.Problems, func(p definition.Problem) bool {
		return p.Severity == definition.Error && g.Range.Contains(p.Range.Start)
	})
}

// judges returns the agents that judge for an agent's guardrails.
func judges(d *definition.Definition) []string {
	var names []string
	for _, g := range d.Guards {
		if name := g.Judge(); name != "" {
			names = append(names, name)
		}
	}
	return names
}
