package authority

// An explanation on a terminal.

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/tool"
)

// page is a text in lines of at most so many columns. line, wrap and table escape what
// they are given, so texts of files go through them only.
type page struct {
	strings.Builder
	columns int
}

// Text is the explanation for a terminal: aligned, its lines as wide as the given
// columns at most but for words that are wider, with nothing of a file that could
// move the cursor or hide text. Nothing is cut. A table's columns become no narrower
// than 12, so narrow terminals get longer lines.
func Text(e *Explanation, columns int) string {
	b := page{columns: columns}
	at := naming(e)
	head := e.Name
	if e.Title != "" && e.Title != e.Name {
		head += " · " + e.Title
	}
	wrap(&b, "", head+" · "+string(e.Scope))
	if e.File != "" {
		line(&b, e.File)
	}
	for _, why := range e.Refused {
		wrap(&b, "  ✗ ", "Cannot run: "+why)
	}
	for _, why := range slices.Concat(e.Ignored, e.Lost) {
		wrap(&b, "  ! ", why)
	}

	heading(&b, "Values")
	var rows [][]string
	for _, v := range e.Values {
		rows = append(rows, []string{v.Key, v.Text, at(v.Origin)})
		// A default that was overridden is no news.
		for _, o := range v.Overrode {
			if o.File != "" {
				rows = append(rows, []string{"", "", "over " + at(o)})
			}
		}
	}
	table(&b, rows, 26, 0, 0)

	heading(&b, fmt.Sprintf("Tools: %d of %d, mode %s", len(e.ToolNames()), len(e.Tools), e.Approval))
	rows = nil
	for _, t := range e.Tools {
		mark, asks := "✓", string(t.Asks.Now)
		if !t.Offered {
			mark, asks = "✗", "–"
		}
		rows = append(rows, []string{mark, t.Name, tierOf(t), asks, whyOf(t, at)})
	}
	table(&b, rows, 1, 30, 10, 6, 0)
	for _, group := range []struct {
		what  string
		names []string
	}{
		{"allowed once there are such tools", e.Open.Allow}, {"denied as well", e.Open.Deny},
		{"always asks as well", e.Open.Require},
	} {
		if len(group.names) > 0 {
			wrap(&b, "  ", group.what+": "+strings.Join(group.names, ", "))
		}
	}

	references(&b, at, "MCP servers", e.Servers)
	references(&b, at, "Subagents", e.Subagents)
	references(&b, at, "Handoffs", e.Handoffs)
	references(&b, at, "Graph", e.Graph)
	references(&b, at, "Guardrails", e.Guards)
	references(&b, at, "Hooks", e.Hooks)
	if len(e.Memory) > 0 {
		heading(&b, "Memory files")
		for _, file := range e.Memory {
			line(&b, "  "+file)
		}
	}
	heading(&b, "Before it begins")
	requests := fmt.Sprintf("about %d tokens of prompt and %d of tools with each request",
		e.Tokens.Prompt, e.Tokens.Tools)
	if e.Tokens == (Tokens{}) {
		requests = "asks no model itself: its graph says what it does"
	}
	wrap(&b, "  ", requests)
	wrap(&b, "  ", e.Worst.Text()+", then it asks")
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

// heading writes the title of a part, behind an empty line.
func heading(b *page, title string) { line(b, "\n"+title) }

// references writes a part of references; none where there are none.
func references(b *page, at func(Origin) string, title string, all []Reference) {
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
	table(b, rows, 1, 30, 0, 0)
}

// line writes a line. What begins it with a line end, so does.
func line(b *page, text string) {
	if rest, ok := strings.CutPrefix(text, "\n"); ok {
		b.WriteByte('\n')
		text = rest
	}
	b.WriteString(strings.TrimRight(tool.Escape(text), " "))
	b.WriteByte('\n')
}

// wrap writes a text in lines of at most the width, the first after a mark, the
// others below it.
func wrap(b *page, mark, text string) {
	at := mark
	for _, part := range wrapText(tool.Escape(text), b.columns-width(mark)) {
		line(b, at+part)
		// Only the first line has the mark.
		at = strings.Repeat(" ", width(mark))
	}
}

// wrapText is a text in lines of at most a width, at least one. A word that is
// longer has a line for itself.
//
// Several blanks become one. An empty text is one empty line.
func wrapText(text string, most int) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case width(*last)+1+width(word) <= most:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// least is how narrow a column of a table becomes so that all of it has room.
const least = 12

// table writes rows in columns: each as wide as what it holds, but the given
// width at most, where one is given. The others become narrower so that all have
// room. What is longer than its column goes on below, and where a word is, the
// columns behind it do.
// most has an entry for each column; 0 is a column without a limit, which is one of those
// that shrink. The widest shrinks first, down to least.
func table(b *page, rows [][]string, most ...int) {
	widths := make([]int, len(most))
	whole := 0
	for i := range most {
		for _, row := range rows {
			widths[i] = max(widths[i], width(tool.Escape(row[i])))
		}
		if most[i] > 0 {
			widths[i] = min(widths[i], most[i])
		}
		whole += 2 + widths[i]
	}
	for whole > b.columns {
		widest := -1
		for i, w := range widths {
			if most[i] == 0 && w > least && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
		whole--
	}
	for _, row := range rows {
		cells := make([][]string, len(row))
		for i, cell := range row {
			cells[i] = wrapText(tool.Escape(cell), widths[i])
			// A word that is wider than its column would push the next one: what stands up to here
			// gets lines of its own, and the rest begins below.
			if i < len(row)-1 && slices.ContainsFunc(cells[i],
				func(part string) bool { return width(part) > widths[i] }) {
				cellsOf(b, cells[:i+1], widths)
				clear(cells[:i+1])
			}
		}
		cellsOf(b, cells, widths)
	}
}

// cellsOf writes cells side by side, each in its lines.
func cellsOf(b *page, cells [][]string, widths []int) {
	// At least one line, also where all cells are empty.
	for n, more := 0, true; more; n++ {
		more = false
		at := ""
		for i, cell := range cells {
			part := ""
			if n < len(cell) {
				part = cell[n]
			}
			more = more || n+1 < len(cell)
			at += "  " + part + strings.Repeat(" ", max(widths[i]-width(part), 0))
		}
		line(b, at)
	}
}

// width is how many columns a text takes. It is an estimate by ranges of characters:
// combining ones count too, so a line may be shorter than thought.
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
	if r >= 0x1100 && (r <= 0x115f || (r >= 0x2e80 && r <= 0xa4cf) || (r >= 0xac00 && r <= 0xd7a3) ||
		(r >= 0xf900 && r <= 0xfaff) || (r >= 0xfe30 && r <= 0xfe6f) || (r >= 0xff00 && r <= 0xff60) ||
		(r >= 0xffe0 && r <= 0xffe6) || r >= 0x1f000) {
		return 2
	}
	return 1
}
