package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"go.lsp.dev/jsonrpc2"
	"golang.org/x/term"
	"golang.org/x/text/width"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// terminal asks the person who sits at it (spec 4.3). One question is open at a
// time: the daemon sees to that. What is typed while none is open goes to who
// takes lines, if somebody does: a prompt, or a run that is steered.
//
// Only what is typed while a question is open answers it. What was typed before
// is no answer, since nobody can agree to what they have not read: whole lines
// of it go where lines go, the rest is dropped.
//
// A question takes three steps: listen opens it, the caller prints it, and await waits
// for the answer and closes it. listen is first, so that an answer counts which is typed
// as soon as the question can be read. One goroutine reads for the whole process (read).
// On Linux it waits for input without taking it; elsewhere it waits in a read, which may
// take a line that was meant for an editor.
type terminal struct {
	// Questions go to out, which is standard error, and answers come from in.
	out io.Writer
	in  *os.File
	// there says that somebody can answer: in is a terminal, no pipe and no file. Where it
	// is false nothing is asked.
	there bool
	// unanswered is set when a call was refused, since nobody is there to answer, or the
	// folder is not trusted. It decides between the exit codes 0 and 3.
	unanswered atomic.Bool
	// ready starts the goroutine of read, with the first question or the first line that
	// is wanted.
	ready sync.Once
	// wake starts the goroutine of read again when somebody wants what is typed. It has
	// room for one, so that nobody waits to send.
	wake chan struct{}

	editor []string // the person's own, with its arguments; empty = none

	// mu guards held, open, lines and typed.
	mu sync.Mutex
	// held says that what is typed is the editor's, which runs on the same terminal.
	held bool
	// open takes the answer to the question that is open; nil where none is.
	open chan reply
	// lines takes lines while no question is open; nil where nobody does.
	lines chan reply
	// typed is what was typed and is no whole line yet.
	typed []byte

	// answer, where it is set, answers in the person's place: the demo without a
	// terminal, and --deny.
	answer func(p *wire.ConfirmParams) (outcome, why string)
}

// reply is what was typed, without its line end; ok is false for the end of the
// input. What was pasted may have several lines.
type reply struct {
	line string
	more []string // what came together with it, and is to be taken after it
	ok   bool
	err  error // why the input has ended; nil at its end
}

