package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
)

// flooding is a world whose model asks for the same call again and again, and
// whose person answers the question of a run that has stopped as stopped says.
func flooding(w *world, each func(n int) run.Answer, stopped func() (tool.Answer, error)) (asked *int) {
	asked = new(int)
	w.tool("change", tool.Low, nil)
	w.person.answer = func(context.Context, run.Question) run.Answer {
		*asked++
		return each(*asked)
	}
	w.config.Env.Ask = func(_ context.Context, q tool.Question) (tool.Answer, error) {
		if len(q.Choices) == 0 || !q.Aside {
			w.t.Errorf("asked %+v", q)
		}
		return stopped()
	}
	return asked
}

// TestSEC82FloodOfQuestions: a model asks 200 times in one answer, and then on.
// After ten that nobody answered, or three refusals of one shape, nothing more is
// asked, nothing has run, and the run is paused.
func TestSEC82FloodOfQuestions(t *testing.T) {
	for name, c := range map[string]struct {
		answer run.Answer
		want   int
		says   string
	}{
		"nobody answers": {run.Answer{Outcome: guard.Reject, By: "timeout"}, 10, "has asked 10 times, and nobody has answered"},
		"refused":        {answer(guard.Reject), 3, "refused 3 times"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				stops := 0
				asked := flooding(w, func(int) run.Answer { return c.answer }, func() (tool.Answer, error) {
					if stops++; stops == 1 {
						return tool.Answer{Action: "accept", Text: "Go on, and ask again"}, nil
					}
					return tool.Answer{Action: "accept", Text: "End the run"}, nil
				})
				w.says(asks(callsTo("change", 200)...), asks(callsTo("change", 200)...))
				got := w.do()
				w.ended(got, activity.Errored)
				if *asked != 2*c.want || stops != 2 || len(w.executed()) != 0 {
					w.t.Errorf("asked %d times, stopped %d times, executed %q", *asked, stops, w.executed())
				}
				if got.Error == nil || got.Error.Kind != "denied" || !strings.Contains(got.Error.Message, c.says) {
					w.t.Errorf("ended with %+v", got.Error)
				}
				var paused int
				for _, s := range of[activity.RunState](w) {
					if s.To == activity.Paused && strings.Contains(s.Why, c.says) {
						paused++
					}
				}
				if paused != 2 {
					w.t.Errorf("paused %d times", paused)
				}
				if last := w.results(1)[199]; !last.Error || !strings.Contains(last.Content, "was not asked about") {
					w.t.Errorf("the last call: %+v", last)
				}
			})
		})
	}
}

// callsTo are n calls of a tool.
func callsTo(name string, n int) []model.Part {
	parts := make([]model.Part, n)
	for i := range parts {
		parts[i] = calls(name, fmt.Sprintf(`{"x":%d}`, i))
	}
	return parts
}

// TestSEC82AnAnswerEndsTheCount: what a person answers in between is no flood.
func TestSEC82AnAnswerEndsTheCount(t *testing.T) {
	in(t, func(w *world) {
		asked := flooding(w, func(n int) run.Answer {
			switch n % 9 {
			case 0:
				return answer(guard.Once)
			case 1, 2:
				return answer(guard.Reject)
			}
			return run.Answer{Outcome: guard.Reject, By: "timeout"}
		}, func() (tool.Answer, error) { return tool.Answer{}, fmt.Errorf("it was paused") })
		w.says(asks(callsTo("change", 36)...), says("done"))
		w.ended(w.do(), activity.Goal)
		if *asked != 36 || len(w.executed()) != 4 {
			w.t.Errorf("asked %d times, executed %q", *asked, w.executed())
		}
	})
}

// TestSEC82AnAnswerToTheAgentEndsTheCount: who answers a question of the agent's own is
// there, so that ten questions which expired before and after it are none in a row.
func TestSEC82AnAnswerToTheAgentEndsTheCount(t *testing.T) {
	in(t, func(w *world) {
		w.tool("change", tool.Low, nil)
		w.tool("ask_user", tool.Safe, func(ctx context.Context, env *tool.Env, _ map[string]any) (*tool.Result, error) {
			answer, err := env.Ask(ctx, tool.Question{Title: "What now?"})
			return &tool.Result{Content: answer.Text}, err
		})
		w.person.answer = func(context.Context, run.Question) run.Answer {
			return run.Answer{Outcome: guard.Reject, By: "timeout"}
		}
		w.config.Env.Ask = func(_ context.Context, q tool.Question) (tool.Answer, error) {
			return tool.Answer{Action: "accept", Text: "Go on."}, nil
		}
		w.says(asks(callsTo("change", 9)...), asks(calls("ask_user", `{}`)), asks(callsTo("change", 9)...), says("done"))
		w.ended(w.do(), activity.Goal)
	})
}

// TestSEC82RefusalsOfEveryKind: ten refusals in a row are enough, whatever was
// asked; who says why they refuse is at work with the model.
func TestSEC82RefusalsOfEveryKind(t *testing.T) {
	for name, c := range map[string]struct {
		answer run.Answer
		want   int
		reason activity.Reason
	}{
		"one by one":    {answer(guard.Reject), 10, activity.Errored},
		"with a reason": {run.Answer{Outcome: guard.Reject, By: "user", Feedback: "not this one"}, 40, activity.Goal},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				asked := flooding(w, func(int) run.Answer { return c.answer }, func() (tool.Answer, error) {
					return tool.Answer{Action: "accept", Text: "End the run"}, nil
				})
				parts := make([]model.Part, 40)
				for i := range parts {
					parts[i] = calls("change", fmt.Sprintf(`{"path":"/w/%d"}`, i))
				}
				w.says(asks(parts...), says("done"))
				w.ended(w.do(), c.reason)
				if *asked != c.want || len(w.executed()) != 0 {
					w.t.Errorf("asked %d times, executed %q", *asked, w.executed())
				}
			})
		})
	}
}

// TestSEC82AnAgentsOwnQuestions count as well.
func TestSEC82AnAgentsOwnQuestions(t *testing.T) {
	in(t, func(w *world) {
		asked, stopped := 0, 0
		w.config.Env.Ask = func(_ context.Context, q tool.Question) (tool.Answer, error) {
			if q.Aside {
				stopped++
				return tool.Answer{Action: "accept", Text: "End the run"}, nil
			}
			asked++
			return tool.Answer{Action: "decline"}, nil
		}
		w.tool("ask", tool.Safe, func(ctx context.Context, env *tool.Env, _ map[string]any) (*tool.Result, error) {
			a, err := env.Ask(ctx, tool.Question{Message: "well?"})
			return &tool.Result{Content: a.Action}, err
		})
		w.says(asks(callsTo("ask", 60)...), says("done"))
		w.ended(w.do(), activity.Errored)
		if asked < 10 || asked > 10+16 || stopped != 1 { // those that were under way at once
			w.t.Errorf("asked %d times, stopped %d times", asked, stopped)
		}
	})
}
