package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
)

// TestGoal: the whole log of the shortest run, and of one with a tool.
func TestGoal(t *testing.T) {
	in(t, func(w *world) {
		w.tool("look", tool.Safe, nil)
		w.config.Problems = []definition.Problem{{Message: "left out"}}
		w.says(after(3*time.Second, asks(model.Part{Thought: "hm", Subject: "Looking"}, text("I look."), calls("look", `{}`))), says("All is well."))
		got := w.do()
		w.ended(got, activity.Goal)
		want := "run.started run.state" +
			" turn.started model.started thought.delta content.delta model.finished model.content tool.state tool.state tool.state tool.state turn.finished" +
			" turn.started model.started content.delta model.finished model.content turn.finished" +
			" run.state run.finished"
		if types := strings.Join(w.types(), " "); types != want {
			w.t.Errorf("the log is\n%s\nnot\n%s", types, want)
		}
		if got.Text != "All is well." || got.Turns != 2 || got.ToolCalls != 1 || got.Usage != oneAnswer.Add(oneAnswer) || got.Error != nil || len(got.Problems) != 1 {
			w.t.Errorf("the result is %+v", got)
		}
		if len(got.Chain) != 1 || got.Chain[0].Run != runID || got.Chain[0].DurationMs != 3000 {
			w.t.Errorf("the chain is %+v", got.Chain)
		}
		began := of[activity.RunStarted](w)[0]
		if began.Model != "m1" || began.Approval != "ask" || began.Definition != "d1" || fmt.Sprint(began.Tools, began.Chain) != "[look] [tester]" {
			w.t.Errorf("run.started is %+v", began)
		}
		if first := of[activity.ModelFinished](w)[0]; first.FirstTokenMs != 3000 {
			w.t.Errorf("the first token came after %d ms", first.FirstTokenMs)
		}
		if states := of[activity.RunState](w); states[1].Why != "GOAL" {
			w.t.Errorf("the run ends with %+v", states[1])
		}
	})
}

func TestMaxTurns(t *testing.T) {
	in(t, func(w *world) {
		w.tool("look", tool.Safe, nil)
		w.config.MaxTurns = 3
		for range 3 {
			w.says(asks(calls("look", `{}`)))
		}
		got := w.do()
		w.ended(got, activity.MaxTurns)
		if got.Turns != 3 || len(w.executed()) != 3 || got.Text == "" {
			w.t.Errorf("the result is %+v", got)
		}
	})
}

// TestTwoClocks: a run's time is used up by everything but waiting for a person
// (spec 3.3).
func TestTwoClocks(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*world)
		want time.Duration // from the start to TIMEOUT with a limit of 1 min
	}{
		"the model thinks":  {func(w *world) { w.says(stuck()) }, time.Minute},
		"the model streams": {func(w *world) { w.says(stuck("so far")) }, time.Minute},
		"a tool executes": {func(w *world) {
			w.tool("look", tool.Safe, takes)
			w.says(asks(calls("look", `{"ms":90000}`)))
		}, time.Minute},
		"a tool that does not end": {func(w *world) {
			w.tool("look", tool.Safe, func(context.Context, *tool.Env, map[string]any) (*tool.Result, error) {
				time.Sleep(5 * time.Minute)
				return &tool.Result{}, nil
			})
			w.says(asks(calls("look", `{}`)))
		}, time.Minute + 500*time.Millisecond},
		"a retry waits": {func(w *world) {
			w.says(fails(&model.Error{Class: model.Busy, RetryAfter: 2 * time.Minute, Message: "later"}))
		}, time.Minute},
		"a person takes 10 min": {func(w *world) {
			w.tool("change", tool.Low, takes)
			w.person.answer = slowly(10*time.Minute, answer(guard.Once))
			w.says(after(20*time.Second, asks(calls("change", `{"ms":15000}`))), stuck())
		}, 11 * time.Minute},
		"two questions": {func(w *world) {
			w.tool("change", tool.Low, takes)
			w.person.answer = slowly(10*time.Minute, answer(guard.Once))
			w.says(asks(calls("change", `{}`), calls("change", `{"ms":10000}`)), after(20*time.Second, says("x")), stuck())
			w.says(stuck())
		}, 20*time.Minute + 30*time.Second},
		"ask_user": {func(w *world) {
			w.config.Env.Ask = func(ctx context.Context, q tool.Question) (tool.Answer, error) {
				return tool.Answer{Action: "accept", Text: "yes"}, sleep(ctx, 10*time.Minute)
			}
			w.tool("ask_user", tool.Safe, func(ctx context.Context, env *tool.Env, _ map[string]any) (*tool.Result, error) {
				a, err := env.Ask(ctx, tool.Question{Message: "Shall I?"})
				return &tool.Result{Content: a.Text}, err
			})
			w.says(after(20*time.Second, asks(calls("ask_user", `{}`))), stuck())
		}, 11 * time.Minute},
		"ask_user behind a question": {func(w *world) {
			w.config.Env.Ask = func(ctx context.Context, q tool.Question) (tool.Answer, error) {
				return tool.Answer{Action: "accept", Text: "yes"}, sleep(ctx, 10*time.Minute)
			}
			w.tool("ask_user", tool.Safe, func(ctx context.Context, env *tool.Env, _ map[string]any) (*tool.Result, error) {
				a, err := env.Ask(ctx, tool.Question{Message: "Shall I?"})
				return &tool.Result{Content: a.Text}, err
			})
			w.tool("change", tool.Low, nil)
			w.person.answer = slowly(15*time.Minute, answer(guard.Once))
			w.says(after(20*time.Second, asks(calls("change", `{}`), calls("ask_user", `{}`))), stuck())
		}, 26 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.config.MaxTime = time.Minute
				c.set(w)
				began := time.Now()
				h := w.start()
				<-h.done
				took := time.Since(began)
				got := h.wait()
				if name == "two questions" {
					w.ended(got, activity.Goal) // 30 s of its own minute
				} else {
					w.ended(got, activity.Timeout)
				}
				if took != c.want || (name != "two questions" && !strings.Contains(got.Text, "1m0s")) {
					w.t.Errorf("it took %v, not %v; the text is %q", took, c.want, got.Text)
				}
			})
		})
	}
}

