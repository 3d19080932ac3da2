package run_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
)

// TestREL61AnyRun: whatever a model calls, tools do, a person answers, the disk
// refuses and whenever somebody cancels: each call that was asked for has one
// end, each request that a provider gets is whole (checked at every send), no
// call executes twice (REL-66) or before it is on the disk, no half answer is
// acted on (REL-55), a cancelled run ends within a second, and nothing is left
// running (the bubble sees to that).
func TestREL61AnyRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { rapid.SyncTest(t, anyRun) })
}

// FuzzREL61AnyRun looks for more runs that break it.
func FuzzREL61AnyRun(f *testing.F) {
	for _, data := range anyRunSeeds() {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { fuzzAnyRun(t, data) })
}

// TestREL61EveryInputStartsARun: the fuzz target does not skip what is short.
func TestREL61EveryInputStartsARun(t *testing.T) {
	for i, data := range anyRunSeeds() {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			started := 0
			defer func() { // also where it is skipped
				if started != 1 {
					t.Errorf("%d bytes start %d runs", len(data), started)
				}
			}()
			started = fuzzAnyRun(t, data)
		})
	}
}

// anyRunSeeds are inputs of all sizes, the same each time.
func anyRunSeeds() [][]byte {
	seeds := [][]byte{nil, {1}}
	for i := range 16 {
		seeds = append(seeds, noise(uint64(i), 8<<10))
	}
	return seeds
}

// noise returns n bytes of no order, which are those of the seed.
func noise(seed uint64, n int) []byte {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	data := make([]byte, n)
	_, _ = rand.NewChaCha8(key).Read(data) // never fails
	return data
}

// fuzzAnyRun makes a run of data, and returns how many began. Data are all that
// is drawn from, so noise that their first bytes choose goes on where they end.
func fuzzAnyRun(t *testing.T, data []byte) int {
	var first [8]byte
	copy(first[:], data)
	data = append(slices.Clip(data), noise(binary.LittleEndian.Uint64(first[:]), 256<<10)...)
	started := 0
	rapid.MakeFuzz(func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			w := newWorld(t)
			anyRunIn(t, w)
			if w.log.last() > 0 {
				started++
			}
		})
	})(t, data)
	return started
}

func anyRun(t *rapid.T) { anyRunIn(t, newWorld(t)) }

func anyRunIn(t *rapid.T, w *world) {
	millis := func(most int, label string) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(t, label)) * time.Millisecond
	}
	w.approval = rapid.SampledFrom([]guard.Approval{guard.Asks, guard.Asks, guard.Edits, guard.Free, guard.Plan}).Draw(t, "approval")
	w.config.MaxTurns = rapid.IntRange(1, 8).Draw(t, "turns")
	if rapid.IntRange(0, 3).Draw(t, "limited") == 0 {
		w.config.MaxTime = millis(20_000, "limit") + time.Millisecond
	}
	w.randomTools()
	w.person.can = rapid.IntRange(0, 5).Draw(t, "can ask") != 0
	w.person.answer = randomAnswers(t, w)
	w.config.Env.Ask = func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
		return tool.Answer{Action: "accept"}, sleep(ctx, 3*time.Second)
	}
	commits := rapid.SliceOfN(rapid.IntRange(0, 9), 16, 16).Draw(t, "commits")
	w.log.commit = func(ctx context.Context, seq uint64) error {
		switch n := commits[seq%16]; {
		case n == 0:
			return errDisk
		case n < 4:
			return sleep(ctx, time.Duration(n)*time.Second)
		}
		return nil
	}
	for range rapid.IntRange(0, 6).Draw(t, "answers") {
		w.says(after(millis(30_000, "thinks"), randomAnswer(t)))
	}
	w.model.rest = says("done")
	other := &script{t: t, rest: says("done, by another")}
	w.config.Models = append(w.config.Models, run.Choice{ID: "m2", Model: other})

	// All is drawn before the run begins: a draw may end the test.
	cancels := make(map[string]time.Duration)
	for range rapid.IntRange(0, 3).Draw(t, "calls that are cancelled") {
		call := id(rapid.IntRange(1, 3).Draw(t, "turn"), rapid.IntRange(0, 5).Draw(t, "index"))
		cancels[call] = millis(30_000, "when")
	}
	cause := rapid.SampledFrom([]error{nil, run.ErrCancelled, run.ErrInterrupted, context.Canceled}).Draw(t, "cause")
	when := millis(60_000, "cancelled after")
	if cause == nil {
		when = 100 * time.Hour
	}

	h := w.start()
	for call, after := range cancels {
		defer time.AfterFunc(after, func() { h.CancelCall(call) }).Stop()
	}
	select {
	case <-h.done:
	case <-time.After(when):
		began, executed := time.Now(), len(w.executed())
		h.end(cause)
		<-h.done
		if took := time.Since(began); took > time.Second {
			t.Errorf("the run ends %v after it was cancelled", took)
		}
		if n := len(w.executed()); n > executed {
			t.Errorf("%d calls begin after the cancellation", n-executed)
		}
	}
	last := w.log.last()
	got := h.wait()
	if w.log.last() != last {
		t.Errorf("the log goes on after the run's end: %v", w.types()[last:])
	}
	if got.Reason == "" {
		t.Errorf("the run ended without a reason")
	}
	// Every question that was answered is of a call that was asked about.
	if n := len(of[activity.ConfirmationAsked](w)); n != len(w.person.questions()) {
		t.Errorf("%d questions, of which the log has %d", len(w.person.questions()), n)
	}
}

