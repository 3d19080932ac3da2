package chat

import (
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/activity"
)

// asks opens a question with a text, and answers it.
func (s *stage) asks(body string) {
	s.t.Helper()
	q := s.c.Ask(0)
	answer := make(chan Chosen, 1)
	s.open(func() { answer <- q.Choose(s.t.Context(), body, "Allow this?", []Option{{Key: "y", Label: "Yes"}}) })
	s.later(settle)
	s.keys("y")
	<-answer
	q.Close()
	s.drain()
}

// TestAChangeThatWasAskedAboutIsShownOnce: what the person just read is folded; what
// was changed otherwise is shown.
func TestAChangeThatWasAskedAboutIsShownOnce(t *testing.T) {
	const patch = "--- a/a.ts\n+++ b/a.ts\n@@ -1,3 +1,3 @@\n \n-old\n+new\n same\n"
	s := newStage(t, Config{})
	for _, c := range []struct {
		body   string
		folded bool
	}{{"This changes a.ts:\n" + patch + "This run also allows: more", true}, {"This changes a.ts.", false}} {
		s.scrolled = nil
		edit := func(state activity.CallState) activity.ToolState {
			return call("1", "edit_file", `{"file_path":"a.ts"}`, state, "")
		}
		s.m.items, s.m.shown = nil, 0
		s.event(edit(activity.AwaitingApproval))
		s.asks(c.body)
		if c.folded && !strings.Contains(s.raw, paint(good, "+new")) {
			t.Errorf("what a question shows behind a blank line has no colours: %q", s.raw)
		}
		s.scrolled = nil
		s.event(edit(activity.Executing), activity.FileChanged{Call: "1", Change: activity.Change{URI: "file:///a.ts", Patch: patch}}, edit(activity.Success))
		text := s.text()
		if folded := !strings.Contains(text, "+new"); folded != c.folded || !strings.Contains(text, "✓ edit_file a.ts  +1 −1") {
			t.Errorf("asked with %q, it shows:\n%s", c.body, text)
		}
		s.keys("ctrl+o")
		s.shows("+new")
		s.keys("q")
	}
}

// TestWhatACallCameTo: a line stands beside the call if it fits, what printed nothing
// is not told twice, and the end of a task is no line of its own.
func TestWhatACallCameTo(t *testing.T) {
	s := newStage(t, Config{})
	s.event(call("1", "read_file", `{"file_path":"a.ts"}`, activity.Success, "Read 9 lines from a.ts"),
		call("2", "bash", `{"command":"sleep 9"}`, activity.Failed, "cancelled by user\nStdout: (empty)\nStderr: (empty)"),
		call("3", "complete_task", `{}`, activity.Success, "done"))
	want := "✓ read_file a.ts  Read 9 lines from a.ts\n✗ bash sleep 9\n  cancelled by user"
	if s.text() != want {
		t.Errorf("shown:\n%s\nwant:\n%s", s.text(), want)
	}
}

// TestWhyACallFailedThatChangedFiles: what it changed does not hide what went wrong.
func TestWhyACallFailedThatChangedFiles(t *testing.T) {
	s := newStage(t, Config{})
	s.event(call("1", "bash", `{"command":"make"}`, activity.Executing, ""),
		activity.FileChanged{Call: "1", Change: activity.Change{Patch: "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-old\n+new\n"}},
		call("1", "bash", `{"command":"make"}`, activity.Failed, "Exit code: 2\nStderr:\nno rule"))
	if text := s.text(); !strings.Contains(text, "no rule") || !strings.Contains(text, "+new") {
		t.Errorf("shown:\n%s", text)
	}
}

// TestTheLastColumnStaysFree: a terminal clears the last letter of a line that is full
// when it is told to clear the rest of it.
func TestTheLastColumnStaysFree(t *testing.T) {
	s := newStage(t, Config{})
	s.c.Output(strings.Repeat("x", 200))
	s.c.Note(strings.Repeat("y", 200))
	s.event(activity.ContentDelta{Text: strings.Repeat("z", 200) + "\n\n"}, call("1", "bash", `{"command":"`+strings.Repeat("w", 200)+`"}`, activity.Success, ""))
	for _, line := range s.scrolled {
		if n := len([]rune(line)); n >= s.m.width {
			t.Errorf("%d of %d columns: %s", n, s.m.width, line)
		}
	}
}

// TestCallsThatWaitAreCounted, also those that come between the question and its step.
func TestCallsThatWaitAreCounted(t *testing.T) {
	s := newStage(t, Config{})
	waits := func(id string) activity.ToolState {
		return call(id, "write_file", `{"file_path":"`+id+`"}`, activity.AwaitingApproval, "")
	}
	s.event(waits("1"))
	q := s.c.Ask(0)
	s.event(waits("2"))
	answer := s.choice(q, Option{Key: "y", Label: "Yes"})
	s.shows("(1 more waiting)")
	s.event(waits("3"))
	s.shows("(2 more waiting)")
	s.later(settle)
	s.keys("y")
	<-answer
	again := s.choice(q, Option{Key: "y", Label: "Yes"})
	s.shows("(2 more waiting)") // of the same question
	s.keys("y")
	<-again
	q.Close()
}

// TestSEC80ASubjectIsEscaped: the name of a call that is no tool's is the model's.
func TestSEC80ASubjectIsEscaped(t *testing.T) {
	for _, args := range []string{`{}`, `{"command":"ls \u001b[2J"}`} {
		if s := Subject(call("1", "no\x1b[2J", args, activity.Failed, "")); strings.Contains(s, "\x1b") {
			t.Errorf("%q", s)
		}
	}
}
