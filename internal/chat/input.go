package chat

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// key takes a key: of the pager, of a question, or of the line that is typed. The pager
// and a question take all keys while they are there, the popup those that move in it.
func (m *screen) key(k tea.KeyPressMsg) tea.Cmd {
	switch {
	case m.pager != nil:
		if m.pager.key(k, m.height) {
			m.pager = nil
			return m.flush()
		}
		return nil
	// Not while a question takes no keys yet: this one may have been meant for the line.
	case k.String() == "ctrl+o" && (m.dialog == nil || m.dialog.armed):
		m.pager = newPager(m)
		return nil
	case m.dialog != nil:
		return m.press(k)
	}
	if cmd, taken := m.popup.key(m, k); taken {
		return cmd
	}
	switch k.String() {
	case "enter":
		return m.submit()
	case "ctrl+c":
		return m.interrupt()
	case "esc":
		if m.busy && !m.cancelled {
			m.cancelled = true
			m.chat.config.Interrupt()
		}
		return nil
	// Where text is typed, Ctrl-D deletes a character, as in a shell.
	case "ctrl+d":
		if m.input.Value() == "" {
			m.chat.config.Leave()
			return nil
		}
	// Within a text of several lines the arrows move the cursor.
	case "up":
		if m.input.Line() == 0 && m.history.back(m.input.Value()) {
			m.recall()
			return nil
		}
	case "down":
		if m.input.Line() == m.input.LineCount()-1 && m.history.forward() {
			m.recall()
			return nil
		}
	case "ctrl+r":
		if m.history.find(m.input.Value()) {
			m.recall()
		}
		return nil
	case "ctrl+l":
		return tea.ClearScreen
	}
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(k)
	return tea.Batch(cmd, m.onTyped())
}

// recall shows the line of the history that is looked at.
func (m *screen) recall() {
	m.popup.close()
	m.input.SetValue(m.history.line())
	m.fitInput()
	m.input.MoveToEnd()
}

// onTyped looks after what depends on the text that was typed.
func (m *screen) onTyped() tea.Cmd {
	m.fitInput()
	return m.popup.follow(m.input.Value(), m.beforeCursor())
}

// beforeCursor returns the line that is typed up to the cursor.
func (m *screen) beforeCursor() string {
	lines := strings.Split(m.input.Value(), "\n")
	line := []rune(lines[min(m.input.Line(), len(lines)-1)])
	return string(line[:min(m.input.Column(), len(line))])
}

// interrupt does what Ctrl-C means: it clears what was typed, else it stops the run
// or leaves. While a run goes on the text stays: it may be for the agent.
func (m *screen) interrupt() tea.Cmd {
	if m.input.Value() != "" && !m.busy {
		m.input.Reset()
		m.history.rest()
		return m.onTyped()
	}
	m.cancelled = m.busy
	m.chat.config.Interrupt()
	return nil
}

// submit sends what was typed. A backslash at the end asks for another line. Submit is
// called before anything is drawn, and must not block.
func (m *screen) submit() tea.Cmd {
	text := m.input.Value()
	if strings.HasSuffix(text, `\`) {
		m.input.SetValue(strings.TrimSuffix(text, `\`) + "\n")
		m.input.MoveToEnd()
		m.fitInput()
		return nil
	}
	text = strings.TrimSpace(text)
	m.input.Reset()
	m.fitInput()
	m.popup.close()
	if text == "" {
		return nil
	}
	if m.history.add(text) && m.chat.config.Remember != nil {
		m.chat.config.Remember(text)
	}
	m.add(&item{kind: saidItem, text: text})
	m.chat.config.Submit(text)
	return m.flush()
}

// paste takes a text that was pasted, whole: it sends nothing. A question of choice
// takes none, nor one that does not take keys yet.
func (m *screen) paste(p tea.PasteMsg) tea.Cmd {
	text := strings.ReplaceAll(strings.ReplaceAll(p.Content, "\r\n", "\n"), "\r", "\n")
	// A single key answers such a question, so pasted text could answer it by accident.
	if m.pager != nil || (m.dialog != nil && m.dialog.kind == choosing) {
		return nil
	}
	if d := m.dialog; d != nil {
		if d.armed {
			d.area.InsertString(text)
			d.area.SetHeight(m.heightOf(&d.area))
		}
		return nil
	}
	m.input.InsertString(text)
	return m.onTyped()
}

// history is what was typed before. The line that is being typed is its last one. It is
// the screen's alone.
// at counts back from the draft, which is 0; lines has the oldest first.
type history struct {
	lines []string
	at    int // from the end; 0 = the draft
	draft string
}

// back goes to the line before, and reports whether there is one. draft is what is
// being typed, which forward comes back to.
func (h *history) back(draft string) bool {
	if h.at == len(h.lines) {
		return false
	}
	if h.at == 0 {
		h.draft = draft
	}
	h.at++
	return true
}

// forward goes to the line behind, which at last is the draft, and reports whether there was one.
func (h *history) forward() bool {
	if h.at == 0 {
		return false
	}
	h.at--
	return true
}

// find goes to the newest older line that contains a text: what was typed when the
// search began.
// Each call goes further back, since at moves. It stays where it is when nothing older
// fits.
func (h *history) find(text string) bool {
	if h.at == 0 {
		h.draft = text
	}
	for at := h.at + 1; at <= len(h.lines); at++ {
		if strings.Contains(h.lines[len(h.lines)-at], h.draft) {
			h.at = at
			return true
		}
	}
	return false
}

// line is the line that is looked at.
func (h *history) line() string {
	if h.at == 0 {
		return h.draft
	}
	return h.lines[len(h.lines)-h.at]
}

// rest ends looking: the draft is gone.
func (h *history) rest() { h.at, h.draft = 0, "" }

// add adds a line, and reports whether it is another than the one before. One that is the
// same as the last is not added again. Looking at older lines ends.
func (h *history) add(text string) bool {
	h.rest()
	if n := len(h.lines); n > 0 && h.lines[n-1] == text {
		return false
	}
	h.lines = append(h.lines, text)
	return true
}

// Clock shows how long something takes: 0:07, 12:30, 1:00:05.
func Clock(d time.Duration) string {
	n := int(d / time.Second)
	if h := n / 3600; h > 0 {
		return fmt.Sprintf("%d:%02d:%02d", h, n/60%60, n%60)
	}
	return fmt.Sprintf("%d:%02d", n/60, n%60)
}
