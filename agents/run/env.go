package run

import (
	"context"
	"slices"

	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/mask"
	"github.com/agentls/agentls/internal/sandbox"
)

// env returns what a call may reach.
//
// It is made anew for each step of a call: trust, folders and rules are as they are then. The Taint
// is the run's at that moment.
// The value is the caller's. Slices that are shared with the run's Env are clipped before
// anything is added, since calls of a batch do this at the same time.
func (b *batch) env(t *task) *tool.Env {
	env := b.Env
	if b.Locate != nil {
		b.Locate(&env)
	}
	env.Edits = keeping{b.Env.Edits, b, t}
	env.Session, env.Run, env.Call, env.Agent = b.Env.Session, b.ID, t.call.ID, b.Definition.Name
	env.Progress = func(string) {}
	// A call that starts something that outlives it leaves its window open (settleWindow).
	if start := b.Env.Background; start != nil {
		env.Background = func(task func(context.Context) []string) {
			t.lasting.Store(true)
			start(task)
		}
	}
	env.Memory, env.Taint = b.memory(t.call.ID), b.Gate.TaintOf(b.ID)
	env.Secret = func(text string) bool { return mask.Carries(b.Mask.MaskKnown, text) }
	if b.Rules != nil {
		deny, allow := b.Rules()
		for _, r := range allow {
			if r.Host != nil && r.Limits(t.name) {
				env.Hosts = append(slices.Clip(env.Hosts), *r.Host)
			}
		}
		if slices.ContainsFunc(deny, func(r tool.Rule) bool { return r.Limits(t.name) }) {
			env.Denied = func(path string) bool {
				return slices.ContainsFunc(deny, func(r tool.Rule) bool { return r.Covers(t.name, path, env.Folder) })
			}
		}
	}
	if env.Trusted && b.Approval() != guard.Plan { // else nothing would come of an edit
		env.Correct = func(ctx context.Context, text string, s tool.Snippets) (tool.Snippets, error) {
			return b.correct(ctx, t.call.ID, text, s)
		}
	}
	// Other accesses have no hosts to ask about: none at all, or any.
	if t.plan != nil && t.plan.Access == sandbox.Network {
		env.Reach = func(ctx context.Context, host string, port int) error { return b.reach(ctx, t, &env, host, port) }
	}
	env.Search = func(ctx context.Context, query string) (*model.Answer, error) {
		return b.search(ctx, t.call.ID, query)
	}
	env.Model = b.Models[0].ID
	env.Consult = func(ctx context.Context, about string, req *model.Request) (*model.Answer, error) {
		return b.consultFor(ctx, t.call.ID, about, req)
	}
	if ask := b.Env.Ask; ask != nil {
		// An agent that has asked in vain too often is not told so by a question of its own:
		// it gets the answer of a person who declines.
		env.Ask = func(ctx context.Context, q tool.Question) (tool.Answer, error) {
			defer b.asking(t.name + " asks a question")()
			if why := b.whyFlooded(); why != "" {
				return tool.Answer{Action: "decline"}, nil
			}
			answer, err := ask(ctx, b.addChain(q))
			if err == nil {
				b.recordReply(answer.Action)
			}
			return answer, err
		}
	}
	return &env
}
