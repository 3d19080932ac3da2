package run_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
)

// TestResultsInCallOrder: whatever order calls end in, and they run at once.
func TestResultsInCallOrder(t *testing.T) {
	in(t, func(w *world) {
		w.tool("look", tool.Safe, takes)
		w.says(asks(calls("look", `{"ms":3000}`), calls("look", `{"ms":1000}`), text("between"), calls("look", `{"ms":2000}`)), says("done"))
		w.ended(w.do(), activity.Goal)
		if took := time.Since(of1(w)); took != 3*time.Second {
			w.t.Errorf("three calls of 3, 1 and 2 s take %v", took)
		}
		for i, want := range []string{"took 3000 ms", "took 1000 ms", "took 2000 ms"} {
			if r := w.results(1)[i]; r.ID != id(1, i) || r.Content != want || r.Error {
				w.t.Errorf("result %d is %+v, not %q", i, r, want)
			}
		}
		if a, b, c := w.entered(id(1, 0), activity.Success), w.entered(id(1, 1), activity.Success), w.entered(id(1, 2), activity.Success); b > c || c > a {
			w.t.Errorf("they end as events %d, %d, %d", a, b, c)
		}
		if e := w.log.all()[w.entered(id(1, 2), activity.Success)-1]; e.DurationMs != 2000 {
			w.t.Errorf("the third call took %d ms", e.DurationMs)
		}
	})
}

// TestEightAtOnce: no more calls of one batch execute at once (spec 3.4).
func TestEightAtOnce(t *testing.T) {
	in(t, func(w *world) {
		w.tool("look", tool.Safe, takes)
		var parts []model.Part
		for range 20 {
			parts = append(parts, calls("look", `{"ms":1000}`))
		}
		w.says(asks(parts...), says("done"))
		w.ended(w.do(), activity.Goal)
		if took := time.Since(of1(w)); w.most != 8 || took != 3*time.Second {
			w.t.Errorf("%d execute at once, and 20 calls of a second take %v", w.most, took)
		}
	})
}

// TestReadsDoNotWaitForApprovals: neither one that is fine nor one that is
// wrong, before or behind.
func TestReadsDoNotWaitForApprovals(t *testing.T) {
	in(t, func(w *world) {
		f := w.files()
		f["/a"] = "A"
		w.person.answer = slowly(time.Minute, answer(guard.Once))
		w.says(asks(
			calls("read_file", `{"path":"/a"}`),
			calls("write_file", `{"path":"/b","content":"B"}`),
			calls("read_file", `{"path":"/a"}`),
			calls("read_file", `{"path":"/none"}`),
			calls("read_file", `{"bad":1}`),
			calls("edit_file", `{"path":"/none","old_string":"x","new_string":"y"}`), // planned late
			calls("read_file", `{"path":"/a"}`),
			calls("no_such_tool", `{}`),
		), says("done"))
		h := w.start()
		time.Sleep(time.Second)
		for i, want := range []bool{true, false, true, true, true, false, true, true} {
			states := w.states(id(1, i))
			if ended := states[len(states)-1].Terminal(); ended != want {
				w.t.Errorf("while a person is asked, call %d is %v", i, states)
			}
		}
		w.ended(h.wait(), activity.Goal)
		for i, want := range []string{"A", "wrote B", "A", "/none does not exist.", "bad", "/none does not exist.", "A", "Tool not allowed"} {
			w.contains(fmt.Sprint("result ", i), w.results(1)[i].Content, want)
		}
	})
}

