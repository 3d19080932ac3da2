package run

import (
	"context"
	"errors"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/compression"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/internal/settings"
)

// Compression says when an agent's context is made shorter (spec 8.3).
//
// The zero value never compresses.
type Compression struct {
	// What settings say. Its Model is a name; By is who that means.
	settings.Compression
	MaxTokens int    // caps the window; 0 = does not
	By        Choice // who sums up
}

// window returns how many tokens a context may have, 0 where that is not known.
// model is the window of the model, 0 where the table has none.
func (c Compression) window(model int) int {
	if c.MaxTokens > 0 && (model == 0 || c.MaxTokens < model) {
		return c.MaxTokens
	}
	return model
}

// threshold returns from how many tokens a context is compressed, 0 for never.
func (c Compression) threshold(model int) int { return int(c.Threshold * float64(c.window(model))) }

// compress makes the context shorter if the next request would have more tokens
// than the threshold. A failure leaves it as it was, and is not tried again by
// itself.
//
// The error is an *errBudget, for which a person may be asked, or the context's
// end; a model that fails is no error, and is told.
func (r *runner) compress(ctx context.Context) error {
	agent, c := r.Definition.Name, r.Compression
	limit, window := c.threshold(r.Models[0].Entry.Window), c.window(r.Models[0].Entry.Window)
	if !c.Enabled || limit <= 0 {
		return nil
	}
	before, _ := r.Session.Tokens(r.context())
	if before < limit {
		return nil
	}
	// After a failure no model is asked again by itself (spec 8.3); old results still go
	// where the context would not fit.
	if r.unsummed || r.Session.CompressionFailed(r.context()) {
		r.drop(before, limit, window)
		return nil
	}
	// What hooks answer is not looked at: they only look on.
	r.fire(ctx, "PreCompress", []string{"auto"}, map[string]any{"trigger": "auto"})
	result, err := compression.Compress(ctx, r.Session.Context(r.context()), compression.Config{
		Preserve: c.Preserve, Target: limit, Before: before, ModelID: c.By.ID,
		Window: c.By.Entry.Window, Folder: r.Env.Folder,
		Canonical: definition.CanonicalTool,
		Ask: func(ctx context.Context, req *model.Request) (*model.Answer, error) {
			req.Asker = model.Asker{Run: r.ID, Agent: r.Definition.Name, Purpose: "summary"}
			return r.consult(ctx, c.By, req)
		},
	})
	var budget *errBudget
	if err == nil && errors.As(result.Err, &budget) {
		return budget // for the person to decide; nothing was tried
	}
	if err != nil {
		return err
	}
	if result.Status == compression.NoOp {
		return nil // nothing became of it, and nothing is told
	}
	if result.Err != nil {
		r.unsummed = true // by this run not again; the next may be luckier
		r.say(activity.ErrorSeen{Code: "provider", Message: result.Err.Error(), Where: "compression"})
	}
	r.say(compressionEvent(agent, result))
	if compression.Failed(result.Status) {
		r.drop(before, limit, window)
	}
	return nil
}

// drop takes out the oldest results of tools where the context does not fit any
// more and cannot be summed up: the one thing left before the provider refuses
// it (REL-62). It reports whether there were any.
func (r *runner) drop(before, limit, window int) bool {
	if before < window {
		return false
	}
	agent := r.Definition.Name
	result := compression.Drop(r.Session.Context(r.context()), compression.Config{
		Target: limit, Before: before, Folder: r.Env.Folder, Canonical: definition.CanonicalTool,
	})
	if result.Status != compression.Compressed {
		return false
	}
	r.say(compressionEvent(agent, result))
	return true
}

// compressionEvent is what a session is told of a compression.
func compressionEvent(agent string, c compression.Result) activity.ContextCompressed {
	return activity.ContextCompressed{
		Agent: agent, Before: c.Before, After: c.After, Status: c.Status,
		Scratchpad: c.Scratchpad, Snapshot: c.Snapshot, Cut: c.Cut, Reduced: c.Reduced,
	}
}

// consult asks a model for something that is no answer of the agent's. It is
// told and counted like each call of a model (REL-124), and what is busy is
// asked again as for an answer.
func (r *runner) consult(ctx context.Context, choice Choice, req *model.Request) (*model.Answer, error) {
	tokens := estimate(req)
	req.Model = choice.ID
	var answer *model.Answer
	_, err := r.again(ctx, choice, func(attempt int) (bool, error) {
		err := r.account.begin(choice, tokens)
		if err != nil {
			return false, err
		}
		if answer, err = consult(ctx, choice, req, r.sayFor, r.Now, attempt, tokens); err != nil {
			r.account.release(tokens)
		}
		return false, err
	})
	if err != nil {
		return nil, err
	}
	// Counted once, by the attempt that succeeded; those before it have given theirs back.
	r.count(choice, answer, tokens)
	return answer, nil
}

