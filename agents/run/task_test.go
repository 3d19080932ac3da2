package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
)

// task makes the world's run a task run, with a schema of its output or none.
func (w *world) task(schema, text string) *world {
	w.config.Mode = definition.Task
	if schema != "" {
		w.config.Definition = &definition.Definition{Name: agentName, Title: "Tester", Digest: "d1",
			Output: &definition.Output{Name: "report", Description: "What was found", Schema: json.RawMessage(schema), Text: text}}
	}
	return w
}

const reportSchema = `{"type":"object","properties":{"title":{"type":"string"},"lines":{"type":"array","items":{"type":"integer"}}},"required":["title"]}`

func TestTaskEndsWithItsOutput(t *testing.T) {
	for name, c := range map[string]struct {
		schema, template, args, text, output string
	}{
		"a text":       {"", "", `{"result":"All found."}`, "All found.", ""},
		"no text":      {"", "", `{}`, "Task completed successfully.", ""},
		"a blank text": {"", "", `{"result":"  "}`, "Task completed successfully.", ""},
		"a report":     {reportSchema, "", `{"report":{"title":"T","lines":[1]}}`, "{\n  \"lines\": [\n    1\n  ],\n  \"title\": \"T\"\n}", `{"lines":[1],"title":"T"}`},
		"a template":   {reportSchema, "${title} at ${lines}, $${title}${none}", `{"report":{"title":"T","lines":[1,2]}}`, "T at [1,2], ${title}", `{"lines":[1,2],"title":"T"}`},
		"recursion":    {`{"type":"object","properties":{"next":{"$ref":"#"},"title":{"type":"string"}},"required":["title"]}`, "${title}", `{"report":{"title":"a","next":{"title":"b"}}}`, "a", `{"next":{"title":"b"},"title":"a"}`},
		"a pointer":    {`{"type":"object","properties":{"a":{"type":"integer"},"b":{"$ref":"#/properties/a"}}}`, "${b}", `{"report":{"b":3}}`, "3", `{"b":3}`},
		"its own id":   {`{"$id":"https://example.com/s","$defs":{"n":{"type":"integer"}},"$ref":"#/$defs/n"}`, "${value}", `{"report":7}`, "7", `7`},
		"references":   {`{"$defs":{"n":{"type":"integer"}},"$ref":"#/$defs/n"}`, "${value} it is", `{"report":7}`, "7 it is", `7`},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.task(c.schema, c.template).says(asks(calls(run.CompleteTask, c.args)))
				got := w.do()
				w.ended(got, activity.Goal)
				if got.Text != c.text || string(got.Output) != c.output || got.Recovered != "" || got.Turns != 1 {
					t.Errorf("the result is %q, %s: %+v", got.Text, got.Output, got)
				}
				if began := of[activity.RunStarted](w)[0]; began.Mode != "task" || !strings.Contains(fmt.Sprint(began.Tools), run.CompleteTask) {
					t.Errorf("run.started is %+v", began)
				}
			})
		})
	}
}

// TestOutputThatDoesNotFitGoesBack: the model is told every place, and goes on.
func TestOutputThatDoesNotFitGoesBack(t *testing.T) {
	in(t, func(w *world) {
		w.task(reportSchema, "").says(
			asks(calls(run.CompleteTask, `{"report":{"title":5,"lines":["x"]}}`)),
			asks(calls(run.CompleteTask, `{}`)),
			asks(calls(run.CompleteTask, `{"report":{"title":"T"}}`)))
		w.ended(w.do(), activity.Goal)
		if first := w.results(1); !first[0].Error || !strings.Contains(first[0].Content, "/report/title") || !strings.Contains(first[0].Content, "/report/lines/0") {
			t.Errorf("the model is told %q", first[0].Content)
		}
		if second := w.results(2); !second[0].Error || !strings.Contains(second[0].Content, "report") {
			t.Errorf("the model is told %q", second[0].Content)
		}
	})
}

