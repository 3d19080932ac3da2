package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/internal/chat"
	"github.com/agentls/agentls/internal/wire"
)

// event returns an event as a client gets it.
func event(seq uint64, run, agent string, body activity.Body) wire.ActivityParams {
	data, err := json.Marshal(body)
	if u, ok := body.(activity.Unknown); ok {
		data, err = u.Data, nil
	}
	if err != nil {
		panic(err)
	}
	return wire.ActivityParams{Seq: seq, Session: "main", Run: run, Agent: agent, Type: body.Type(), Data: data}
}

func duration(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func text(s string) []activity.ContentBlock { return []activity.ContentBlock{{Type: "text", Text: s}} }

// story is a session with all that a person sees.
func story() []wire.ActivityParams {
	args := json.RawMessage(`{"file_path": "a.ts"}`)
	return []wire.ActivityParams{
		event(1, "1", "main", activity.RunStarted{Input: text("Look.\nTwice."), Model: "m"}),
		event(2, "1", "main", activity.ModelStarted{Model: "m"}),
		event(3, "1", "main", activity.ContentDelta{Text: "I lo"}),
		event(4, "1", "main", activity.Retry{Of: "model", Attempt: 2, Cause: "the stream was cut", Discard: true}),
		event(5, "1", "main", activity.ContentDelta{Text: "I look"}),
		event(6, "1", "main", activity.ThoughtDelta{Text: "hm"}),
		event(7, "1", "main", activity.ContentDelta{Text: " now."}),
		event(8, "1", "main", activity.ToolState{Call: "c", Name: "read_file", Args: args, State: activity.Success, Result: &activity.ToolResult{Display: "Read 3 lines"}}),
		event(9, "1", "main", activity.Input{Input: text("and b.ts")}),
		event(10, "1", "main", activity.TodosChanged{Todos: []activity.Todo{{Description: "read", Status: "completed"}, {Description: "think", Status: "in_progress"}}}),
		event(11, "1", "main", activity.ContentDelta{Text: "Done."}),
		event(12, "2", "other", activity.RunStarted{Input: text("You too."), Model: "m"}),
		event(13, "2", "other", activity.ContentDelta{Text: "Yes."}),
		event(14, "1", "main", activity.ContentDelta{Text: "Really."}),
		event(15, "1", "main", activity.RunFinished{Reason: activity.Goal, Text: "Done.Really.", Turns: 2, ToolCalls: 1, Usage: model.Usage{InputTokens: 9, OutputTokens: 4}}),
		event(16, "2", "other", activity.RunFinished{Reason: activity.Errored, Error: &activity.Failure{Kind: "provider", Message: "no\nmore"}}),
		event(17, "", "", activity.ApprovalChanged{From: "ask", To: "edits"}),
		event(18, "3", "main", activity.RunStarted{Input: text("More."), Model: "m"}),
		event(19, "3", "main", activity.TurnStarted{Turn: 1}),
		event(20, "3", "main", activity.Checkpoint{Files: []string{"file:///w/a.ts"}}),
		event(21, "3", "main", activity.TurnFinished{Turn: 1}),
		event(22, "3", "main", activity.TurnStarted{Turn: 2}),
		event(23, "3", "main", activity.TurnFinished{Turn: 2}),
		event(24, "3", "main", activity.RunFinished{Reason: activity.Goal, Turns: 2}),
		event(25, "", "", activity.ChangeResolved{URI: "file:///w/a.ts", Action: "keep"}),
		event(26, "", "", activity.Rewound{ToSeq: 15, Files: []string{"file:///w/a.ts"}, Left: []string{}}),
		event(27, "", "", activity.Forked{Session: "b", AtSeq: 26}),
		event(28, "", "", activity.Forked{Session: "a", AtSeq: 9, From: true}),
	}
}

// TestPastIsShownAsItWasSeen: what was withdrawn is left out, and who speaks is
// told when that changes.
func TestPastIsShownAsItWasSeen(t *testing.T) {
	var out strings.Builder
	line := newTimeline(streams{out: &out, err: &out}, nil)
	line.past = true
	line.introduce("main", "Main", continuation{})
	for _, e := range story() {
		line.show(e)
	}
	line.close()
	want := `> Look.
> Twice.
Main
model m
retrying now, attempt 2: the stream was cut
I look now.
  ✓ read_file a.ts  Read 3 lines
> and b.ts
  plan: 1 of 2 done, now: think
Done.
> You too.
other
model m
Yes.
Main
Really.
2 turns, 1 tool call, 9 tokens in, 4 out
[15]
ERROR (provider): no more
0 turns, 0 tool calls, 0 tokens in, 0 out
[16]
the mode was set from ask to edits
> More.
Main
model m
[21]
2 turns, 0 tool calls, 0 tokens in, 0 out
[24]
changes to a.ts were kept
went back to 15, with 1 file
session b began with the first 26 events of this one
this session began with the first 9 events of a
`
	if out.String() != want {
		t.Errorf("shown:\n%s\nwant:\n%s", out.String(), want)
	}
}

// TestWithdrawnTextIsSaidToBe: what a terminal has shown stays there.
func TestWithdrawnTextIsSaidToBe(t *testing.T) {
	var out, errs strings.Builder
	line := newTimeline(streams{out: &out, err: &errs}, nil)
	for _, e := range story()[:8] {
		line.show(e)
	}
	if !strings.Contains(errs.String(), "ignore the text above of this answer") || out.String() != "main\nI lo\nI look now.\n" {
		t.Errorf("stdout %q, stderr %q", out.String(), errs.String())
	}
}

// TestContinuationIsToldOfItsSessionOnly: main may be another daemon's, and then
// the run is in main-2, which is no old context.
func TestContinuationIsToldOfItsSessionOnly(t *testing.T) {
	for session, told := range map[string]bool{"main": true, "main-2": false} {
		var out, errs strings.Builder
		line := newTimeline(streams{out: &out, err: &errs}, nil)
		line.introduce("main", "Main", continuation{"main", "goes on in the session main: 12 messages, 3 days ago"})
		for range 2 {
			e := event(1, "1", "main", activity.RunStarted{Model: "m"})
			e.Session = session
			line.show(e)
		}
		if n := strings.Count(errs.String(), "goes on in the session main: 12 messages, 3 days ago\n"); (n == 1) != told || n > 1 {
			t.Errorf("in %s: %q", session, errs.String())
		}
	}
}

// TestChildrensTextIsForTheirCaller: what they are asked and do is shown, under their names.
func TestChildrensTextIsForTheirCaller(t *testing.T) {
	var out, errs strings.Builder
	line := newTimeline(streams{out: &out, err: &errs}, nil)
	for _, e := range story()[:8] {
		e.ParentRun = "0"
		line.show(e)
	}
	if out.String() != "" || !strings.Contains(errs.String(), "→ main: Look.") || !strings.Contains(errs.String(), "✓ main: read_file a.ts") {
		t.Errorf("stdout %q, stderr %q", out.String(), errs.String())
	}
}

// TestStatus: what runs, for how long, and tokens so far; never over what is
// being asked, written or typed.
func TestStatus(t *testing.T) {
	var out strings.Builder
	shown := func() string {
		defer out.Reset()
		return out.String()
	}
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(s string) time.Time { return begin.Add(duration(t, s)) }
	s := &status{out: &out, width: func() int { return 60 }, plain: true}
	s.tick(at("5s"), false)
	if got := shown(); got != "" {
		t.Errorf("without a run: %q", got)
	}
	s.begin("fixer", begin)
	s.tick(at("500ms"), false)
	if got := shown(); got != "" {
		t.Errorf("at once: %q", got)
	}
	s.tick(at("2s"), false)
	if got := shown(); got != "\r\x1b[2Kfixer · starting · 0:02" {
		t.Errorf("at first: %q", got)
	}
	s.take("", activity.ModelFinished{Usage: model.Usage{TotalTokens: 3400}})
	s.take("", activity.ToolState{Name: "bash", Args: json.RawMessage(`{"command": "go test ./..."}`), State: activity.Executing})
	s.tick(at("65s"), false)
	if got := shown(); got != "\r\x1b[2Kfixer · bash go test ./... · 1:05 · 3.4k tokens" {
		t.Errorf("with a call: %q", got)
	}
	s.tick(at("66s"), true)
	if got := shown(); got != "" {
		t.Errorf("in the middle of a line: %q", got)
	}
	s.clear(at("66s"))
	s.clear(at("66s"))
	if got := shown(); got != "\r\x1b[2K" {
		t.Errorf("cleared: %q", got)
	}
	s.held++
	s.tick(at("67s"), false)
	if got := shown(); got != "" {
		t.Errorf("while somebody is asked: %q", got)
	}
	s.held--
	s.plain = false
	s.tick(at("3700s"), false)
	if got := shown(); got != "\r\x1b[2K\x1b[2mfixer · bash go test ./... · 1:01:40 · 3.4k tokens\x1b[0m" {
		t.Errorf("with colour: %q", got)
	}

	s = &status{out: &out, width: func() int { return 30 }, prompt: true}
	s.begin("fixer", begin)
	var when []string
	for n := range 200 {
		if s.tick(begin.Add(time.Duration(n)*time.Second), false); shown() != "" {
			when = append(when, chat.Clock(time.Duration(n)*time.Second))
		}
	}
	if got := strings.Join(when, " "); got != "0:10 0:30 1:10 2:10 3:10" {
		t.Errorf("under a prompt at %s", got)
	}
	if newStatus(&out, false) != nil {
		t.Error("there is a status without a terminal")
	}
}

// TestFit: a line never wraps, whatever it is written in.
func TestFit(t *testing.T) {
	for _, c := range []struct {
		line    string
		columns int
		want    string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"", 0, ""}, {"a", 0, "…"}, {"性能优化", 8, "性能优化"}, {"性能优化", 7, "性能优…"}, {"性能优化", 6, "性能…"},
		{"é…→", 3, "é…→"}, {"a😀b", 4, "a😀b"}, {"a😀bc", 4, "a😀…"},
	} {
		if got := fit(c.line, c.columns); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.line, c.columns, got, c.want)
		}
	}
}

