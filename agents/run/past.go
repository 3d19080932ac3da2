package run

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
)

// Past is how far a run came that an earlier daemon left interrupted or paused, or that
// ended at its limit of turns or time.
//
// It is folded from the log by package session, see [session.Progress], whose members
// these are.
type Past struct {
	State      activity.State         // interrupted, paused or finished
	Turn       int                    // the newest
	ModelCalls int                    // requests to models
	ToolCalls  int                    // calls of tools
	Usage      map[string]model.Usage // by model
	Delegated  session.Delegated      // what the runs that it delegated to have used, and finished
	Active     time.Duration          // that counts towards the run's time
	Changes    []activity.Change      // to files
	Open       []Open                 // calls of the context's last reply without a result
	Executed   bool                   // a command of the prompt had begun, before the first turn
	TurnOver   bool                   // the newest turn has finished
	Limit      string                 // that a paused run would cross, or a finished one came to
	Extended   activity.Extended      // what persons have added to the run's limits
	Moved      bool                   // the agent's context has gone on without the run
	Finish     model.Finish           // of the newest answer
	Guards     []activity.Guard       // that have judged
	Repairs    map[string][]activity.Repair
	Repairing  bool                    // the model was asked to repair its result, and has not answered
	Input      []activity.ContentBlock // with which the run began
	More       Extension               // what a person adds to the run's limits
}

// Open is a call that has no result.
type Open struct {
	Call  model.Call
	State activity.CallState // the newest one that the log has; "" for none
	Risk  string             // the newest that the log has
}

// Continue takes a run up again instead of [Run.Begin], also one that ended at its limit
// of turns or time, and returns the number
// of the event that says so. What the run used counts on. Calls that had not
// been executed are made now, and asked for anew; those that were executing get
// a result that says that nobody knows how far they came: no call is executed
// twice (REL-66, REL-103).
//
// It is called once, before Do, and like Begin returns 0 where the log is closed. Limits
// that were extended before hold again, and Past.More is added.
func (run *Run) Continue(p Past) uint64 {
	r := run.r
	r.began = r.Now()
	r.past, r.spent, r.asked, r.input = &p, p.Active, textOfBlocks(p.Input), inputText(p.Input)
	r.recallGuards(&p)
	r.turn.Store(int32(p.Turn))
	r.toolCalls, r.changes = p.ToolCalls, slices.Clone(p.Changes)
	used := usage{calls: p.ModelCalls, priced: true}
	for id, u := range p.Usage {
		usd, known := 0.0, false
		if i := slices.IndexFunc(r.Models, func(c Choice) bool { return c.ID == id }); i >= 0 {
			usd, known = model.Cost(r.Models[i].Entry, u)
		}
		used.add(usage{tokens: u, usd: usd, priced: known, rough: true}) // prices may go by the size of each request
	}
	used.add(usage{
		tokens: p.Delegated.Usage, calls: p.Delegated.ModelCalls, usd: p.Delegated.USD, priced: !p.Delegated.Unpriced,
		rough: p.Delegated.ModelCalls > 0,
	})
	r.account.past(used)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun, r.state = true, p.State
	first := r.MaxTime
	r.extend(p.Extended)
	// The last turn of a task comes after the limit: it does not count towards what is
	// added.
	switch p.Limit {
	case "turns":
		p.More.Turns = cmp.Or(p.More.Turns, r.MaxTurns) + max(0, p.Turn-r.maxTurns)
	case "time":
		p.More.Seconds = cmp.Or(p.More.Seconds, seconds(first)) + seconds(max(0, p.Active-r.MaxTime))
	}
	// Not by shift: a run that ended at a limit is finished, and no other move leads out of
	// that state.
	moved := activity.RunState{From: p.State, To: activity.Running, Why: "agents/resume"}
	if x := r.extension(p.Limit, p.More); x != (activity.Extended{}) {
		moved.Extended = &x
		r.extend(x)
	}
	seq := r.say(moved)
	r.state = activity.Running
	return seq
}

// seconds are those of a duration, rounded up.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// remaining is what is left of the run's time; 0 for a run that has no limit.
func (r *runner) remaining() time.Duration {
	if r.MaxTime <= 0 {
		return 0
	}
	return max(r.MaxTime-r.spent, 1)
}

// The results of calls that were executing when the daemon ended: of one that
// may have changed something, and of one that only reads.
const (
	unknownOutcome = "interrupted: the daemon ended while this call ran. It may have taken effect wholly, in part or not at all: look before you repeat it."
	noResult       = "interrupted: the daemon ended while this call ran. Repeat it if you need its result."
)

