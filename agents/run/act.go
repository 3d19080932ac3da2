package run

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/conc"
	"github.com/sourcegraph/conc/panics"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/loop"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/snapshot"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/mask"
)

// maxAtOnce is how many calls of one batch execute at once (spec 3.4).
const maxAtOnce = 8

// task is one call of a batch on its way through the machine of spec 3.4.
//
// Who may touch it: the batch's goroutine until the calls are conducted, then the call's
// own goroutine. Two fields cross over: settled, which others look at under the batch's
// settling, and told, under the runner's mu. asked and done are closed, never sent to, so
// that any number of calls can wait for them. done is the end: after it the task's state,
// said and taint may be read.
type task struct {
	taint tool.Taint // of what the model gets of it
	call  model.Call
	name  string // canonical, or as the model wrote it when it is no tool of the agent's
	tool  tool.Tool
	plan  *tool.Plan
	bad   error // why there is no plan
	state activity.CallState
	began time.Time

	settled     bool          // it will not ask any more; guarded by the batch's settling
	asked       chan struct{} // closed when neither it nor a call before it will ask any more
	done        chan struct{} // closed when it has ended
	ending      sync.Once     // closes done
	running     bool          // it has one of the slots
	modified    string        // who changed its arguments: The person, A hook; "" = nobody
	hookAsks    string        // why a hook wants the person to be asked; "" = none does
	hookContext []string      // what hooks add to its result
	answered    bool          // a person refused it, or let its question expire
	ran         bool          // its tool has a result
	late        bool          // it could not be planned, and earlier calls of the batch may change that
	behind      []*task       // it waits for these, and is planned again
	said        string        // what the model gets of it, once it has ended
	told        []string      // URIs of files whose change is in the log; guarded by the runner's mu

	output  *mask.Masker     // of its command's output, once it runs; may be nil
	noUndo  string           // why what its command changes could not be undone, as the gate was told
	window  *snapshot.Window // while its command runs
	lasting atomic.Bool      // it started what goes on when it has ended
	saved   bool             // the editor was asked to save, and left unsaved as it is
	unsaved []string

	ctx context.Context // of this call: a person can end it alone, in every state
}

// batch is the calls of one answer.
//
// The order of what happens to its calls: all are accepted and told (validating), hooks see
// them side by side, all are planned in their order, and then each goes its own way on a
// goroutine (conduct), waiting where it must: for calls that write the same file (behind),
// for its turn to ask (asked), for a slot. perform returns when each has its result, which
// is when the next turn may begin, though tools may still run (Leftovers).
type batch struct {
	*runner
	run    context.Context // of the run; the batch's ends with the last call
	ctx    context.Context
	cancel context.CancelCauseFunc
	tasks  []*task
	slots  chan struct{}

	settling sync.Mutex
	unasked  int // the first task whose asked is open; guarded by settling

	reaching chan struct{} // has a value while a person is asked about a host; room for one

	using sync.Mutex // what a search of the web uses of the run's limits
	over  bool       // all calls have their results; guarded by using
}

// act does the calls of one answer and writes what became of each to the log.
// It returns when each has its result: the calls of tools, in order, as a search
// for loops wants them.
func (r *runner) act(parent context.Context, calls []model.Call) []loop.Call {
	tasks := r.perform(parent, calls)
	var done []loop.Call
	failed := ""
	// The batch has failed where each call failed before its tool had a result, and none by
	// a person's answer or silence. What the last call was told stands for all of them.
	for _, t := range tasks {
		if t.state != activity.Failed || t.ran || t.answered {
			failed = ""
			break
		}
		failed = t.said
	}
	r.failures.count(failed)
	for _, t := range tasks {
		done = append(done, loop.Call{Name: t.name, Args: t.call.Args, Result: t.said,
			Failed: t.state != activity.Success})
	}
	return done
}