// TestApprovalsInCallOrder: one at a time, also where those that ask are ready
// in another order.
func TestApprovalsInCallOrder(t *testing.T) {
	in(t, func(w *world) {
		w.tool("change", tool.Low, takes)
		w.tool("look", tool.Safe, takes)
		w.person.answer = slowly(10*time.Second, answer(guard.Once))
		w.says(asks(
			calls("change", `{"path":"/a","ms":5000}`),
			calls("change", `{"path":"/a"}`), // waits for the first
			calls("look", `{"ms":1}`),
			calls("change", `{"path":"/b"}`),
			calls("change", `{"path":"/c","bad":1}`), // never asks
			calls("change", `{"path":"/d"}`),
		), says("done"))
		w.ended(w.do(), activity.Goal)
		var asked []string
		for _, q := range w.person.questions() {
			asked = append(asked, q.Call)
		}
		if want := []string{id(1, 0), id(1, 1), id(1, 3), id(1, 5)}; !slices.Equal(asked, want) {
			w.t.Errorf("the order of questions is %q, not %q", asked, want)
		}
		if took := time.Since(of1(w)); took != 45*time.Second {
			w.t.Errorf("four questions of 10 s, and 5 s of work that the second waits for, take %v", took)
		}
	})
}

// TestQuestionsInCallOrder: what a tool asks as it runs comes in the order of the
// calls too, among the questions about other calls.
func TestQuestionsInCallOrder(t *testing.T) {
	in(t, func(w *world) {
		var mu sync.Mutex
		var asked []string
		note := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, what)
		}
		w.config.Env.Ask = func(ctx context.Context, q tool.Question) (tool.Answer, error) {
			note(q.Message)
			return tool.Answer{Action: "accept", Text: "yes"}, sleep(ctx, 10*time.Second)
		}
		w.tool("ask_user", tool.Safe, func(ctx context.Context, env *tool.Env, args map[string]any) (*tool.Result, error) {
			message, _ := args["q"].(string)
			a, err := env.Ask(ctx, tool.Question{Message: message})
			return &tool.Result{Content: a.Text}, err
		})
		w.tool("change", tool.Low, takes)
		w.person.answer = func(ctx context.Context, q run.Question) run.Answer {
			note(q.Call)
			return slowly(10*time.Second, answer(guard.Once))(ctx, q)
		}
		w.says(asks(
			calls("change", `{"path":"/a","ms":5000}`),
			calls("change", `{"path":"/a"}`), // waits for the first
			calls("ask_user", `{"q":"third"}`),
			calls("ask_user", `{"q":"fourth"}`),
			calls("change", `{"path":"/b"}`),
		), says("done"))
		w.ended(w.do(), activity.Goal)
		if want := []string{id(1, 0), id(1, 1), "third", "fourth", id(1, 4)}; !slices.Equal(asked, want) {
			w.t.Errorf("the order of questions is %q, not %q", asked, want)
		}
	})
}

// TestWritersOfOneFile: in call order, each planned on what the one before it
// left.
func TestWritersOfOneFile(t *testing.T) {
	in(t, func(w *world) {
		f := w.files()
		f["/a"], f["/b"] = "zero", "zero"
		w.says(asks(
			calls("write_file", `{"path":"/a","content":"one","ms":1000}`),
			calls("edit_file", `{"path":"/b","old_string":"zero","new_string":"other"}`),
			calls("write_file", `{"path":"/a","content":"two","ms":10}`),
			calls("edit_file", `{"path":"/a","old_string":"two","new_string":"three"}`),
			calls("write_file", `{"path":"/a","content":"four"}`),
		), says("done"))
		w.ended(w.do(), activity.Goal)
		if f["/a"] != "four" || f["/b"] != "other" {
			w.t.Errorf("the files are %v", f)
		}
		for i, want := range []string{"wrote one", "now other", "wrote two", "now three", "wrote four"} {
			if r := w.results(1)[i]; r.Content != want || r.Error {
				w.t.Errorf("result %d is %+v, not %q", i, r, want)
			}
		}
		// What the person was shown is what was there when it was written.
		var shown []string
		for _, q := range w.person.questions() {
			shown = append(shown, q.Plan.Preview.OldText+"→"+q.Plan.Preview.NewText)
		}
		if want := "[zero→one zero→other one→two two→three three→four]"; fmt.Sprint(shown) != want {
			w.t.Errorf("the questions show %v, not %s", shown, want)
		}
		for i := range 5 {
			if seq, next := w.entered(id(1, i), activity.Success), w.entered(id(1, min(i+1, 4)), activity.Executing); i != 0 && i != 1 && i != 4 && next < seq {
				w.t.Errorf("call %d executes before call %d has ended", i+1, i)
			}
		}
	})
}

