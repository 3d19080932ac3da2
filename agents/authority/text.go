package authority

// An explanation on a terminal.

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/tool"
)

// columns is how wide a line of [Text] is at most.
const columns = 100

// Text is the explanation for a terminal: aligned, at most 100 columns wide, with
// nothing of a file that could move the cursor or hide text.
func Text(e *Explanation) string {
	var b strings.Builder
	at := naming(e)
	head := e.Name
	if e.Title != "" && e.Title != e.Name {
		head += " · " + e.Title
	}
	line(&b, head+" · "+string(e.Scope))
	if e.File != "" {
		line(&b, e.File)
	}
	for _, why := range e.Refused {
		wrap(&b, "  ✗ ", "It cannot run: "+why)
	}
	for _, why := range e.Ignored {
		wrap(&b, "  ! ", why)
	}

	heading(&b, "Values")
	var rows [][]string
	for _, v := range e.Values {
		rows = append(rows, []string{v.Key, v.Text, at(v.Origin)})
		for _, o := range v.Overrode {
			if o.File != "" {
				rows = append(rows, []string{"", "", "over " + at(o)})
			}
		}
	}
	table(&b, rows, 40, 34)

	heading(&b, fmt.Sprintf("Tools: %d of %d, mode %s", len(e.Offered()), len(e.Tools), e.Approval))
	rows = nil
	for _, t := range e.Tools {
		mark, asks := "✓", string(t.Asks.Now)
		if !t.Offered {
			mark, asks = "✗", "–"
		}
		rows = append(rows, []string{mark, t.Name, tierOf(t), asks, whyOf(t, at)})
	}
	table(&b, rows, 1, 30, 10, 6)
	for _, group := range []struct {
		what  string
		names []string
	}{
		{"allowed once there are such tools", e.Open.Allow}, {"denied as well", e.Open.Deny}, {"always asks as well", e.Open.Require},
	} {
		if len(group.names) > 0 {
			wrap(&b, "  ", group.what+": "+strings.Join(group.names, ", "))
		}
	}

	references(&b, at, "MCP servers", e.Servers)
	references(&b, at, "Subagents", e.Subagents)
	references(&b, at, "Handoffs", e.Handoffs)
	if len(e.Memory) > 0 {
		heading(&b, "Memory files")
		for _, file := range e.Memory {
			line(&b, "  "+file)
		}
	}
	heading(&b, "Before it begins")
	line(&b, fmt.Sprintf("  about %d tokens of prompt and %d of tools with each request", e.Tokens.Prompt, e.Tokens.Tools))
	line(&b, "  "+e.Worst.Text()+" until a person gives more")
	return b.String()
}

// tierOf is a tool's tier as a person is shown it.
func tierOf(t Tool) string {
	if t.Command {
		return "by command"
	}
	return t.Tier
}

// whyOf says why a tool is offered or not, with the place, that it always
// asks, and why its calls are refused.
func whyOf(t Tool, at func(Origin) string) string {
	text := t.Why
	if t.Origin.File != "" {
		text += " · " + at(t.Origin)
	}
	if t.Require {
		text += " · always asks"
	}
	if t.Offered && t.Asks.Now == Refuse && t.Reason != "" {
		text += " · " + t.Reason
	}
	return text
}

func heading(b *strings.Builder, title string) { line(b, "\n"+title) }

func references(b *strings.Builder, at func(Origin) string, title string, all []Reference) {
	if len(all) == 0 {
		return
	}
	heading(b, title)
	var rows [][]string
	for _, r := range all {
		mark := "✓"
		if !r.Known {
			mark = "✗"
		}
		rows = append(rows, []string{mark, r.Name, r.Text, at(r.Origin)})
	}
	table(b, rows, 1, 30, 36)
}

// line writes a line, cut to the width. What begins it with a line end, so does.
func line(b *strings.Builder, text string) {
	if rest, ok := strings.CutPrefix(text, "\n"); ok {
		b.WriteByte('\n')
		text = rest
	}
	b.WriteString(strings.TrimRight(cut(tool.Escape(text), columns), " "))
	b.WriteByte('\n')
}

// wrap writes a text in lines of at most the width, the first after a mark, the
// others below it.
func wrap(b *strings.Builder, mark, text string) {
	indent := strings.Repeat(" ", width(mark))
	at := mark
	for word := range strings.FieldsSeq(tool.Escape(text)) {
		switch room := columns - width(at); {
		case at == mark || at == indent:
			at += cut(word, room)
		case width(word)+1 <= room:
			at += " " + word
		default:
			line(b, at)
			at = indent + cut(word, columns-width(indent))
		}
	}
	line(b, at)
}

// table writes rows in columns: each as wide as what it holds, but the given
// width at most; the last has the rest. A longer cell is cut; where it is the one
// before the last, it has the line for itself, and the last stands below it. Where
// the last is longer than the rest, it stands below at the right.
func table(b *strings.Builder, rows [][]string, most ...int) {
	widths := make([]int, len(most))
	for _, row := range rows {
		for i := range most {
			widths[i] = min(max(widths[i], width(tool.Escape(row[i]))), most[i])
		}
	}
	for _, row := range rows {
		at := "  "
		for i, cell := range row {
			cell = tool.Escape(cell)
			last := i == len(widths)
			if !last && (i != len(widths)-1 || width(cell) <= widths[i]) {
				cell = cut(cell, widths[i])
				at += cell + strings.Repeat(" ", widths[i]-width(cell)+2)
				continue
			}
			if room := columns - width(at); last && width(cell) > room && width(cell) <= columns/2 {
				if strings.TrimSpace(at) != "" {
					line(b, at)
				}
				at = strings.Repeat(" ", columns-width(cell))
			}
			line(b, at+cut(cell, columns-width(at)))
			if !last {
				at = strings.Repeat(" ", width(at)+widths[i]+2)
			}
		}
	}
}

// cut makes a text as narrow as it has to be; … stands for the rest.
func cut(text string, most int) string {
	if width(text) <= most {
		return text
	}
	n := 0
	for i, r := range text {
		if n += cells(r); n > most-1 {
			return text[:i] + "…"
		}
	}
	return text
}

// width is how many columns a text takes.
func width(text string) int {
	if len(text) == utf8.RuneCountInString(text) {
		return len(text)
	}
	n := 0
	for _, r := range text {
		n += cells(r)
	}
	return n
}

// cells is how many columns a character takes: two for those of East Asia and for
// pictures. One that takes less is counted as one.
func cells(r rune) int {
	if r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 || r >= 0x1f000) {
		return 2
	}
	return 1
}