// newTerminal returns the terminal at which a command can ask. It reads nothing before the
// first question, so that what is on standard input stays for whoever reads it else.
func newTerminal(std streams) *terminal {
	return &terminal{
		out: std.err, in: std.in, there: term.IsTerminal(int(std.in.Fd())), wake: make(chan struct{}, 1),
		editor: strings.Fields(cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"))),
	}
}

// listen opens a question, whose answer comes on the channel. Call it when the question
// can be read, and await afterwards. What was typed before cannot answer it: whole lines
// go where lines go, and the rest is dropped, also from the terminal's own buffer.
func (t *terminal) listen() chan reply {
	t.ready.Do(func() { go t.read() })
	t.mu.Lock()
	defer t.mu.Unlock()
	// Lines that were typed before go where lines go, so they are taken before the
	// question is open.
	if t.lines != nil {
		t.drain()
	}
	t.open, t.typed = make(chan reply, 1), nil
	flushInput(int(t.in.Fd()))
	t.rouse()
	return t.open
}

// follow has the lines that are typed while no question is open sent on the
// channel, until the input ends: a reply that is not ok is the last. A line is
// dropped when maxAhead wait.
func (t *terminal) follow() <-chan reply {
	t.ready.Do(func() { go t.read() })
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = make(chan reply, maxAhead+1) // one more for the end
	t.rouse()
	return t.lines
}

// linesOf sends the lines of a pipe, one when somebody takes it, and then that it has
// ended. Its goroutine ends then or with ctx, unless a read of the pipe waits: that lasts
// as long as the process.
func linesOf(ctx context.Context, in *os.File) <-chan reply {
	// Without room, so that a line is read only when it is wanted.
	lines := make(chan reply)
	go func() {
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, maxPrompt)
		for ok := true; ok; {
			ok = scanner.Scan()
			r := reply{line: scanner.Text(), ok: ok}
			if err := scanner.Err(); err != nil {
				r.err = fmt.Errorf("the next line cannot be read (%w); a request has at most %d bytes", err, maxPrompt)
			}
			select {
			case lines <- r:
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

// maxAhead is how many lines wait that nobody has taken.
const maxAhead = 100

// rouse has read look again at whether somebody wants what is typed. It never waits.
func (t *terminal) rouse() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// await waits for the answer to a question or for ctx, and closes the question. ok is
// false for the end of the input and of ctx. The answer has no blanks at its ends.
func (t *terminal) await(ctx context.Context, answer chan reply) (string, bool) {
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		// Another question may be open by now.
		if t.open == answer {
			t.open = nil
		}
	}()
	select {
	case r := <-answer:
		return strings.TrimSpace(r.line), r.ok
	case <-ctx.Done():
		return "", false
	}
}

// read reads while somebody wants what is typed. It lasts as long as the
// process: nothing ends a read from a terminal.
func (t *terminal) read() {
	buf := make([]byte, 4096)
	for range t.wake {
		for t.listening() {
			t.next(buf)
		}
	}
}

// listening reports whether somebody wants what is typed.
func (t *terminal) listening() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.held && (t.open != nil || t.lines != nil)
}

// take hands what was typed to the question that is open, else to who takes lines. The
// read that brought it may have begun with a question that is closed by now. end says that
// the input has ended. t.mu is held, and nothing here waits: both channels have room.
// With an open question only its first line counts; without one all whole lines are
// handed on together.
func (t *terminal) take(data []byte, end bool) {
	switch {
	case t.open != nil:
		t.typed = append(t.typed, data...)
		line, _, whole := bytes.Cut(t.typed, []byte("\n"))
		if !whole && !end {
			return
		}
		// What was typed behind the line is dropped: it may be for a question that nobody
		// has read yet.
		t.open <- reply{line: string(line), ok: whole}
		t.open, t.typed = nil, nil
	case t.lines != nil:
		t.typed = append(t.typed, data...)
		if n := bytes.LastIndexByte(t.typed, '\n'); n >= 0 {
			if len(t.lines) < maxAhead {
				all := requests(string(t.typed[:n]))
				t.lines <- reply{line: all[0], more: all[1:], ok: true}
			}
			t.typed = append([]byte(nil), t.typed[n+1:]...)
		}
		if end {
			t.lines <- reply{}
			t.lines, t.typed = nil, nil
		}
	}
}

// requests takes lines that came together apart: a command is a line of its own,
// and what stands between two commands is one request. There is one at least.
func requests(text string) (all []string) {
	joins := false // the last request goes on
	for line := range strings.SplitSeq(text, "\n") {
		command := isCommand(strings.TrimSpace(line))
		switch {
		case joins && !command:
			all[len(all)-1] += "\n" + line
			continue
		case len(all) > 0 && strings.TrimSpace(line) == "":
			continue
		}
		all, joins = append(all, line), !command
	}
	return all
}

// keys are what a person types to answer a question about a call; anything else is no.
// outcome is that of the wire. The chat has the same answers in a list of its own
// (answers).
var keys = []struct {
	key, word, outcome, says string
	holds                    bool // for more than one call
}{
	{"y", "yes", "once", "once", false}, {"r", "run", "run", "this run", true},
	{"s", "session", "session", "this session", true},
	{"a", "always", "always", "always in this folder", true}, {"e", "edit", "modify", "edit", false},
}

// screenLines returns how many lines of the screen a text takes, and whether that is more
// than it has: its beginning is out of sight then, and a person would agree to what they
// have not read. Where the size is not known it reports no.
func (t *terminal) screenLines(text string) (lines int, more bool) {
	columns, height, err := term.GetSize(int(t.in.Fd()))
	if err != nil || columns < 1 || height < 1 {
		return 0, false
	}
	lines = rows(text, columns)
	const below = 3 // the question itself
	return lines, lines > height-below
}

// rows returns how many lines a text takes on a screen that is so many columns
// wide. A character without width counts as one column: rather too many lines.
func rows(text string, columns int) int {
	n := 0
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		n++
		at := 0
		for _, r := range line {
			wide := 1
			switch kind := width.LookupRune(r).Kind(); {
			case r == '\t':
				wide = 8 - at%8
			case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
				wide = 2
			}
			if at+wide > columns && at > 0 {
				n++
				at = 0
			}
			at += wide
		}
	}
	return n
}

// feedback is what a person said with a no, for the agent: the line without a no at its
// beginning. One word alone is no reason but a key that was not offered.
func feedback(line string) string {
	if reason, no := cutNo(line); no {
		return reason
	}
	if !strings.Contains(line, " ") {
		return ""
	}
	return line
}

// cutNo returns what follows a no at the beginning of a line. found is false for another
// word that begins so, as "nothing".
func cutNo(line string) (reason string, found bool) {
	for _, no := range []string{"no", "n"} {
		rest, ok := cutPrefixFold(line, no)
		if ok && (rest == "" || strings.ContainsAny(rest[:1], " ,.:;")) {
			return strings.TrimLeft(rest, " ,.:;"), true
		}
	}
	return "", false
}

// unclear reports whether a line that allows nothing may not have been meant as a refusal:
// a yes with more words, or a question.
func unclear(line string) bool {
	if _, no := cutNo(line); no {
		return false
	}
	_, yes := cutPrefixFold(line, "y")
	return yes || strings.HasSuffix(strings.TrimSpace(line), "?")
}

// cutPrefixFold is [strings.CutPrefix] that takes letters of either case.
func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// confirm asks about a call. Anything but one of the keys offered is no, and told to the
// agent as the reason; a line that reads like a yes or a question is asked about again,
// since it may not have been meant as a no. Without a terminal it answers that there is no
// such method, by which the daemon knows that nobody can be asked, and remembers that for
// the exit code.
func (t *terminal) confirm(ctx context.Context, p *wire.ConfirmParams) (*wire.ConfirmResult, error) {
	fmt.Fprintf(t.out, "\n%s\n", strings.TrimRight(p.Message, "\n"))
	// The question is shown also where nobody needs to be asked.
	if t.answer != nil {
		if outcome, why := t.answer(p); outcome != "" {
			fmt.Fprintf(t.out, "→ %s\n", why)
			return &wire.ConfirmResult{Outcome: outcome}, nil
		}
	}
	if !t.there {
		fmt.Fprintln(t.out, "→ no: there is no terminal to ask on; "+withoutQuestion(p.Risk))
		t.unanswered.Store(true)
		return nil, jsonrpc2.ErrMethodNotFound
	}
	if lines, more := t.screenLines(p.Message); more {
		fmt.Fprintf(t.out, "(%d lines, of which the first have left the screen: scroll up. They begin: %s)\n", lines,
			p.Title)
	}
	var offers, longer []string
	for _, k := range keys {
		if slices.ContainsFunc(p.Options, func(o wire.Option) bool { return o.Kind == k.outcome }) {
			offers = append(offers, fmt.Sprintf("%s = %s", k.key, k.says))
			if p.Prefix != "" && k.holds {
				longer = append(longer, k.key+"*")
			}
		}
	}
	if len(longer) > 0 {
		offers = append(offers, fmt.Sprintf("%s = the same for all that begins %s",
			strings.Join(longer, " "), p.Prefix))
	}
	for {
		// Before the last line: who answers as soon as it is there is not dropped.
		answer := t.listen()
		fmt.Fprintf(t.out, "Allow? %s, n = no, or say why not: ", strings.Join(offers, ", "))
		line, ok := t.await(ctx, answer)
		outcome, prefix := "reject", false
		for _, k := range keys {
			word, star := strings.CutSuffix(line, "*")
			if ok && (strings.EqualFold(word, k.key) || strings.EqualFold(word, k.word)) &&
				(!star || slices.Contains(longer, k.key+"*")) {
				outcome, prefix = k.outcome, star // what was not offered the daemon does not take
			}
		}
		var changed *wire.ConfirmResult
		edits := outcome == "modify" && slices.ContainsFunc(p.Options,
			func(o wire.Option) bool { return o.Kind == outcome })
		// Where nothing was changed, edit has said why, and the question comes again.
		if ctx.Err() == nil && edits {
			changed = t.edit(ctx, p)
		}
		switch {
		case ctx.Err() != nil:
			fmt.Fprintln(t.out, "(withdrawn)")
			return nil, ctx.Err()
		case changed != nil:
			return changed, nil
		case outcome == "modify" && !edits:
			return &wire.ConfirmResult{Outcome: "reject"}, nil
		case ok && outcome == "reject" && unclear(line):
			fmt.Fprintln(t.out, "That is neither yes nor no: to refuse it, type n, or no and why.")
		case outcome == "reject":
			return &wire.ConfirmResult{Outcome: outcome, Feedback: feedback(line)}, nil
		case !edits:
			return &wire.ConfirmResult{Outcome: outcome, Prefix: prefix}, nil
		}
	}
}

// withoutQuestion says how a call with a risk, as the protocol has it, runs where nobody
// can be asked.
func withoutQuestion(risk string) string {
	switch risk {
	case "low":
		return "--approve edits lets changes of files run without a question"
	case "medium":
		return "--approve auto lets it run without a question"
	}
	return "no --approve lets it run without a question, so run it on a terminal"
}

// ask asks a question of an agent's. With choices it takes their numbers or their texts,
// until the answer is one of them. An empty answer, the end of the input and a missing
// terminal decline. Unlike confirm this does not change the exit code: the agent goes on
// without an answer.
func (t *terminal) ask(ctx context.Context, p *wire.AskParams) (*wire.AskResult, error) {
	if !t.there {
		return &wire.AskResult{Action: "decline"}, nil
	}
	fmt.Fprintf(t.out, "\n%s asks: %s\n", tool.Escape(p.Agent), strings.ReplaceAll(p.Message, "\n", "\n    "))
	for i, c := range p.Choices {
		fmt.Fprintf(t.out, "  %d %s\n", i+1, c)
	}
	for {
		answer := t.listen()
		fmt.Fprint(t.out, "> ")
		line, ok := t.await(ctx, answer)
		if ctx.Err() != nil {
			fmt.Fprintln(t.out, "(withdrawn)")
			return nil, ctx.Err()
		}
		if !ok || line == "" {
			return &wire.AskResult{Action: "decline"}, nil
		}
		if len(p.Choices) > 0 {
			// A number is the place of a choice, also where the choices are numbers.
			if n, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && n >= 1 && n <= len(p.Choices) {
				line = p.Choices[n-1]
			}
			if !slices.Contains(p.Choices, line) {
				fmt.Fprintf(t.out, "Type a number from 1 to %d, or only Enter to answer nothing.\n", len(p.Choices))
				continue
			}
		}
		content, err := wire.Codec{}.Marshal(line)
		return &wire.AskResult{Action: "accept", Content: content}, err
	}
}