// TestWriterAfterOneThatFails: a plan that comes to nothing keeps nobody from
// the file, and nobody reads it.
func TestWriterAfterOneThatFails(t *testing.T) {
	in(t, func(w *world) {
		f := w.files()
		f["/a"] = "zero"
		w.says(asks(
			calls("write_file", `{"path":"/a","content":"one","ms":1000}`),
			calls("edit_file", `{"path":"/a","old_string":"zero","new_string":"x"}`), // fails when it is planned anew
			calls("edit_file", `{"path":"/a","old_string":"zero","new_string":"y"}`), // and this one too
			calls("write_file", `{"path":"/a","content":"two"}`),
		), says("done"))
		w.ended(w.do(), activity.Goal)
		if f["/a"] != "two" {
			w.t.Errorf("the file is %q", f["/a"])
		}
		for i, failed := range []bool{false, true, true, false} {
			if r := w.results(1)[i]; r.Error != failed {
				w.t.Errorf("result %d is %+v", i, r)
			}
		}
	})
}

// TestEditOfWhatTheBatchCreates: a call that cannot be planned yet waits for
// what an earlier one of the batch makes.
func TestEditOfWhatTheBatchCreates(t *testing.T) {
	in(t, func(w *world) {
		f := w.files()
		w.says(asks(
			calls("write_file", `{"path":"/new","content":"hello","ms":1000}`),
			calls("edit_file", `{"path":"/new","old_string":"hello","new_string":"bye"}`),
			calls("edit_file", `{"path":"/new","old_string":"bye","new_string":"again"}`),
			calls("edit_file", `{"path":"/other","old_string":"x","new_string":"y"}`),
		), says("done"))
		w.ended(w.do(), activity.Goal)
		if f["/new"] != "again" {
			w.t.Errorf("the file is %q", f["/new"])
		}
		if r := w.results(1)[3]; !r.Error || r.Content != "/other does not exist." {
			w.t.Errorf("the edit of nothing: %+v", r)
		}
	})
}

// TestREL82Panics: what a tool does wrong is the call's error, and the run goes
// on.
func TestREL82Panics(t *testing.T) {
	in(t, func(w *world) {
		w.tool("plan_panics", tool.Low, nil).plan = func(context.Context, *tool.Env, map[string]any) (*tool.Plan, error) { panic("in Plan") }
		w.tool("plan_nil", tool.Low, nil).plan = func(context.Context, *tool.Env, map[string]any) (*tool.Plan, error) { return nil, nil }
		w.tool("plan_fails", tool.Low, nil).plan = func(context.Context, *tool.Env, map[string]any) (*tool.Plan, error) { return nil, errDisk }
		w.tool("do_panics", tool.Low, func(context.Context, *tool.Env, map[string]any) (*tool.Result, error) { panic("in Do") })
		w.tool("do_nil", tool.Low, func(context.Context, *tool.Env, map[string]any) (*tool.Result, error) { return nil, nil })
		w.tool("do_fails", tool.Low, func(context.Context, *tool.Env, map[string]any) (*tool.Result, error) { return nil, errDisk })
		w.tool("look", tool.Safe, nil)
		names := []string{"plan_panics", "plan_nil", "plan_fails", "do_panics", "do_nil", "do_fails"}
		var parts []model.Part
		for _, name := range names {
			parts = append(parts, calls(name, `{}`))
		}
		w.says(asks(append(parts, calls("look", `{}`))...), says("done"))
		w.ended(w.do(), activity.Goal)
		for i, want := range []string{"a defect of agentls (bug ", "The tool failed", errDisk.Error(), "Its outcome is unknown", "The tool failed", errDisk.Error()} {
			s := w.ends(1)[i]
			if s.State != activity.Failed || s.Error.Code != tool.CodeInternal {
				w.t.Errorf("%s ends %s %+v", names[i], s.State, s.Error)
			}
			if s.Error != nil {
				w.contains(names[i], s.Error.Message, want)
			}
		}
		if s := w.ends(1)[6]; s.State != activity.Success {
			w.t.Errorf("the call beside them ends %s", s.State)
		}
		var told []string
		for _, e := range of[activity.ErrorSeen](w) {
			told = append(told, e.Where)
		}
		if slices.Sort(told); !slices.Equal(told, []string{"do_panics", "plan_panics"}) {
			w.t.Errorf("a person is told of defects in %q", told)
		}
	})
}

