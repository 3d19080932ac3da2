package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
)

// Question is what a person is asked. It is open until it is closed, and nothing
// else is shown meanwhile; what one step of it asks depends on the answers before. It
// serves one goroutine, which asks its steps one after the other.
//
// Ask waits for its turn and takes the screen from all else that is told. Each step is a
// dialog: the loop shows it and sends the answer to its channel, for which the asking
// goroutine waits. Close gives the screen back.
type Question struct {
	c *Chat
	// How many wait that the chat does not know of.
	more int
	own  bool // the person is at it: the next key is meant for it
}

// Ask opens a question when those that were opened before are closed. more is how
// many wait besides those that the chat knows of. Close it. It blocks while another
// question is open, without an end of its own: questions are answered or withdrawn.
func (c *Chat) Ask(more int) *Question {
	c.count(1)
	// Those that wait for the lock are counted, so that the open one can say how many
	// follow.
	c.asking.Lock()
	c.count(-1)
	c.tell(holdMsg(1))
	return &Question{c: c, more: more}
}

// Pick is Ask for what the person has asked for: keys answer it at once.
func (c *Chat) Pick() *Question {
	q := c.Ask(0)
	q.own = true
	return q
}

// count changes how many questions wait, and returns it.
func (c *Chat) count(n int) int {
	c.behind.Lock()
	defer c.behind.Unlock()
	c.waits += n
	return c.waits
}

// Close ends the question: what happened meanwhile is shown. It must be called exactly
// once; until then nothing is shown and no other question opens.
func (q *Question) Close() {
	q.c.tell(holdMsg(-1))
	q.c.asking.Unlock()
}

// Option is an answer that can be chosen: by its key, or with the arrows.
type Option struct {
	Key   string // of one letter or digit
	Label string // named in full
	Note  string // what it covers, below the label; may be empty

	at int // its place in the whole list, of which a search shows a part; set by Pick
}

// Chosen is the key of the option that was chosen. Cancelled stands for Ctrl-C,
// Dismissed for Esc, a question that was withdrawn, and the end of the chat. Everything
// that is not the key of an offered option is no yes.
type Chosen string

// The answers that are no option's key.
const (
	Cancelled Chosen = "cancelled"
	Dismissed Chosen = "dismissed"
)

// Choose shows a text, in which lines of a difference are coloured, and has the
// person choose. It waits for the person, ctx or the chat's end. The body stays in the
// scrollback, so that it can be read again.
func (q *Question) Choose(ctx context.Context, body, title string, options []Option) Chosen {
	d := &dialog{kind: choosing, body: body, title: title, options: options, more: max(q.more, q.c.count(0))}
	return q.ask(ctx, d).chosen
}

// Line has the person type a line; secret shows none of it. ok is false where they
// did not answer. Secret texts are never shown, nor kept in the history.
func (q *Question) Line(ctx context.Context, body, title string, secret bool) (text string, ok bool) {
	r := q.ask(ctx, &dialog{kind: typing, body: body, title: title, secret: secret, more: max(q.more, q.c.count(0))})
	return r.text, r.chosen == ""
}

// Edit has the person change a text in place. ok is false where they left it. It ends
// with Ctrl-S.
func (q *Question) Edit(ctx context.Context, title, text string) (changed string, ok bool) {
	r := q.ask(ctx, &dialog{kind: editing, title: title, initial: text})
	return r.text, r.chosen == ""
}

// reply is the answer to a step of a question.
type reply struct {
	// The key of an option; "" where a text is the answer.
	chosen Chosen
	at     int // of the option, by place
	text   string
}

// ask opens a step of a question and waits for its answer. An answer that is there wins
// over the end of ctx.
// But for Pick the first step of a question is not armed, so that a key which was meant
// for the line answers nothing; steps after an answer are.
func (q *Question) ask(ctx context.Context, d *dialog) reply {
	d.answer, d.armed = make(chan reply, 1), q.own
	q.c.tell(openMsg{d})
	select {
	case r := <-d.answer:
		q.own = true
		return r
	case <-q.c.done:
	case <-ctx.Done():
		select {
		case r := <-d.answer: // the answer itself has ended what the question was for
			return r
		default:
		}
		// An answer between the end of ctx and this message is dropped: the run does not
		// wait for it any more.
		q.c.tell(closeMsg{d, "(withdrawn)"})
	}
	return reply{chosen: Dismissed}
}

// kindOfDialog says how a step is answered.
type kindOfDialog int

const (
	// by an option
	choosing kindOfDialog = iota
	// by a line
	typing
	// by a text that is changed
	editing
)

// dialog is a step of a question on the screen. What asks it sets the first part and
// does not touch it afterwards; the rest is the loop's.
type dialog struct {
	kind kindOfDialog
	// Shown above, where it scrolls by; "" for none.
	body    string
	title   string
	options []Option
	// Of editing: the text to begin with.
	initial string
	// Of typing: what is typed is shown as dots, and never told.
	secret bool
	search bool // what is typed narrows the options down, instead of choosing by key
	// How many other questions wait.
	more int
	// Has room for one, so that the loop never waits.
	answer chan reply

	at     int    // the option that the arrows have chosen, of those that fit filter
	filter string // what was typed to search
	area   textarea.Model
	armed  bool      // keys are answers
	quiet  time.Time // since when no key came
}