// TestReferencesAreKept: what a reference names is still asked for where the schema
// stands as a property, and where a provider looks for it.
func TestReferencesAreKept(t *testing.T) {
	in(t, func(w *world) {
		w.task(`{"$defs":{"n":{"type":"integer"}},"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"b":{"$ref":"#/properties/a"}}}`, "").says(
			asks(calls(run.CompleteTask, `{"report":{"a":"x","b":"y"}}`)), asks(calls(run.CompleteTask, `{"report":{"a":1,"b":2}}`)))
		w.ended(w.do(), activity.Goal)
		first := w.results(1)[0].Content
		w.contains("the model is told", first, "/report/a", "/report/b")
		for _, d := range w.model.requests[0].Tools {
			if d.Name == run.CompleteTask {
				w.contains("the parameters", string(d.Parameters), `"$defs":{"n":`, `"$ref":"#/properties/report/properties/a"`, `"$ref":"#/$defs/n"`)
			}
		}
	})
}

// TestFirstValidCompletionCounts: of two in a batch, and after one that does not
// fit.
func TestFirstValidCompletionCounts(t *testing.T) {
	in(t, func(w *world) {
		w.task(reportSchema, "").says(asks(
			calls(run.CompleteTask, `{"report":{}}`),
			calls(run.CompleteTask, `{"report":{"title":"first"}}`),
			calls(run.CompleteTask, `{"report":{"title":"second"}}`)))
		got := w.do()
		w.ended(got, activity.Goal)
		if string(got.Output) != `{"title":"first"}` {
			t.Errorf("the output is %s", got.Output)
		}
		if ends := w.ends(1); ends[0].Error == nil || ends[1].Error != nil || ends[2].Error == nil || !strings.Contains(ends[2].Error.Message, "first call counts") {
			t.Errorf("the calls ended %+v", ends)
		}
	})
}

// TestOtherToolsFinishFirst: also those that stand behind, and that ask.
func TestOtherToolsFinishFirst(t *testing.T) {
	in(t, func(w *world) {
		w.tool("look", tool.Safe, takes)
		w.tool("change", tool.Low, takes)
		w.task("", "").says(asks(
			calls(run.CompleteTask, `{"result":"done"}`), calls("look", `{"ms":2000}`), calls("change", `{"ms":3000}`)))
		got := w.do()
		w.ended(got, activity.Goal)
		if got.Text != "done" || w.entered(id(1, 0), activity.Success) < w.entered(id(1, 2), activity.Success) || len(w.executed()) != 2 {
			t.Errorf("the calls ran %v, and the result is %q", w.executed(), got.Text)
		}
	})
}

// TestGraceTurn: a task run that hits a limit gets one turn more, in which it
// can only complete the task (spec 3.3).
func TestGraceTurn(t *testing.T) {
	limits := map[activity.Reason]func(w *world){
		activity.MaxTurns: func(w *world) {
			w.config.MaxTurns = 1
			w.says(asks(calls("look", `{}`)))
		},
		activity.Timeout: func(w *world) {
			w.config.MaxTime = time.Minute
			w.says(stuck("still"))
		},
		activity.NoCompleteTask: func(w *world) { w.says(says("I am done.")) },
	}
	for reason, hit := range limits {
		for name, c := range map[string]struct {
			last step
			want activity.Reason
		}{
			"completed":      {asks(calls("look", `{}`), calls(run.CompleteTask, `{"result":"so far"}`)), activity.Goal},
			"another tool":   {asks(calls("look", `{}`)), reason},
			"only text":      {says("but I am done"), reason},
			"no answer":      {fails(errFatal), reason},
			"takes too long": {stuck(), reason},
		} {
			t.Run(string(reason)+" "+name, func(t *testing.T) {
				in(t, func(w *world) {
					w.tool("look", tool.Safe, nil)
					hit(w.task("", ""))
					w.says(c.last)
					began := time.Now()
					got := w.do()
					w.ended(got, c.want)
					if c.want == activity.Goal && (got.Recovered != reason || got.Text != "so far") {
						t.Errorf("the result is %+v", got)
					}
					if c.want != activity.Goal && got.Recovered != "" {
						t.Errorf("recovered %s", got.Recovered)
					}
					if took := time.Since(began); took > 2*time.Minute+time.Second {
						t.Errorf("it took %v", took)
					}
					w.model.mu.Lock()
					defer w.model.mu.Unlock()
					last := w.model.requests[len(w.model.requests)-1]
					if len(last.Tools) != 1 || last.Tools[0].Name != run.CompleteTask {
						t.Errorf("the last turn offers %+v", last.Tools)
					}
					parts := last.Messages[len(last.Messages)-1].Parts
					if text := parts[len(parts)-1].Text; !strings.Contains(text, "last turn") {
						t.Errorf("the model is told %q", text)
					}
					for _, call := range w.executed() {
						if strings.HasPrefix(call, id(2, 0)) {
							t.Error("a tool ran in the last turn")
						}
					}
				})
			})
		}
	}
}