// TestREL61PersonPanics: a defect of the client's side ends the run and leaves no
// call open (REL-61).
func TestREL61PersonPanics(t *testing.T) {
	in(t, func(w *world) {
		w.tool("change", tool.Low, nil)
		w.person.answer = func(context.Context, run.Question) run.Answer { panic("no words") }
		w.says(asks(calls("change", `{}`), calls("change", `{}`)), says("done"))
		w.ended(w.do(), activity.Goal)
		for _, s := range w.ends(1) {
			if s.State != activity.Failed {
				w.t.Errorf("a call ends %s", s.State)
			}
		}
		if len(w.executed()) != 0 {
			w.t.Errorf("%v executed", w.executed())
		}
	})
}

// TestWrongCalls: what the model did wrong is said so that it can mend it.
func TestWrongCalls(t *testing.T) {
	in(t, func(w *world) {
		w.tool("read_file", tool.Safe, nil)
		w.tool("write_file", tool.Low, nil)
		w.says(asks(calls("launch", `{}`), calls("read_file", `{"bad":"x"}`), calls("read-file", `{}`), calls("\x1bevil", `{"a":1}`)), says("done"))
		w.ended(w.do(), activity.Goal)
		ends := w.ends(1)
		if got := ends[0].Error; got == nil || got.Code != tool.CodeNotAllowed || got.Message != "Tool not allowed for this agent: launch\nTools of this agent: read_file, write_file" {
			w.t.Errorf("an unknown tool: %+v", got)
		}
		if ends[0].Risk != "medium" || ends[0].Name != "launch" {
			w.t.Errorf("an unknown tool: %+v", ends[0])
		}
		if got := ends[1].Error; got == nil || got.Code != tool.CodeArgs || string(ends[1].Args) != `{"bad":"x"}` {
			w.t.Errorf("bad arguments: %+v", got)
		}
		if ends[2].State != activity.Success || ends[2].Name != "read_file" {
			w.t.Errorf("another spelling: %+v", ends[2])
		}
		if strings.Contains(ends[3].Error.Message, "\x1b") {
			w.t.Errorf("an escape goes through: %q", ends[3].Error.Message)
		}
		for i, s := range ends[:2] {
			if got := fmt.Sprint(w.states(s.Call)); got != "[validating error]" {
				w.t.Errorf("call %d is %s", i, got)
			}
		}
	})
}

