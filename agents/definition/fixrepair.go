package definition

// What writes properly a text that was read only after a repair.

import (
	"slices"
	"strings"
)

// repair writes properly what was read only after a repair.
//
// A repair of several lines is offered and not sure. What is
// written comes from splices, the same code that repaired the text for reading.
func (f *fixer) repair() {
	old := f.Text[f.span.Start:f.span.End]
	fix := Fix{Title: "Put it in quotes", Sure: !strings.ContainsAny(strings.TrimSpace(old), "\n\r")}
	if old != "" && (old[0] == '"' || old[0] == '\'') && (len(old) == 1 || old[len(old)-1] != old[0]) {
		fix.Sure = false // it may be a text that is being written
	}
	if strings.Trim(old, "\t") == "" {
		fix.Title = "Write spaces"
	}
	switch inner, smart := typographic(old); {
	// Before the front-matter only a byte order mark and empty lines are repaired.
	case f.span.End <= f.Open.Start && (strings.TrimSpace(old) == "" || old == "\ufeff"):
		fix.Title, fix.Edits = "Remove it", []Edit{f.edit(f.span, "")}
	case len(old) >= 7 && hexColor(old[:7]):
		fix.Edits = []Edit{f.edit(f.span, `"`+old[:7]+`"`)}
	default:
		all := f.splices()
		// The first splice whose lines end behind the finding's beginning.
		i, _ := slices.BinarySearchFunc(all, f.span.Start, func(s splice, at int) int { return s.changes.End - at - 1 })
		if i < len(all) && all[i].changes.Start <= f.span.Start && f.span.End <= all[i].changes.End {
			fix.Edits = []Edit{f.edit(all[i].Span, strings.ReplaceAll(all[i].text, "\n", f.eol))}
		}
		if fix.Edits == nil && smart {
			fix.Edits = []Edit{f.edit(f.span, yamlQuoted(old[inner:len(old)-inner]))}
		}
	}
	if fix.Edits != nil {
		f.add(fix)
	}
}
