package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sourcegraph/conc/panics"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/mask"
)

// grace is how long a tool has to end by itself after a cancellation.
const grace = 500 * time.Millisecond

// execution is a permitted call whose tool runs.
//
// Two may end it, and first decides: the tool, when it returns, or the timer half a
// second after a cancellation. What comes second is silent: the call has its result,
// and a second one would be a lie in the log.
type execution struct {
	*batch
	task  *task
	token *tool.Token
	env   *tool.Env

	mu           sync.Mutex
	ended        bool         // a tool that goes on after its call's end tells nothing; guarded by mu
	output, said *mask.Stream // of what the tool tells as it runs; guarded by mu
}

// execute runs a permitted call and writes its result. It returns when the tool has
// ended. A tool that goes on after its call was cancelled has a moment to end; then the
// call ends without it, and what it does is nobody's result.
//
// Nothing runs before "executing" is on stable storage, unless the call only reads:
// after a crash the log must not miss a call that may have had an effect. That is the
// commit that a command waits for.
func (b *batch) execute(t *task, token *tool.Token) {
	ctx := t.ctx
	x := &execution{batch: b, task: t, token: token, env: b.env(t)}
	// What a command prints is masked by what the credential files hold now. Where these
	// cannot be read the command is not run, for nobody could mask its output.
	if t.plan.Spawns && b.Output != nil {
		var err error
		if x.env.Output, err = b.Output(ctx, x.env); err != nil && ctx.Err() == nil {
			b.fail(t, err)
			return
		}
		t.output = x.env.Output
	}
	x.output, x.said = x.env.Output.Stream(), b.Mask.Stream()
	x.env.Progress = x.progress
	seq := b.enter(t, activity.Executing, nil, nil)
	if t.plan.Risk != tool.Safe {
		// What cannot be written down does not happen (spec 3.1).
		err := errors.New("it is closed")
		if seq != 0 {
			err = b.Session.Commit(ctx, seq)
		}
		if err != nil && ctx.Err() == nil {
			b.fail(t, fmt.Errorf("the session's log cannot be written, so nothing was done: %w", err))
			return
		}
	}
	// The log says that the call executes before the workspace is looked at. If the daemon
	// ends from here on, the call has a window to recover, or nothing had happened yet.
	if err := b.watch(ctx, t); err != nil && ctx.Err() == nil {
		b.fail(t, err)
		return
	}
	if ctx.Err() != nil {
		b.settleWindow(t, false)
		b.drop(t, "")
		return
	}
	var first sync.Once // the tool ends, or nobody waits for it any more
	if !t.delegates() { // another run ends by itself, as this one does
		// The timer concludes the call with no result, and the batch goes on. The second
		// end, when the tool returns, does nothing.
		stop := context.AfterFunc(ctx, func() {
			select {
			case <-t.done:
			case <-time.After(grace):
				first.Do(func() { b.protect(t, func() { x.conclude(nil, ctx.Err(), true) }) })
				b.end(t)
			}
		})
		defer stop()
	}
	result, err := x.runTool()
	first.Do(func() { x.conclude(result, err, false) })
}

// runTool runs the tool.
// A panic of a tool is that call's error and no more. Unless the tool only reads, the
// error says that its outcome is unknown.
func (x *execution) runTool() (result *tool.Result, err error) {
	t := x.task
	var caught panics.Catcher
	caught.Try(func() { result, err = t.plan.Run(t.ctx, x.env, x.token) })
	if p := caught.Recovered(); p != nil {
		result, err = nil, errors.New("a defect of agentls"+bug(p))
		if t.plan.Risk != tool.Safe {
			err = errors.New("a defect of agentls" + bug(p) +
				". Its outcome is unknown: look at what it did before you repeat it")
		}
		x.tell(x.defect(p, t.name))
	}
	if result == nil && err == nil {
		err = errors.New("it gave no result")
	}
	// Language servers may take seconds; a call that was cancelled does not wait for them.
	if result != nil && t.ctx.Err() == nil {
		x.tellDiagnostics(t.ctx, x.env, t, result)
	}
	return result, err
}

// progress tells what the tool says as it runs.
// It may be called from any goroutine of the tool. Text that may be the beginning of a
// value that is masked is kept back until more comes, or until silence.
func (x *execution) progress(text string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if text = x.said.Write(x.output.Write(text)); text != "" && !x.ended {
		x.say(activity.ToolDelta{Call: x.task.call.ID, Text: text})
	}
}

// tell writes an event unless the call has ended.
func (x *execution) tell(body activity.Body) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.ended {
		x.say(body)
	}
}

// silence tells what was kept back, and nothing after it.
func (x *execution) silence() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if rest := x.said.Write(x.output.Flush()) + x.said.Flush(); rest != "" {
		x.say(activity.ToolDelta{Call: x.task.call.ID, Text: rest})
	}
	x.ended = true
}

// conclude ends the call with what came of its tool; late says that it goes on.
//
// The order matters: the window is settled first, output is masked before anybody sees it,
// the taint counts before the next call is decided about, and hooks come last. A call
// that was cancelled and has a result all the same succeeds, unless the tool says
// that it was cancelled.
func (x *execution) conclude(result *tool.Result, err error, late bool) {
	t, ctx := x.task, x.task.ctx
	x.settleWindow(t, late || t.lasting.Load())
	result, err = maskOutput(x.env.Output, result, err)
	if result != nil && result.Taint > tool.Clean { // before the next call is decided about
		t.taint = result.Taint
		x.Gate.TaintBy(x.ID, t.taint, t.plan.Title)
	}
	if t.delegates() && result != nil { // the other run has told them
		x.runner.mu.Lock()
		x.changes = append(x.changes, result.Changes...)
		x.runner.mu.Unlock()
		result.Changes = nil
	}
	x.silence()
	// A call that was cancelled without a result has nothing that a hook could hide.
	if err == nil || ctx.Err() == nil {
		result, err = x.afterTool(t, result, err)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		x.drop(t, "")
	case err != nil:
		x.fail(t, err)
	case ctx.Err() != nil && result.Failed && result.Code == tool.CodeCancelled:
		content, _, _ := x.cut(result)
		x.drop(t, content) // the tool tells how far it came
	default:
		x.succeed(t, result)
	}
}
