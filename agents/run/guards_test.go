package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	"github.com/agentls/agentls/agents/guardrail"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
)

// guardedBy gives the run guards that refuse what holds "bad" and cannot judge what holds
// "crash".
func (w *world) guardedBy(guards ...definition.Guard) *world {
	c := guardrail.Config{Registered: map[string]guardrail.Validator{"v": func(_ context.Context, output json.RawMessage) ([]activity.GuardError, error) {
		switch {
		case strings.Contains(string(output), "crash"):
			return nil, errors.New("it crashed")
		case strings.Contains(string(output), "bad"):
			return []activity.GuardError{{Pointer: "/x", Message: "is bad"}}, nil
		}
		return nil, nil
	}}}
	for _, g := range guards {
		if g.Schema == nil {
			g.Validator = "v"
		}
		w.config.Guards = append(w.config.Guards, guardrail.New(g, c))
	}
	return w
}

// TestGuardPolicies: what each policy makes of a result that passes, one that is refused,
// once or always, and one that cannot be judged; in chats and in tasks.
func TestGuardPolicies(t *testing.T) {
	for _, c := range []struct {
		policy  string
		answers []string
		reason  activity.Reason
		text    string
		outcome string
		outputs int
	}{
		{"reject", []string{"fine"}, activity.Goal, "fine", "passed", 0},
		{"reject", []string{"bad"}, activity.Guardrail, "", "failed", 0},
		{"reject", []string{"crash"}, activity.Guardrail, "", "failed", 0},
		{"warn", []string{"fine"}, activity.Goal, "fine", "passed", 0},
		{"warn", []string{"bad"}, activity.Goal, "bad", "warned", 0},
		{"warn", []string{"crash"}, activity.Goal, "crash", "warned", 0},
		{"repair", []string{"fine"}, activity.Goal, "fine", "passed", 0},
		{"repair", []string{"bad 1", "fine"}, activity.Goal, "fine", "repaired", 2},
		{"repair", []string{"bad 1", "bad 2", "fine"}, activity.Goal, "fine", "repaired", 3},
		{"repair", []string{"bad 1", "bad 2", "bad 3"}, activity.Guardrail, "", "failed", 3},
		{"repair", []string{"crash"}, activity.Guardrail, "", "failed", 0},
		{"repair", []string{"bad 1", "crash"}, activity.Guardrail, "", "failed", 2},
	} {
		for _, mode := range []definition.Mode{definition.Chat, definition.Task} {
			t.Run(fmt.Sprint(c.policy, c.answers, mode), func(t *testing.T) {
				onDisk(t, func(k *kept) {
					w := k.run().guardedBy(definition.Guard{Name: "g", Policy: c.policy})
					w.config.Mode = mode
					for _, text := range c.answers {
						if mode == definition.Task {
							w.says(asks(calls("complete_task", `{"result":"`+text+`"}`)))
						} else {
							w.says(says(text))
						}
					}
					got := w.do()
					w.ended(got, c.reason)
					told := of[activity.GuardrailChecked](w)
					if len(told) != 1 || told[0].Outcome != c.outcome || len(told[0].Outputs) != c.outputs || len(got.Guardrails) != 1 || got.Guardrails[0].Outcome != c.outcome {
						t.Fatalf("told %+v, result %+v", told, got.Guardrails)
					}
					if got.Text != c.text || (c.reason == activity.Guardrail) != (got.Error != nil && got.Error.Kind == "guardrail") {
						t.Errorf("text %q, error %+v", got.Text, got.Error)
					}
					for i, output := range told[0].Outputs {
						if output != c.answers[i] {
							t.Errorf("output %d is %q", i, output)
						}
					}
					if n := len(of[activity.ModelContent](w)); n != len(c.answers) {
						t.Errorf("the log has %d answers", n)
					}
				})
			})
		}
	}
}

// TestGuardsInOrder: each guard judges what the one before it left, what one had repaired
// is judged by all again, and the first that refuses ends the run.
func TestGuardsInOrder(t *testing.T) {
	onDisk(t, func(k *kept) {
		w := k.run().guardedBy(
			definition.Guard{Name: "first", Policy: "reject"},
			definition.Guard{Name: "schema", Policy: "repair", Schema: json.RawMessage(`{"type":"object"}`)},
			definition.Guard{Name: "never", Policy: "reject"})
		w.says(says("fine"), says(`{"x": "bad"}`))
		got := w.do()
		w.ended(got, activity.Guardrail)
		var told []string
		for _, g := range of[activity.GuardrailChecked](w) {
			told = append(told, g.Name+" "+g.Outcome)
		}
		if !slices.Equal(told, []string{"first passed", "first failed"}) {
			t.Errorf("told %v", told)
		}
	})
}

