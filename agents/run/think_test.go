package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
)

// TestREL52Busy: at most five attempts, with full jitter below a wait that
// doubles, and each is told.
func TestREL52Busy(t *testing.T) {
	waits := make(map[time.Duration]bool)
	for range 20 {
		in(t, func(w *world) {
			w.says(fails(errBusy), fails(errBusy), fails(errBusy), fails(errBusy), says("at last"))
			got := w.do()
			w.ended(got, activity.Goal)
			retries := of[activity.Retry](w)
			if len(retries) != 4 || got.Text != "at last" {
				w.t.Fatalf("retries: %+v", retries)
			}
			for i, limit := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second} {
				wait := w.model.times[i+1].Sub(w.model.times[i])
				if waits[wait] = true; wait <= 0 || wait > limit+time.Millisecond || retries[i].WaitMs != wait.Milliseconds() {
					w.t.Errorf("wait %d is %v (told: %d ms), at most %v", i, wait, retries[i].WaitMs, limit)
				}
				if r := retries[i]; r.Of != "model" || r.Attempt != i+2 || r.Cause != "too many requests (HTTP 429)" || r.Discard {
					w.t.Errorf("retry %d is %+v", i, r)
				}
			}
			for i, s := range of[activity.ModelStarted](w) {
				if s.Attempt != i+1 || s.Model != "m1" || s.Tokens == 0 {
					w.t.Errorf("attempt %d is %+v", i, s)
				}
			}
		})
	}
	if len(waits) < 40 {
		t.Errorf("only %d different waits of 80: that is no jitter", len(waits))
	}
}

// TestREL51RetryAfter: what the provider asks for is waited, as long as it
// fits into three minutes in all.
func TestREL51RetryAfter(t *testing.T) {
	busy := func(d time.Duration) step {
		return fails(&model.Error{Class: model.Busy, Message: "wait", RetryAfter: d})
	}
	for name, c := range map[string]struct {
		steps []step
		want  activity.Reason
		least time.Duration
		most  time.Duration
	}{
		"7 s":                {[]step{busy(7 * time.Second), says("x")}, activity.Goal, 7 * time.Second, 8 * time.Second},
		"longer than we do":  {[]step{busy(100 * time.Second), says("x")}, activity.Goal, 100 * time.Second, 100 * time.Second},
		"shorter than we do": {[]step{busy(time.Nanosecond), busy(time.Nanosecond), says("x")}, activity.Goal, 0, 3 * time.Second},
		"too long":           {[]step{busy(4 * time.Minute)}, activity.Errored, 0, 0},
		"too long in all":    {[]step{busy(100 * time.Second), busy(100 * time.Second)}, activity.Errored, 100 * time.Second, 100 * time.Second},
		"slow refusals":      {[]step{after(170*time.Second, busy(5*time.Second)), after(10*time.Second, busy(0))}, activity.Errored, 180 * time.Second, 186 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.says(c.steps...)
				w.ended(w.do(), c.want)
				if took := time.Since(of1(w)); took < c.least || took > c.most {
					w.t.Errorf("it took %v, not %v to %v", took, c.least, c.most)
				}
				if n := len(w.model.requests); n != len(c.steps) {
					w.t.Errorf("%d requests, not %d", n, len(c.steps))
				}
			})
		})
	}
}