// TestWaiting: the state tells whether a person is waited for (spec 3.5).
func TestWaiting(t *testing.T) {
	in(t, func(w *world) {
		w.tool("change", tool.Low, takes)
		w.person.answer = slowly(time.Minute, answer(guard.Once))
		w.says(after(time.Second, asks(calls("change", `{"ms":5000}`))), says("done"))
		h := w.start()
		for _, s := range []struct {
			at      time.Duration
			waiting bool
		}{{500 * time.Millisecond, false}, {30 * time.Second, true}, {62 * time.Second, false}} {
			time.Sleep(s.at - time.Since(of1(w)))
			if h.Waiting() != s.waiting {
				w.t.Errorf("after %v: waiting is %v", s.at, !s.waiting)
			}
		}
		w.ended(h.wait(), activity.Goal)
		var to []activity.State
		for _, s := range of[activity.RunState](w) {
			if to = append(to, s.To); s.To == activity.Waiting && (s.Why == "" || s.Resumes == "") {
				w.t.Errorf("waiting without a reason: %+v", s)
			}
		}
		if fmt.Sprint(to) != "[running waiting running finished]" {
			w.t.Errorf("the run is %v", to)
		}
	})
}

// of1 is when the run's first event was.
func of1(w *world) time.Time { return w.log.all()[0].Time }

// TestErrors: how each failure of a model ends a run.
func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		steps []step
		kind  string
		says  string
		asked int
	}{
		"REL-53 refused":   {[]step{fails(errFatal)}, "provider", "no such thing (HTTP 400)", 1},
		"REL-53 key":       {[]step{fails(errKey)}, "authRequired", "the key is refused (HTTP 401)", 1},
		"REL-52 busy":      {[]step{fails(errBusy), fails(errBusy), fails(errBusy), fails(errBusy), fails(errBusy)}, "provider", "too many requests (HTTP 429)", 5},
		"REL-55 cut":       {[]step{fails(errCut, "par"), fails(errCut), fails(errCut, "part")}, "provider", "the connection broke", 3},
		"REL-57 empty":     {[]step{reply(model.Empty), reply(model.Empty), reply(model.Empty)}, "provider", "empty", 3},
		"REL-57 malformed": {[]step{reply(model.Malformed), reply(model.Malformed), reply(model.Malformed)}, "provider", "cannot be read", 3},
		"REL-57 unknown":   {[]step{reply(model.Other), reply(model.Other, model.Part{Thought: "x"}), reply(model.Other)}, "provider", "unknown reason", 3},
		"REL-57 no answer": {[]step{nothing, nothing, nothing}, "provider", "ended before it was complete", 3},
		"REL-59 blocked":   {[]step{reply(model.Blocked, text("I will"))}, "blocked", "SAFETY", 1},
		"REL-60 truncated": {[]step{reply(model.Length, text("a")), reply(model.Length, text("b"))}, "truncated", "longer", 2},
		"REL-57 why": {[]step{nothing, nothing, func(_ context.Context, yield func(model.Chunk, error) bool) {
			yield(model.Chunk{Answer: &model.Answer{Finish: model.Malformed, Detail: "MALFORMED_FUNCTION_CALL"}}, nil)
		}}, "provider", "(MALFORMED_FUNCTION_CALL)", 3},
		"another error": {[]step{fails(errors.New("the sky fell"))}, "internal", "the sky fell", 1},
		"a panic":       {[]step{func(context.Context, func(model.Chunk, error) bool) { panic("the sky fell") }}, "internal", "(bug ", 1},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.says(c.steps...)
				got := w.do()
				w.ended(got, activity.Errored)
				if got.Error.Kind != c.kind {
					w.t.Errorf("the kind is %q, not %q", got.Error.Kind, c.kind)
				}
				w.contains("the error", got.Error.Message, c.says)
				if n := len(w.model.requests); n != c.asked {
					w.t.Errorf("the model is asked %d times, not %d", n, c.asked)
				}
				seen := of[activity.ErrorSeen](w)
				if len(seen) != 1 {
					w.t.Fatalf("a person is told %+v", seen)
				}
				w.contains("the error that is told", seen[0].Message, c.says)
			})
		})
	}
}