// randomTools are tools of all tempers.
func (w *world) randomTools() {
	w.tool("look", tool.Safe, takes)
	w.tool("change", tool.Low, takes)
	w.tool("install", tool.Medium, takes)
	w.tool("destroy", tool.High, takes)
	w.tool("deaf", tool.Low, func(_ context.Context, env *tool.Env, args map[string]any) (*tool.Result, error) {
		for range 4 {
			ms, _ := args["ms"].(float64)
			time.Sleep(time.Duration(ms) * time.Millisecond)
			env.Progress("still here")
		}
		return &tool.Result{Content: "at last"}, nil
	})
	w.tool("panics", tool.Low, func(context.Context, *tool.Env, map[string]any) (*tool.Result, error) { panic("in Do") })
	w.tool("plan_panics", tool.Low, nil).plan = func(context.Context, *tool.Env, map[string]any) (*tool.Plan, error) { panic("in Plan") }
	w.tool("nothing", tool.Safe, func(context.Context, *tool.Env, map[string]any) (*tool.Result, error) { return nil, nil })
	w.tool("fails", tool.Low, func(context.Context, *tool.Env, map[string]any) (*tool.Result, error) {
		return &tool.Result{Content: "exit 1", Failed: true}, nil
	})
	w.tool("inquire", tool.Safe, func(ctx context.Context, env *tool.Env, _ map[string]any) (*tool.Result, error) {
		_, err := env.Ask(ctx, tool.Question{})
		return &tool.Result{Content: "answered"}, err
	})
	n := 0
	w.tool("fickle", tool.Low, takes).plan = func(context.Context, *tool.Env, map[string]any) (*tool.Plan, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if n++; n%2 == 1 {
			return nil, tool.Errorf(tool.CodeStale, "read it first")
		}
		return &tool.Plan{Risk: tool.Low}, nil
	}
}

func randomCall(t *rapid.T) model.Part {
	name := rapid.SampledFrom([]string{"look", "look", "change", "change", "change", "install", "destroy", "deaf", "panics", "plan_panics",
		"nothing", "fails", "inquire", "fickle", "fickle", "unknown"}).Draw(t, "tool")
	args := map[string]any{"ms": rapid.SampledFrom([]int{0, 1, 200, 500, 3000, 20000}).Draw(t, "ms")}
	if path := rapid.SampledFrom([]string{"", "/a", "/b"}).Draw(t, "path"); path != "" {
		args["path"] = path
	}
	if rapid.IntRange(0, 9).Draw(t, "bad") == 0 {
		args["bad"] = true
	}
	data, _ := json.Marshal(args)
	return calls(name, string(data))
}

func randomAnswer(t *rapid.T) step {
	var parts []model.Part
	if rapid.Bool().Draw(t, "text") {
		parts = append(parts, text("text"))
	}
	for range rapid.SampledFrom([]int{0, 1, 1, 2, 3, 6, 12}).Draw(t, "calls") {
		parts = append(parts, randomCall(t))
	}
	finish := rapid.SampledFrom([]model.Finish{model.Stop, model.Stop, model.Stop, model.Stop, model.Stop, model.Length, model.Malformed, model.Empty, model.Other, model.Blocked}).Draw(t, "finish")
	whole := reply(finish, parts...)
	switch rapid.IntRange(0, 11).Draw(t, "how") {
	case 0:
		return fails(errBusy)
	case 1:
		return fails(errCut, "part")
	case 2: // the answer was there, and then the connection broke
		return func(ctx context.Context, yield func(model.Chunk, error) bool) {
			whole(ctx, yield)
			yield(model.Chunk{}, errCut)
		}
	case 3:
		return nothing
	case 4:
		return fails(&model.Error{Class: model.Busy, Message: "wait", RetryAfter: 30 * time.Second})
	}
	return whole
}

// randomAnswers is a person of moods, drawn before the run begins.
func randomAnswers(t *rapid.T, w *world) func(context.Context, run.Question) run.Answer {
	type mood struct {
		answer run.Answer
		takes  time.Duration
		late   bool // says it also after the question is over
	}
	var moods []mood
	for i := range 12 {
		var m mood
		o := rapid.SampledFrom([]guard.Outcome{guard.Once, guard.Once, guard.Once, guard.Run, guard.Session, guard.Modify, guard.Modify, guard.Reject, "", guard.Cancel}).Draw(t, fmt.Sprint("answer ", i))
		m.answer = answer(o)
		if o == guard.Modify {
			m.answer.Args = json.RawMessage(rapid.SampledFrom([]string{`{"ms":1}`, `{"path":"/b"}`, `{"bad":1}`, `{`, ``, `[]`}).Draw(t, "args"))
		}
		m.takes = time.Duration(rapid.IntRange(0, 5000).Draw(t, "takes")) * time.Millisecond
		m.late = rapid.Bool().Draw(t, "late")
		moods = append(moods, m)
	}
	return func(ctx context.Context, _ run.Question) run.Answer {
		m := moods[len(w.person.questions())%len(moods)]
		if sleep(ctx, m.takes) != nil && !m.late {
			return run.Answer{Outcome: guard.Reject, By: "client"}
		}
		return m.answer
	}
}