// TestResults: what becomes of the result that a tool gives.
func TestResults(t *testing.T) {
	in(t, func(w *world) {
		long := strings.Repeat("ä", tool.MaxResult+1)
		w.config.Env.Blobs = "/blobs"
		give := func(r tool.Result) func(context.Context, *tool.Env, map[string]any) (*tool.Result, error) {
			return func(context.Context, *tool.Env, map[string]any) (*tool.Result, error) { return &r, nil }
		}
		w.tool("plain", tool.Safe, give(tool.Result{Content: "text"}))
		w.tool("shown", tool.Safe, give(tool.Result{Content: "text", Display: "**text**"}))
		w.tool("failed", tool.Safe, give(tool.Result{Content: "exit code 1", Failed: true}))
		w.tool("failed_so", tool.Safe, give(tool.Result{Content: "too long", Failed: true, Code: tool.CodeTimeout}))
		w.tool("long", tool.Safe, give(tool.Result{Content: long}))
		w.tool("extract", tool.Safe, give(tool.Result{Content: "head", Whole: io.NopCloser(strings.NewReader("head and tail"))}))
		w.tool("changes", tool.Low, give(tool.Result{Content: "ok", Changes: []activity.Change{{URI: "file:///a", Kind: "edit", Hunks: []activity.Hunk{}}, {URI: "file:///b", Kind: "create", Hunks: []activity.Hunk{}}}}))
		w.says(asks(calls("plain", `{}`), calls("shown", `{"path":"/x y"}`), calls("failed", `{}`), calls("failed_so", `{}`), calls("long", `{}`), calls("extract", `{}`), calls("changes", `{}`)), says("done"))
		got := w.do()
		w.ended(got, activity.Goal)
		ends := w.ends(1)
		if r := ends[0].Result; r.Content != "text" || r.Display != "plain it" || r.Bytes != 4 || r.Blob != "" || ends[0].Path != "" {
			w.t.Errorf("plain: %+v", r)
		}
		if ends[1].Result.Display != "**text**" || ends[1].Path != "file:///x%20y" {
			w.t.Errorf("shown: %+v", ends[1])
		}
		if e := ends[2].Error; e.Code != tool.CodeFailed || e.Message != "exit code 1" {
			w.t.Errorf("failed: %+v", e)
		}
		if e := ends[3].Error; e.Code != tool.CodeTimeout {
			w.t.Errorf("failed with a code: %+v", e)
		}
		if r := ends[4].Result; r.Bytes != len(long) || string(w.log.blobs[r.Blob]) != long || len([]rune(r.Content)) > tool.MaxResult+200 {
			w.t.Errorf("long: %d bytes, blob %q", r.Bytes, r.Blob)
		} else {
			w.contains("the cut result", r.Content, "left out", "read_file at /blobs/"+r.Blob)
		}
		if r := ends[5].Result; r.Bytes != 13 || string(w.log.blobs[r.Blob]) != "head and tail" {
			w.t.Errorf("extract: %+v", r)
		}
		if len(got.Changes) != 2 || len(of[activity.FileChanged](w)) != 2 || got.Changes[1].Kind != "create" {
			w.t.Errorf("changes: %+v", got.Changes)
		}
	})
}

// TestWholeCannotBeKept: the model gets what there is, and is told.
func TestWholeCannotBeKept(t *testing.T) {
	in(t, func(w *world) {
		w.log.noBlob = errDisk
		w.tool("look", tool.Safe, func(context.Context, *tool.Env, map[string]any) (*tool.Result, error) {
			return &tool.Result{Content: strings.Repeat("x", tool.MaxResult+1)}, nil
		})
		w.says(asks(calls("look", `{}`)), says("done"))
		w.ended(w.do(), activity.Goal)
		w.contains("the result", w.results(1)[0].Content[tool.MaxResult-100:], "could not be kept", errDisk.Error())
	})
}

// TestProgress: output is told as it comes, and nothing after the call's end.
func TestProgress(t *testing.T) {
	in(t, func(w *world) {
		w.tool("talk", tool.Safe, func(_ context.Context, env *tool.Env, _ map[string]any) (*tool.Result, error) {
			for i := range 5 {
				env.Progress(fmt.Sprint(i))
				time.Sleep(time.Second)
			}
			return &tool.Result{Content: "all"}, nil
		})
		w.tool("look", tool.Safe, takes)
		w.says(asks(calls("talk", `{}`), calls("talk", `{}`)), asks(calls("look", `{"ms":5000}`)), says("done"))
		h := w.start()
		time.Sleep(1500 * time.Millisecond)
		h.CancelCall(id(1, 1)) // it goes on by itself
		w.ended(h.wait(), activity.Goal)
		told := map[string]string{}
		for _, d := range of[activity.ToolDelta](w) {
			told[d.Call] += d.Text
		}
		// The grace of half a second ends when the third is due.
		if told[id(1, 0)] != "01234" || !slices.Contains([]string{"01", "012"}, told[id(1, 1)]) {
			w.t.Errorf("the calls tell %v", told)
		}
	})
}
