package chat

import (
	"fmt"
	"strings"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/agentls/agentls/agents/tool"
	"github.com/charmbracelet/x/ansi"
)

// View implements tea.Model: what stands below that which scrolls by.
func (m *screen) View() tea.View {
	if m.pager != nil {
		v := tea.NewView(m.pager.view(m.width, m.height))
		v.AltScreen = true
		return v
	}
	if m.ended {
		return tea.NewView("")
	}
	return tea.NewView(m.live())
}

// live is what goes on, then the question or the line that is typed, then the
// status; never more than the screen has. What does not fit goes at the top: the end of
// what goes on tells most. It notes how high it is, by which flush knows how much may
// be printed at once.
func (m *screen) live() string {
	bottom := m.bottom()
	var now []string
	for n := m.shown; n < len(m.items); n++ {
		lines := m.items[n].lines(m, m.columns(), false)
		if m.items[n].kind == answerItem {
			lines = tailOf(m, m.items[n])
		}
		if len(lines) == 0 {
			continue
		}
		if m.items[n].spaced(m.before(n)) {
			now = append(now, "")
		}
		now = append(now, lines...)
	}
	room := max(m.height-len(bottom)-1, 0)
	if len(now) > room {
		now = now[len(now)-room:]
	}
	m.high = len(now) + len(bottom)
	return strings.Join(append(now, bottom...), "\n")
}

// tailOf renders an answer that is being written. Of one without an end, as a long
// block of code, only the end is rendered: the screen has no room for more, and it
// is rendered anew with each piece.
// Where the answer begins with a fence, that line is put before the end, so that it still
// is code.
func tailOf(m *screen, i *item) []string {
	const most = 8 << 10
	text := i.text
	if len(text) > most {
		at := len(text) - most
		if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
			at += n + 1
		}
		first, _, _ := strings.Cut(strings.TrimLeft(text, "\n"), "\n")
		if fenceOf(strings.TrimSpace(first)) != "" {
			return markdown(m.parser, first+"\n"+text[at:], min(m.columns(), 120))
		}
		text = text[at:]
	}
	return markdown(m.parser, text, min(m.columns(), 120))
}

// bottom is the question or the line that is typed, and the status. Completions take the
// place of the status while they are offered.
func (m *screen) bottom() []string {
	if m.dialog != nil {
		return append([]string{""}, m.renderQuestion(m.dialog)...)
	}
	lines := []string{""}
	if m.busy {
		lines = append(lines, m.working())
	}
	lines = append(lines, paint(dim, strings.Repeat("─", m.width)))
	lines = append(lines, strings.Split(m.input.View(), "\n")...)
	if popup := m.popup.view(m.width); len(popup) > 0 {
		return append(lines, popup...)
	}
	return append(lines, m.statusLine())
}

// working says what goes on, and how to stop it.
//
// Of several things that go on the last one is told.
func (m *screen) working() string {
	doing := "working"
	for n := m.shown; n < len(m.items); n++ {
		switch i := m.items[n]; {
		case i.whole:
		case i.kind == answerItem:
			doing = "answering"
		case i.kind == thoughtItem:
			doing = "thinking"
		case i.kind == callItem:
			doing = "running " + strings.Fields(i.title + " tool")[0]
		}
	}
	stop := "Esc stops it, Enter tells the agent"
	if m.cancelled {
		doing, stop = "stopping", "Ctrl-C leaves"
	}
	const spins = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
	since := m.now().Sub(m.began)
	spin := []rune(spins)[max(int(since/every), 0)%10]
	return cut(paint(accent, string(spin)+" "+doing)+paint(dim, fmt.Sprintf(" · %s · %s", Clock(since), stop)), m.width)
}

// statusLine is who is talked to, and at what price. What matters least goes first
// where there is no room.
// Agent and model, which come first, always stay.
func (m *screen) statusLine() string {
	s := m.status
	parts := []string{paint(accent, clean(s.Agent))}
	if s.Model != "" {
		parts = append(parts, clean(s.Model))
	}
	if s.Mode != "" {
		parts = append(parts, modeOf(s.Mode))
	}
	if s.Trust != "" {
		parts = append(parts, paint(warn, clean(s.Trust)))
	}
	if n := m.usage.TotalTokens; n > 0 {
		parts = append(parts, tool.Tokens(n)+" tokens")
	}
	if m.cost > 0 {
		parts = append(parts, dollars(m.cost))
	}
	for _, word := range []string{s.Branch, s.Sandbox} {
		if word != "" {
			parts = append(parts, clean(word))
		}
	}
	for {
		line := strings.Join(parts, " · ")
		if ansi.StringWidth(line) <= m.width || len(parts) <= 2 {
			return paint(dim, cut(line, m.width))
		}
		parts = parts[:len(parts)-1]
	}
}

// modeOf shows what runs without a question. What is not usual stands out. A mode that is
// new to this version is shown as it is.
func modeOf(mode string) string {
	switch mode {
	case "auto", "edits":
		return paint(warn, "mode "+mode)
	case "plan":
		return paint(good, "mode "+mode)
	}
	return "mode " + clean(mode)
}

