package chat

import (
	"io"
	"os"
	"strings"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"github.com/yuin/goldmark/parser"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
)

// screen is what is shown, and changes by messages only: bubbletea's model. All of it
// is the loop's.
//
// What a chat is told changes items (take, event). flush renders those that are whole
// into prints, and prints them a part at a time; View draws the others, from shown on,
// with the question or the input below them. While a question has the screen, messages
// wait in held.
type screen struct {
	chat   *Chat
	now    func() time.Time
	print  func(text string) tea.Cmd // has a text scroll by, and then tells printedMsg
	parser parser.Parser

	// Of the terminal, in columns and lines.
	width, height int
	high          int // lines of what was drawn last below that which scrolls by

	items []*item // what was said and done, the oldest first
	shown int     // how many of them have left for what scrolls by
	bytes int     // of the texts of items
	// Lines that are to be printed, in order.
	prints  []string
	printed bool // a print is on its way

	input   textarea.Model
	history history
	popup   popup

	// The step of a question that is open; nil for none.
	dialog *dialog
	// How many questions have the screen: 0 or 1, as Chat.asking has it.
	hold int
	// What was told meanwhile, in order.
	held  []tea.Msg
	drain time.Time // when the queue was taken last

	// A run goes on, as SetBusy says.
	busy      bool
	cancelled bool // the run was told to end
	// When SetBusy was told last that a run goes on.
	began time.Time
	// A tickMsg is on its way.
	ticking bool
	status  Status
	usage   model.Usage // since the chat began
	cost    float64     // in dollars, of the runs that have ended

	// Nil while it is not open.
	pager *pager
	// Quit was called: it ends when everything is printed.
	ended bool
}

// newModel returns the screen of a chat, of 80 by 24 until the terminal has said how large it is.
func newModel(c *Chat) *screen {
	m := &screen{chat: c, now: time.Now, parser: newParser(), width: 80, height: 24, input: newArea()}
	m.print = func(text string) tea.Cmd {
		return tea.Sequence(tea.Println(text), func() tea.Msg { return printedMsg{} })
	}
	m.history.lines = c.config.History
	m.popup.complete = c.config.Complete
	return m
}

// Init implements tea.Model.
func (m *screen) Init() tea.Cmd { return tea.Batch(m.input.Focus(), m.chat.next(time.Time{})) }

// Update implements tea.Model.
//
// A batch of the queue is taken whole before anything of it is printed.
func (m *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, max(msg.Height, 1) // a terminal that knows no size says 0
		m.input.SetWidth(msg.Width - 2)
		m.fitInput()
		if m.dialog != nil {
			m.dialog.area.SetWidth(msg.Width - 4)
		}
		return m, m.flush()
	case drainMsg:
		m.drain = m.now()
		var cmds []tea.Cmd
		for _, one := range msg.all {
			cmds = append(cmds, m.take(one))
		}
		cmds = append(cmds, m.flush(), m.tick(), m.chat.next(m.drain))
		return m, tea.Batch(cmds...)
	case printedMsg:
		m.printed = false
		return m, m.flush()
	case completedMsg:
		m.popup.take(msg)
		return m, nil
	// Time decides whether a question takes keys.
	case tickMsg:
		m.ticking = false
		m.arm()
		return m, m.tick()
	case tea.KeyPressMsg:
		return m, tea.Batch(m.key(msg), m.tick())
	case tea.PasteMsg:
		return m, m.paste(msg)
	}
	return m, nil
}

// printedMsg says that what was to be printed is.
type printedMsg struct{}

// take takes one thing that the chat was told. What is about the question itself goes
// through; all else waits while it has the screen.
// Opening and closing a question come before the check of hold, since they are the
// question itself. What was held is taken in the order in which it came.
func (m *screen) take(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case openMsg:
		return m.open(msg.d)
	case closeMsg:
		// The step may have its answer by now.
		if m.dialog == msg.d {
			m.dialog = nil
			m.add(&item{kind: noteItem, text: msg.how})
		}
		return nil
	case execMsg:
		return m.exec(msg)
	case holdMsg:
		if m.hold += int(msg); m.hold > 0 {
			return nil
		}
		held := m.held
		m.held = nil
		var cmds []tea.Cmd
		for _, one := range held {
			cmds = append(cmds, m.take(one))
		}
		return tea.Batch(cmds...)
	}
	if m.hold > 0 { // the screen is the question's
		m.held = append(m.held, msg)
		m.countWaiting()
		return nil
	}
	switch msg := msg.(type) {
	case eventMsg:
		m.event(Event(msg))
	case noteMsg:
		m.add(&item{kind: noteItem, text: string(msg)})
	case outputMsg:
		m.add(&item{kind: outputItem, text: string(msg)})
	case saidMsg:
		m.add(&item{kind: saidItem, text: string(msg)})
	case fillMsg:
		m.input.SetValue(string(msg))
		m.fitInput()
	case statusMsg:
		m.status.merge(Status(msg))
	case busyMsg:
		if m.busy = bool(msg); m.busy {
			m.began = m.now()
		} else {
			m.endRun()
		}
		m.cancelled = false
	case quitMsg:
		m.endRun()
		if m.ended = true; msg.last != "" {
			m.add(&item{kind: noteItem, text: msg.last})
		}
	}
	return nil
}

// awaits reports whether a call has come to where a person is asked.
func awaits(msg tea.Msg) bool {
	e, ok := msg.(eventMsg)
	if !ok {
		return false
	}
	call, ok := e.Body.(activity.ToolState)
	return ok && call.State == activity.AwaitingApproval
}

