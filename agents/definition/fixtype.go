package definition

// Values of a wrong type that say what was meant.

import "strings"

// reshape offers the list, or the object, that a text stands for.
//
// Nothing is offered for a text of several lines.
func (f *fixer) reshape() {
	old := f.Text[f.span.Start:f.span.End]
	if old == "" || strings.ContainsAny(old, "\n\r") {
		return
	}
	switch m := f.problem.Message; {
	case strings.HasPrefix(m, "An entry of handoffs must be an object; write to: "):
		list, _ := f.entry()
		if list == nil {
			return
		}
		written := "to: " + old
		if f.Text[list.Start] == '[' {
			written = "{" + written + "}"
		}
		f.add(Fix{Title: "Write it as " + written, Edits: []Edit{f.edit(f.span, written)}})
	case strings.Contains(m, " must be a list of strings") && strings.Contains(m, ", not a string"):
		// Inside brackets these signs would mean something.
		if old[0] != '"' && old[0] != '\'' && strings.ContainsAny(old, "[]{}:#") {
			old = yamlQuoted(old)
		}
		f.add(Fix{Title: "Write it as a list", Edits: []Edit{f.edit(f.span, "["+old+"]")}})
	}
}