func nothing(context.Context, func(model.Chunk, error) bool) {}

// moments are the states in which a run can be cancelled: set brings it there
// within a second of its start, and says what it waits for.
var moments = map[string]func(w *world){
	"thinking":  func(w *world) { w.says(stuck()) },
	"streaming": func(w *world) { w.says(stuck("so", " far")) },
	"between": func(w *world) { // the model does not hear of it: the answer comes all the same
		w.says(func(_ context.Context, yield func(model.Chunk, error) bool) {
			time.Sleep(1500 * time.Millisecond)
			asks(calls("look", `{}`), calls("nothing", `{}`))(context.Background(), yield)
		})
	},
	"retry wait": func(w *world) { w.says(fails(&model.Error{Class: model.Busy, RetryAfter: time.Minute})) },
	"asking": func(w *world) {
		w.person.answer = slowly(time.Hour, answer(guard.Once))
		w.says(asks(calls("change", `{}`)))
	},
	"its turn to ask": func(w *world) {
		w.person.answer = slowly(time.Hour, answer(guard.Once))
		w.says(asks(calls("change", `{}`), calls("change", `{}`), calls("change", `{}`)))
	},
	"asking the person": func(w *world) {
		w.config.Env.Ask = func(ctx context.Context, q tool.Question) (tool.Answer, error) {
			return tool.Answer{}, sleep(ctx, time.Hour)
		}
		w.says(asks(calls("inquire", `{}`)))
	},
	"executing": func(w *world) { w.says(asks(calls("look", `{"ms":60000}`), calls("change", `{"ms":60000}`))) },
	"asks when it is over": func(w *world) {
		w.config.Env.Ask = func(ctx context.Context, q tool.Question) (tool.Answer, error) {
			time.Sleep(time.Second)
			return tool.Answer{}, ctx.Err()
		}
		w.says(asks(calls("deaf", `{"then":"ask"}`)))
	},
	"deaf while it asks": func(w *world) {
		w.config.Env.Ask = func(ctx context.Context, q tool.Question) (tool.Answer, error) {
			time.Sleep(time.Minute)
			return tool.Answer{}, nil
		}
		w.says(asks(calls("inquire", `{}`)))
	},
	"executing, deaf": func(w *world) { w.says(asks(calls("deaf", `{}`), calls("look", `{"ms":60000}`))) },
	"an earlier writer": func(w *world) {
		w.says(asks(calls("change", `{"path":"/a","ms":60000}`), calls("change", `{"path":"/a"}`)))
	},
	"a slot": func(w *world) {
		var parts []model.Part
		for range 12 {
			parts = append(parts, calls("look", `{"ms":60000}`))
		}
		w.says(asks(parts...))
	},
	"the disk": func(w *world) {
		w.log.commit = func(ctx context.Context, _ uint64) error { return sleep(ctx, time.Hour) }
		w.says(asks(calls("change", `{}`)))
	},
}