// TestGuardWithoutTurns: a repair for which no turn is left is refused; so is the result
// of a task's last turn.
func TestGuardWithoutTurns(t *testing.T) {
	onDisk(t, func(k *kept) {
		w := k.run().guardedBy(definition.Guard{Name: "g", Policy: "repair"})
		w.config.MaxTurns = 1
		w.says(says("bad"))
		w.ended(w.do(), activity.Guardrail)
	})
	onDisk(t, func(k *kept) {
		w := k.run().guardedBy(definition.Guard{Name: "g", Policy: "repair"})
		w.config.Mode, w.config.MaxTurns = definition.Task, 1
		w.says(says("thinking"), asks(calls("complete_task", `{"result":"bad"}`)))
		w.ended(w.do(), activity.Guardrail)
	})
}

// TestGuardOfInput: a request that is refused ends the run before a model is asked, and
// beside the model it cancels it.
func TestGuardOfInput(t *testing.T) {
	for _, policy := range []string{"reject", "warn"} {
		onDisk(t, func(k *kept) {
			w := k.run().guardedBy(definition.Guard{Name: "g", Policy: policy, Input: true, Schema: json.RawMessage(`{"type":"object"}`)})
			w.model.rest = says("done")
			got := w.do()
			if policy == "warn" {
				w.ended(got, activity.Goal)
				return
			}
			w.ended(got, activity.Guardrail)
			if n := len(w.model.requests); n != 0 || len(k.session.Context(agentName)) != 0 {
				t.Errorf("%d requests, context %v", n, k.session.Context(agentName))
			}
		})
	}
	for _, refuses := range []bool{true, false} {
		onDisk(t, func(k *kept) {
			asked := make(chan struct{})
			w := k.run()
			w.config.Guards = []*guardrail.Guard{guardrail.New(
				definition.Guard{Name: "g", Policy: "reject", Input: true, Parallel: true, Validator: "v"},
				guardrail.Config{Registered: map[string]guardrail.Validator{"v": func(ctx context.Context, _ json.RawMessage) ([]activity.GuardError, error) {
					<-asked
					if refuses {
						return []activity.GuardError{{Message: "no"}}, nil
					}
					time.Sleep(time.Minute) // the answer waits for it
					return nil, nil
				}}})}
			w.model.rest = func(ctx context.Context, yield func(model.Chunk, error) bool) {
				close(asked)
				if refuses {
					<-ctx.Done()
					yield(model.Chunk{}, ctx.Err())
					return
				}
				says("done")(ctx, yield)
			}
			got := w.do()
			if refuses {
				w.ended(got, activity.Guardrail)
			} else {
				w.ended(got, activity.Goal)
			}
			if len(got.Guardrails) != 1 {
				t.Errorf("guardrails %+v", got.Guardrails)
			}
		})
	}
}

// TestGuardsBesideEachOther: one that runs beside the model ends while the next one is
// looked at; the race detector looks on.
func TestGuardsBesideEachOther(t *testing.T) {
	onDisk(t, func(k *kept) {
		var guards []*guardrail.Guard
		passes := guardrail.Config{Registered: map[string]guardrail.Validator{"v": func(context.Context, json.RawMessage) ([]activity.GuardError, error) { return nil, nil }}}
		for i := range 8 {
			guards = append(guards, guardrail.New(definition.Guard{Name: fmt.Sprint("g", i), Policy: "reject", Input: true, Parallel: i%2 == 0, Validator: "v"}, passes))
		}
		w := k.run()
		w.config.Guards, w.model.rest = guards, says("done")
		got := w.do()
		w.ended(got, activity.Goal)
		if len(got.Guardrails) != len(guards) {
			t.Errorf("guardrails %+v", got.Guardrails)
		}
	})
}

