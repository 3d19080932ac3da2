package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
)

// The names that every test's run has.
const (
	sessionID = "the-session"
	runID     = "the-run"
	agentName = "tester"
)

// tb is what the world needs of a test: *testing.T and *rapid.T have it.
type tb interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// world is one run and everything around it. The gate, the set of tools, the
// plans and tokens are real; log, model, tools and person are fakes that check
// how they are used.
type world struct {
	t      tb
	log    *journal
	model  *script
	person *person
	config run.Config
	left   conc.WaitGroup

	mu       sync.Mutex
	tools    []tool.Tool
	ran      []string       // ids of the calls that executed, in order
	active   int            // tools that execute now
	most     int            // of active
	plans    map[string]int // how often each tool was planned
	approval guard.Approval
}

func newWorld(t tb) *world {
	w := &world{t: t, log: &journal{t: t, blobs: make(map[string][]byte)}, model: &script{t: t},
		person: &person{t: t, can: true}, plans: make(map[string]int), approval: guard.Asks}
	w.config = run.Config{
		ID: runID, CorrelationID: "chain-1", Chain: []string{agentName},
		Definition: &definition.Definition{Name: agentName, Digest: "d1"}, System: "be good",
		Models:   []run.Choice{{ID: "m1", Model: w.model, Entry: model.Entry{ID: "m1", Window: 1000, Sampling: true, Thinking: model.Level}}},
		Approval: func() guard.Approval { w.mu.Lock(); defer w.mu.Unlock(); return w.approval },
		Session:  w.log, Gate: guard.New(), Person: w.person,
		Env:      tool.Env{Session: sessionID, Trusted: true, Now: time.Now, Seen: tool.NewSeen()},
		MaxTurns: 20, Leftovers: &w.left, Now: time.Now,
	}
	return w
}

// in runs a test in a bubble of its own.
func in(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newWorld(t)) })
}

// says makes the model answer with the steps, one for each request.
func (w *world) says(steps ...step) *world {
	w.model.steps = append(w.model.steps, steps...)
	return w
}

// handle is a run that goes on.
type handle struct {
	*run.Run
	w      *world
	end    context.CancelCauseFunc
	done   chan struct{}
	result activity.RunFinished
}

// start sets the run going.
func (w *world) start() *handle {
	w.config.Tools = tool.NewSet(tool.SetConfig{Tools: w.tools, Canonical: definition.CanonicalTool})
	ctx, end := context.WithCancelCause(context.Background())
	h := &handle{Run: run.New(w.config), w: w, end: end, done: make(chan struct{})}
	if seq := h.Begin([]activity.ContentBlock{{Type: "text", Text: "please"}}); seq != w.log.offset+1 || w.log.last() != 1 {
		w.t.Errorf("Begin returns %d, and the log has %d events", seq, w.log.last())
	}
	go func() {
		defer close(h.done)
		h.result = h.Do(ctx)
	}()
	return h
}

// wait waits for the run's end and for its leftovers, and checks what always
// holds.
func (h *handle) wait() activity.RunFinished {
	h.w.t.Helper()
	<-h.done
	h.end(nil)
	h.w.left.Wait()
	h.w.check(h.result)
	return h.result
}

// do takes the run to its end.
func (w *world) do() activity.RunFinished {
	w.t.Helper()
	return w.start().wait()
}

// of returns the events of one type, in order.
func of[B activity.Body](w *world) []B {
	var out []B
	for _, e := range w.log.all() {
		if b, ok := e.Body.(B); ok {
			out = append(out, b)
		}
	}
	return out
}

// types returns the names of all events.
func (w *world) types() []string {
	var out []string
	for _, e := range w.log.all() {
		out = append(out, e.Body.Type())
	}
	return out
}

// seqOf returns the number of the first event that fits, 0 without one.
func (w *world) seqOf(fits func(activity.Body) bool) uint64 {
	for _, e := range w.log.all() {
		if fits(e.Body) {
			return e.Seq
		}
	}
	return 0
}

// entered returns the number of the event with which a call came to a state.
func (w *world) entered(call string, s activity.CallState) uint64 {
	return w.seqOf(func(b activity.Body) bool {
		t, ok := b.(activity.ToolState)
		return ok && t.Call == call && t.State == s
	})
}

// id is the id of a call.
func id(turn, index int) string { return fmt.Sprintf("%s#%d-%d", runID, turn, index) }

// results returns what the model is told of the calls of a turn, in order.
func (w *world) results(turn int) []model.Result {
	w.t.Helper()
	var out []model.Result
	for _, m := range w.log.Context(agentName) {
		for _, p := range m.Parts {
			if p.Result != nil && strings.HasPrefix(p.Result.ID, fmt.Sprintf("%s#%d-", runID, turn)) {
				out = append(out, *p.Result)
			}
		}
	}
	return out
}

// ends returns the terminal states of the calls of a turn, by index.
func (w *world) ends(turn int) []activity.ToolState {
	byID := make(map[string]activity.ToolState)
	for _, s := range of[activity.ToolState](w) {
		if s.State.Terminal() && strings.HasPrefix(s.Call, fmt.Sprintf("%s#%d-", runID, turn)) {
			byID[s.Call] = s
		}
	}
	var out []activity.ToolState
	for i := 0; len(out) < len(byID); i++ {
		if s, ended := byID[id(turn, i)]; ended {
			out = append(out, s)
		}
	}
	return out
}

// states returns the states of one call, in order.
func (w *world) states(call string) (out []activity.CallState) {
	for _, s := range of[activity.ToolState](w) {
		if s.Call == call {
			out = append(out, s.State)
		}
	}
	return out
}

// ended checks how a run ended.
func (w *world) ended(got activity.RunFinished, want activity.Reason) {
	w.t.Helper()
	if got.Reason != want {
		w.t.Fatalf("the run ended %s (%q, %+v), not %s; events: %s", got.Reason, got.Text, got.Error, want, strings.Join(w.types(), " "))
	}
}

// contains checks a text.
func (w *world) contains(what, text string, parts ...string) {
	w.t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			w.t.Errorf("%s is %q, without %q", what, text, part)
		}
	}
}

var errDisk = errors.New("no space left on device")