// perform does calls, and returns when each has its result.
// Calls that are in each other's way (writers of one file, and what could not be planned
// before) wait in their order, all others run at once, up to maxAtOnce. A tool that does not
// heed its context is left behind in Leftovers: its call has a result, and it can ask no
// model any more (b.over).
func (r *runner) perform(parent context.Context, calls []model.Call) []*task {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	b := &batch{runner: r, run: parent, ctx: ctx, cancel: cancel, slots: make(chan struct{}, maxAtOnce),
		reaching: make(chan struct{}, 1)}
	for _, c := range calls {
		b.tasks = append(b.tasks, b.accept(c))
	}
	// Hooks come before the plans: they may change arguments, and a plan is of what will run.
	if b.hooked("BeforeTool") {
		var hooks conc.WaitGroup
		for _, t := range b.tasks {
			hooks.Go(func() { b.askHooks(t) })
		}
		hooks.Wait()
	}
	// All are planned before any of them runs, so that each knows which files the others
	// write. A plan that a writer before it makes stale is made anew (awaitWriters).
	var before writers
	for i, t := range b.tasks {
		b.validate(t)
		t.behind = before.conflicts(b.tasks[:i], t)
		before.add(t)
	}
	for _, t := range b.tasks {
		if t.completes() { // whatever else was called finishes first (spec 3.3)
			t.behind = nil
			for _, other := range b.tasks {
				if !other.completes() {
					t.behind = append(t.behind, other)
				}
			}
		}
	}
	for i, t := range b.tasks {
		// A goroutine for each: it runs the tool, which may outlive the call.
		b.Leftovers.Go(func() {
			growStack()
			defer b.end(t)
			b.protect(t, func() { b.conduct(i) })
		})
	}
	for _, t := range b.tasks {
		<-t.done
	}
	// From here on a tool that was left behind can count nothing towards the run.
	b.using.Lock()
	b.over = true
	b.using.Unlock()
	return b.tasks
}

// growStack makes the stack of a goroutine as large as a call needs, while there is nothing
// on it to copy (measured: 13 of the 117 µs that a call takes).
//
//go:noinline
func growStack() (last byte) {
	var room [24 << 10]byte
	return room[len(room)-1]
}

// protect does a part of a call's way to its end. A panic fails the call.
func (b *batch) protect(t *task, part func()) {
	var caught panics.Catcher
	caught.Try(part)
	if p := caught.Recovered(); p != nil {
		b.say(b.defect(p, t.name))
		if !t.state.Terminal() {
			b.fail(t, errors.New("a defect of agentls"+bug(p)))
		}
	}
}

// end releases what a call holds, once it has its result. It may be called twice: when
// the call ends without its tool, and when the tool has ended.
func (b *batch) end(t *task) {
	t.ending.Do(func() {
		b.settle(t) // whatever happened, those behind get their turn to ask
		if t.running {
			<-b.slots
		}
		b.track(t.call.ID, nil)
		close(t.done)
	})
}

// completes reports whether the call ends the run.
// Such a call runs after all others of its batch.
func (t *task) completes() bool {
	switch t.tool.(type) {
	case *completion, *transfer:
		return true
	}
	return false
}

// questions reports whether the call asks the person as it runs. Its question comes
// in the order of the calls, among those about other calls: a key that was meant for
// one question must not answer another.
func (t *task) questions() bool { return t.name == "ask_user" }

// delegates reports whether the call runs another agent.
func (t *task) delegates() bool { return t.name == tool.Delegate }

// accept finds the tool of a call.
// From here on the person can cancel the call by its id. A call of a tool that there is
// not, or that hooks took out of the request, is accepted as well, and fails with its
// turn: each call has its result in the log.
func (b *batch) accept(c model.Call) *task {
	t := &task{call: c, name: c.Name, began: b.Now(), asked: make(chan struct{}), done: make(chan struct{})}
	ctx, cancel := context.WithCancelCause(b.ctx)
	t.ctx = ctx
	b.track(c.ID, cancel)
	t.tool, t.bad = b.Tools.Find(c.Name)
	if t.bad == nil {
		t.name = t.tool.Spec().Name
		t.bad = b.checkOffered(t.tool)
	}
	b.enter(t, activity.Validating, nil, nil)
	return t
}

// validate plans a call. What fails here may still be planned again when earlier calls
// of the batch have written.
func (b *batch) validate(t *task) {
	if t.bad != nil {
		return
	}
	b.makePlan(t)
	// A call that only reads is not worth an approval's wait (spec 3.4).
	t.late = t.bad != nil && t.tool.Spec().Risk != tool.Safe
}