// TestAnErrorIsToldOnce: the one that ends a run by its end, any other when it
// is there.
func TestAnErrorIsToldOnce(t *testing.T) {
	failed := activity.RunFinished{Reason: activity.Errored, Error: &activity.Failure{Kind: "provider", Message: "no more"}, Turns: 1, ToolCalls: 1}
	for _, c := range []struct {
		name   string
		events []activity.Body
		want   string
	}{
		{"of the model", []activity.Body{activity.ErrorSeen{Code: "provider", Message: "no more", Where: "model"}, failed},
			"ERROR (provider): no more\n1 turn, 1 tool call, 0 tokens in, 0 out\n"},
		{"of another place, and the run ends with it", []activity.Body{activity.ErrorSeen{Message: "no more", Where: "run"}, failed},
			"error: no more\n1 turn, 1 tool call, 0 tokens in, 0 out\n"},
		{"two", []activity.Body{activity.ErrorSeen{Message: "odd", Where: "compression"}, failed},
			"error: odd\nERROR (provider): no more\n1 turn, 1 tool call, 0 tokens in, 0 out\n"},
	} {
		for _, past := range []bool{true, false} {
			var out strings.Builder
			line := newTimeline(streams{out: &out, err: &out}, nil)
			line.past = past
			for i, body := range c.events {
				line.show(event(uint64(i+1), "1", "main", body))
			}
			if !past {
				line.end(&failed)
			}
			want := c.want
			if past {
				want += fmt.Sprintf("[%d]\n", len(c.events)) // a place to go back to
			}
			if out.String() != want {
				t.Errorf("%s, past %v: %q, want %q", c.name, past, out.String(), want)
			}
		}
	}
}

