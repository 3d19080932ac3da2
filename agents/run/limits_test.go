package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
)

var priced = model.Entry{ID: "m1", Window: 1000, Sampling: true, Thinking: model.Level, Prices: []model.Price{{Input: 1e5, Output: 1e5}}} // $0.1 a token

// TestREL123Limits: the call that would cross a limit is refused, not the one
// after; what was done is kept. Where nobody can be asked, the run ends.
func TestREL123Limits(t *testing.T) {
	for name, c := range map[string]struct {
		limits run.Limits
		calls  int // of the model that are made
		says   string
	}{
		"calls of the model":         {run.Limits{ModelCalls: 2}, 2, "agents.limits.modelCalls"},
		"input tokens":               {run.Limits{InputTokens: 25}, 2, "agents.limits.inputTokens"},
		"tokens of the run":          {run.Limits{Tokens: 35}, 2, "run.max_tokens is 35"},
		"tokens in place of input":   {run.Limits{Tokens: 50, InputTokens: 5}, 3, "run.max_tokens is 50"},
		"money":                      {run.Limits{USD: 3.5}, 2, "run.max_cost"},
		"a first request over it":    {run.Limits{InputTokens: 1}, 0, "agents.limits.inputTokens"},
		"tokens that are used to it": {run.Limits{Tokens: 15}, 1, "run.max_tokens is 15"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.config.Limits = c.limits
				w.config.Models[0].Entry = priced
				w.tool("look", tool.Safe, nil)
				w.model.rest = asks(calls("look", `{}`))
				got := w.do()
				w.ended(got, activity.Budget)
				w.contains("the end", got.Text, c.says)
				if len(w.model.requests) != c.calls || got.ToolCalls != c.calls {
					t.Errorf("%d calls of the model, %d of tools", len(w.model.requests), got.ToolCalls)
				}
				if got.Cost == nil || got.Cost.Amount != 1.5*float64(c.calls) || got.Cost.Enforced != (c.limits.USD > 0) {
					t.Errorf("the cost is %+v", got.Cost)
				}
			})
		})
	}
}

// TestUnpricedLimit: a limit of cost without a price is not kept, which a person
// is told, and no cost is shown.
func TestUnpricedLimit(t *testing.T) {
	in(t, func(w *world) {
		w.config.Limits.USD = 0.01
		w.says(says("done"))
		got := w.do()
		w.ended(got, activity.Goal)
		if notes := of[activity.Note](w); len(notes) != 1 || !strings.Contains(notes[0].Message, "not enforced") || got.Cost != nil {
			t.Errorf("the notes are %+v, the cost %+v", notes, got.Cost)
		}
	})
}

// TestReminder: the model hears once that most of a limit is used up.
func TestReminder(t *testing.T) {
	in(t, func(w *world) {
		w.config.Limits.ModelCalls = 5
		w.tool("look", tool.Safe, nil)
		w.model.rest = asks(calls("look", `{}`))
		w.ended(w.do(), activity.Budget)
		var told []string
		for _, n := range of[activity.Note](w) {
			if n.ToModel {
				told = append(told, n.Message)
			}
		}
		if len(told) != 1 || !strings.HasPrefix(told[0], "80 % of the calls of the model") {
			t.Errorf("the model is told %q", told)
		}
	})
}

// TestReminderCountsTheChain: what the runs before in a chain of handoffs used counts.
func TestReminderCountsTheChain(t *testing.T) {
	in(t, func(w *world) {
		w.config.Limits.ModelCalls, w.config.Spent = 5, run.Spent{Calls: 3}
		w.tool("look", tool.Safe, nil)
		w.says(asks(calls("look", `{}`)), says("done"))
		w.ended(w.do(), activity.Goal)
		notes := of[activity.Note](w)
		if len(notes) != 1 || !notes[0].ToModel || !strings.HasPrefix(notes[0].Message, "80 % of the calls of the model") {
			t.Errorf("the notes are %+v", notes)
		}
	})
}

