package chat

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// pager shows all that was said and done, with nothing folded. It is of one moment:
// what comes later is not in it, and waits to be printed.
// lines are rendered once, for the width at that moment. top is the first that is shown.
type pager struct {
	lines []string
	// From 0, of lines.
	top int
}

// newPager returns a pager at the end of what there is now.
func newPager(m *screen) *pager {
	p := new(pager)
	for n, i := range m.items {
		if i.spaced(m.before(n)) {
			p.lines = append(p.lines, "")
		}
		p.lines = append(p.lines, i.lines(m, m.columns(), true)...)
	}
	p.top = len(p.lines)
	p.scroll(0, m.height)
	return p
}

// scroll moves by so many lines.
func (p *pager) scroll(by, height int) {
	p.top = max(0, min(p.top+by, len(p.lines)-(height-1)))
}

// key takes a key, and reports whether it closes the pager.
func (p *pager) key(k tea.KeyPressMsg, height int) (closes bool) {
	switch k.String() {
	case "q", "esc", "ctrl+o", "ctrl+c":
		return true
	case "up", "k":
		p.scroll(-1, height)
	case "down", "j", "enter":
		p.scroll(1, height)
	case "pgup", "b", "ctrl+u":
		p.scroll(-(height - 2), height)
	case "pgdown", "space", "f", "ctrl+d":
		p.scroll(height-2, height)
	case "home", "g":
		p.scroll(-len(p.lines), height)
	case "end", "G":
		p.scroll(len(p.lines), height)
	}
	return false
}

// view is the screen while the pager is there, with its last line for help.
func (p *pager) view(columns, height int) string {
	end := min(p.top+height-1, len(p.lines))
	shown := append([]string(nil), p.lines[p.top:end]...)
	for n, line := range shown {
		shown[n] = cut(line, columns)
	}
	for len(shown) < height-1 {
		shown = append(shown, "")
	}
	foot := fmt.Sprintf("%d–%d of %d · ↑ ↓ PgUp PgDn Home End · q goes back", min(p.top+1, end), end, len(p.lines))
	return strings.Join(append(shown, paint("7", cut(foot, columns))), "\n")
}
