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

// text writes text of a run to out as it comes, also parts of a line. It escapes control
// characters, so callers pass the text as the model sent it.
func (t *timeline) text(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.status.clear(time.Now())
	defer t.interposeLocked()()
	_, _ = io.WriteString(t.out, chat.PlainText(s)) // who gave an output that may be closed looks after it
	t.midLine = !strings.HasSuffix(s, "\n")
}

// ask shows a prompt, which stands until endPrompt is called: what is told meanwhile is
// shown above it.
func (t *timeline) ask(prompt string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.newLineLocked()
	t.prompt = prompt
	_, _ = io.WriteString(t.err, prompt)
}

// endPrompt says that no prompt stands any more. ended says that what was typed has ended
// its line; else that is done here.
func (t *timeline) endPrompt(ended bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.prompt != "" && !ended {
		fmt.Fprintln(t.err)
	}
	t.prompt = ""
}

// interposeLocked ends the line of the prompt that stands, so that a line can be shown.
// The function that it returns shows the prompt again. t.mu is held for both.
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

// newLineLocked ends a line of text that was begun, so that the next thing stands on its
// own. t.mu is held.
func (t *timeline) newLineLocked() {
	if t.midLine {
		fmt.Fprintln(t.out)
		t.midLine = false
	}
}

// say tells something on err, in lines of its own. The caller escapes arguments that come
// from files, models or tools.
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