// TestGraceCanBeCancelled: a person's word counts in the last turn too.
func TestGraceCanBeCancelled(t *testing.T) {
	in(t, func(w *world) {
		w.task("", "").says(says("done"), stuck())
		h := w.start()
		time.Sleep(time.Second)
		synctest.Wait()
		h.end(run.ErrCancelled)
		w.ended(h.wait(), activity.Aborted)
	})
}

// TestChatHasNoCompleteTask: only task runs do (spec 3.3).
func TestChatHasNoCompleteTask(t *testing.T) {
	in(t, func(w *world) {
		w.says(asks(calls(run.CompleteTask, `{}`)), says("fine"))
		w.ended(w.do(), activity.Goal)
		if got := w.results(1); !got[0].Error || !strings.Contains(got[0].Content, "Tool not allowed for this agent: complete_task") {
			t.Errorf("the model is told %+v", got)
		}
	})
}

// TestREL128SteeringIsToldBeforeTheNextTurn: in every state of a run (spec 3.3).
func TestREL128SteeringIsToldBeforeTheNextTurn(t *testing.T) {
	for name, set := range map[string]func(w *world, told chan struct{}){
		"while the model thinks": func(w *world, told chan struct{}) {
			w.says(step(func(ctx context.Context, yield func(model.Chunk, error) bool) {
				<-told
				says("first")(ctx, yield)
			}))
		},
		"while it streams": func(w *world, told chan struct{}) {
			w.says(step(func(ctx context.Context, yield func(model.Chunk, error) bool) {
				yield(model.Chunk{Text: "fi"}, nil)
				<-told
				says("rst")(ctx, yield)
			}))
		},
		"while a tool executes": func(w *world, told chan struct{}) {
			w.tool("look", tool.Safe, func(context.Context, *tool.Env, map[string]any) (*tool.Result, error) {
				<-told
				return &tool.Result{Content: "seen"}, nil
			})
			w.says(asks(calls("look", `{}`)))
		},
		"while a person is asked": func(w *world, told chan struct{}) {
			w.tool("change", tool.Low, nil)
			w.person.answer = func(context.Context, run.Question) run.Answer {
				<-told
				return answer("once")
			}
			w.says(asks(calls("change", `{}`)))
		},
		"while it waits to try again": func(w *world, told chan struct{}) {
			w.says(fails(errBusy), step(func(ctx context.Context, yield func(model.Chunk, error) bool) {
				<-told
				says("first")(ctx, yield)
			}))
		},
		"while it is paused": func(w *world, told chan struct{}) {
			w.config.Env.Ask = func(ctx context.Context, q tool.Question) (tool.Answer, error) {
				<-told
				return tool.Answer{Action: "accept", Text: q.Choices[0]}, nil
			}
			w.says(fails(errCut), fails(errCut), fails(errCut)) // what is said then comes with the next request
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				told := make(chan struct{})
				set(w, told)
				w.says(says("second"))
				h := w.start()
				synctest.Wait()
				if position, seq, ok := h.Steer([]activity.ContentBlock{{Type: "text", Text: "be quick"}}); !ok || position != 0 || seq == 0 {
					t.Errorf("steered %d, %d, %v", position, seq, ok)
				}
				if position, _, ok := h.Steer([]activity.ContentBlock{{Type: "text", Text: "and careful"}}); !ok || position != 1 {
					t.Errorf("steered %d, %v", position, ok)
				}
				close(told)
				got := h.wait()
				w.ended(got, activity.Goal)
				if got.Text != "second" || got.Turns != 2 {
					t.Errorf("the result is %+v", got)
				}
				last := w.model.requests[len(w.model.requests)-1].Messages
				var texts []string
				for _, p := range last[len(last)-1].Parts {
					if p.Text != "" {
						texts = append(texts, p.Text)
					}
				}
				if !strings.HasSuffix(fmt.Sprint(texts), "be quick and careful]") {
					t.Errorf("the model is told %q", texts)
				}
				if _, _, ok := h.Steer(nil); ok {
					t.Error("a run that has ended takes words")
				}
			})
		})
	}
}