// asked answers a stopped run's question by its n-th choice; other numbers
// dismiss it.
func asked(n int, messages *[]string) tool.Ask {
	return func(_ context.Context, q tool.Question) (tool.Answer, error) {
		*messages = append(*messages, q.Message)
		if n < 0 || n >= len(q.Choices) {
			return tool.Answer{Action: "cancel"}, nil
		}
		return tool.Answer{Action: "accept", Text: q.Choices[n]}, nil
	}
}

// TestREL123PausedAtALimit: the person gives more, or ends the run.
func TestREL123PausedAtALimit(t *testing.T) {
	for name, c := range map[string]struct {
		choice, calls int
		want          activity.Reason
	}{
		"goes on": {0, 3, activity.Goal}, "ends": {1, 2, activity.Budget}, "dismissed, and resumed": {9, 3, activity.Goal},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				var messages []string
				w.config.Limits.ModelCalls = 2
				w.config.Env.Ask = asked(c.choice, &messages)
				w.tool("look", tool.Safe, nil)
				w.says(asks(calls("look", `{}`)), asks(calls("look", `{"a":1}`)))
				if c.want == activity.Goal {
					w.says(says("done"))
				}
				h := w.start()
				synctest.Wait()
				if resumed := h.Resume(run.Extension{}); resumed != (c.choice == 9) {
					t.Errorf("resumed: %v", resumed)
				}
				w.ended(h.wait(), c.want)
				if len(messages) != 1 || !strings.Contains(messages[0], "modelCalls") || len(w.model.requests) != c.calls {
					t.Errorf("asked %q, %d calls", messages, len(w.model.requests))
				}
				paused := 0
				for _, s := range of[activity.RunState](w) {
					if s.To == activity.Paused && s.Resumes == "agents/resume" && strings.Contains(s.Why, "modelCalls") {
						paused++
					}
				}
				if paused != 1 {
					t.Errorf("paused %d times: %+v", paused, of[activity.RunState](w))
				}
			})
		})
	}
}

// TestPausedForTheProvider: what may mend by itself stops a run that a person
// can let go on; nothing is shown twice.
func TestPausedForTheProvider(t *testing.T) {
	in(t, func(w *world) {
		var messages []string
		w.config.Env.Ask = asked(0, &messages)
		w.says(fails(errCut), fails(errCut), fails(errCut, "half"), says("whole"))
		got := w.do()
		w.ended(got, activity.Goal)
		if got.Text != "whole" || len(messages) != 1 || !strings.Contains(messages[0], "the connection broke") {
			t.Errorf("%q, asked %q", got.Text, messages)
		}
		retries := of[activity.Retry](w)
		if last := retries[len(retries)-1]; !last.Discard {
			t.Errorf("the last retry is %+v", last)
		}
	})
}

// TestResume: a request lets a paused run go on in place of the dialog, with
// more of what was used up; paused time does not count.
func TestResume(t *testing.T) {
	in(t, func(w *world) {
		w.config.Limits.Tokens = 20
		w.config.MaxTime = time.Minute // an hour is paused
		dismissed := false
		w.config.Env.Ask = func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
			<-ctx.Done()
			dismissed = true
			return tool.Answer{}, ctx.Err()
		}
		w.tool("look", tool.Safe, nil)
		w.says(asks(calls("look", `{}`)), says("done"))
		h := w.start()
		time.Sleep(time.Hour)
		if !h.Resume(run.Extension{}) {
			t.Error("the run is not paused")
		}
		got := h.wait()
		w.ended(got, activity.Goal)
		if !dismissed || h.Resume(run.Extension{}) {
			t.Errorf("the dialog was dismissed: %v", dismissed)
		}
	})
}

