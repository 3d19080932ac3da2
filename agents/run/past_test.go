package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// resumes takes the run up again that the session was left with.
func (k *kept) resumes(w *world, more run.Extension) activity.RunFinished {
	k.t.Helper()
	p, ok := k.session.Progress(runID)
	if !ok {
		k.t.Fatalf("the session does not know how far the run came: %+v", k.session.Runs())
	}
	w.config.Tools = tool.NewSet(tool.SetConfig{Tools: w.tools, Canonical: definition.CanonicalTool})
	past := run.Past{
		State: p.Run.State, Turn: p.Turn, ModelCalls: p.ModelCalls, ToolCalls: p.ToolCalls, Usage: p.Usage, Active: p.Active,
		Executed: p.Executed, TurnOver: p.TurnOver, Limit: p.Limit, Extended: p.Extended, Changes: p.Changes, Moved: p.Moved, Finish: p.Finish, Input: p.Started.Input, More: more,
		Guards: p.Guards, Repairs: p.Repairs, Repairing: p.Repairing,
	}
	for _, c := range p.Open {
		past.Open = append(past.Open, run.Open{Call: c.Call, State: c.State, Risk: c.Risk})
	}
	r := run.New(w.config)
	if seq := r.Continue(past); seq == 0 {
		k.t.Errorf("Continue returns no number")
	}
	end := r.Do(context.Background())
	w.left.Wait()
	return end
}

// answering makes the model do what the conversation is at: first the calls,
// then the end.
func answering(w *world, end step, parts ...model.Part) step {
	return func(ctx context.Context, yield func(model.Chunk, error) bool) {
		w.model.mu.Lock()
		messages := w.model.requests[len(w.model.requests)-1].Messages
		w.model.mu.Unlock()
		for _, m := range messages {
			for _, p := range m.Parts {
				if p.Result != nil {
					end(ctx, yield)
					return
				}
			}
		}
		asks(parts...)(ctx, yield)
	}
}

