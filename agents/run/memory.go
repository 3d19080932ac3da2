package run

import (
	"context"
	"errors"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/memory"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// memory returns what the agent may remember, with vectors that are told and counted as
// calls of models; nil where it remembers nothing.
func (b *batch) memory(call string) tool.Memory {
	if b.Memory == nil {
		return nil
	}
	// A copy, since the embedder is of one call, and calls of a batch go on side by side.
	own := *b.Memory
	own.Embedder = func(name string) (memory.Embedder, error) {
		choice, err := b.Embedding(name)
		if err != nil || choice == nil {
			return memory.Local{}, err
		}
		return embedder{b, *choice, call}, nil
	}
	return &own
}

// embedder makes vectors by a provider's model, for a call of a tool.
//
// Vectors count towards the run's limits like other calls of models. Embed's errors are
// fault.Invalid for a model that makes none, fault.Denied at a limit, fault.Unavailable where the
// provider fails, and the context's own.
type embedder struct {
	*batch
	choice Choice
	call   string
}

// Name implements [memory.Embedder].
func (e embedder) Name() string { return e.choice.ID }

// Embed implements [memory.Embedder].
// It is counted and told as a call of a model, with estimated tokens. The errors are
// fault.Invalid (the provider makes no vectors), fault.Denied (the budget is used up),
// fault.Unavailable (it gave none), and ctx's.
func (e embedder) Embed(ctx context.Context, text string, dimension int, use memory.Use) ([]float32, error) {
	const op = "run.embed"
	by, ok := e.choice.Model.(model.Embedder)
	if !ok {
		return nil, fault.New(fault.Invalid, op, "the provider of %s makes no vectors; correct memory.embedding_model",
			e.choice.ID)
	}
	var vector []float32
	tokens := model.EstimateTokens(text)
	_, err := e.callAside(ctx, e.choice, tokens, func(attempt int) (*model.Answer, error) {
		e.sayFor(activity.ModelStarted{Model: e.choice.ID, Attempt: attempt, Tokens: tokens,
			Purpose: "embedding", Call: e.call}, 0)
		began := e.Now()
		var err error
		vector, err = by.Embed(ctx, &model.Embedding{Model: e.choice.ID, Text: text, Dimension: dimension,
			Query: use == memory.ForQuery})
		if err != nil {
			return nil, err
		}
		used := model.Usage{InputTokens: tokens, TotalTokens: tokens} // no provider tells
		e.sayFor(activity.ModelFinished{Model: e.choice.ID, Finish: model.Stop, Usage: used, Purpose: "embedding",
			Call: e.call}, e.Now().Sub(began))
		return &model.Answer{Finish: model.Stop, Usage: used}, nil
	})
	var budget *errBudget
	switch {
	case err == nil:
		return vector, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &budget):
		return nil, fault.New(fault.Denied, op, "%s", budget.text)
	}
	return nil, fault.New(fault.Unavailable, op, "%s gave no vector: %w", e.choice.ID, err)
}