// TestResumeExtends: the words of the person are what is given.
func TestResumeExtends(t *testing.T) {
	in(t, func(w *world) {
		w.config.Limits.Tokens = 20
		w.config.MaxTurns = 2
		w.config.Env.Ask = func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
			<-ctx.Done()
			return tool.Answer{}, ctx.Err()
		}
		w.tool("look", tool.Safe, nil)
		w.says(asks(calls("look", `{}`)), asks(calls("look", `{"a":1}`)), asks(calls("look", `{"a":2}`)), says("done"))
		h := w.start()
		synctest.Wait()
		time.Sleep(time.Hour) // a person takes what time they need
		if !h.Resume(run.Extension{Tokens: 1000, Turns: 2, Seconds: 5}) {
			t.Error("the run is not paused")
		}
		got := h.wait()
		w.ended(got, activity.Goal)
		if got.Turns != 4 {
			t.Errorf("%d turns", got.Turns)
		}
	})
}

// TestAddedTimeIsTold: a run that ends after the time that it had says so.
func TestAddedTimeIsTold(t *testing.T) {
	in(t, func(w *world) {
		w.config.Limits.Tokens, w.config.MaxTime = 20, 10*time.Second
		w.config.Env.Ask = func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
			<-ctx.Done()
			return tool.Answer{}, ctx.Err()
		}
		w.tool("look", tool.Safe, nil)
		w.says(asks(calls("look", `{}`)), asks(calls("look", `{"a":1}`)), stuck("half"))
		h := w.start()
		synctest.Wait()
		if !h.Resume(run.Extension{Tokens: 1000, Seconds: 5}) {
			t.Error("the run is not paused")
		}
		got := h.wait()
		w.ended(got, activity.Timeout)
		if got.Text != "The run ended after 15s." {
			t.Errorf("the text is %q", got.Text)
		}
	})
}

// TestREL127CancelWhilePaused: within a second, like everywhere.
func TestREL127CancelWhilePaused(t *testing.T) {
	for _, cause := range []error{run.ErrCancelled, run.ErrInterrupted} {
		t.Run(fmt.Sprint(cause), func(t *testing.T) {
			in(t, func(w *world) {
				w.config.Limits.ModelCalls = 1
				w.config.Env.Ask = func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
					<-ctx.Done()
					return tool.Answer{}, ctx.Err()
				}
				w.tool("look", tool.Safe, nil)
				w.says(asks(calls("look", `{}`)))
				h := w.start()
				synctest.Wait()
				if !h.Waiting() {
					t.Error("a paused run does not count as one that waits")
				}
				h.end(cause)
				w.ended(h.wait(), activity.Aborted)
				states := of[activity.RunState](w)
				want := activity.Finished
				if cause == run.ErrInterrupted {
					want = activity.Interrupted
				}
				if last := states[len(states)-1]; last.From != activity.Paused || last.To != want {
					t.Errorf("the last state is %+v", last)
				}
			})
		})
	}
}

// TestREL121Loops: told at three, ended at five, asked where there is a person.
func TestREL121Loops(t *testing.T) {
	for name, c := range map[string]struct {
		choice int // -1: nobody can be asked
		want   activity.Reason
		calls  int
		action string
	}{
		"nobody to ask": {-1, activity.Loop, 5, "ended"},
		"the end":       {1, activity.Loop, 5, "asked"},
		"go on":         {0, activity.Goal, 6, "asked"},
		"never again":   {2, activity.Goal, 6, "asked"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				var messages []string
				off := false
				w.config.Repeats = repeats{&off}
				if c.choice >= 0 {
					w.config.Env.Ask = asked(c.choice, &messages)
				}
				w.tool("look", tool.Safe, nil)
				for range 5 {
					w.says(asks(calls("look", `{"a":1}`)))
				}
				w.says(says("done"))
				got := w.do()
				w.ended(got, c.want)
				found := of[activity.LoopDetected](w)
				if len(found) != 2 || found[0].Action != "told" || found[0].Count != 3 || found[1].Action != c.action || found[1].Count != 5 {
					t.Errorf("found %+v", found)
				}
				if len(w.model.requests) != c.calls || off != (c.choice == 2) {
					t.Errorf("%d calls, off %v", len(w.model.requests), off)
				}
				told := w.model.requests[3].Messages
				parts := told[len(told)-1].Parts
				w.contains("what the model is told", parts[len(parts)-1].Text, "repeat yourself", "look")
				for _, text := range append(messages, parts[len(parts)-1].Text, got.Text) {
					if n := strings.Count(text, "times"); n > 1 {
						t.Errorf("how often is told %d times: %s", n, text)
					}
				}
			})
		})
	}
}

