package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"go.lsp.dev/jsonrpc2"
	"golang.org/x/sys/unix"

	"github.com/agentls/agentls/internal/wire"
)

// person sits at a pseudo-terminal and acts when a prompt is shown.
type person struct {
	keyboard *os.File
	shown    strings.Builder
	prompted func() // called when a prompt was written whole
	prompt   string // how one ends; "" = as those of calls and of agents do
}

// Write takes what the terminal shows.
func (p *person) Write(b []byte) (int, error) {
	p.shown.Write(b)
	if s := string(b); strings.HasSuffix(s, cmp.Or(p.prompt, "not: ")) || s == "> " {
		p.prompted()
	}
	return len(b), nil
}

func (p *person) types(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(p.keyboard, text); err != nil {
		t.Fatal(err)
	}
}

// seat opens a pseudo-terminal.
func seat(t *testing.T) (keyboard, screen *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { keyboard.Close() })
	if err := unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(keyboard.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 80}); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals here: %v", err)
	}
	return keyboard, screen
}

// sit opens a pseudo-terminal, and what asks on it.
func sit(t *testing.T) (*terminal, *person) {
	t.Helper()
	keyboard, screen := seat(t)
	p := &person{keyboard: keyboard}
	asks := newTerminal(streams{screen, io.Discard, p})
	if !asks.there {
		t.Fatal("a pseudo-terminal is no terminal")
	}
	return asks, p
}

var question = &wire.ConfirmParams{Message: "writer wants to run write_file a.txt", Options: []wire.Option{{Kind: "once"}, {Kind: "reject"}}}

// TestSEC80TypedAheadAnswersNothing: only what is typed after a question appeared
// answers it (spec 4.3).
func TestSEC80TypedAheadAnswersNothing(t *testing.T) {
	for _, ahead := range []string{"y\n", "y\ny\ny\n", "y\nye", "y\x04"} {
		asks, p := sit(t)
		p.prompted = func() { p.types(t, "n\n") }
		p.types(t, ahead)
		r, err := asks.confirm(t.Context(), question)
		if err != nil || r.Outcome != "reject" {
			t.Errorf("%q before the first question: %+v, %v", ahead, r, err)
		}
		p.types(t, ahead)
		if r, err = asks.confirm(t.Context(), question); err != nil || r.Outcome != "reject" {
			t.Errorf("%q between two questions: %+v, %v", ahead, r, err)
		}
		p.types(t, ahead)
		p.prompted = func() { p.types(t, "the blue one\n") }
		a, err := asks.ask(t.Context(), &wire.AskParams{Agent: "writer", Message: "Which?"})
		if err != nil || a.Action != "accept" || string(a.Content) != `"the blue one"` {
			t.Errorf("%q before a question of an agent's: %+v, %v", ahead, a, err)
		}
		p.prompted = func() { p.types(t, "y\n") }
		if r, err = asks.confirm(t.Context(), question); err != nil || r.Outcome != "once" {
			t.Errorf("y to the question: %+v, %v", r, err)
		}
	}
}

// TestAnUnclearAnswerIsAskedForAgain: a yes with more words and a question are no refusal
// with a reason, and allow nothing.
func TestAnUnclearAnswerIsAskedForAgain(t *testing.T) {
	for _, c := range []struct {
		typed []string
		want  string
	}{
		{[]string{"yes please\n", "y\n"}, "once "}, {[]string{"why not use range?\n", "no, use range\n"}, "reject use range"},
		{[]string{"n, why not use range?\n"}, "reject why not use range?"}, {[]string{"use range instead\n"}, "reject use range instead"},
	} {
		asks, p := sit(t)
		left := c.typed
		p.prompted = func() {
			p.types(t, left[0])
			left = left[1:]
		}
		r, err := asks.confirm(t.Context(), question)
		if err != nil || r.Outcome+" "+r.Feedback != c.want || len(left) > 0 {
			t.Errorf("%q: %+v, %v", c.typed, r, err)
		}
	}
}

