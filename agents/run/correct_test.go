package run_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
)

// TestACorrectionIsOfItsText: the same snippets are asked about once for each text.
func TestACorrectionIsOfItsText(t *testing.T) {
	in(t, func(w *world) {
		w.tool("fix", tool.Safe, func(ctx context.Context, env *tool.Env, args map[string]any) (*tool.Result, error) {
			found, err := env.Correct(ctx, args["text"].(string), tool.Snippets{Old: "a b", New: "c"})
			return &tool.Result{Content: found.Old}, err
		})
		w.says(
			asks(calls("fix", `{"text":"a  b"}`)), says(`{"old_string":"a  b","new_string":"c"}`),
			asks(calls("fix", `{"text":"a\tb"}`)), says(`{"old_string":"a\tb","new_string":"c"}`),
			asks(calls("fix", `{"text":"a  b","again":true}`)),
			says("done"))
		w.ended(w.do(), activity.Goal)
		for turn, want := range []string{"a  b", "a\tb", "a  b"} {
			if got := w.results(turn + 1); len(got) != 1 || got[0].Content != want {
				t.Errorf("turn %d: %+v", turn+1, got)
			}
		}
	})
}

// TestACancelledCallWaitsForNoCorrection of another call.
func TestACancelledCallWaitsForNoCorrection(t *testing.T) {
	in(t, func(w *world) {
		asked := make(chan struct{})
		w.tool("fix", tool.Safe, func(ctx context.Context, env *tool.Env, args map[string]any) (*tool.Result, error) {
			if args["second"] != nil {
				<-asked
			}
			_, err := env.Correct(ctx, "a  b", tool.Snippets{Old: "a b", New: "c"})
			return &tool.Result{Content: "corrected"}, err
		})
		w.says(asks(calls("fix", `{}`), calls("fix", `{"second":true}`)), func(ctx context.Context, _ func(model.Chunk, error) bool) {
			close(asked)
			<-ctx.Done()
		}, says("done"))
		h := w.start()
		synctest.Wait()
		if !h.CancelCall(id(1, 1)) {
			t.Error("the call that waits is not cancelled")
		}
		synctest.Wait()
		if w.entered(id(1, 1), activity.Cancelled) == 0 {
			t.Error("a cancelled call waits for the correction of another")
		}
		if !h.CancelCall(id(1, 0)) {
			t.Error("the call that asks is not cancelled")
		}
		w.ended(h.wait(), activity.Goal)
	})
}