// open puts a step of a question on the screen. Keys do not answer it before no key has
// come for settle.
func (m *screen) open(d *dialog) tea.Cmd {
	if m.cancelled { // the run is told to end, so nobody is asked for it any more
		d.answer <- reply{chosen: Cancelled}
		return nil
	}
	m.endText()
	m.popup.close()
	if d.body != "" {
		m.add(&item{kind: askedItem, text: d.body})
	}
	// The person may have pressed a key a moment ago, so the wait begins now.
	d.quiet = m.now()
	d.area = newArea()
	d.area.SetWidth(m.width - 4)
	if d.kind == editing {
		d.area.SetValue(d.initial)
		d.area.MoveToBegin()
	}
	d.area.SetHeight(m.heightOf(&d.area))
	m.dialog = d
	m.countWaiting()
	return d.area.Focus()
}

// countWaiting counts the calls that wait for the person, of which the question that
// is open is one.
func (m *screen) countWaiting() {
	if m.dialog == nil {
		return
	}
	waiting := 0
	for _, i := range m.items[m.shown:] {
		if !i.whole && i.state == activity.AwaitingApproval {
			waiting++
		}
	}
	for _, msg := range m.held {
		if awaits(msg) {
			waiting++
		}
	}
	// The number never falls while a step is open, so that it does not jump.
	m.dialog.more = max(m.dialog.more, waiting-1)
}

// suspended is a program that has the terminal for a while.
//
// bubbletea gives the terminal back to its state before it calls Run and takes it again
// afterwards.
type suspended struct {
	run     func(in, out *os.File) error
	in, out *os.File
}

// SetStdin implements tea.ExecCommand; the program is given the terminal itself.
func (s *suspended) SetStdin(io.Reader) {}

// SetStdout implements tea.ExecCommand.
func (s *suspended) SetStdout(io.Writer) {}

// SetStderr implements tea.ExecCommand.
func (s *suspended) SetStderr(io.Writer) {}

// Run implements tea.ExecCommand.
func (s *suspended) Run() error { return s.run(s.in, s.out) }

// exec leaves the terminal to a program. Its end is told on e.done, which has room for
// it.
func (m *screen) exec(e execMsg) tea.Cmd {
	// A stream that is no file is given as nil (see Suspend).
	in, _ := m.chat.config.In.(*os.File)
	out, _ := m.chat.config.Out.(*os.File)
	return tea.Exec(&suspended{e.run, in, out}, func(err error) tea.Msg {
		e.done <- err
		return nil
	})
}

// every is how often what is counted in seconds is drawn again.
const every = 200 * time.Millisecond

// tick has the time told while something depends on it. One tick at a time is on its
// way.
func (m *screen) tick() tea.Cmd {
	waits := m.dialog != nil && !m.dialog.armed
	if m.ticking || (!m.busy && !waits) {
		return nil
	}
	m.ticking = true
	return tea.Tick(every, func(t time.Time) tea.Msg { return tickMsg(t) })
}

// flush sends what is whole to where it scrolls by, in order, a part at a time: what
// is longer than the screen would push what stands below it out of sight. While one
// part is being printed, or the pager is there, nothing else is; the end comes when
// everything is printed.
// high is how many lines stand below, as they were drawn last: a part is as long as the
// rest of the screen.
func (m *screen) flush() tea.Cmd {
	m.part()
	for n := m.shown; n < len(m.items); n++ {
		i := m.items[n]
		if !i.whole {
			continue
		}
		copy(m.items[m.shown+1:n+1], m.items[m.shown:n]) // it overtakes what goes on
		m.items[m.shown] = i
		lines := i.lines(m, m.columns(), false)
		if i.spaced(m.before(m.shown)) {
			lines = append([]string{""}, lines...)
		}
		m.prints = append(m.prints, lines...)
		m.shown++
	}
	m.forget()
	if m.pager != nil || m.printed {
		return nil
	}
	if len(m.prints) == 0 {
		if m.ended {
			return tea.Quit
		}
		return nil
	}
	n := min(len(m.prints), max(m.height-m.high-3, 1))
	part := strings.Join(m.prints[:n], "\n")
	m.prints = m.prints[n:]
	m.printed = true
	return m.print(part)
}

// columns is how wide what is said and done may be. The last column stays free: a
// terminal that is told to clear the rest of a full line clears its last letter.
func (m *screen) columns() int { return max(m.width-1, 1) }

// before returns the item before another; nil where there is none.
func (m *screen) before(i int) *item {
	if i == 0 {
		return nil
	}
	return m.items[i-1]
}

// kept is how many bytes of what scrolled by can be looked at again. It bounds the
// memory of a long conversation; the terminal's scrollback has the rest.
const kept = 8 << 20

// forget lets go of the oldest items when there is too much of them.
// Only items that have scrolled by are let go of.
func (m *screen) forget() {
	n := 0
	for n < m.shown && m.bytes > kept {
		m.bytes -= m.items[n].size
		n++
	}
	if n > 0 {
		// The list is copied, so that the memory of the old one can be freed.
		m.items = append([]*item(nil), m.items[n:]...)
		m.shown -= n
	}
}

// add adds an item that is whole.
func (m *screen) add(i *item) {
	i.whole = true
	m.begin(i)
}

// begin adds an item that goes on. 64 bytes stand for what an item has besides its
// texts.
func (m *screen) begin(i *item) *item {
	m.items = append(m.items, i)
	m.grow(i, len(i.text)+len(i.patch)+64)
	return i
}

// write adds to the text of an item that goes on. The buffer makes adding many pieces
// cost their length and not its square.
func (m *screen) write(i *item, text string) {
	if i.buffer.Len() == 0 {
		i.buffer.WriteString(i.text)
	}
	i.buffer.WriteString(text)
	i.text = i.buffer.String()
	m.grow(i, len(text))
}

// grow counts bytes of an item.
func (m *screen) grow(i *item, n int) {
	i.size += n
	m.bytes += n
}