// TestWhatIsToldStandsAboveThePrompt, which is shown again below it.
func TestWhatIsToldStandsAboveThePrompt(t *testing.T) {
	var out strings.Builder
	line := newTimeline(streams{out: &out, err: &out}, nil)
	line.ask("main> ")
	line.say("a note")
	line.text("some text")
	line.endPrompt(true)
	line.text("more")
	line.sayBelow("cancelling")
	line.sayBelow("again")
	line.ask("main> ")
	line.endPrompt(false)
	line.show(event(1, "", "main", activity.ContextCleared{Agent: "main"}))
	want := "main> \na note\nmain> \nsome text\nmain> more\ncancelling\n\nagain\nmain> \n"
	if out.String() != want {
		t.Errorf("shown: %q, want %q", out.String(), want)
	}
}

// TestRequestsOfAPaste: a command is taken alone, what is between two is one.
func TestRequestsOfAPaste(t *testing.T) {
	for text, want := range map[string][]string{
		"":                              {""},
		"x":                             {"x"},
		"/help\n x\nexit":               {"/help", " x", "exit"},
		"one\n\ntwo\n/context\n\nthree": {"one\n\ntwo", "/context", "three"},
		"clear\nhelp\ncontext":          {"clear", "help", "context"},
		"/etc/hosts\nis a file":         {"/etc/hosts\nis a file"},
		"look\n/git:fix_2 a\n/x.y":      {"look", "/git:fix_2 a", "/x.y"},
	} {
		if got := requests(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestTheLastLineNamesFallbacks: who another model answered than they chose sees it.
func TestTheLastLineNamesFallbacks(t *testing.T) {
	var out strings.Builder
	newTimeline(streams{out: &out, err: &out}, nil).end(&activity.RunFinished{Reason: activity.Goal, Turns: 1, Fallbacks: []string{"m2"}})
	if want := "1 turn, 0 tool calls, 0 tokens in, 0 out, answered by m2\n"; out.String() != want {
		t.Errorf("%q", out.String())
	}
}

// TestARetrySaysHowLongItWaits: which attempt it is, how long it waits and why, on a
// line of its own and without what belongs to the wire.
func TestARetrySaysHowLongItWaits(t *testing.T) {
	for want, b := range map[string]activity.Retry{
		"retrying in 12s, attempt 2: Resource has been exhausted. …\n": {Of: "model", Attempt: 2, WaitMs: 12_300, Cause: "Resource has been exhausted.\nPlease wait. (HTTP 429)"},
		"retrying in 1s, attempt 3: too many requests (HTTP 429)\n":    {Of: "model", Attempt: 3, WaitMs: 20, Cause: "too many requests (HTTP 429)"},
		"retrying now, attempt 2: the stream was cut\n":                {Of: "model", Attempt: 2, Cause: "the stream was cut"},
	} {
		var out strings.Builder
		newTimeline(streams{out: &out, err: &out}, nil).again(b)
		if out.String() != want {
			t.Errorf("shown %q, want %q", out.String(), want)
		}
	}
}