// TestREL103ResumeAtEveryEvent: a daemon that dies after any event of a run
// leaves one that can be resumed: it comes to the same end, its conversation is
// one that a provider takes, each question is asked anew, and no call is
// executed twice.
func TestREL103ResumeAtEveryEvent(t *testing.T) {
	for name, c := range map[string]struct {
		mode definition.Mode
		end  step
	}{
		"chat": {definition.Chat, says("done")},
		"task": {definition.Task, asks(calls("complete_task", `{"result":"done"}`))},
	} {
		t.Run(name, func(t *testing.T) {
			build := func(k *kept) *world {
				w := k.run()
				w.config.Mode = c.mode
				w.config.Limits.ModelCalls = 20
				w.tool("look", tool.Safe, nil)
				w.tool("change", tool.Low, nil)
				w.model.rest = answering(w, c.end, calls("look", `{}`), calls("change", `{"path":"/a"}`), calls("change", `{"path":"/b"}`))
				w.person.answer = func(context.Context, run.Question) run.Answer { return answer(guard.Once) }
				return w
			}
			var lines [][]byte
			onDisk(t, func(k *kept) {
				w := build(k)
				w.ended(w.do(), activity.Goal)
				k.reopen()
				data, err := os.ReadFile(filepath.Join(k.dir, "main.jsonl"))
				if err != nil {
					t.Fatal(err)
				}
				lines = bytes.SplitAfter(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
			})
			resumed := 0
			for n := 2; n < len(lines); n++ { // header and run.started, to all but run.finished
				var last struct{ Type string }
				if err := json.Unmarshal(lines[n-1], &last); err != nil {
					t.Fatal(err)
				}
				t.Run(fmt.Sprintf("after %d %s", n-1, last.Type), func(t *testing.T) {
					dir := t.TempDir()
					if err := os.WriteFile(filepath.Join(dir, "main.jsonl"), bytes.Join(lines[:n], nil), 0o600); err != nil {
						t.Fatal(err)
					}
					synctest.Test(t, func(t *testing.T) {
						k := keep(t, dir)
						defer k.store.Close()
						if runs := k.session.Runs(); len(runs) != 1 || runs[0].State == activity.Finished {
							return // the log says that it ended
						}
						resumed++
						executed := map[string]bool{} // in the life before
						for _, line := range lines[:n] {
							var e struct {
								Type string
								Data struct{ Call, State string }
							}
							if json.Unmarshal(line, &e) == nil && e.Type == "tool.state" && e.Data.State == "executing" {
								executed[e.Data.Call] = true
							}
						}
						w := build(k)
						got := k.resumes(w, run.Extension{})
						w.ended(got, activity.Goal)
						if got.Text != "done" {
							t.Errorf("the run ended with %q", got.Text)
						}
						for _, id := range w.executed() {
							if executed[id] {
								t.Errorf("%s was executed in both lives", id)
							}
							executed[id] = true
						}
						if len(executed) < 3 {
							t.Errorf("executed: %v", executed)
						}
						k.same()
					})
				})
			}
			if resumed < 20 {
				t.Errorf("%d moments", resumed)
			}
		})
	}
}

// TestREL103WhatExecutedIsNotRepeated: the model is told that nobody knows how
// far a call came.
func TestREL103WhatExecutedIsNotRepeated(t *testing.T) {
	onDisk(t, func(k *kept) {
		w := k.run()
		w.approval = guard.Free
		w.tool("change", tool.Low, takes)
		w.says(asks(calls("change", `{"ms":60000}`)))
		h := w.start()
		time.Sleep(time.Second)
		k.dies(h)
		w = k.run()
		w.approval = guard.Free
		w.tool("change", tool.Low, takes)
		w.says(says("I see."))
		w.ended(k.resumes(w, run.Extension{}), activity.Goal)
		if ran := w.executed(); len(ran) > 0 {
			t.Errorf("executed again: %v", ran)
		}
		messages := k.session.Context(agentName)
		w.contains("the result", messages[len(messages)-2].Parts[0].Result.Content, "look before you repeat it")
	})
}

// dies ends the daemon without its run's being told: what is in the log stays,
// and nothing is added.
func (k *kept) dies(h *handle) {
	k.t.Helper()
	if err := k.session.Log.Commit(context.Background(), k.session.Log.Last()); err != nil {
		k.t.Fatalf("the log cannot be written: %v", err)
	}
	data, err := os.ReadFile(filepath.Join(k.dir, "main.jsonl"))
	if err != nil {
		k.t.Fatalf("the log cannot be read: %v", err)
	}
	h.end(run.ErrInterrupted)
	<-h.done
	h.w.left.Wait()
	if err := k.store.Close(); err != nil {
		k.t.Fatalf("the store cannot be closed: %v", err)
	}
	if err := os.WriteFile(filepath.Join(k.dir, "main.jsonl"), data, 0o600); err != nil {
		k.t.Fatalf("the log cannot be cut: %v", err)
	}
	k.open()
}

// TestREL123LimitsOutliveTheDaemon: what a run has used counts on after a
// restart, and a person can add to it.
func TestREL123LimitsOutliveTheDaemon(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(w *world)
		more run.Extension
		want activity.Reason
	}{
		"calls":           {func(w *world) { w.config.Limits.ModelCalls = 2 }, run.Extension{}, activity.Budget},
		"tokens":          {func(w *world) { w.config.Limits.Tokens = 40 }, run.Extension{}, activity.Budget},
		"tokens, more":    {func(w *world) { w.config.Limits.Tokens = 40 }, run.Extension{Tokens: 500}, activity.Goal},
		"turns":           {func(w *world) { w.config.MaxTurns = 2 }, run.Extension{}, activity.MaxTurns},
		"turns, and more": {func(w *world) { w.config.MaxTurns = 2 }, run.Extension{Turns: 3}, activity.Goal},
		"time":            {func(w *world) { w.config.MaxTime = 5 * time.Second }, run.Extension{}, activity.Timeout},
		"time, and more":  {func(w *world) { w.config.MaxTime = 5 * time.Second }, run.Extension{Seconds: 60}, activity.Goal},
	} {
		t.Run(name, func(t *testing.T) {
			onDisk(t, func(k *kept) {
				w := k.run()
				c.set(w)
				w.tool("look", tool.Safe, takes)
				w.says(asks(calls("look", `{"ms":2000}`)), asks(calls("look", `{"ms":1500,"a":1}`), calls("look", `{"ms":2500}`)))
				h := w.start()
				time.Sleep(3900 * time.Millisecond)
				k.dies(h)
				w = k.run()
				c.set(w)
				w.tool("look", tool.Safe, takes)
				w.model.rest = after(2*time.Second, says("done"))
				got := k.resumes(w, c.more)
				w.ended(got, c.want)
				if c.want == activity.Goal && (got.Usage.InputTokens != 30 || got.Turns != 3 || got.ToolCalls < 1) {
					t.Errorf("the result does not count what was before: %+v", got)
				}
			})
		})
	}
}