// TestREL103ResumeInTheMiddleOfARepair: a daemon that dies after any event of a run that
// repairs its result leaves one that comes to the same end, and the repair is asked for
// once.
func TestREL103ResumeInTheMiddleOfARepair(t *testing.T) {
	for _, mode := range []definition.Mode{definition.Chat, definition.Task} {
		t.Run(string(mode), func(t *testing.T) {
			build := func(k *kept) *world {
				w := k.run().guardedBy(definition.Guard{Name: "in", Policy: "reject", Input: true}, definition.Guard{Name: "g", Policy: "repair"})
				w.config.Mode = mode
				w.config.Limits.ModelCalls = 20
				w.model.rest = func(ctx context.Context, yield func(model.Chunk, error) bool) {
					w.model.mu.Lock()
					messages := w.model.requests[len(w.model.requests)-1].Messages
					w.model.mu.Unlock()
					text := "bad"
					for _, m := range messages {
						for _, p := range m.Parts {
							if strings.Contains(p.Text, "Your result was checked") {
								text = "good"
							}
						}
					}
					if mode == definition.Task {
						asks(calls("complete_task", `{"result":"`+text+`"}`))(ctx, yield)
					} else {
						says(text)(ctx, yield)
					}
				}
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
			for n := 2; n < len(lines); n++ {
				t.Run(fmt.Sprint("after ", n-1), func(t *testing.T) {
					dir := t.TempDir()
					if err := os.WriteFile(filepath.Join(dir, "main.jsonl"), bytes.Join(lines[:n], nil), 0o600); err != nil {
						t.Fatal(err)
					}
					synctest.Test(t, func(t *testing.T) {
						k := keep(t, dir)
						defer k.store.Close()
						if runs := k.session.Runs(); len(runs) != 1 || runs[0].State == activity.Finished {
							return
						}
						w := build(k)
						got := k.resumes(w, run.Extension{})
						w.ended(got, activity.Goal)
						var outcomes []string
						for _, g := range got.Guardrails {
							outcomes = append(outcomes, g.Name+" "+g.Outcome)
						}
						if got.Text != "good" || !slices.Equal(outcomes, []string{"in passed", "g repaired"}) {
							t.Errorf("the run ended with %q, %v", got.Text, outcomes)
						}
						repairs := 0
						if err := k.session.Log.Replay(k.session.Log.Last(), func(e activity.Event) {
							if b, is := e.Body.(activity.Retry); is && b.Repair != nil {
								repairs++
							}
						}); err != nil {
							t.Fatal(err)
						}
						if repairs != 1 {
							t.Errorf("%d repairs were asked for", repairs)
						}
						k.same()
					})
				})
			}
		})
	}
}

// TestEachPolicyWithEachValidator: what each policy makes of what each kind of validator
// refuses, once or always.
func TestEachPolicyWithEachValidator(t *testing.T) {
	const fine, bad = `{"a":1}`, "{\"b\":\"`bad`\"}"
	refuses := func(text string) []activity.GuardError {
		if strings.Contains(text, "bad") {
			return []activity.GuardError{{Message: "is bad"}}
		}
		return nil
	}
	word := func(text string) string {
		if strings.Contains(text, "bad") {
			return "something bad"
		}
		return ""
	}
	config := guardrail.Config{
		Registered: map[string]guardrail.Validator{"ours": func(_ context.Context, output json.RawMessage) ([]activity.GuardError, error) {
			return refuses(string(output)), nil
		}},
		Agent: func(_ context.Context, _ string, output json.RawMessage) ([]activity.GuardError, error) {
			return refuses(string(output)), nil
		},
		Find: func(name string, bare bool) string {
			if (name == "check.sh") == bare {
				return ""
			}
			return map[bool]string{true: "/bin/installed"}[name == "installed"] + map[bool]string{true: "/bin/check.sh"}[name == "check.sh"]
		},
		Command: func(_ context.Context, _ string, _ []string, input []byte) (tool.Ended, error) {
			ended := tool.Ended{Stdout: tool.NewCapped(1), Stderr: tool.NewCapped(100)}
			if len(refuses(string(input))) > 0 {
				ended.Code = 2
				_, _ = ended.Stderr.Write([]byte("is bad"))
			}
			return ended, nil
		},
		Secret:   func(_ context.Context, text string) (string, error) { return word(text), nil },
		Disaster: word,
	}
	kinds := []definition.Guard{{Schema: json.RawMessage(`{"type":"object","required":["a"]}`)}}
	for _, v := range []string{"builtin:no-secrets", "no-harmful-code", "builtin:max-length(7)", "expr:output.a == 1", "agent:judge", "command:check.sh", "installed", "ours"} {
		kinds = append(kinds, definition.Guard{Validator: v})
	}
	for _, kind := range kinds {
		for _, c := range []struct {
			policy  string
			answers []string
			reason  activity.Reason
			outcome string
		}{
			{"reject", []string{fine}, activity.Goal, "passed"},
			{"reject", []string{bad}, activity.Guardrail, "failed"},
			{"warn", []string{bad}, activity.Goal, "warned"},
			{"repair", []string{bad, fine}, activity.Goal, "repaired"},
			{"repair", []string{bad, bad, bad}, activity.Guardrail, "failed"},
		} {
			t.Run(fmt.Sprint(kind.Validator, " ", c.policy, len(c.answers), c.outcome), func(t *testing.T) {
				onDisk(t, func(k *kept) {
					w := k.run()
					kind.Name, kind.Policy = "g", c.policy
					w.config.Guards = []*guardrail.Guard{guardrail.New(kind, config)}
					for _, text := range c.answers {
						w.says(says(text))
					}
					w.ended(w.do(), c.reason)
					told := of[activity.GuardrailChecked](w)
					if len(told) != 1 || told[0].Outcome != c.outcome || (c.policy == "repair" && !slices.Equal(told[0].Outputs, c.answers)) {
						t.Errorf("%+v", told)
					}
				})
			})
		}
	}
}
