package chat

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// popup offers what the word before the cursor can become.
//
// It is the loop's. offers are for word; at is which of them is chosen. refused is forgotten when
// another word comes that can be completed.
type popup struct {
	// Nil completes nothing.
	complete func(word string) []Completion
	word     string // that it is about; "" = it is closed
	offers   []Completion
	// The one that is chosen, from 0.
	at      int
	refused string // the word that the person has closed it for
}

// completedMsg is what a word can become.
type completedMsg struct {
	word   string
	offers []Completion
}

// offered is how many completions are shown at once.
const offered = 8

// follow looks up what the word before the cursor can become, where it begins with
// an @, or is the first one and begins with a slash. The lookup runs beside the loop;
// its answer is a completedMsg.
func (p *popup) follow(text, before string) tea.Cmd {
	word := before[strings.LastIndexAny(before, " \t")+1:]
	command := strings.HasPrefix(word, "/") && strings.TrimSpace(text) == word
	if p.complete == nil || word == p.refused || !(command || strings.HasPrefix(word, "@")) {
		p.word, p.offers = "", nil
		return nil
	}
	p.refused = ""
	if word == p.word {
		return nil
	}
	p.word = word
	complete := p.complete
	return func() tea.Msg { return completedMsg{word, complete(word)} }
}

// take takes what was looked up, unless something else was typed since.
func (p *popup) take(m completedMsg) {
	if m.word == p.word {
		p.offers, p.at = m.offers, 0
	}
}

// close takes the offers away; what is looked up comes too late then.
func (p *popup) close() { p.word, p.offers = "", nil }

// key takes a key where the popup is open, and reports whether it was one of its.
//
// Enter on a word that is complete already is not taken, so that it sends the line.
func (p *popup) key(m *screen, k tea.KeyPressMsg) (cmd tea.Cmd, taken bool) {
	if len(p.offers) == 0 {
		return nil, false
	}
	switch k.String() {
	case "up", "ctrl+p":
		p.at = (p.at + len(p.offers) - 1) % len(p.offers)
	case "down", "ctrl+n":
		p.at = (p.at + 1) % len(p.offers)
	case "esc":
		p.refused = p.word
		p.close()
	case "enter":
		if p.offers[p.at].Text == p.word { // there is nothing to complete: it is sent
			return nil, false
		}
		return p.insert(m), true
	case "tab":
		return p.insert(m), true
	default:
		return nil, false
	}
	return nil, true
}

// insert puts the completion that is chosen in place of the word.
//
// The word is deleted by as many backspaces as it has characters, since the area has no
// way to replace a part.
func (p *popup) insert(m *screen) tea.Cmd {
	word, text := []rune(p.word), p.offers[p.at].Text
	for range word {
		m.input, _ = m.input.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
	}
	if !strings.HasSuffix(text, "/") { // a folder goes on
		text += " "
	}
	p.close()
	m.input.InsertString(text)
	return m.onTyped()
}

// view lists what is offered.
//
// The list scrolls so that the one which is chosen stays about in the middle. The first
// column takes half of the screen at most.
func (p *popup) view(columns int) (lines []string) {
	from := max(0, min(p.at-offered/2, len(p.offers)-offered))
	shown := p.offers[from:min(from+offered, len(p.offers))]
	widest := 0
	for _, o := range shown {
		widest = max(widest, min(ansi.StringWidth(clean(o.Text)), columns/2))
	}
	for n, o := range shown {
		text := cut(clean(o.Text), widest)
		line := "  " + text + strings.Repeat(" ", widest-ansi.StringWidth(text))
		s := style("")
		if from+n == p.at {
			s = "7"
		}
		line = paint(s, line+" ")
		if o.Note != "" {
			line += " " + paint(dim, clean(o.Note))
		}
		lines = append(lines, cut(line, columns))
	}
	return lines
}
