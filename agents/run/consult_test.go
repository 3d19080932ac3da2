package run_test

import (
	"context"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
)

// TestConsultCountsAsTheRuns: a model that a call asks something of its own is told and
// counted like each call of a model, within the run's limits, and what was asked and
// answered is noted.
func TestConsultCountsAsTheRuns(t *testing.T) {
	in(t, func(w *world) {
		w.config.Limits = run.Limits{ModelCalls: 2}
		var errs []error
		w.tool("ask", tool.Safe, func(ctx context.Context, env *tool.Env, _ map[string]any) (*tool.Result, error) {
			for range 2 {
				answer, err := env.Consult(ctx, "Somebody asked: 1+1?", &model.Request{Messages: []model.Message{{Role: model.User, Parts: []model.Part{{Text: "1+1?"}}}}})
				if errs = append(errs, err); err == nil && answer.Message.Parts[0].Text != "two" {
					t.Errorf("%+v", answer)
				}
			}
			return &tool.Result{Content: "asked"}, nil
		})
		w.says(asks(calls("ask", `{}`)), says("two"))
		got := w.do()
		w.ended(got, activity.Budget)
		if len(errs) != 2 || errs[0] != nil || errs[1] == nil || len(w.model.requests) != 2 {
			t.Fatalf("%v after %d requests", errs, len(w.model.requests))
		}
		w.contains("the refusal", errs[1].Error(), "agents.limits.modelCalls")
		if req := w.model.requests[1]; len(req.Messages) != 1 || len(req.Tools) != 0 || req.Model != w.config.Models[0].ID || len(of[activity.ModelFinished](w)) != 2 {
			t.Errorf("%+v, told of %d answers", req, len(of[activity.ModelFinished](w)))
		}
		noted := ""
		for _, n := range of[activity.Note](w) {
			noted += n.Message
		}
		w.contains("the notes", noted, "Somebody asked: 1+1?\nIt answered:\ntwo")
	})
}