// settle is how long no key may have come before keys answer a question: what a
// person was typing when it came is no answer.
const settle = 400 * time.Millisecond

// digits is how many options of a list can have a digit as their key.
const digits = 9

// fitting returns the options that fit what was typed.
// Capitals do not count, and the note is searched as well.
func (d *dialog) fitting() []Option {
	if d.filter == "" {
		return d.options
	}
	var some []Option
	for _, o := range d.options {
		if strings.Contains(strings.ToLower(o.Label+" "+o.Note), strings.ToLower(d.filter)) {
			some = append(some, o)
		}
	}
	return some
}

// finish gives the answer and takes the dialog off the screen. told is the line that
// says what was chosen; "" for none.
func (m *screen) finish(r reply, told string) tea.Cmd {
	d := m.dialog
	m.dialog = nil
	d.answer <- r
	if told != "" {
		m.add(&item{kind: noteItem, text: told})
	}
	return m.flush()
}

// press takes a key of a question. Before it is armed a key goes to the line that was
// being typed, so nothing is lost; only Ctrl-C counts.
// TestSEC80AQuestionHasTheScreen holds what counts before it is armed.
func (m *screen) press(k tea.KeyPressMsg) tea.Cmd {
	d := m.dialog
	if !d.armed {
		d.quiet = m.now()
		if k.String() == "ctrl+c" { // a refusal always counts
			return m.refuse()
		}
		if k.Text != "" {
			m.input.InsertString(k.Text)
		}
		return nil
	}
	switch k.String() {
	case "ctrl+c":
		return m.refuse()
	case "esc":
		return m.finish(reply{chosen: Dismissed}, "")
	}
	if d.kind != choosing {
		return m.pressText(k)
	}
	options := d.fitting()
	switch key := k.String(); key {
	case "up", "ctrl+p", "shift+tab":
		d.at = (d.at + len(options) - 1) % max(len(options), 1)
		return nil
	case "down", "ctrl+n", "tab":
		d.at = (d.at + 1) % max(len(options), 1)
		return nil
	case "enter":
		if d.at < len(options) {
			return m.choose(options[d.at])
		}
		return nil
	case "backspace":
		if d.filter != "" {
			runes := []rune(d.filter)
			d.filter, d.at = string(runes[:len(runes)-1]), 0
		}
		return nil
	}
	// While something is searched for, a digit is a part of it.
	for _, o := range options {
		if o.Key != "" && k.Text == o.Key && d.filter == "" {
			return m.choose(o)
		}
	}
	if d.search {
		d.filter, d.at = d.filter+k.Text, 0
	}
	return nil
}

// refuse is Ctrl-C at a question: it is refused, and the run ends where one goes on. The
// answer goes out before the run is told to end.
func (m *screen) refuse() tea.Cmd {
	cmd := m.finish(reply{chosen: Cancelled}, "")
	if m.busy {
		m.cancelled = true
		m.chat.config.Interrupt()
	}
	return cmd
}

// choose answers with an option.
func (m *screen) choose(o Option) tea.Cmd {
	return m.finish(reply{chosen: Chosen(o.Key), at: o.at}, "→ "+o.Label)
}

// pressText takes a key of a question that wants a text. Enter ends a line, Ctrl-S either
// kind. A secret is not repeated in the note about the answer.
func (m *screen) pressText(k tea.KeyPressMsg) tea.Cmd {
	d := m.dialog
	done := k.String() == "ctrl+s" || (d.kind == typing && k.String() == "enter")
	if done {
		told := ""
		if d.kind == typing && !d.secret {
			told = "→ " + PlainText(d.area.Value())
		}
		return m.finish(reply{text: d.area.Value()}, told)
	}
	var cmd tea.Cmd
	d.area, cmd = d.area.Update(k)
	d.area.SetHeight(m.heightOf(&d.area))
	return cmd
}

// tickMsg is the time: of what is counted in seconds, and of a question that waits
// for the person to pause.
type tickMsg time.Time

// arm has keys answer the question when no key has come for a while.
func (m *screen) arm() {
	if d := m.dialog; d != nil && !d.armed && m.now().Sub(d.quiet) >= settle {
		d.armed = true
	}
}

// Pick is Choose that returns the place of the option; -1 where none was chosen.
// Options without a key are searched by what is typed; the first ones are numbered. Esc
// and Ctrl-C choose none.
func (q *Question) Pick(ctx context.Context, body, title string, options []Option) int {
	options = slices.Clone(options)
	d := &dialog{kind: choosing, body: body, title: title, options: options}
	for i := range options {
		options[i].at = i // several may read the same
		if options[i].Key == "" {
			d.search = true
			if i < digits {
				options[i].Key = fmt.Sprint(i + 1)
			}
		}
	}
	if r := q.ask(ctx, d); r.chosen != Cancelled && r.chosen != Dismissed {
		return r.at
	}
	return -1
}
