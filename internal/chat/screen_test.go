package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
)

// stage is a screen without a terminal, and what was done at it.
type stage struct {
	t         *testing.T
	m         *screen
	c         *Chat
	scrolled  []string // lines that have scrolled by, without styles
	raw       string   // the same, with styles
	submitted []string
	pressed   []string // interrupt, leave
	clock     time.Time
}

func newStage(t *testing.T, config Config) *stage {
	t.Helper()
	s := &stage{t: t, clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	config.Submit = func(text string) { s.submitted = append(s.submitted, text) }
	config.Interrupt = func() { s.pressed = append(s.pressed, "interrupt") }
	config.Leave = func() { s.pressed = append(s.pressed, "leave") }
	s.c = New(config)
	s.m = newModel(s.c)
	s.m.now = func() time.Time { return s.clock }
	s.m.print = func(text string) tea.Cmd {
		s.raw += text + "\n"
		s.scrolled = append(s.scrolled, strings.Split(ansi.Strip(text), "\n")...)
		return nil
	}
	s.m.Init()
	s.send(tea.WindowSizeMsg{Width: 60, Height: 24})
	return s
}

// send has the screen take a message, and all that was printed be done.
func (s *stage) send(msg tea.Msg) {
	s.t.Helper()
	s.m.Update(msg)
	for s.m.printed {
		s.m.Update(printedMsg{})
	}
}

// drain has the screen take what the chat was told.
func (s *stage) drain() {
	s.t.Helper()
	s.c.mu.Lock()
	all := s.c.queue
	s.c.queue = nil
	s.c.mu.Unlock()
	s.send(drainMsg{all})
}

func (s *stage) event(bodies ...activity.Body) {
	s.t.Helper()
	for _, b := range bodies {
		s.c.Event(Event{Run: "r1", Agent: "main", Body: b})
	}
	s.drain()
}

// later lets time pass, and tells the screen.
func (s *stage) later(d time.Duration) {
	s.t.Helper()
	s.clock = s.clock.Add(d)
	s.send(tickMsg(s.clock))
}

// keys presses keys by name; what is none is typed.
func (s *stage) keys(names ...string) {
	s.t.Helper()
	known := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "tab": {Code: tea.KeyTab},
		"backspace": {Code: tea.KeyBackspace}, "alt+enter": {Code: tea.KeyEnter, Mod: tea.ModAlt}, "ctrl+c": {Code: 'c', Mod: tea.ModCtrl},
		"ctrl+d": {Code: 'd', Mod: tea.ModCtrl}, "ctrl+o": {Code: 'o', Mod: tea.ModCtrl}, "ctrl+s": {Code: 's', Mod: tea.ModCtrl},
		"ctrl+r": {Code: 'r', Mod: tea.ModCtrl}, "ctrl+w": {Code: 'w', Mod: tea.ModCtrl}, "alt+b": {Code: 'b', Mod: tea.ModAlt}, "q": {Code: 'q', Text: "q"},
	}
	for _, name := range names {
		if k, ok := known[name]; ok {
			s.send(k)
			continue
		}
		for _, r := range name {
			s.send(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
}

// live returns what stands below that which scrolls by, without styles.
func (s *stage) live() string { return ansi.Strip(s.m.View().Content) }

func (s *stage) shows(want ...string) {
	s.t.Helper()
	for _, w := range want {
		if !strings.Contains(s.live(), w) {
			s.t.Errorf("%q is not on the screen:\n%s", w, s.live())
		}
	}
}

func (s *stage) text() string { return strings.Join(s.scrolled, "\n") }

func call(id, name, args string, state activity.CallState, display string) activity.ToolState {
	b := activity.ToolState{Call: id, Name: name, Args: json.RawMessage(args), State: state}
	switch state {
	case activity.Success:
		b.Result = &activity.ToolResult{Display: display}
	case activity.Failed:
		b.Error = &activity.ToolError{Message: display}
	}
	return b
}

// TestAConversation: what was said and done scrolls by in its order, an answer as
// soon as its blocks are whole, and what goes on stands below.
func TestAConversation(t *testing.T) {
	s := newStage(t, Config{})
	s.keys("fix it", "enter")
	if !slices.Equal(s.submitted, []string{"fix it"}) {
		t.Fatalf("submitted %q", s.submitted)
	}
	s.c.SetBusy(true)
	s.event(activity.RunStarted{Model: "m-1", Approval: "ask"}, activity.ThoughtDelta{Subject: "Planning", Text: "Look first."}, activity.ContentDelta{Text: "# Plan\n\nI look at **a.ts"})
	if strings.Contains(s.text(), "I look") || !strings.Contains(s.text(), "# Plan") {
		t.Errorf("scrolled by before the answer was whole:\n%s", s.text())
	}
	s.shows("I look at **a.ts", "answering", "Esc stops it", "main · m-1 · mode ask")
	s.event(activity.ContentDelta{Text: "**.\n"}, activity.ModelFinished{Model: "m-1", Usage: model.Usage{TotalTokens: 1500}},
		call("1", "bash", `{"command":"go test"}`, activity.Executing, ""), activity.ToolDelta{Call: "1", Text: "one\ntwo\nthree"})
	s.later(3 * time.Second)
	s.shows("bash go test  3s", "  three", "running bash", "1.5k tokens")
	if strings.Contains(s.live(), "two") {
		t.Errorf("more than the last line of the output is shown:\n%s", s.live())
	}
	s.event(call("1", "bash", `{"command":"go test"}`, activity.Success, "```\nExit code: 0\nStdout:\na\nb\nc\nd\ne\nf\n\nStderr: (empty)\n```"),
		call("2", "edit_file", `{"file_path":"a.ts"}`, activity.Executing, ""),
		activity.FileChanged{Call: "2", Change: activity.Change{URI: "file:///a.ts", Patch: "--- a/a.ts\n+++ b/a.ts\n@@ -1,2 +1,2 @@\n-old\n+new\n same\n"}},
		call("2", "edit_file", `{"file_path":"a.ts"}`, activity.Success, "Edited"),
		activity.ContentDelta{Text: "Done."}, activity.RunFinished{Reason: activity.Goal, Cost: &activity.Cost{Amount: 0.25}})
	s.c.SetBusy(false)
	s.drain()
	want := `› fix it

∴ Planning …

# Plan

I look at a.ts.

✓ bash go test  3s
  a
  b
  c
  d
  … 2 more lines, Ctrl-O shows them
✓ edit_file a.ts  +1 −1
  @@ -1,2 +1,2 @@
  -old
  +new
   same

Done.`
	if s.text() != want {
		t.Errorf("scrolled by:\n%s\n\nwant:\n%s", s.text(), want)
	}
	s.shows("$0.25")
	s.keys("ctrl+o")
	s.shows("  f", "Look first.", "q goes back")
	s.keys("q")
	if strings.Contains(s.live(), "Look first.") {
		t.Error("q does not leave what was unfolded")
	}
}

// choice opens a question, and returns where its answer comes.
func (s *stage) choice(q *Question, options ...Option) chan Chosen {
	answer := make(chan Chosen, 1)
	s.open(func() { answer <- q.Choose(context.Background(), "This changes a.ts.", "Allow this?", options) })
	return answer
}

// open asks something, and has the screen take the question.
func (s *stage) open(ask func()) {
	s.t.Helper()
	before := s.m.dialog
	go ask()
	deadline := time.Now().Add(30 * time.Second)
	for s.m.dialog == before || s.m.dialog == nil {
		if time.Now().After(deadline) {
			s.t.Fatal("the question does not come")
		}
		select {
		case <-s.c.wake:
			s.drain()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// TestSEC80AQuestionHasTheScreen: nothing else is shown while one is open, what was
// being typed is no answer, and one key is one.
func TestSEC80AQuestionHasTheScreen(t *testing.T) {
	s := newStage(t, Config{})
	s.c.SetBusy(true)
	q := s.c.Ask(2)
	answer := s.choice(q, Option{Key: "y", Label: "Yes, once"}, Option{Key: "n", Label: "No"})
	s.shows("Allow this?  (2 more waiting)", "❯ y  Yes, once", "  n  No")
	if !strings.Contains(s.text(), "▌ This changes a.ts.") {
		t.Errorf("what is asked about did not scroll by:\n%s", s.text())
	}
	s.keys("y", "enter") // the person was typing
	if len(answer) > 0 || s.m.dialog == nil || s.m.input.Value() != "y" {
		t.Fatalf("what was being typed has answered, or is lost: %q", s.m.input.Value())
	}
	s.event(activity.Note{}, activity.ContentDelta{Text: "Meanwhile."})
	s.c.Note("another agent")
	s.drain()
	if strings.Contains(s.text()+s.live(), "Meanwhile") || strings.Contains(s.text(), "another agent") {
		t.Errorf("something is shown beside a question:\n%s", s.text())
	}
	s.later(settle)
	s.shows("↑ ↓ and Enter")
	s.keys("x", "down", "up", "y")
	if got := <-answer; got != "y" {
		t.Errorf("answered %q", got)
	}
	if strings.Contains(s.text()+s.live(), "Meanwhile") {
		t.Errorf("something is shown before the question was closed:\n%s", s.text())
	}
	q.Close()
	s.drain()
	if !strings.Contains(s.text(), "another agent") {
		t.Errorf("what was held is lost:\n%s", s.text())
	}
	s.shows("Meanwhile.")
}

// TestQuestionsWait: one is open at a time, and Ctrl-C refuses it and stops the run.
func TestQuestionsWait(t *testing.T) {
	s := newStage(t, Config{})
	s.c.SetBusy(true)
	first := s.c.Ask(0)
	second := make(chan *Question)
	go func() { second <- s.c.Ask(0) }()
	deadline := time.Now().Add(30 * time.Second)
	for s.c.count(0) == 0 {
		if time.Now().After(deadline) {
			t.Fatal("the second question does not wait")
		}
	}
	answer := s.choice(first, Option{Key: "y", Label: "Yes"})
	s.shows("(1 more waiting)")
	s.keys("ctrl+c")
	if got := <-answer; got != Cancelled || !slices.Equal(s.pressed, []string{"interrupt"}) {
		t.Errorf("answered %q, pressed %q", got, s.pressed)
	}
	first.Close()
	q := <-second
	go func() { answer <- q.Choose(t.Context(), "", "And this?", []Option{{Key: "y", Label: "Yes"}}) }()
	for deadline := time.Now().Add(30 * time.Second); len(answer) == 0; s.drain() {
		if time.Now().After(deadline) {
			t.Fatal("a run that was told to end still asks")
		}
	}
	if got := <-answer; got != Cancelled || strings.Contains(s.text(), "And this?") {
		t.Errorf("the question of a run that was told to end is answered %q:\n%s", got, s.text())
	}
	q.Close()
	s.c.SetBusy(false)
	s.drain()
	q = s.c.Ask(0)
	withdrawn := make(chan Chosen, 1)
	ctx, cancel := context.WithCancel(t.Context())
	s.open(func() { withdrawn <- q.Choose(ctx, "", "And this?", []Option{{Key: "y", Label: "Yes"}}) })
	cancel()
	if got := <-withdrawn; got != Dismissed {
		t.Errorf("a question that was withdrawn is answered %q", got)
	}
	s.drain()
	if s.m.dialog != nil {
		t.Error("a question that was withdrawn is on the screen")
	}
	q.Close()
}

// TestATextIsEditedInPlace, and a long list is searched.
func TestATextIsEditedInPlace(t *testing.T) {
	s := newStage(t, Config{})
	q := s.c.Pick()
	type changed struct {
		text string
		ok   bool
	}
	edited := make(chan changed, 1)
	s.open(func() {
		text, ok := q.Edit(t.Context(), "The command instead", "rm -r x")
		edited <- changed{text, ok}
	})
	s.keys("echo ", "ctrl+s")
	if got := <-edited; got != (changed{"echo rm -r x", true}) {
		t.Errorf("edited: %v", got)
	}
	var options []Option
	for n := range 30 {
		options = append(options, Option{Label: fmt.Sprintf("session-%d", n)})
	}
	picked := make(chan int, 1)
	s.open(func() { picked <- q.Pick(t.Context(), "", "Go to", options) })
	s.keys("sion-27", "enter")
	if got := <-picked; got != 27 {
		t.Errorf("picked %d", got)
	}
	s.open(func() { picked <- q.Pick(t.Context(), "", "Go to", options) })
	s.shows("❯ 1  session-0", "9  session-8", "   session-9")
	s.keys("3")
	if got := <-picked; got != 2 {
		t.Errorf("picked %d", got)
	}
	s.open(func() {
		picked <- q.Pick(t.Context(), "", "Bring files back, too?", []Option{{Label: "Yes"}, {Label: "No"}})
	})
	s.shows("❯ 1  Yes", "2  No")
	s.keys("2")
	if got := <-picked; got != 1 {
		t.Errorf("picked %d", got)
	}
	var same []Option
	for range 12 {
		same = append(same, Option{Label: "continue"})
	}
	s.open(func() { picked <- q.Pick(t.Context(), "", "Go back to before", same) })
	s.keys("up", "enter")
	if got := <-picked; got != 11 {
		t.Errorf("of options that read the same it picked %d", got)
	}
	s.open(func() { picked <- q.Pick(t.Context(), "", "Go to", options) })
	s.keys("ctrl+c") // nothing runs that it could stop
	if got := <-picked; got != -1 || len(s.pressed) > 0 {
		t.Errorf("picked %d, pressed %q", got, s.pressed)
	}
	q.Close()
}

// TestTyping: what the keys do to the line that is typed.
func TestTyping(t *testing.T) {
	s := newStage(t, Config{History: []string{"make the tests pass", "look at b"}})
	value := func(want string) {
		t.Helper()
		if got := s.m.input.Value(); got != want {
			t.Errorf("typed is %q, want %q", got, want)
		}
	}
	s.keys("up")
	value("look at b")
	s.keys("up")
	value("make the tests pass")
	s.keys("down", "down")
	value("")
	s.keys("tests", "ctrl+r")
	value("make the tests pass")
	s.keys("ctrl+c")
	value("")
	s.keys("one two", "alt+b", "x")
	value("one xtwo")
	s.keys("ctrl+w", "y")
	value("one ytwo")
	s.keys("ctrl+c", "first\\", "enter", "second", "alt+enter", "third", "enter")
	s.send(tea.PasteMsg{Content: "pasted\r\nlines"})
	value("pasted\nlines")
	s.keys("enter")
	if want := []string{"first\nsecond\nthird", "pasted\nlines"}; !slices.Equal(s.submitted, want) {
		t.Errorf("submitted %q, want %q", s.submitted, want)
	}
	s.keys("ctrl+d")
	s.c.SetBusy(true)
	s.drain()
	s.keys("esc", "esc") // the second stops nothing more, and does not leave
	if want := []string{"leave", "interrupt"}; !slices.Equal(s.pressed, want) {
		t.Errorf("pressed %q, want %q", s.pressed, want)
	}
	s.shows("stopping")
}

// TestCompletion: a command, and an agent or a file within a text.
func TestCompletion(t *testing.T) {
	offers := map[string][]Completion{
		"/mo": {{"/model", "the model"}, {"/mode", "the mode"}}, "@sr": {{"@src/app.ts", ""}, {"@srv", "agent"}},
	}
	var asked []string
	complete := func(word string) []Completion {
		asked = append(asked, word)
		return offers[word]
	}
	s := newStage(t, Config{Complete: complete})
	offer := func(word string) {
		t.Helper()
		s.keys(word)
		s.send(completedMsg{word, complete(word)})
	}
	offer("/mo")
	s.shows("/model  the model", "/mode ")
	s.keys("down", "tab")
	if got := s.m.input.Value(); got != "/mode " {
		t.Errorf("completed to %q", got)
	}
	s.keys("ctrl+c", "look at ")
	asked = nil
	offer("@sr")
	s.keys("enter", "please", "enter")
	if !slices.Equal(s.submitted, []string{"look at @src/app.ts please"}) {
		t.Errorf("submitted %q", s.submitted)
	}
	s.keys("@sr", "up") // another line, before the answer comes
	s.send(completedMsg{"@sr", complete("@sr")})
	s.keys("tab")
	if got := s.m.input.Value(); got != "look at @src/app.ts please" {
		t.Errorf("what was looked up for another line made it %q", got)
	}
	s.keys("ctrl+c", "a/mo") // no command: it is not the first word
	if s.m.popup.word != "" {
		t.Errorf("completion of %q", s.m.popup.word)
	}
}

// TestItFitsTheScreen: what stands below is never higher or wider than the screen,
// whatever goes on.
func TestItFitsTheScreen(t *testing.T) {
	for _, size := range []tea.WindowSizeMsg{{Width: 50, Height: 10}, {Width: 60, Height: 20}, {Width: 200, Height: 50}} {
		s := newStage(t, Config{})
		s.send(size)
		s.c.SetStatus(Status{Agent: "main", Model: strings.Repeat("model", 20), Branch: "b"})
		s.c.SetBusy(true)
		s.event(activity.ContentDelta{Text: "```go\n" + strings.Repeat("code of the answer\n", 100)})
		check := func() {
			t.Helper()
			lines := strings.Split(s.live(), "\n")
			if len(lines) > size.Height {
				t.Errorf("%d lines on a screen of %d", len(lines), size.Height)
			}
			for _, line := range lines {
				if ansi.StringWidth(line) > size.Width {
					t.Errorf("%d columns on a screen of %d: %q", ansi.StringWidth(line), size.Width, line)
				}
			}
		}
		check()
		s.keys(strings.Repeat("typed ", 60))
		check()
		q := s.c.Ask(0)
		var options []Option
		for n := range 9 {
			options = append(options, Option{Key: fmt.Sprint(n), Label: strings.Repeat("label ", 20), Note: strings.Repeat("note ", 20)})
		}
		answer := s.choice(q, options...)
		check()
		s.later(settle)
		s.keys("3")
		<-answer
	}
	s := newStage(t, Config{})
	s.send(tea.WindowSizeMsg{Width: 50}) // a terminal that does not know its height
	s.event(activity.ContentDelta{Text: "said\n"})
	s.keys("ctrl+o")
	s.live()
}

// TestALongStream: what is shown of many pieces is what they say, and how much is
// kept to be looked at again is bounded.
func TestALongStream(t *testing.T) {
	s := newStage(t, Config{})
	const pieces = 20_000
	for n := range pieces {
		s.c.Event(Event{Run: "r1", Body: activity.ContentDelta{Text: fmt.Sprintf("word %d is here. ", n)}})
		if n%10 == 9 {
			s.c.Event(Event{Run: "r1", Body: activity.ContentDelta{Text: "\n\n"}})
		}
		if n%500 == 0 {
			s.drain()
		}
	}
	s.event(activity.RunFinished{Reason: activity.Goal})
	words := strings.Join(strings.Fields(s.text()), " ")
	for _, n := range []int{0, 9_999, pieces - 1} {
		if !strings.Contains(words, fmt.Sprintf("word %d is here.", n)) {
			t.Errorf("word %d is not shown", n)
		}
	}
	for n := range 40 {
		id := fmt.Sprint(n)
		s.event(call(id, "bash", "{}", activity.Executing, ""), activity.ToolDelta{Call: id, Text: strings.Repeat("printed\n", kept/256)}, call(id, "bash", "{}", activity.Failed, "it failed"))
	}
	if s.m.bytes > kept || len(s.m.items) > s.m.shown+100 {
		t.Errorf("%d bytes are kept in %d items", s.m.bytes, len(s.m.items))
	}
}