// TestREL121RunawayAnswer: an answer that says one sentence over and over is stopped as
// it comes: the model is told, and not sent it; the second one stops the run, or has the
// person asked. One that only looks alike, as code does, goes on to its end.
func TestREL121RunawayAnswer(t *testing.T) {
	const sentence = "I will now look at the file again. "
	told := 0
	runaway := func(_ context.Context, yield func(model.Chunk, error) bool) {
		for range 3_000 {
			if told++; !yield(model.Chunk{Text: sentence}, nil) {
				return
			}
		}
		t.Error("the answer was read to its end")
	}
	for name, c := range map[string]struct {
		choice int // -1: nobody can be asked
		want   activity.Reason
		asked  int
		first  step
	}{
		"nobody to ask": {-1, activity.Loop, 2, runaway}, "the end": {1, activity.Loop, 2, runaway}, "go on": {0, activity.Goal, 3, runaway},
		"code": {-1, activity.Goal, 1, reply(model.Stop, text("```\n"), text(strings.Repeat(sentence+"\n", 3_000)), text("```\n"))},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				var messages []string
				off := false
				w.config.Repeats = repeats{&off}
				if c.choice >= 0 {
					w.config.Env.Ask = asked(c.choice, &messages)
				}
				told = 0
				w.says(c.first)
				if c.asked > 1 {
					w.says(runaway, says("done"))
				}
				w.ended(w.do(), c.want)
				if len(w.model.requests) != c.asked {
					t.Fatalf("%d requests", len(w.model.requests))
				}
				if c.asked == 1 {
					return
				}
				if told > 300 {
					t.Errorf("%d sentences were read", told)
				}
				second := w.model.requests[1].Messages
				if len(second) != 1 {
					t.Errorf("the model is sent what was stopped: %+v", second)
				}
				parts := second[len(second)-1].Parts
				w.contains("what the model is told", parts[len(parts)-1].Text, "repeat yourself", "look at the file")
				if retries := of[activity.Retry](w); len(retries) != c.asked-1 || !retries[0].Discard {
					t.Errorf("withdrawn: %+v", retries)
				}
				if found := of[activity.LoopDetected](w); len(found) != 2 || found[0].Action != "told" || len(messages) != min(1, c.choice+1) {
					t.Errorf("found %+v, asked %q", found, messages)
				}
			})
		})
	}
}

// TestNothingButErrorsPauses: a model whose calls fail, each in another way, is
// stopped after three turns, and the person asked. A turn in which something
// came of a call, or in which a command ran and failed, begins the count anew.
func TestNothingButErrorsPauses(t *testing.T) {
	for name, c := range map[string]struct {
		choice, calls int // -1: nobody can be asked
		want          activity.Reason
	}{
		"nobody to ask": {-1, 3, activity.Loop}, "the end": {1, 3, activity.Loop}, "go on": {0, 10, activity.Goal},
		"dismissed, and resumed": {9, 10, activity.Goal},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				var messages []string
				if c.choice >= 0 {
					w.config.Env.Ask = asked(c.choice, &messages)
				}
				w.tool("look", tool.Safe, nil)
				w.tool("test", tool.Safe, func(context.Context, *tool.Env, map[string]any) (*tool.Result, error) {
					return &tool.Result{Content: "exit code 1", Failed: true}, nil
				})
				wrong := func(n int) step { return asks(calls(fmt.Sprintf("look%d", n), `{}`)) }
				w.says(wrong(1), wrong(2), wrong(3))
				if c.want == activity.Goal {
					w.says(wrong(4), wrong(5), asks(calls("look9", `{}`), calls("test", `{}`)), wrong(6), wrong(7), asks(calls("look", `{}`)), says("done"))
				}
				h := w.start()
				synctest.Wait()
				h.Resume(run.Extension{})
				w.ended(h.wait(), c.want)
				if len(w.model.requests) != c.calls {
					t.Errorf("%d calls of the model", len(w.model.requests))
				}
				if want := min(c.choice+1, 1); len(messages) != want || (want == 1 && !strings.Contains(messages[0], "last 3 turns")) || (want == 1 && !strings.Contains(messages[0], "look3")) {
					t.Errorf("asked %q", messages)
				}
			})
		})
	}
}

