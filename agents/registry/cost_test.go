package registry

import (
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/condition"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/internal/pattern"
)

// TestConditionsOfAFileCostLittle: whatever stands in the conditions of one file,
// to check them is bounded, and what is too much is said.
func TestConditionsOfAFileCostLittle(t *testing.T) {
	wide := `x matches "(?i)[!-\u{1E942}]"`
	for name, text := range map[string]string{
		"escapes": wide, "escapes in a row": wide + strings.Repeat("||"+wide, 200), "in a closure": "any(a, {" + wide + "})",
		"doubling": "x" + strings.Repeat("|trim(y)", 9) + "==z", "endless": "x" + strings.Repeat("|trim(y)", 90) + "==z",
		"parts": "x" + strings.Repeat("&&x", 400), "small": "x",
	} {
		entry := "- {to: b, when: '" + text + "'}\n"
		spent := 0
		src := definition.Source{Path: "/w/.gemini/agents/a.md", Scope: definition.Project}
		src.Data = []byte("---\nkind: agent\nname: a\ntitle: T\nhandoffs:\n" + strings.Repeat(entry, min(1500, 60<<10/len(entry))) + "---\nx\n")
		src.Installed.Expression = func(text string, _ ...string) (int, error) {
			cost, err := condition.Check(text)
			spent += cost
			return cost, err
		}
		d := definition.Parse(src)
		if len(d.Problems) == 0 || d.Problems[0].Code != "agent/expression" || spent > pattern.PerFile*3/2 {
			t.Errorf("%s: costs %d, %.100v", name, spent, d.Problems)
		}
	}
}
