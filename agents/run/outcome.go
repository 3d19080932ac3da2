package run

// How a call ends: with a result, an error, or cancelled.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/mask"
)

// succeed writes the result of a call that ran; one that says that it failed is
// an error for the model, with the same text.
//
// The order of events is that of effects: changes of files that were not told yet, the plan,
// what was remembered, and last the call's result, after which the next turn may begin.
func (b *batch) succeed(t *task, result *tool.Result) {
	b.mu.Lock()
	for _, c := range result.Changes {
		if !slices.Contains(t.told, c.URI) {
			b.say(activity.FileChanged{Change: c, Call: t.call.ID})
			b.changes = append(b.changes, c)
		}
	}
	b.mu.Unlock()
	content, blob, size := b.cut(result)
	// The model asked for something else: it is told what ran, or it would take the result
	// for that of its own arguments.
	if t.modified != "" {
		content = t.modified + " changed this call; it ran with " + string(t.call.Args) + "\n" + content
	}
	t.ran = true
	if !t.completes() {
		b.mu.Lock()
		b.last = t.name
		b.mu.Unlock()
	}
	if result.Failed {
		code := result.Code
		if code == "" {
			code = tool.CodeFailed
		}
		t.said = content
		b.enter(t, activity.Failed, nil, &activity.ToolError{Code: code, Message: content})
		return
	}
	t.said = content
	if result.Todos != nil {
		b.say(activity.TodosChanged{Todos: result.Todos})
	}
	if result.Remembered != nil {
		b.say(*result.Remembered)
	}
	media, lost := b.keep(result.Media)
	content += lost
	display := result.Display
	if display == "" {
		display = t.plan.Title
	}
	kept := &activity.ToolResult{Content: content, Display: display, Blob: blob, Bytes: size, Media: media}
	if err := b.Session.Spill(kept); err != nil && b.Log != nil {
		b.Log.Warn("a long result stays in the session's log", "call", t.call.ID, "err", err)
	}
	b.enter(t, activity.Success, kept, nil)
}

// cut returns what the model gets of a result, and where the whole lies when
// that is not all.
// The text is fenced, so that it cannot pass for the product's own words to the model.
// blob is "" where nothing is kept besides, and size is that of the whole, in bytes. What
// is kept is masked too: the model can read it by the path that it is told.
func (b *batch) cut(result *tool.Result) (content, blob string, size int) {
	content, isCut := tool.Cut(result.Content)
	content = tool.Fence(content, b.mark)
	var name string
	var err error
	switch size = len(result.Content); {
	case result.Whole != nil:
		defer result.Whole.Close() // it was only read
		name, size, err = b.Session.PutBlobFrom(mask.NewReader(b.Mask.Stream(), result.Whole))
	case isCut:
		name, err = b.Session.PutBlob(b.Mask.MaskKnown([]byte(result.Content)))
	default:
		return content, "", size
	}
	if err != nil {
		return content + "\nThe whole could not be kept: " + err.Error(), "", size
	}
	if b.Env.Blobs == "" {
		return content, name, size
	}
	return content + fmt.Sprintf("\nThe whole (%d bytes) can be read with read_file at %s/%s", size,
		b.Env.Blobs, name), name, size
}

// fail ends a call with what the model is told about it.
// A *tool.Error is the tool's own word; a refusal by the gate stays one; all else is an
// internal failure.
func (b *batch) fail(t *task, err error) {
	code, message := tool.CodeInternal, "The tool failed: "+fault.Message(err)
	if e, ok := errors.AsType[*tool.Error](err); ok {
		code, message = e.Code, e.Message
	} else if fault.KindOf(err) == fault.Denied {
		code, message = tool.CodeDenied, fault.Message(err)
	}
	message = tool.Fence(message, b.mark)
	if t.modified != "" {
		message = t.modified + " changed this call to " + string(t.call.Args) + "\n" + message
	}
	t.said = message
	b.enter(t, activity.Failed, nil, &activity.ToolError{Code: code, Message: message})
}

// drop ends a call that was cancelled, alone or with its run. said is what the
// tool had to tell when it was.
//
// A call that a daemon's end stops before it executed gets no result here: the run is resumed
// with it.
func (b *batch) drop(t *task, said string) {
	why := ErrCancelled.Error()
	switch cause := context.Cause(b.ctx); {
	case errors.Is(cause, ErrInterrupted):
		why = cause.Error()
		// It is made, and asked for, when the run is resumed; what was delegated goes on then.
		if t.state != activity.Executing || t.delegates() {
			t.said = why
			return
		}
	case errors.Is(cause, errGuarded):
		why = "cancelled: " + errGuarded.Error()
	case errors.Is(cause, ErrTimeout):
		why = "cancelled: the run's time is used up"
	}
	if said != "" {
		why += "\n" + said
	}
	t.said = why
	b.enter(t, activity.Cancelled, nil, &activity.ToolError{Code: tool.CodeCancelled, Message: why})
}

// maskOutput returns what came of a call without what commands must not tell.
// result is not changed: what comes back is a copy. A nil masker gives back what it got.
func maskOutput(m *mask.Masker, result *tool.Result, err error) (*tool.Result, error) {
	if m == nil {
		return result, err
	}
	if e, ok := errors.AsType[*tool.Error](err); ok {
		err = &tool.Error{Code: e.Code, Message: string(m.MaskKnown([]byte(e.Message)))}
	}
	if result != nil {
		masked := *result
		masked.Content, masked.Display = string(m.MaskKnown([]byte(result.Content))),
			string(m.MaskKnown([]byte(result.Display)))
		if result.Whole != nil {
			masked.Whole = masking{mask.NewReader(m.Stream(), result.Whole), result.Whole}
		}
		result = &masked
	}
	return result, err
}

// masking is an output that is masked as it is read.
type masking struct {
	io.Reader
	io.Closer
}