// dollars shows a price.
func dollars(usd float64) string {
	if usd < 0.01 {
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// renderQuestion shows a step of a question: its answers below each other.
//
// The hint is … until keys count, so that nobody takes the question for one that listens.
func (m *screen) renderQuestion(d *dialog) []string {
	title := paint(bold, clean(d.title))
	if d.more > 0 {
		title += paint(dim, fmt.Sprintf("  (%d more waiting)", d.more))
	}
	lines := wrap(title, m.width)
	if d.kind != choosing {
		return append(lines, m.renderTextQuestion(d)...)
	}
	options := d.fitting()
	lines = append(lines, m.visible(d, options, m.height-len(lines)-3)...)
	hint := "a key, or ↑ ↓ and Enter · Esc: no · Ctrl-C stops the run"
	switch {
	case !d.armed:
		hint = "…"
	case d.search && d.filter == "":
		hint = fmt.Sprintf("%d · a key, or ↑ ↓ and Enter · type to search · Esc leaves", len(options))
	case d.search:
		hint = fmt.Sprintf("search: %s · %d of %d · ↑ ↓ and Enter · Esc leaves", clean(d.filter),
			len(options), len(d.options))
	case !m.busy:
		hint = "a key, or ↑ ↓ and Enter · Esc leaves"
	}
	return append(lines, paint(dim, cut(hint, m.width)))
}

// visible are the options that there is room for around the one that is chosen. It
// grows on both sides in turn; at least the chosen one is shown.
// room is in lines. More than that is cut, where even the chosen one has no room.
func (m *screen) visible(d *dialog, options []Option, room int) (lines []string) {
	if len(options) == 0 {
		return nil
	}
	from, to := d.at, d.at+1
	lines = m.option(d, options[d.at], true)
	for grown := true; grown; {
		grown = false
		if from > 0 {
			if above := m.option(d, options[from-1], false); len(above)+len(lines) <= room {
				lines, from, grown = append(above, lines...), from-1, true
			}
		}
		if to < len(options) {
			if below := m.option(d, options[to], false); len(below)+len(lines) <= room {
				lines, to, grown = append(lines, below...), to+1, true
			}
		}
	}
	return lines[:min(len(lines), max(room, 1))]
}

// option renders one answer, with what it covers beside or below it.
func (m *screen) option(d *dialog, o Option, chosen bool) []string {
	mark, s := "  ", style("")
	if chosen {
		mark, s = "❯ ", accent
	}
	label := clean(o.Label)
	switch {
	case d.search && (d.filter != "" || o.Key == ""): // keys are letters to search for
		label = "   " + label
	default:
		label = o.Key + "  " + label
	}
	note := clean(o.Note)
	if d.search { // many may have to fit, so each has one line
		return []string{cut(paint(s, mark+label)+"  "+paint(dim, note), m.width)}
	}
	if note != "" && ansi.StringWidth(mark+label+note)+2 <= m.width {
		return []string{paint(s, mark+label) + "  " + paint(dim, note)}
	}
	lines := []string{paint(s, cut(mark+label, m.width))}
	if note == "" {
		return lines
	}
	return append(lines, indent(wrap(paint(dim, note), m.width-5), "     ", "     ")...)
}

// renderTextQuestion shows where a text is typed. Of a secret each character is a dot.
func (m *screen) renderTextQuestion(d *dialog) []string {
	text := d.area.View()
	if d.secret {
		text = "› " + strings.Repeat("•", len([]rune(d.area.Value())))
	}
	hint := "Enter answers · Esc leaves"
	switch {
	case !d.armed:
		hint = "…"
	case d.kind == editing:
		hint = "Ctrl-S takes it · Esc leaves it as it was"
	}
	return append(strings.Split(text, "\n"), paint(dim, cut(hint, m.width)))
}

// newArea returns a place to type.
//
// Its height is set by heightOf; without a limit of its own it takes texts of any length.
func newArea() textarea.Model {
	area := textarea.New()
	area.ShowLineNumbers = false
	area.MaxHeight, area.CharLimit = 0, 0
	area.SetHeight(1)
	plain := textarea.StyleState{Prompt: lipgloss.NewStyle().Foreground(lipgloss.Cyan)}
	styles := area.Styles()
	styles.Focused, styles.Blurred = plain, plain
	area.SetStyles(styles)
	area.SetPromptFunc(2, func(line textarea.PromptInfo) string {
		if line.LineNumber == 0 {
			return "› "
		}
		return "  "
	})
	// Enter sends the line before it comes here (screen.key). In a text that a question
	// has edited it ends a line.
	area.KeyMap.InsertNewline.SetKeys("enter", "ctrl+j", "alt+enter", "shift+enter")
	return area
}

// heightOf returns how many lines of the screen a text may take that is typed. It is a
// third of the screen at most, or three lines where that is less.
func (m *screen) heightOf(area *textarea.Model) int {
	lines := 0
	for line := range strings.SplitSeq(area.Value(), "\n") {
		// A line that wraps takes more than one.
		lines += 1 + ansi.StringWidth(line)/max(area.Width(), 1)
	}
	return min(lines, max(m.height/3, 3))
}

// fitInput gives the input the lines that its text takes.
func (m *screen) fitInput() { m.input.SetHeight(m.heightOf(&m.input)) }