// Outside is what is needed to compress a context outside of a run. Everything
// without a remark is required.
type Outside struct {
	Session     Session
	Definition  *definition.Definition
	Window      int // of the agent's model, in tokens
	Compression Compression
	Force       bool // below the threshold and after a failure too
	Folder      string
	Now         func() time.Time
	Hooks       Hooks  // nil = none
	ID          string // of the session, for hooks
	Transcript  string // its log, for hooks; "" in memory
}

// Compress makes an agent's context shorter outside of a run, and says what
// became of it. The error is the context's end, or why no model can be asked.
//
// It must not be called while the agent has a run that goes on: both would
// change the context. What it asks the model is told in the session's log and
// counted by no run.
func Compress(ctx context.Context, o Outside) (activity.ContextCompressed, error) {
	agent, c := o.Definition.Name, o.Compression
	before, _ := o.Session.Tokens(agent)
	limit := c.threshold(o.Window)
	wanted := limit > 0 && before >= limit && !o.Session.CompressionFailed(agent)
	if !o.Force && !wanted {
		return activity.ContextCompressed{Agent: agent, Before: before, After: before, Status: compression.NoOp}, nil
	}
	if o.Force {
		limit = 0 // reducing stale results is not all that is asked for
	}
	origin := activity.Origin{Agent: agent}
	if o.Hooks != nil && o.Hooks.Has(o.Folder, "PreCompress") {
		answer := o.Hooks.Fire(ctx, HookEvent{
			Name: "PreCompress", Folder: o.Folder, Session: o.ID, Transcript: o.Transcript, Agent: agent,
			Match: []string{"manual"}, Fields: map[string]any{"trigger": "manual"},
		})
		TellHooks(answer, func(b activity.Body, took time.Duration) uint64 { return o.Session.Append(origin, b, took) })
	}
	attempt := 0
	result, err := compression.Compress(ctx, o.Session.Context(agent), compression.Config{
		Preserve: c.Preserve, Target: limit, Before: before, ModelID: c.By.ID,
		Window: c.By.Entry.Window, Folder: o.Folder,
		Canonical: definition.CanonicalTool,
		Ask: func(ctx context.Context, req *model.Request) (*model.Answer, error) {
			req.Model = c.By.ID
			req.Asker = model.Asker{Agent: agent, Purpose: "summary"}
			attempt++
			return consult(ctx, c.By, req, func(b activity.Body, took time.Duration) uint64 {
				return o.Session.Append(origin, b, took)
			}, o.Now, attempt, estimate(req))
		},
	})
	if err != nil {
		return activity.ContextCompressed{}, err
	}
	event := compressionEvent(agent, result)
	if result.Err != nil {
		o.Session.Append(origin, activity.ErrorSeen{Code: "provider", Message: result.Err.Error(),
			Where: "compression"}, 0)
	}
	o.Session.Append(origin, event, 0)
	return event, nil
}

// consult asks once and tells it.
// An answer that ends without its last chunk is a [model.Error] of class Cut.
func consult(ctx context.Context, choice Choice, req *model.Request, say func(activity.Body, time.Duration) uint64,
	now func() time.Time, attempt, tokens int) (*model.Answer, error) {
	say(activity.ModelStarted{Model: choice.ID, Attempt: attempt, Tokens: tokens, Purpose: req.Asker.Purpose,
		Call: req.Asker.Call}, 0)
	began := now()
	var first time.Duration
	var answer *model.Answer
	for chunk, err := range choice.Model.Generate(ctx, req) {
		if err != nil {
			return nil, err
		}
		if first == 0 {
			first = max(now().Sub(began), 1)
		}
		if chunk.Answer != nil {
			answer = chunk.Answer
		}
	}
	if answer == nil {
		return nil, &model.Error{Class: model.Cut, Message: "the answer ended before it was complete"}
	}
	say(activity.ModelFinished{
		Model: choice.ID, Finish: answer.Finish, Usage: answer.Usage, FirstTokenMs: first.Milliseconds(),
		Purpose: req.Asker.Purpose, Call: req.Asker.Call,
		Content: answer.Message.Parts,
	}, now().Sub(began))
	return answer, nil
}