// makePlan plans a call, or plans it again, and sets plan or bad. A panic of the tool is a
// defect, told as one, and fails this call only.
// It may run for the same call before and after others of the batch have written, and
// once more when the person has changed the arguments.
func (b *batch) makePlan(t *task) {
	env := b.env(t)
	var caught panics.Catcher
	caught.Try(func() { t.plan, t.bad = t.tool.Plan(t.ctx, env, t.call.Args) })
	if p := caught.Recovered(); p != nil {
		t.plan, t.bad = nil, errors.New("a defect of agentls"+bug(p))
		b.say(b.defect(p, t.name))
	}
	if t.plan == nil && t.bad == nil {
		t.bad = errors.New("it made no plan")
	}
	if t.plan != nil && t.plan.Access != "" {
		// What no wall keeps to reading is written down, and not done again.
		t.plan.Risk = guard.SandboxOf(env.Sandbox).Risk(t.plan)
	}
}

// conduct takes one call to its end.
//
// Each way out ends the call with exactly one terminal event: fail, drop, or execute, which
// sees to it. The token that permit returns is for the plan as it is then, so nothing after
// it may plan the call again.
func (b *batch) conduct(i int) {
	t := b.tasks[i]
	if t.completes() {
		b.settle(t) // it asks nothing, and waits for those that may
		if !b.precede(i) {
			b.drop(t, "")
			return
		}
	}
	if !b.awaitWriters(t) {
		b.drop(t, "")
		return
	}
	if t.ctx.Err() != nil {
		b.drop(t, "")
		return
	}
	if t.bad != nil {
		b.fail(t, t.bad)
		return
	}
	b.enter(t, activity.Scheduled, nil, nil)
	token, err := b.permit(t, i)
	if !t.questions() {
		b.settle(t)
	} else if err == nil && !b.awaitTurn(i) {
		err = t.ctx.Err()
	}
	if err != nil {
		if t.ctx.Err() != nil {
			b.drop(t, "")
		} else {
			b.fail(t, err)
		}
		return
	}
	// A slot is taken only now, so that a call that waits for the person keeps none from
	// those that could run.
	select {
	case b.slots <- struct{}{}:
		t.running = true
	case <-t.ctx.Done():
		b.drop(t, "")
		return
	}
	b.execute(t, token)
}

// precede waits for the completions before the i-th call, of which the first
// valid one counts.
// false means that the call itself was ended first.
func (b *batch) precede(i int) bool {
	t := b.tasks[i]
	for _, earlier := range b.tasks[:i] {
		if earlier.completes() {
			select {
			case <-earlier.done:
			case <-t.ctx.Done():
				return false
			}
		}
	}
	return true
}

// settle says that a call will not ask any more, and gives the next ones their
// turn.
// It may be called more than once for a call, and must be called at least once: those
// behind it wait for that.
func (b *batch) settle(t *task) {
	b.settling.Lock()
	defer b.settling.Unlock()
	t.settled = true
	for ; b.unasked < len(b.tasks) && b.tasks[b.unasked].settled; b.unasked++ {
		close(b.tasks[b.unasked].asked)
	}
}

// enter moves a call and tells it.
// It returns the event's number, for those who have to wait until it is on disk. A move
// that the machine of spec 3.4 does not have is a bug; it is told, and the call stays in
// its state.
func (b *batch) enter(t *task, to activity.CallState, result *activity.ToolResult, failure *activity.ToolError) uint64 {
	next, err := step(calls, t.state, to)
	if err != nil {
		return b.say(activity.ErrorSeen{Code: "internal", Message: fault.Message(err), Where: t.name})
	}
	t.state = next
	risk, path := tool.Unclassified, ""
	switch {
	case t.plan != nil:
		risk = t.plan.Risk
		if t.plan.Path != "" {
			path = tool.URI(t.plan.Path)
		}
	case t.tool != nil:
		risk = t.tool.Spec().Risk
	default:
		risk = tool.Medium // what is unknown (spec 4.2)
	}
	took := time.Duration(0)
	if next.Terminal() {
		took = b.Now().Sub(t.began)
	}
	return b.sayFor(activity.ToolState{
		Call: t.call.ID, Name: t.name, Args: t.call.Args, State: next, Risk: risk.String(),
		Result: result, Error: failure, Path: path, Taint: t.taint.String(),
	}, took)
}
