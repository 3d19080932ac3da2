package gemini

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/genai"

	"github.com/agentls/agentls/agents/model"
)

var _ model.Embedder = (*Client)(nil)

// Embed implements [model.Embedder], by genai's EmbedContent. It waits HeaderTimeout at
// most, and is not retried. A vector of another length than asked for, or with what is
// no number, is a Fatal error: stored, it would spoil every comparison.
func (c *Client) Embed(ctx context.Context, req *model.Embedding) (vector []float32, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := checkID(req.Model); err != nil {
		return nil, err
	}
	models, err := c.api(ctx)
	if err != nil {
		return nil, err
	}
	config := &genai.EmbedContentConfig{TaskType: "RETRIEVAL_DOCUMENT"}
	if req.Query {
		config.TaskType = "RETRIEVAL_QUERY"
	}
	if req.Dimension > 0 {
		n := int32(req.Dimension)
		config.OutputDimensionality = &n
	}
	// A vector comes in one piece, so the time for headers is that for all of it.
	within, cancel := context.WithTimeout(ctx, c.config.HeaderTimeout)
	defer cancel()
	defer func() { // genai asserts types of what a server sends
		if v := recover(); v != nil {
			err = c.embeddingError(ctx, fmt.Errorf("%w: %v", errUnreadable, v))
		}
	}()
	r, err := models.EmbedContent(within, req.Model, genai.Text(req.Text), config)
	if err != nil {
		return nil, c.embeddingError(ctx, err)
	}
	if len(r.Embeddings) != 1 || r.Embeddings[0] == nil || len(r.Embeddings[0].Values) == 0 {
		return nil, &model.Error{Class: model.Fatal, Message: req.Model + " gave no vector"}
	}
	vector = r.Embeddings[0].Values
	if req.Dimension > 0 && len(vector) != req.Dimension {
		return nil, &model.Error{Class: model.Fatal,
			Message: fmt.Sprintf("%s gave a vector of the dimension %d, and not %d", req.Model,
				len(vector), req.Dimension)}
	}
	if slices.ContainsFunc(vector, func(x float32) bool { return x != x || x-x != 0 }) {
		return nil, &model.Error{Class: model.Fatal, Message: req.Model + " gave a vector with what is no number"}
	}
	return vector, nil
}

// embeddingError sorts what ended a request for a vector. The error is a
// *[model.Error], or ctx's.
func (c *Client) embeddingError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if api, ok := errors.AsType[genai.APIError](err); ok {
		// Nothing else of such an answer is kept: neither its headers nor its body.
		return c.refusal(&call{status: api.Code}, api)
	}
	if login, ok := errors.AsType[*model.Error](err); ok {
		return &model.Error{Class: login.Class, Status: login.Status, Message: c.clean(login.Message),
			Err: c.below(login.Err)}
	}
	if errors.Is(err, errUnreadable) {
		return &model.Error{Class: model.Fatal, Message: c.clean(err.Error())}
	}
	return c.connectionError(err)
}
