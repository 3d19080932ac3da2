package main

// The lines of a timeline on the terminal: what is told, and the prompt that stands
// below it.

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/agentls/agentls/internal/chat"
)

// text writes text of a run as it comes.
func (t *timeline) text(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.status.clear(time.Now())
	defer t.interposeLocked()()
	_, _ = io.WriteString(t.out, chat.PlainText(s)) // who gave an output that may be closed looks after it
	t.midLine = !strings.HasSuffix(s, "\n")
}

// ask shows a prompt, which stands until answered is called: what is told
// meanwhile is shown above it.
func (t *timeline) ask(prompt string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.newLineLocked()
	t.prompt = prompt
	_, _ = io.WriteString(t.err, prompt)
}

// endPrompt says that no prompt stands any more. Where its line is not ended, by
// what was typed, it is ended here.
func (t *timeline) endPrompt(ended bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.prompt != "" && !ended {
		fmt.Fprintln(t.err)
	}
	t.prompt = ""
}

// interposeLocked ends the line of the prompt that stands. The function that it
// returns shows the prompt again.
func (t *timeline) interposeLocked() (again func()) {
	if t.prompt == "" {
		return func() {}
	}
	fmt.Fprintln(t.err)
	return func() {
		t.newLineLocked()
		_, _ = io.WriteString(t.err, t.prompt)
	}
}

func (t *timeline) newLineLocked() {
	if t.midLine {
		fmt.Fprintln(t.out)
		t.midLine = false
	}
}

func (t *timeline) say(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.status.clear(time.Now())
	t.newLineLocked()
	defer t.interposeLocked()()
	fmt.Fprintf(t.err, format+"\n", args...)
}

// sayBelow is say for the answer to a key of a person's, which the terminal has
// shown where the cursor was.
func (t *timeline) sayBelow(format string, args ...any) {
	t.mu.Lock()
	if !t.midLine && t.prompt == "" {
		fmt.Fprintln(t.err)
	}
	t.mu.Unlock()
	t.say(format, args...)
}