// TestREL55Withdrawn: what a failed try showed is withdrawn when it is tried
// again, exactly then.
func TestREL55Withdrawn(t *testing.T) {
	thought := func(ctx context.Context, yield func(model.Chunk, error) bool) {
		yield(model.Chunk{Thought: "hm"}, nil)
		yield(model.Chunk{}, errCut)
	}
	for name, c := range map[string]struct {
		steps   []step
		discard []bool
	}{
		"text, nothing":   {[]step{fails(errCut, "par"), fails(errCut), says("whole")}, []bool{true, false}},
		"a thought":       {[]step{thought, says("whole")}, []bool{true}},
		"no answer":       {[]step{nothing, says("whole")}, []bool{false}},
		"malformed":       {[]step{reply(model.Malformed, text("I call")), says("whole")}, []bool{true}},
		"empty":           {[]step{reply(model.Empty), says("whole")}, []bool{false}},
		"empty, thought":  {[]step{reply(model.Empty, model.Part{Thought: "hm"}), says("whole")}, []bool{true}},
		"unknown":         {[]step{reply(model.Other, model.Part{Thought: "hm"}), says("whole")}, []bool{true}},
		"busy, then cut":  {[]step{fails(errBusy), fails(errBusy), fails(errBusy), fails(errBusy), fails(errCut, "x"), fails(errCut), says("whole")}, []bool{false, false, false, false, true, false}},
		"cut, no text":    {[]step{reply(model.Length), says("whole")}, []bool{false}},
		"cut, a thought":  {[]step{reply(model.Length, model.Part{Thought: "hm"}), says("whole")}, []bool{true}},
		"a call, cut off": {[]step{reply(model.Length, text("I call"), calls("look", `{}`)), says("whole")}, []bool{true}},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.tool("look", tool.Safe, nil)
				w.says(c.steps...)
				got := w.do()
				w.ended(got, activity.Goal)
				var discard []bool
				for _, r := range of[activity.Retry](w) {
					discard = append(discard, r.Discard)
				}
				if !slices.Equal(discard, c.discard) {
					w.t.Errorf("discard is %v, not %v", discard, c.discard)
				}
				// What a client shows in the end is the result.
				if shown := w.shown(); shown != "whole" || got.Text != "whole" {
					w.t.Errorf("a client shows %q, the result is %q", shown, got.Text)
				}
				if content := of[activity.ModelContent](w); content[len(content)-1].Invalid {
					w.t.Errorf("the answer is invalid")
				}
				if n := len(w.log.Context(agentName)); n != 2 {
					w.t.Errorf("the context has %d messages: a failed try is in it", n)
				}
			})
		})
	}
}

// shown is the text that a client shows that does what the events say.
func (w *world) shown() string {
	var shown, try string
	for _, e := range w.log.all() {
		switch b := e.Body.(type) {
		case activity.ModelStarted:
			shown, try = shown+try, ""
		case activity.ContentDelta:
			try += b.Text
		case activity.Retry:
			if b.Discard {
				try = ""
			}
		}
	}
	return shown + try
}

// TestREL53AtOnce: a refusal is not repeated and not asked of another model,
// and the session stays usable. (Credentials are: TestCredentialsOfAFallback.)
func TestREL53AtOnce(t *testing.T) {
	for _, err := range []*model.Error{errFatal} {
		t.Run(string(err.Class), func(t *testing.T) {
			in(t, func(w *world) {
				other := &script{t: w.t}
				w.config.Models = append(w.config.Models, run.Choice{ID: "m2", Model: other})
				w.says(fails(err))
				got := w.do()
				w.ended(got, activity.Errored)
				if took := time.Since(of1(w)); took != 0 || len(of[activity.Retry](w)) != 0 || len(other.requests) != 0 {
					w.t.Errorf("it took %v, %d requests to the other model", took, len(other.requests))
				}
				if got.Error.Message != err.Error() {
					w.t.Errorf("the error is %q", got.Error.Message)
				}
			})
		})
	}
}

// TestREL52FallbackModels are tried in order, each as patiently as the first, and
// what the one before showed is withdrawn.
func TestREL52FallbackModels(t *testing.T) {
	in(t, func(w *world) {
		two, three := &script{t: w.t}, &script{t: w.t}
		w.config.Models = append(w.config.Models, run.Choice{ID: "m2", Model: two}, run.Choice{ID: "m3", Model: three})
		w.tool("look", tool.Safe, nil)
		w.says(fails(errCut), fails(errCut, "x"), fails(errCut, "part of one"))
		two.steps = []step{fails(errBusy), fails(errBusy), fails(errBusy), fails(errBusy), fails(errBusy)}
		three.steps = []step{fails(errBusy), asks(calls("look", `{}`))}
		w.says(says("one again"))
		got := w.do()
		w.ended(got, activity.Goal)
		if fmt.Sprint(got.Fallbacks) != "[m3]" { // m2 never answered
			w.t.Errorf("the result names %q", got.Fallbacks)
		}
		if got.Text != "one again" || w.shown() != "one again" {
			w.t.Errorf("the result is %q, a client shows %q", got.Text, w.shown())
		}
		var used []string
		for _, s := range of[activity.ModelStarted](w) {
			used = append(used, fmt.Sprint(s.Model, " ", s.Attempt))
		}
		if want := "[m1 1 m1 2 m1 3 m2 1 m2 2 m2 3 m2 4 m2 5 m3 1 m3 2 m1 1]"; fmt.Sprint(used) != want {
			w.t.Errorf("asked were %v, not %s", used, want)
		}
		var told []string
		for _, r := range of[activity.Retry](w) {
			if r.Attempt == 1 {
				told = append(told, fmt.Sprint(r.Cause, r.Discard))
			}
		}
		if len(told) != 2 {
			w.t.Fatalf("told of other models: %q", told)
		}
		w.contains("the first", told[0], "the connection broke", "m2", "true")
		w.contains("the second", told[1], "too many requests", "m3", "false")
		for _, r := range append(two.requests, three.requests...) {
			if r.Model != "m2" && r.Model != "m3" {
				w.t.Errorf("a fallback is asked as %q", r.Model)
			}
		}
	})
}

