package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"golang.org/x/term"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/chat"
)

// status says on a terminal what runs, for how long, and tokens so far. It is guarded by
// the lock of its timeline. A nil status shows nothing; only clear may be called on it.
//
// Where nobody types, it is a line that is drawn again and again below all others. Under a
// prompt that would wipe out what is being typed: there it is a line of its own, at first
// after quietFirst without any other and then ever more rarely.
type status struct {
	out    io.Writer
	width  func() int // of the terminal, in columns
	plain  bool       // no colour
	prompt bool       // somebody may be typing

	runs bool // a run goes on
	// held is how many questions are open: the screen is theirs, and nothing is drawn.
	held int
	// drawn says that the line is on the screen and has to be wiped before anything else
	// is shown.
	drawn bool
	began time.Time
	agent string
	// doing is what the newest event told; "" is shown as starting.
	doing string
	// tokens counts those of the run and of the runs that it has started.
	tokens int
	// quiet is when something else was shown last.
	quiet time.Time
	// patient is how long it must be quiet under a prompt before the next line. It doubles
	// with each, up to quietMost.
	patient time.Duration
}

const (
	// How often the status is drawn, and from when on. The last two are for a terminal at
	// which somebody types: how long it must be quiet there before a line, at first and
	// at most.
	statusEvery = 250 * time.Millisecond
	statusFirst = time.Second // a run that is faster needs no status
	quietFirst  = 10 * time.Second
	quietMost   = time.Minute
)

// newStatus returns what says on err how a run goes on; nil where err is no terminal that
// can show it. prompt says that somebody may be typing there.
func newStatus(err io.Writer, prompt bool) *status {
	f, ok := err.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return &status{out: f, plain: os.Getenv("NO_COLOR") != "", prompt: prompt, width: func() int {
		width, _, err := term.GetSize(int(f.Fd()))
		if err != nil || width <= 0 {
			return 80
		}
		return width
	}}
}

// begin says that a run of an agent begins: all counts start anew.
func (s *status) begin(agent string, now time.Time) {
	s.runs, s.began, s.quiet, s.agent, s.doing, s.tokens, s.patient = true, now, now, agent, "", 0, quietFirst
}

// take takes an event in; who made it is "" for the run that the person started. Of runs
// that this run has started only tokens and calls count.
func (s *status) take(who string, e activity.Body) {
	if who != "" { // of several at once the newest call is shown
		switch b := e.(type) {
		case activity.ModelFinished:
			s.tokens += b.Usage.TotalTokens
		case activity.ToolState:
			if b.State == activity.Executing {
				s.doing = who + ": " + chat.Subject(b)
			}
		}
		return
	}
	switch b := e.(type) {
	case activity.ModelStarted:
		s.doing = "thinking"
	case activity.ContentDelta:
		s.doing = "answering"
	case activity.ModelFinished:
		s.tokens += b.Usage.TotalTokens
	case activity.ToolState:
		if b.State == activity.Executing {
			s.doing = chat.Subject(b)
		}
	case activity.Retry:
		s.doing = "trying again: " + tool.Escape(b.Cause)
	}
}

// line is what is shown: "fixer · bash go test ./... · 1:05 · 12k tokens".
func (s *status) line(now time.Time) string {
	parts := []string{tool.Escape(s.agent), cmp.Or(s.doing, "starting"), chat.Clock(now.Sub(s.began))}
	if s.tokens > 0 {
		parts = append(parts, tool.Tokens(s.tokens)+" tokens")
	}
	return strings.Join(parts, " · ")
}

// clear takes the line away, before anything else is shown. It may be called on nil.
func (s *status) clear(now time.Time) {
	if s == nil {
		return
	}
	s.quiet = now
	if s.drawn {
		// The cursor goes to the first column, and the line is erased.
		_, _ = io.WriteString(s.out, "\r\x1b[2K")
		s.drawn = false
	}
}

// tick shows the line where it is time to. midLine says that the last line of
// the terminal is not whole.
func (s *status) tick(now time.Time, midLine bool) {
	switch {
	case !s.runs || s.held > 0 || midLine:
	case s.prompt:
		if now.Sub(s.quiet) >= s.patient {
			// Each line pushes the prompt up, so they come ever more rarely.
			s.quiet, s.patient = now, min(2*s.patient, quietMost)
			fmt.Fprintf(s.out, "  … %s\n", fit(s.line(now), s.width()-5))
		}
	case now.Sub(s.began) >= statusFirst:
		line := fit(s.line(now), s.width()-1) // the last column would wrap the cursor
		if !s.plain {
			line = "\x1b[2m" + line + "\x1b[0m"
		}
		_, _ = io.WriteString(s.out, "\r\x1b[2K"+line)
		s.drawn = true
	}
}

// fit cuts a line to so many columns of a terminal, with … at its end where something is
// cut. It expects no control characters.
func fit(line string, columns int) string {
	at, last := 0, 0 // columns; where the text ends that leaves room for a …
	for i, r := range line {
		w := 1
		if wide(r) {
			w = 2
		}
		if at+w > columns {
			return line[:last] + "…"
		}
		at += w
		if at < columns {
			last = i + len(string(r))
		}
	}
	return line
}

// wide reports whether a terminal shows a character in two columns: the scripts
// of East Asia and pictures.
func wide(r rune) bool {
	return (r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana)) ||
		(r >= 0x3000 && r <= 0x303E) || (r >= 0xFF01 && r <= 0xFF60) || (r >= 0x1F300 && r <= 0x1FAFF)
}
