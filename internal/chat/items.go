package chat

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/agentls/agentls/agents/activity"
)

// kindOfItem says what an item is.
type kindOfItem int

const (
	saidItem    kindOfItem = iota // words of the person's
	answerItem                    // words of an agent's, in Markdown
	thoughtItem                   // what a model says that it thinks
	callItem                      // a tool's call
	noteItem                      // a line about what goes on
	outputItem                    // what a command of the chat's printed
	askedItem                     // what a question is about
)

// item is one thing that was said or done. When it is whole it does not change any
// more, and leaves for what scrolls by. All of its texts are foreign: they are cleaned
// when they are rendered, and not before.
// It is the loop's. whole never becomes false again.
type item struct {
	kind kindOfItem
	// The run that it is of; "" for none.
	run    string
	text   string
	title  string          // of thoughts: their subject; of a call: tool and subject
	buffer strings.Builder // of the text while it is written
	whole  bool
	size   int // bytes that are counted

	// Of a call.
	call  string
	who   string // the agent, where it is not the one that the person talks to
	state activity.CallState
	// What the tool last said while it goes on; shown where it printed nothing.
	progress string
	patch    string // what it changed, unified
	seen     bool   // the person was shown the same change when they were asked
	// When it began to execute; zero = it has not.
	began time.Time
	// Set when the call has ended.
	took time.Duration
}

// spaced reports whether a blank line stands before an item.
//
// A note has one behind an answer or an output only, and calls stand close to each other
// unless a change is shown between them.
func (i *item) spaced(before *item) bool {
	if before == nil {
		return false
	}
	switch i.kind {
	case noteItem:
		return before.kind == answerItem || before.kind == outputItem
	case callItem:
		return (before.kind != callItem && before.kind != thoughtItem) || (before.patch != "" && !before.seen)
	}
	return true
}

// Lines of a call's output that are shown while it is folded.
const (
	foldedOutput = 4
	foldedPatch  = 24
)

// lines renders an item for so many columns. open shows what is folded else. It has no
// line of more columns, and no control characters but this package's styles.
func (i *item) lines(m *screen, columns int, open bool) []string {
	switch i.kind {
	case saidItem:
		return indent(wrap(paint(bold, clean(i.text)), columns-2), paint("1;36", "› "), "  ")
	case answerItem:
		// Longer lines are hard to read, however wide the terminal is.
		return markdown(m.parser, i.text, min(columns, 120))
	case thoughtItem:
		return i.thoughts(columns, open)
	case callItem:
		return i.renderCall(m, columns, open)
	case outputItem:
		return wrap(diffColours(clean(strings.TrimRight(i.text, "\n"))), columns)
	case askedItem:
		bar := paint(warn, "▌ ")
		return indent(wrap(diffColours(clean(strings.Trim(i.text, "\n"))), columns-2), bar, bar)
	}
	tone := dim
	if strings.HasPrefix(i.text, "ERROR") || strings.HasPrefix(i.text, "error:") {
		tone = bad
	}
	return indent(wrap(paint(tone, clean(i.text)), columns-2), "  ", "  ")
}

// thoughts are one line where they are folded: the last subject. Open, they are shown as
// they are, and their Markdown is not rendered.
func (i *item) thoughts(columns int, open bool) []string {
	text := strings.TrimSpace(clean(i.text))
	if !open {
		first, _, more := strings.Cut(text, "\n")
		if i.title != "" {
			first, more = clean(i.title), true
		}
		line := "∴ " + first
		if more {
			line += " …"
		}
		return []string{paint("2;3", cut(line, columns))}
	}
	return indent(wrap(paint("2;3", text), columns-2), paint(dim, "∴ "), "  ")
}

