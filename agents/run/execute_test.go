package run_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
)

// TestLogFirst: what cannot be written down does not happen (spec 3.1).
func TestLogFirst(t *testing.T) {
	in(t, func(w *world) {
		w.tool("change", tool.Low, nil)
		w.tool("look", tool.Safe, nil)
		w.log.commit = func(context.Context, uint64) error { return errDisk }
		w.says(asks(calls("change", `{}`), calls("look", `{}`)), says("done"))
		w.ended(w.do(), activity.Goal)
		if ran := w.executed(); !slices.Equal(ran, []string{id(1, 1)}) {
			w.t.Errorf("executed: %v", ran)
		}
		r := w.results(1)[0]
		if w.contains("the result", r.Content, "nothing was done", errDisk.Error()); !r.Error {
			w.t.Errorf("the result is %+v", r)
		}
	})
}

// TestLogFirstIsNotForReads: a safe call waits for no disk.
func TestLogFirstIsNotForReads(t *testing.T) {
	in(t, func(w *world) {
		w.tool("look", tool.Safe, nil)
		w.log.commit = func(context.Context, uint64) error { time.Sleep(time.Hour); return nil }
		w.says(asks(calls("look", `{}`)), says("done"))
		w.ended(w.do(), activity.Goal)
		if took := time.Since(of1(w)); took != 0 {
			w.t.Errorf("it took %v", took)
		}
	})
}

// TestCancelledWhileTheDiskIsWaitedFor: nothing executes that is not on it.
func TestCancelledWhileTheDiskIsWaitedFor(t *testing.T) {
	for _, heeds := range []bool{true, false} {
		t.Run(fmt.Sprint("heeds ", heeds), func(t *testing.T) {
			in(t, func(w *world) {
				w.tool("change", tool.Low, nil)
				w.log.commit = func(ctx context.Context, _ uint64) error {
					if heeds {
						return sleep(ctx, time.Minute)
					}
					time.Sleep(time.Minute) // it succeeds, but too late
					return nil
				}
				w.says(asks(calls("change", `{}`)), says("done"))
				h := w.start()
				time.Sleep(time.Second)
				if !h.CancelCall(id(1, 0)) {
					w.t.Errorf("the call is not cancelled")
				}
				w.ended(h.wait(), activity.Goal)
				if s := w.ends(1)[0]; s.State != activity.Cancelled || len(w.executed()) != 0 {
					w.t.Errorf("the call ends %s and %v executed", s.State, w.executed())
				}
			})
		})
	}
}

// TestLeftovers: a tool that does not end is left to whoever waits for it; what
// it does then is nobody's result.
func TestLeftovers(t *testing.T) {
	in(t, func(w *world) {
		var ended atomic.Bool
		w.tool("deaf", tool.Low, func(_ context.Context, env *tool.Env, _ map[string]any) (*tool.Result, error) {
			time.Sleep(10 * time.Second)
			ended.Store(true)
			return &tool.Result{Content: "late", Changes: []activity.Change{{URI: "file:///a"}}}, nil
		})
		w.says(asks(calls("deaf", `{}`)))
		h := w.start()
		time.Sleep(time.Second)
		h.end(run.ErrCancelled)
		<-h.done
		if took := time.Since(of1(w)); took != 1500*time.Millisecond || ended.Load() {
			w.t.Errorf("the run ends after %v", took)
		}
		got := h.wait()
		w.ended(got, activity.Aborted)
		if !ended.Load() || len(got.Changes) != 0 {
			w.t.Errorf("the tool has ended: %v; changes: %v", ended.Load(), got.Changes)
		}
	})
}

// TestEndsDuringTheGrace: a tool that ends within half a second of the
// cancellation has its own result.
func TestEndsDuringTheGrace(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want activity.CallState
	}{"succeeds": {nil, activity.Success}, "fails": {errors.New("x"), activity.Cancelled}} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.tool("slow", tool.Safe, func(ctx context.Context, _ *tool.Env, _ map[string]any) (*tool.Result, error) {
					<-ctx.Done()
					time.Sleep(400 * time.Millisecond)
					if c.err != nil {
						return nil, c.err
					}
					return &tool.Result{Content: "made it"}, nil
				})
				w.says(asks(calls("slow", `{}`)))
				h := w.start()
				synctest.Wait()
				h.end(run.ErrCancelled)
				w.ended(h.wait(), activity.Aborted)
				if s := w.ends(1)[0]; s.State != c.want {
					w.t.Errorf("the call ends %s", s.State)
				}
			})
		})
	}
}