// TestREL61CancelledAnywhere: a cancellation ends a run within a second,
// wherever it is, and each call has its result.
func TestREL61CancelledAnywhere(t *testing.T) {
	for name, set := range moments {
		for _, cause := range []error{run.ErrCancelled, run.ErrInterrupted, nil} {
			t.Run(fmt.Sprintf("%s/%v", name, cause), func(t *testing.T) {
				in(t, func(w *world) {
					w.tool("look", tool.Safe, takes)
					w.tool("change", tool.Low, takes)
					w.tool("deaf", tool.Safe, func(ctx context.Context, env *tool.Env, args map[string]any) (*tool.Result, error) {
						for range 10 {
							time.Sleep(time.Second)
							env.Progress("still here")
						}
						if args["then"] == "ask" {
							_, err := env.Ask(ctx, tool.Question{})
							return nil, err
						}
						panic("at last")
					})
					w.tool("inquire", tool.Safe, func(ctx context.Context, env *tool.Env, _ map[string]any) (*tool.Result, error) {
						_, err := env.Ask(ctx, tool.Question{})
						return &tool.Result{}, err
					})
					set(w)
					h := w.start()
					time.Sleep(time.Second)
					executed := len(w.executed())
					began := time.Now()
					h.end(cause)
					<-h.done
					if took := time.Since(began); took > time.Second {
						w.t.Errorf("the run ends %v after the cancellation", took)
					}
					before := w.log.last()
					got := h.wait()
					if w.log.last() != before {
						w.t.Errorf("the log goes on after the run's end: %v", w.types()[before:])
					}
					if n := len(w.executed()); n != executed {
						w.t.Errorf("%d calls begin after the cancellation", n-executed)
					}
					why := "cancelled by user"
					if cause == run.ErrInterrupted {
						why = "interrupted: the daemon ended before this call finished"
					}
					for _, s := range w.ends(1) {
						if (s.State != activity.Cancelled && s.Name != "nothing") || (s.State == activity.Cancelled && s.Error.Message != why) {
							w.t.Errorf("a call ends %s: %+v", s.State, s.Error)
						}
					}
					if cause == run.ErrInterrupted {
						if n := len(of[activity.RunFinished](w)); n != 0 {
							w.t.Errorf("an interrupted run has finished %s", got.Reason)
						}
						return // check has seen how its log ends
					}
					w.ended(got, activity.Aborted)
				})
			})
		}
	}
}

// TestCancelledBeforeItBegins: the model is not asked.
func TestCancelledBeforeItBegins(t *testing.T) {
	in(t, func(w *world) {
		w.config.Tools = tool.NewSet(tool.SetConfig{})
		ctx, end := context.WithCancelCause(context.Background())
		end(run.ErrCancelled)
		r := run.New(w.config)
		r.Begin(nil)
		got := r.Do(ctx)
		w.check(got)
		w.ended(got, activity.Aborted)
		if len(w.model.requests) != 0 {
			w.t.Errorf("the model is asked")
		}
	})
}

// TestTimeUpWhileATurnActs: calls are told that it was not a person.
func TestTimeUpWhileATurnActs(t *testing.T) {
	in(t, func(w *world) {
		w.config.MaxTime = time.Second
		w.tool("look", tool.Safe, takes)
		w.says(asks(calls("look", `{"ms":5000}`)))
		w.ended(w.do(), activity.Timeout)
		w.contains("the result", w.results(1)[0].Content, "the run's time is used up")
	})
}

// TestCancelCall ends one call, and the run goes on.
func TestCancelCall(t *testing.T) {
	in(t, func(w *world) {
		w.tool("look", tool.Safe, takes)
		w.says(asks(calls("look", `{"ms":60000}`), calls("look", `{"ms":5000}`)), says("done"))
		h := w.start()
		time.Sleep(time.Second)
		if h.CancelCall(id(1, 7)) || h.CancelCall("") {
			w.t.Errorf("a call that does not exist is cancelled")
		}
		if !h.CancelCall(id(1, 0)) {
			w.t.Errorf("the call is not cancelled")
		}
		synctest.Wait()
		if h.CancelCall(id(1, 0)) {
			w.t.Errorf("a call that has ended is cancelled")
		}
		w.ended(h.wait(), activity.Goal)
		if ends := w.ends(1); ends[0].State != activity.Cancelled || ends[0].Error.Message != "cancelled by user" || ends[1].State != activity.Success {
			w.t.Errorf("the calls end %+v", ends)
		}
	})
}

// TestREL96BrokenLog: a run whose session cannot be written ends, and asks the
// model nothing more.
func TestREL96BrokenLog(t *testing.T) {
	in(t, func(w *world) {
		w.tool("look", tool.Safe, func(context.Context, *tool.Env, map[string]any) (*tool.Result, error) {
			w.log.breaks(errors.New("no space left on device"))
			return &tool.Result{Content: "seen"}, nil
		})
		w.says(asks(calls("look", `{}`)))
		end := w.do()
		w.ended(end, activity.Errored)
		if end.Error == nil || end.Error.Kind != "config" || !strings.Contains(end.Error.Message, "no space left") {
			t.Errorf("the run ended %+v", end.Error)
		}
	})
}

// TestWaits: who shows how many runs wait is told when that changes.
func TestWaits(t *testing.T) {
	in(t, func(w *world) {
		told := 0
		w.config.Waits = func() { told++ }
		w.tool("change", tool.Low, nil)
		w.person.answer = func(context.Context, run.Question) run.Answer { return answer(guard.Once) }
		w.says(asks(calls("change", `{}`)), says("done"))
		w.ended(w.do(), activity.Goal)
		if told != 2 {
			t.Errorf("told %d times", told)
		}
	})
}
