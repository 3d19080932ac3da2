package definition

import (
	"runtime"
	"strings"
	"testing"
)

// costly are front-matters that ask for more than they are worth.
func costly() map[string]string {
	fill := func(head, entry string) string {
		return head + strings.Repeat(entry, (60<<10-len(head))/len(entry))
	}
	return map[string]string{
		"conditions that repeat": "handoffs:\n" + strings.Repeat("- {to: b, when: conditional, condition: 'input matches \""+strings.Repeat(".{1000}", 1100)+"\"'}\n", 7),
		"conditions in a row":    fill("handoffs:\n", "- {to: b, when: 'input matches \".{900}\"'}\n"),
		"small conditions":       fill("handoffs:\n", "- {to: b, when: 'x'}\n"),
		"classes in conditions":  fill("handoffs:\n", "- {to: b, when: 'x matches \"[^\\\\PL]\"'}\n"),
		"computed ranges":        fill("handoffs:\n", "- {to: b, when: '1..900000 == 1..900000'}\n"),
		"classes":                fill("triggers:\n  patterns:\n", "  - '[\\p{L}\\p{N}]{900}'\n"),
		"wide ranges":            fill("triggers:\n  patterns:\n", "  - '(?i)[B-\\x{1E942}]'\n"),
		"nested repeats":         fill("triggers:\n  patterns:\n", "  - '(x{500}){2}'\n"),
		"classes of schemas":     "output:\n  schema:\n" + fill("    allOf:\n", "    - {pattern: '\\p{L}\\p{N}'}\n"),
		"repeats of schemas":     fill("output:\n  schema:\n    patternProperties:\n      '"+strings.Repeat(".{1000}", 100)+"': {}\n    anyOf:\n", "    - {pattern: '(x{500}){2}.{1000}'}\n"),
		"patterns of classes":    fill("triggers:\n  patterns:\n", "  - '"+strings.Repeat(`\pL`, 60)+"'\n"),
	}
}

// TestNoFileIsCostly: what the patterns and conditions of one file may take is
// bounded. How a condition is checked is agents/condition's.
func TestNoFileIsCostly(t *testing.T) {
	for name, yaml := range costly() {
		src := Source{Path: ownPath, Scope: Project, Data: []byte("---\nname: a\n" + yaml + "\n---\nx\n")}
		conditions := 0
		src.Installed.Expression = func(string) error { conditions++; return nil }
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d := Parse(src)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 40<<20 {
			t.Errorf("%s: takes %d bytes", name, n)
		}
		if conditions > 1000 {
			t.Errorf("%s: %d conditions are looked at", name, conditions)
		}
		refused := false
		for _, p := range d.Problems {
			refused = refused || p.Code == "agent/regex" || p.Code == "agent/schema" || p.Code == "agent/expression"
		}
		if !refused && name != "conditions that repeat" {
			t.Errorf("%s: nothing is refused", name)
		}
	}
}
