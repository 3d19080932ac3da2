package handlers

import (
	"testing"

	"github.com/agentls/agentls/agents/language"
)

// TestReportsLine: what is told of a validation where no document can be shown is
// one line.
func TestReportsLine(t *testing.T) {
	good := validated{Report: language.Report{Agent: "good", Passed: 1, Total: 1, Checks: []language.Check{{OK: true}}}}
	bad := validated{Report: language.Report{Agent: "bad", Total: 1, Checks: []language.Check{{Message: "The front-matter is missing."}}}}
	for want, reports := range map[string][]validated{
		"There are no agent files to check.": nil,
		"good: ✓ Valid":                      {good},
		"2 agents, all valid":                {good, good},
		"3 agents, 1 invalid: bad; see why with agentls validate NAME":      {good, bad, good},
		"2 agents, 2 invalid: bad, bad; see why with agentls validate NAME": {bad, bad},
	} {
		if got := reportsLine(reports); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