// takeUp ends what an earlier daemon left open: the calls of the last answer,
// and the run itself where that answer was the last one. over is whether the run
// ends so.
func (r *runner) takeUp(ctx context.Context) (end ending, over bool) {
	p := r.past
	if p == nil {
		return ending{}, false
	}
	// From here on the run is like any other; loop has kept what it needs of the past.
	r.past = nil
	if p.State == activity.Finished {
		r.say(activity.Note{Level: "info", ToModel: true,
			Message: "Your run had come to its limit and ended. It has been given more, so go on where you were: its request was: " + textOfBlocks(p.Input)})
		return ending{}, false
	}
	if !p.TurnOver && len(p.Open) == 0 && p.Turn > 0 {
		r.maxTurns++ // a turn that was cut off does not count
	}
	if p.Moved {
		r.mu.Lock()
		r.say(activity.Note{Level: "info", ToModel: true,
			Message: "An earlier task of yours was interrupted, and goes on now. Its request was: " +
				textOfBlocks(p.Input)})
		r.mu.Unlock()
		return ending{}, false
	}
	messages := r.Session.Context(r.context())
	r.last = lastTool(messages)
	if len(p.Open) > 0 {
		return r.finishBatch(ctx, p.Open)
	}
	if p.Repairing {
		return ending{}, false // it is told once more with the next turn
	}
	// A transfer or a completed task was the last thing before the end: it holds, and the
	// model is not asked again.
	r.recallTransfer(messages)
	if r.tools != nil {
		r.tools.complete.recall(messages)
	}
	if end, ok := r.completion(); ok || r.tools != nil {
		return end, ok
	}
	if n := len(messages); n > 0 && messages[n-1].Role == model.Reply && p.Finish == model.Stop {
		// The answer was there; only the end was not written.
		text := ""
		for _, part := range messages[n-1].Parts {
			text += part.Text
		}
		return ending{reason: activity.Goal, text: text}, true
	}
	return ending{}, false
}

// finishBatch gives the calls of the last answer their results.
// Calls that had not begun are done now. One that was being executed is not repeated
// unless it is a delegation, because nobody knows what it did; the model is told so.
func (r *runner) finishBatch(ctx context.Context, open []Open) (end ending, over bool) {
	began := r.Now()
	var calls []model.Call
	for _, o := range open {
		name, message := o.Call.Name, unknownOutcome
		if t, err := r.Tools.Find(name); err == nil {
			name = t.Spec().Name
		}
		if o.State != activity.Executing || name == tool.Delegate { // the other run goes on where it was
			calls = append(calls, o.Call)
			continue
		}
		if o.Risk == tool.Safe.String() {
			message = noResult
		}
		r.recover(ctx, o.Call.ID)
		r.say(activity.ToolState{
			Call: o.Call.ID, Name: name, Args: o.Call.Args, State: activity.Cancelled, Risk: o.Risk,
			Error: &activity.ToolError{Code: "tool.interrupted", Message: message},
		})
	}
	if len(calls) > 0 {
		r.act(ctx, calls)
		if errors.Is(context.Cause(ctx), ErrInterrupted) {
			return endInterrupted(ctx), true
		}
	}
	r.sayFor(activity.TurnFinished{Turn: int(r.turn.Load()), ToolCalls: len(open)}, r.Now().Sub(began))
	if end, ok := r.completion(); ok {
		return end, true
	}
	return r.over(ctx)
}

// recall completes the task where the end of a conversation says that it was.
//
// It looks at the last answer and its results only. Arguments that do not fit the schema
// any more are left to the model.
func (c *completion) recall(messages []model.Message) {
	n := len(messages)
	if n < 2 || messages[n-2].Role != model.Reply {
		return
	}
	done := map[string]bool{}
	for _, p := range messages[n-1].Parts {
		if p.Result != nil && p.Result.Name == CompleteTask && !p.Result.Error {
			done[p.Result.ID] = true
		}
	}
	for _, p := range messages[n-2].Parts {
		if p.Call == nil || !done[p.Call.ID] {
			continue
		}
		if args, err := c.schema.Check(p.Call.Args); err == nil {
			// What does not fit any more, since the agent's file has changed, is done
			// again by the model.
			_, _ = c.complete(args)
			return
		}
	}
}

// textOfBlocks returns what a person wrote.
func textOfBlocks(blocks []activity.ContentBlock) string {
	var texts []string
	for _, b := range blocks {
		if b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// folderURI is a folder as an event has it; "" for none.
func folderURI(folder string) string {
	if folder == "" {
		return ""
	}
	return tool.URI(folder)
}