// TestREL56Silence: a person is told after 20 s without a byte, each time, and
// not after the end.
func TestREL56Silence(t *testing.T) {
	pauses := func(ms ...int) step {
		return func(ctx context.Context, yield func(model.Chunk, error) bool) {
			for _, d := range ms {
				if sleep(ctx, time.Duration(d)*time.Millisecond) != nil {
					return
				}
				yield(model.Chunk{Text: "."}, nil)
			}
			says("")(ctx, yield)
		}
	}
	for name, c := range map[string]struct {
		steps []step
		notes int
	}{
		"quick":                  {[]step{pauses(19999, 19999, 19999)}, 0},
		"before the first":       {[]step{pauses(20001)}, 1},
		"one for each silence":   {[]step{pauses(70000, 10000, 70000)}, 2},
		"nothing after the end":  {[]step{fails(&model.Error{Class: model.Busy, RetryAfter: time.Minute}), pauses(10)}, 0},
		"nor while a tool works": {[]step{asks(calls("look", `{"ms":60000}`)), pauses(10)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.tool("look", tool.Safe, takes)
				w.says(c.steps...)
				h := w.start()
				<-h.done
				time.Sleep(time.Hour) // whatever timer is left rings now
				w.ended(h.wait(), activity.Goal)
				notes := of[activity.Note](w)
				if len(notes) != c.notes {
					w.t.Errorf("notes: %+v", notes)
				}
				for _, n := range notes {
					w.contains("the note", n.Message, "m1", "20s")
				}
			})
		})
	}
}

// TestREL61NoBrokenConversation: what a provider would refuse is not sent.
func TestREL61NoBrokenConversation(t *testing.T) {
	in(t, func(w *world) {
		w.config.Session = broken{w.log}
		got := w.do()
		w.ended(got, activity.Errored)
		if got.Error.Kind != "internal" || len(w.model.requests) != 0 {
			w.t.Errorf("%d requests, the error is %+v", len(w.model.requests), got.Error)
		}
		w.contains("the error", got.Error.Message, "no result of the call")
	})
}

// broken is a journal whose conversation lacks a result.
type broken struct{ *journal }

func (b broken) Context(agent string) []model.Message {
	return append(b.journal.Context(agent),
		model.Message{Role: model.Reply, Parts: []model.Part{calls("look", `{}`)}},
		model.Message{Role: model.User, Parts: []model.Part{text("and?")}})
}

// TestREL60Continued: an answer that the limit of tokens cut is continued once.
func TestREL60Continued(t *testing.T) {
	in(t, func(w *world) {
		w.says(reply(model.Length, text("Once upon ")), says("a time."))
		got := w.do()
		w.ended(got, activity.Goal)
		if got.Text != "Once upon a time." || w.shown() != got.Text || got.Turns != 2 {
			w.t.Errorf("the result is %+v; shown is %q", got, w.shown())
		}
		m := w.model.requests[1].Messages
		if len(m) != 3 || m[1].Parts[0].Text != "Once upon " || m[1].Raw == nil || len(m[2].Parts) != 1 {
			w.t.Fatalf("the second request is %+v", m)
		}
		w.contains("the message to go on", m[2].Parts[0].Text, "cut off", "Go on")
	})
}

// TestREL60OncePerAnswer: each answer may be continued once, and the text of an
// answer that came before a tool is no part of the result.
func TestREL60OncePerAnswer(t *testing.T) {
	in(t, func(w *world) {
		w.tool("look", tool.Safe, nil)
		w.says(
			reply(model.Length, text("I ")), asks(text("look."), calls("look", `{}`)),
			reply(model.Length, text("It is ")), says("fine."),
		)
		got := w.do()
		w.ended(got, activity.Goal)
		if got.Text != "It is fine." || got.Turns != 4 {
			w.t.Errorf("the result is %+v", got)
		}
	})
}

// TestREL60Truncated: the second cut ends the run with what there is.
func TestREL60Truncated(t *testing.T) {
	in(t, func(w *world) {
		w.says(reply(model.Length, text("Once upon ")), reply(model.Length, text("a time "))).
			ended(w.do(), activity.Errored)
		if f := of[activity.RunFinished](w)[0]; f.Text != "Once upon a time " || f.Error.Kind != "truncated" {
			w.t.Errorf("the result is %+v", f)
		}
	})
}