// TestResumeAfterOthers: a run whose agent has gone on without it is told what it
// was about.
func TestResumeAfterOthers(t *testing.T) {
	onDisk(t, func(k *kept) {
		w := k.run()
		w.says(stuck("half"))
		h := w.start()
		time.Sleep(time.Second)
		k.dies(h)

		w = k.run()
		w.config.ID, w.config.Tools = "run-2", tool.NewSet(tool.SetConfig{})
		w.says(says("hello"))
		r := run.New(w.config)
		r.Begin([]activity.ContentBlock{{Type: "text", Text: "something else"}})
		w.ended(r.Do(context.Background()), activity.Goal)

		w = k.run()
		w.says(says("done"))
		w.ended(k.resumes(w, run.Extension{}), activity.Goal)
		last := w.model.requests[0].Messages
		w.contains("the request", last[len(last)-1].Parts[0].Text, "goes on now", "please")
		k.same()
	})
}

// TestREL96PausedForTheDisk: a run whose session cannot be written stops, and
// goes on when it can again, or in memory if the person says so.
func TestREL96PausedForTheDisk(t *testing.T) {
	for name, c := range map[string]struct {
		choice int
		mends  bool
		want   activity.Reason
	}{
		"the disk is mended": {9, true, activity.Goal}, "unsaved": {1, false, activity.Goal}, "tried again": {0, true, activity.Goal}, "ended": {2, false, activity.Errored},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				var messages []string
				w.config.Env.Ask = asked(c.choice, &messages)
				if c.choice == 0 {
					choose := w.config.Env.Ask
					w.config.Env.Ask = func(ctx context.Context, q tool.Question) (tool.Answer, error) {
						w.log.breaks(nil)
						return choose(ctx, q)
					}
				}
				w.tool("look", tool.Safe, func(context.Context, *tool.Env, map[string]any) (*tool.Result, error) {
					w.log.breaks(errDisk)
					return &tool.Result{Content: "seen"}, nil
				})
				w.says(asks(calls("look", `{}`)))
				if c.want == activity.Goal {
					w.says(says("done"))
				}
				h := w.start()
				synctest.Wait()
				if c.mends && c.choice == 9 {
					if len(w.model.requests) != 1 {
						t.Errorf("the model was asked %d times while nothing could be written", len(w.model.requests))
					}
					w.log.breaks(nil)
				}
				w.ended(h.wait(), c.want)
				if len(messages) != 1 || !strings.Contains(messages[0], "no space left") {
					t.Errorf("asked %q", messages)
				}
				if !slices.ContainsFunc(of[activity.RunState](w), func(s activity.RunState) bool { return s.To == activity.Paused }) {
					t.Error("the run was not paused")
				}
			})
		})
	}
}

// TestREL103AskedAnew: a question that was open when the daemon ended, however it
// did, is asked once more when the run is resumed, and only then is the call made.
func TestREL103AskedAnew(t *testing.T) {
	for _, graceful := range []bool{true, false} {
		t.Run(fmt.Sprintf("graceful %v", graceful), func(t *testing.T) {
			onDisk(t, func(k *kept) {
				w := k.run()
				w.tool("change", tool.Low, nil)
				w.person.answer = func(ctx context.Context, _ run.Question) run.Answer { <-ctx.Done(); return run.Answer{} }
				w.says(asks(calls("change", `{}`)))
				h := w.start()
				time.Sleep(time.Second)
				if graceful {
					h.end(run.ErrInterrupted)
					h.wait()
					k.reopen()
				} else {
					k.dies(h)
				}
				if ran := w.executed(); len(ran) > 0 {
					t.Errorf("executed without an answer: %v", ran)
				}
				w = k.run()
				w.tool("change", tool.Low, nil)
				questions := 0
				w.person.answer = func(context.Context, run.Question) run.Answer { questions++; return answer(guard.Once) }
				w.says(says("done"))
				w.ended(k.resumes(w, run.Extension{}), activity.Goal)
				if ran := w.executed(); questions != 1 || !slices.Equal(ran, []string{id(1, 0)}) {
					t.Errorf("asked %d times, executed %v", questions, ran)
				}
				k.same()
			})
		})
	}
}