// TestLoopCountsAnew: after "go on" the person is asked again when it goes on as
// long again, after "never" they are not.
func TestLoopCountsAnew(t *testing.T) {
	for choice, want := range map[int]int{0: 3, 2: 1} {
		in(t, func(w *world) {
			var messages []string
			off := false
			w.config.Repeats = repeats{&off}
			w.config.Env.Ask = asked(choice, &messages)
			w.tool("look", tool.Safe, nil)
			for range 16 {
				w.says(asks(calls("look", `{"a":1}`)))
			}
			w.says(says("done"))
			w.ended(w.do(), activity.Goal)
			if len(messages) != want {
				t.Errorf("choice %d: asked %d times, not %d", choice, len(messages), want)
			}
		})
	}
}

// TestUnpricedFallback: an answer without a price does not end the keeping of
// run.max_cost for the others, and a person is told.
func TestUnpricedFallback(t *testing.T) {
	in(t, func(w *world) {
		w.config.Limits.USD = 3.5
		w.config.Models[0].Entry = priced
		other := &script{t: t, rest: asks(calls("look", `{"a":2}`))}
		w.config.Models = append(w.config.Models, run.Choice{ID: "m2", Model: other, Entry: model.Entry{ID: "m2"}})
		w.tool("look", tool.Safe, nil)
		w.says(fails(errKey))
		w.model.rest = asks(calls("look", `{}`))
		w.ended(w.do(), activity.Budget)
		if len(w.model.requests) != 3 || len(other.requests) != 1 {
			t.Errorf("%d and %d requests", len(w.model.requests), len(other.requests))
		}
		told := 0
		for _, n := range of[activity.Note](w) {
			if strings.Contains(n.Message, "not enforced") {
				told++
			}
		}
		if told != 1 {
			t.Errorf("told %d times", told)
		}
	})
}

// TestCredentialsOfAFallback: another model may have its own; where none
// answers, the person's own choice says why.
func TestCredentialsOfAFallback(t *testing.T) {
	for name, c := range map[string]struct {
		first, second step
		want          activity.Reason
		says          string
	}{
		"the second answers":      {fails(errKey), says("done"), activity.Goal, "done"},
		"the second has no key":   {fails(errFatal), nil, activity.Errored, "no such thing"},
		"neither has a key":       {fails(errKey), fails(&model.Error{Class: model.Unauthorized, Message: "the other key"}), activity.Errored, "the key is refused"},
		"the first is cut, alone": {fails(errCut), fails(errKey), activity.Errored, "the connection broke"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.model.rest = c.first
				w.config.Models = append(w.config.Models, run.Choice{ID: "m2", Model: &script{t: t, rest: c.second}})
				got := w.do()
				w.ended(got, c.want)
				text := got.Text
				if got.Error != nil {
					text = got.Error.Message
				}
				w.contains("the end", text, c.says)
			})
		})
	}
}

type repeats struct{ off *bool }

func (r repeats) On() bool { return !*r.off }
func (r repeats) Off()     { *r.off = true }
