package chat

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	east "github.com/yuin/goldmark/extension/ast"
)

// table renders a table whose columns share the width. Cells wrap; where not even
// a few columns are left for each, every row is a list of its cells.
func (w *writer) table(n *east.Table, columns int) []string {
	var rows [][]string
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			text := w.inlines(cell)
			if row.Kind() == east.KindTableHeader {
				text = paint(bold, text)
			}
			cells = append(cells, text)
		}
		rows = append(rows, cells)
	}
	widths := shares(rows, columns)
	if widths == nil {
		return listedRows(rows, columns)
	}
	var lines []string
	for i, row := range rows {
		lines = append(lines, renderRow(row, widths, n.Alignments)...)
		if i == 0 {
			var rules []string
			for _, width := range widths {
				rules = append(rules, strings.Repeat("─", width))
			}
			lines = append(lines, paint(dim, strings.Join(rules, "─┼─")))
		}
	}
	return lines
}

// least is how narrow a column of a table may become.
const least = 6

// shares returns how wide each column of a table is, nil where there is no room. The
// widest gives first, column by column, so that narrow ones stay readable.
// Three columns are kept between two cells for the line. nil is for a table whose widest
// column has come down to least.
func shares(rows [][]string, columns int) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 1)
			}
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	room := columns - 3*(len(widths)-1)
	for {
		sum, widest := 0, 0
		for i, width := range widths {
			sum += width
			if width > widths[widest] {
				widest = i
			}
		}
		switch {
		case sum <= room:
			return widths
		case widths[widest] <= least:
			return nil
		}
		widths[widest]--
	}
}

// renderRow renders one row, of as many lines as its highest cell. A row may have fewer
// cells than there are columns.
func renderRow(row []string, widths []int, alignments []east.Alignment) (lines []string) {
	cells := make([][]string, len(widths))
	height := 1
	for i := range widths {
		if i < len(row) {
			cells[i] = wrap(row[i], widths[i])
		}
		height = max(height, len(cells[i]))
	}
	for y := range height {
		var parts []string
		for i, width := range widths {
			text := ""
			if y < len(cells[i]) {
				text = cells[i][y]
			}
			space := strings.Repeat(" ", max(width-ansi.StringWidth(text), 0))
			if i < len(alignments) && alignments[i] == east.AlignRight {
				text = space + text
			} else {
				text += space
			}
			parts = append(parts, text)
		}
		lines = append(lines, strings.TrimRight(strings.Join(parts, paint(dim, " │ ")), " "))
	}
	return lines
}

// listedRows renders a table that is too wide: each cell with its heading. The first row
// has the headings.
func listedRows(rows [][]string, columns int) (lines []string) {
	for i, row := range rows {
		if i == 0 {
			continue
		}
		if i > 1 {
			lines = append(lines, "")
		}
		for k, cell := range row {
			name := ""
			if k < len(rows[0]) {
				name = rows[0][k] + ": "
			}
			lines = append(lines, wrap(name+cell, columns)...)
		}
	}
	return lines
}