// TestREL55NothingFromHalfAnAnswer (and REL-57, REL-60): a call is executed only from a
// complete answer that counts.
func TestREL55NothingFromHalfAnAnswer(t *testing.T) {
	half := func(finish model.Finish) step { return reply(finish, text("I act."), calls("change", `{}`)) }
	for name, c := range map[string]struct {
		steps []step
		want  activity.Reason
	}{
		"length":        {[]step{half(model.Length), says("x")}, activity.Goal},
		"length, twice": {[]step{half(model.Length), half(model.Length)}, activity.Errored},
		"malformed":     {[]step{half(model.Malformed), half(model.Malformed), says("x")}, activity.Goal},
		"empty":         {[]step{half(model.Empty), says("x")}, activity.Goal},
		"blocked":       {[]step{half(model.Blocked)}, activity.Errored},
		"an error after": {[]step{func(ctx context.Context, yield func(model.Chunk, error) bool) {
			half(model.Stop)(ctx, func(c model.Chunk, err error) bool { return yield(c, err) })
			yield(model.Chunk{}, errCut)
		}, says("x")}, activity.Goal},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.tool("change", tool.Low, nil)
				w.says(c.steps...)
				w.ended(w.do(), c.want)
				if len(w.executed()) != 0 || len(of[activity.ToolState](w)) != 0 || len(w.person.questions()) != 0 {
					w.t.Errorf("executed %v, asked %d", w.executed(), len(w.person.questions()))
				}
			})
		})
	}
}

// TestRequest: what a model is sent.
func TestRequest(t *testing.T) {
	in(t, func(w *world) {
		d := w.config.Definition
		temperature, budget := 0.5, 100
		d.Temperature, d.ThinkingBudget, d.ThinkingLevel = &temperature, &budget, "low"
		w.config.Examples = []definition.Exchange{{Role: "user", Text: "an example"}, {Role: "model", Text: "its answer"}}
		w.tool("write", tool.Low, nil)
		w.tool("look", tool.Safe, nil)
		w.says(asks(calls("look", `{"a":1}`)), says("done"))
		w.ended(w.do(), activity.Goal)
		if r := w.model.requests[0]; r.Model != "m1" || r.System != "be good" || *r.Options.Temperature != 0.5 || *r.Options.ThinkingBudget != 100 || r.Options.ThinkingLevel != "low" {
			w.t.Errorf("the request is %+v", r)
		}
		for _, r := range w.model.requests {
			var names []string
			for _, d := range r.Tools {
				names = append(names, d.Name+": "+d.Description+string(d.Parameters))
			}
			if want := []string{`look: does look{"type":"object"}`, `write: does write{"type":"object"}`}; !slices.Equal(names, want) {
				w.t.Errorf("the tools are %q", names)
			}
			if r.Messages[0].Parts[0].Text != "an example" || r.Messages[1].Parts[0].Text != "its answer" || r.Messages[2].Parts[0].Text != "please" {
				w.t.Errorf("the conversation begins %+v", r.Messages[:3])
			}
		}
		// The call has our id in Parts, and the provider's form is as it was.
		m := w.model.requests[1].Messages
		if len(m) != 5 || m[3].Parts[0].Call.ID != id(1, 0) || string(m[3].Raw) != `{"as":"received"}` || m[4].Parts[0].Result.ID != id(1, 0) {
			data, _ := json.Marshal(m)
			w.t.Errorf("the second request is %s", data)
		}
	})
}

// TestExamplesThatDoNotAlternate still make a conversation that a provider
// takes.
func TestExamplesThatDoNotAlternate(t *testing.T) {
	for _, roles := range []string{"model", "user", "user user", "model model", "user model user", "user model model", "model user"} {
		t.Run(roles, func(t *testing.T) {
			in(t, func(w *world) {
				for i, role := range strings.Fields(roles) {
					w.config.Examples = append(w.config.Examples, definition.Exchange{Role: role, Text: fmt.Sprint("example ", i)})
				}
				w.says(says("done")) // the fake checks the request
				w.ended(w.do(), activity.Goal)
				all := ""
				for _, m := range w.model.requests[0].Messages {
					for _, p := range m.Parts {
						all += p.Text + ";"
					}
				}
				for i := range strings.Fields(roles) {
					w.contains("the conversation", all, fmt.Sprint("example ", i), "please")
				}
			})
		})
	}
}