// TestAChoiceIsOneOfThose: what is none of the choices is asked for again, and no answer.
func TestAChoiceIsOneOfThose(t *testing.T) {
	for _, c := range []struct {
		typed []string
		want  string
	}{
		{[]string{"y\n", "3\n", "2\n"}, `accept "blue"`}, {[]string{"red\n"}, `accept "red"`}, {[]string{"0\n", "\n"}, "decline "},
	} {
		asks, p := sit(t)
		left := c.typed
		p.prompted = func() {
			p.types(t, left[0])
			left = left[1:]
		}
		r, err := asks.ask(t.Context(), &wire.AskParams{Agent: "writer", Message: "Which?", Choices: []string{"red", "blue"}})
		if err != nil || r.Action+" "+string(r.Content) != c.want || len(left) > 0 {
			t.Errorf("%q: %+v, %v", c.typed, r, err)
		}
	}
}

// TestAnAnswerThatComesTooLateAnswersNothingElse: a line for a question that was
// withdrawn is not handed to the next.
func TestAnAnswerThatComesTooLateAnswersNothingElse(t *testing.T) {
	asks, p := sit(t)
	for range 50 {
		ctx, withdraw := context.WithCancel(t.Context())
		p.prompted = withdraw
		if r, err := asks.confirm(ctx, question); !errors.Is(err, context.Canceled) {
			t.Fatalf("a question that was withdrawn: %+v, %v", r, err)
		}
		p.types(t, "y\n")
		p.prompted = func() { p.types(t, "n\n") }
		if r, err := asks.confirm(t.Context(), question); err != nil || r.Outcome != "reject" {
			t.Fatalf("the next question: %+v, %v", r, err)
		}
	}
}

// TestNothingIsKeptWhileNothingIsAsked: where a read goes on after its question
// was withdrawn, what it brings is dropped.
func TestNothingIsKeptWhileNothingIsAsked(t *testing.T) {
	asks, p := sit(t)
	asks.take([]byte("y"), false)
	asks.take([]byte("\n"), false)
	asks.take([]byte("y"), false)
	p.prompted = func() { p.types(t, "\n") }
	if r, err := asks.confirm(t.Context(), question); err != nil || r.Outcome != "reject" {
		t.Errorf("the next question: %+v, %v", r, err)
	}
}

// TestTheEndOfInputIsNo, and of this question alone.
func TestTheEndOfInputIsNo(t *testing.T) {
	asks, p := sit(t)
	p.prompted = func() { p.types(t, "y\x04\x04") }
	if r, err := asks.confirm(t.Context(), question); err != nil || r.Outcome != "reject" {
		t.Errorf("y without a line end: %+v, %v", r, err)
	}
	p.prompted = func() { p.types(t, "yes\n") }
	if r, err := asks.confirm(t.Context(), question); err != nil || r.Outcome != "once" {
		t.Errorf("the next question: %+v, %v", r, err)
	}
}

// TestAPipeIsNobody: what comes from a pipe confirms nothing.
func TestAPipeIsNobody(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.WriteString(w, "y\ny\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	var shown strings.Builder
	asks := newTerminal(streams{r, io.Discard, &shown})
	if result, err := asks.confirm(t.Context(), question); err != jsonrpc2.ErrMethodNotFound || !strings.Contains(shown.String(), "there is no terminal to ask on") {
		t.Errorf("%+v, %v, %q", result, err, shown.String())
	}
}

// TestOnlyYesIsYes: another line than yes is no, and Enter what the question says.
func TestOnlyYesIsYes(t *testing.T) {
	for line, want := range map[string]bool{"y\n": true, "YES\n": true, "n\n": false, "sure\n": false, "the file is fine\n": false, "\n": true, "\x04": false} {
		asks, p := sit(t)
		p.prompted = func() { p.types(t, line) }
		p.prompt = "[Y/n] "
		if got := asks.yes(t.Context(), "Edit it again? [Y/n] ", true); got != want {
			t.Errorf("%q is %v", line, got)
		}
	}
}