// TestREL123WhatAPersonGaveOutlivesTheDaemon: a turn that was cut off does not
// count, what a person added to a limit stays added, and a run that was left
// paused at a limit gets as much again.
func TestREL123WhatAPersonGaveOutlivesTheDaemon(t *testing.T) {
	look := func(n int) step { return asks(calls("look", fmt.Sprintf(`{"n":%d}`, n))) }
	for name, c := range map[string]struct {
		set    func(w *world)
		steps  []step
		answer int // to the question of a run that stops
		want   activity.Reason
	}{
		"cut off in the last turn": {func(w *world) { w.config.MaxTurns = 2 }, []step{look(1), stuck("half")}, 9, activity.Goal},
		"given more before":        {func(w *world) { w.config.Limits.ModelCalls = 2 }, []step{look(1), look(2), stuck()}, 0, activity.Goal},
		"left at its limit":        {func(w *world) { w.config.Limits.ModelCalls = 2 }, []step{look(1), look(2)}, 9, activity.Goal},
	} {
		t.Run(name, func(t *testing.T) {
			onDisk(t, func(k *kept) {
				var messages []string
				w := k.run()
				c.set(w)
				w.config.Env.Ask = asked(c.answer, &messages)
				w.tool("look", tool.Safe, nil)
				w.says(c.steps...)
				h := w.start()
				time.Sleep(time.Second)
				k.dies(h)
				w = k.run()
				c.set(w)
				w.says(says("done"))
				w.ended(k.resumes(w, run.Extension{}), c.want)
			})
		})
	}
}

// TestREL123AsMuchAgainIsTheLimit: a run that is resumed twice gets its limit of turns
// twice, and not double the second time.
func TestREL123AsMuchAgainIsTheLimit(t *testing.T) {
	onDisk(t, func(k *kept) {
		for n := range 3 {
			w := k.run()
			w.config.MaxTurns = 2
			w.tool("look", tool.Safe, nil)
			w.model.rest = asks(calls("look", `{}`))
			var got activity.RunFinished
			if n == 0 {
				got = w.do()
			} else {
				got = k.resumes(w, run.Extension{})
			}
			w.ended(got, activity.MaxTurns)
			if got.Turns != 2*n+2 {
				t.Errorf("resumed %d times: %d turns", n, got.Turns)
			}
		}
	})
}

// TestREL123ALimitThatEndedARun: a run that ended at its limit of turns or time goes on
// with all that it is given; what it used counts on.
func TestREL123ALimitThatEndedARun(t *testing.T) {
	look := func(n int) step { return asks(calls("look", fmt.Sprintf(`{"n":%d}`, n))) }
	for name, c := range map[string]struct {
		set  func(w *world)
		want activity.Reason
		more run.Extension
	}{
		"turns":          {func(w *world) { w.config.MaxTurns = 1 }, activity.MaxTurns, run.Extension{Turns: 1}},
		"turns of tasks": {func(w *world) { w.config.MaxTurns, w.config.Mode = 1, definition.Task }, activity.MaxTurns, run.Extension{Turns: 1}},
		"as much again":  {func(w *world) { w.config.MaxTurns = 1 }, activity.MaxTurns, run.Extension{}},
		"time":           {func(w *world) { w.config.MaxTime = time.Second }, activity.Timeout, run.Extension{Seconds: 5}},
	} {
		t.Run(name, func(t *testing.T) {
			onDisk(t, func(k *kept) {
				again := func(steps ...step) *world {
					w := k.run()
					c.set(w)
					w.tool("look", tool.Safe, nil)
					w.says(steps...)
					return w
				}
				first := []step{look(1)}
				if c.want == activity.Timeout {
					first = []step{stuck("half")}
				}
				w := again(first...)
				task := w.config.Mode == definition.Task
				if task {
					w.says(says("I cannot."))
				}
				w.ended(w.do(), c.want)
				last := says("done")
				if task {
					last = asks(calls("complete_task", `{"result":"done"}`))
				}
				w = again(last)
				got := k.resumes(w, c.more)
				w.ended(got, activity.Goal)
				if got.Recovered != "" {
					t.Errorf("%+v", got)
				}
				if runs := k.session.Runs(); len(runs) != 1 || runs[0].State != activity.Finished || runs[0].Reason != activity.Goal {
					t.Errorf("%+v", runs)
				}
			})
		})
	}
}