// renderCall renders a call: what it is, how long it takes, what it printed or changed.
// It has one line where what it came to fits beside it.
func (i *item) renderCall(m *screen, columns int, open bool) []string {
	head := clean(i.title)
	if i.who != "" {
		head = clean(i.who) + ": " + head
	}
	mark, tail := i.mark(m), ""
	if i.patch != "" {
		added, removed := Counts(i.patch)
		tail += "  " + paint(good, fmt.Sprintf("+%d", added)) + " " + paint(bad, fmt.Sprintf("−%d", removed))
	}
	took := seconds(i.took)
	if !i.whole {
		took = seconds(m.elapsedTime(i).Truncate(time.Second))
	}
	if took != "" {
		tail += "  " + paint(dim, took)
	}
	if open && ansi.StringWidth(head)+ansi.StringWidth(tail)+2 > columns {
		lines := indent(wrap(head, columns-2), mark+" ", "  ")
		return append(lines, i.below(columns, open)...)
	}
	line := mark + " " + cut(head, columns-2-ansi.StringWidth(tail)) + tail
	below := i.below(columns, open)
	if i.state == activity.Success && i.patch == "" && len(below) == 1 {
		if word := "  " + strings.TrimLeft(below[0], " "); ansi.StringWidth(line+word) <= columns {
			return []string{line + word} // what it came to fits beside it
		}
	}
	return append([]string{line}, below...)
}

// mark is the sign in front of a call. While the call runs it turns with the time.
func (i *item) mark(m *screen) string {
	switch {
	case i.state == activity.Success:
		return paint(good, "✓")
	case i.state == activity.Failed, i.state == activity.Cancelled:
		return paint(bad, "✗")
	// The run ended, and this call's end was never told.
	case i.whole:
		return paint(dim, "·")
	case i.state == activity.AwaitingApproval:
		return paint(warn, "?")
	}
	const spins = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
	return paint(accent, string([]rune(spins)[max(int(m.elapsedTime(i)/every), 0)%10]))
}

// below are the lines under a call: its output, or what it changed.
//
// Folded, a line is cut; open, it goes on in the next one. While a call goes on only its
// last line is shown, or its progress.
func (i *item) below(columns int, open bool) []string {
	text, most := strings.TrimRight(clean(i.text), "\n"), foldedOutput
	painted := func(line string) string { return paint(dim, line) }
	failed := i.state == activity.Failed || i.state == activity.Cancelled
	// The person has read the change in the question about it.
	known := i.seen && !open
	if known && !failed {
		return nil
	}
	if i.patch != "" && !known {
		change := strings.TrimRight(clean(hunks(i.patch)), "\n")
		if failed { // why comes first
			change = text + "\n" + change
		}
		text, most = change, foldedPatch
		painted = func(line string) string { return paint(styleOfDiff(line), line) }
	}
	if failed {
		painted = func(line string) string { return paint(bad, line) }
	}
	all := strings.Split(text, "\n")
	if !i.whole && i.patch == "" { // it goes on: the last line tells most
		all = all[len(all)-1:]
		if i.progress != "" && all[0] == "" {
			all = []string{clean(i.progress)}
		}
	}
	if len(all) == 1 && strings.TrimSpace(all[0]) == "" {
		return nil
	}
	var lines []string
	for n, line := range all {
		// A single line more is shown, rather than a line that says how many there are.
		if !open && n == most && len(all) > most+1 {
			lines = append(lines, paint(dim, fmt.Sprintf("  … %d more lines, Ctrl-O shows them", len(all)-n)))
			break
		}
		if !open {
			lines = append(lines, "  "+painted(cut(line, columns-2)))
			continue
		}
		for _, part := range strings.Split(ansi.Hardwrap(line, max(columns-2, 1), true), "\n") {
			lines = append(lines, "  "+painted(part))
		}
	}
	return lines
}

// hunks are a unified difference without the names of its one file, which the call
// has said.
// A difference of several files stays as it is, since the names tell them apart.
func hunks(patch string) string {
	if strings.Count(patch, "\n+++ ") > 1 {
		return patch
	}
	for at, line := 0, ""; at < len(patch); at += len(line) + 1 {
		line, _, _ = strings.Cut(patch[at:], "\n")
		if strings.HasPrefix(line, "@@") {
			return patch[at:]
		}
	}
	return patch
}

// diffColours colours the lines of unified differences in a text: those from a line
// that begins with @@ on.
func diffColours(text string) string {
	lines := strings.Split(text, "\n")
	within := false
	for n, line := range lines {
		trimmed := strings.TrimLeft(line, " ")
		s := styleOfDiff(trimmed)
		switch {
		case strings.HasPrefix(trimmed, "@@ "):
			within = true
		case line == "" || (s == "" && len(line) == len(trimmed)):
			within = false
		}
		if within {
			lines[n] = paint(s, line)
		}
	}
	return strings.Join(lines, "\n")
}
