package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"go.lsp.dev/jsonrpc2"
	"golang.org/x/term"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// terminal asks the person who sits at it (spec 4.3). One question is open at a
// time: the daemon sees to that.
//
// Only what is typed while a question is open answers it. What was typed before
// is dropped, since nobody can agree to what they have not read.
type terminal struct {
	out   io.Writer
	in    *os.File
	there bool // somebody can answer: in is a terminal, no pipe and no file
	ready sync.Once
	wake  chan struct{} // holds one when a question was opened

	mu    sync.Mutex
	open  chan reply // takes the answer to the question that is open; nil = none
	typed []byte     // what was typed since it was opened

	// answer, where it is set, answers in the person's place: the demo without a
	// terminal, and --deny.
	answer func(p *wire.ConfirmParams) (outcome, why string)
}

// reply is a line that was typed; ok is false for the end of the input.
type reply struct {
	line string
	ok   bool
}

func newTerminal(std streams) *terminal {
	return &terminal{out: std.err, in: std.in, there: term.IsTerminal(int(std.in.Fd())), wake: make(chan struct{}, 1)}
}

// listen opens a question, whose answer comes on the channel. Call it when the
// question can be read, and await afterwards.
func (t *terminal) listen() chan reply {
	t.ready.Do(func() { go t.read() })
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open, t.typed = make(chan reply, 1), nil
	flushInput(int(t.in.Fd()))
	select {
	case t.wake <- struct{}{}:
	default:
	}
	return t.open
}

// await waits for the answer to a question or for ctx, and closes the question.
func (t *terminal) await(ctx context.Context, answer chan reply) (string, bool) {
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
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

// read reads while a question is open. It lasts as long as the process: nothing
// ends a read from a terminal.
func (t *terminal) read() {
	buf := make([]byte, 4096)
	for range t.wake {
		for t.listening() {
			t.next(buf)
		}
	}
}

func (t *terminal) listening() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open != nil
}

// take hands what was typed to the question that is open. The read that brought
// it may have begun with a question that is closed by now. t.mu is held.
func (t *terminal) take(data []byte, end bool) {
	if t.open == nil {
		return
	}
	t.typed = append(t.typed, data...)
	line, _, whole := bytes.Cut(t.typed, []byte("\n"))
	if !whole && !end {
		return
	}
	t.open <- reply{string(line), whole}
	t.open = nil
}

// keys are what a person types, besides anything else, which is no.
var keys = []struct{ key, word, outcome, says string }{
	{"y", "yes", "once", "yes, once"}, {"r", "run", "run", "this run"}, {"s", "session", "session", "this session"},
}

// confirm asks about a call. Anything but one of the keys offered is no.
func (t *terminal) confirm(ctx context.Context, p *wire.ConfirmParams) (*wire.ConfirmResult, error) {
	fmt.Fprintf(t.out, "\n%s\n", strings.TrimRight(p.Message, "\n"))
	if t.answer != nil {
		if outcome, why := t.answer(p); outcome != "" {
			fmt.Fprintf(t.out, "→ %s\n", why)
			return &wire.ConfirmResult{Outcome: outcome}, nil
		}
	}
	if !t.there {
		fmt.Fprintln(t.out, "→ no: there is no terminal to ask on (--approve says what runs without asking)")
		return nil, jsonrpc2.ErrMethodNotFound
	}
	var offers []string
	for _, k := range keys {
		if slices.ContainsFunc(p.Options, func(o wire.Option) bool { return o.Kind == k.outcome }) {
			offers = append(offers, fmt.Sprintf("%s = %s", k.key, k.says))
		}
	}
	// Before the last line: who answers as soon as it is there is not dropped.
	answer := t.listen()
	fmt.Fprintf(t.out, "Allow? %s, anything else = no: ", strings.Join(offers, ", "))
	line, ok := t.await(ctx, answer)
	if ctx.Err() != nil {
		fmt.Fprintln(t.out, "(withdrawn)")
		return nil, ctx.Err()
	}
	if ok {
		for _, k := range keys {
			if strings.EqualFold(line, k.key) || strings.EqualFold(line, k.word) {
				return &wire.ConfirmResult{Outcome: k.outcome}, nil // what was not offered is no there
			}
		}
	}
	return &wire.ConfirmResult{Outcome: "reject"}, nil
}

// ask asks a question of an agent's.
func (t *terminal) ask(ctx context.Context, p *wire.AskParams) (*wire.AskResult, error) {
	if !t.there {
		return &wire.AskResult{Action: "cancel"}, nil
	}
	fmt.Fprintf(t.out, "\n%s asks: %s\n", tool.Escape(p.Agent), p.Message)
	for i, c := range p.Choices {
		fmt.Fprintf(t.out, "  %d %s\n", i+1, c)
	}
	answer := t.listen()
	fmt.Fprint(t.out, "> ")
	line, ok := t.await(ctx, answer)
	if !ok || line == "" {
		return &wire.AskResult{Action: "decline"}, nil
	}
	var n int
	if _, err := fmt.Sscanf(line, "%d", &n); err == nil && n >= 1 && n <= len(p.Choices) {
		line = p.Choices[n-1]
	}
	content, err := wire.Codec{}.Marshal(line)
	return &wire.AskResult{Action: "accept", Content: content}, err
}