// TestREL128SteeringAtALimitIsKept: what no turn took begins the next run, and
// the person is told.
func TestREL128SteeringAtALimitIsKept(t *testing.T) {
	in(t, func(w *world) {
		w.config.MaxTurns = 1
		w.tool("look", tool.Safe, takes)
		w.says(asks(calls("look", `{"ms":1000}`)))
		h := w.start()
		synctest.Wait()
		if _, _, ok := h.Steer([]activity.ContentBlock{{Type: "text", Text: "wait"}}); !ok {
			t.Error("not taken")
		}
		w.ended(h.wait(), activity.MaxTurns)
		if notes := of[activity.Note](w); len(notes) != 1 || !strings.Contains(notes[0].Message, "next run begins with it") {
			t.Errorf("the notes are %+v", notes)
		}
	})
}

// TestSteeredTaskIsNotComplete: what a person said meanwhile is read first.
func TestSteeredTaskIsNotComplete(t *testing.T) {
	in(t, func(w *world) {
		told := make(chan struct{})
		w.task("", "").says(step(func(ctx context.Context, yield func(model.Chunk, error) bool) {
			<-told
			asks(calls(run.CompleteTask, `{"result":"old"}`))(ctx, yield)
		}), asks(calls(run.CompleteTask, `{"result":"new"}`)))
		h := w.start()
		synctest.Wait()
		h.Steer([]activity.ContentBlock{{Type: "text", Text: "one more thing"}})
		close(told)
		got := h.wait()
		w.ended(got, activity.Goal)
		if got.Text != "new" {
			t.Errorf("the result is %q", got.Text)
		}
	})
}

// TestREL128SteeringInTheLastTurn: words come too late for it, and do not cost
// the result; they begin the next run.
func TestREL128SteeringInTheLastTurn(t *testing.T) {
	in(t, func(w *world) {
		told := make(chan struct{})
		w.task("", "").says(says("I am done."), step(func(ctx context.Context, yield func(model.Chunk, error) bool) {
			<-told
			asks(calls(run.CompleteTask, `{"result":"so far"}`))(ctx, yield)
		}))
		h := w.start()
		synctest.Wait()
		if _, _, ok := h.Steer([]activity.ContentBlock{{Type: "text", Text: "one more"}}); !ok {
			t.Error("not taken")
		}
		close(told)
		got := h.wait()
		w.ended(got, activity.Goal)
		if got.Text != "so far" || got.Recovered != activity.NoCompleteTask {
			t.Errorf("the result is %+v", got)
		}
		notes := of[activity.Note](w)
		w.contains("the last note", notes[len(notes)-1].Message, "next run begins with it")
	})
}
