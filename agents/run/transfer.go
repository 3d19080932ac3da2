package run

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/handoff"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
)

// Handoffs is what control may pass to (spec 5.2).
//
// The functions may be called while calls of the run go on, from any goroutine.
type Handoffs struct {
	List handoff.List
	// Unknown says of each entry whether control could not pass to its agent when the
	// run began: then it is not offered. nil = it could to all.
	Unknown []bool
	Max     int // agents in a chain
	// Resolve is that of [handoff.Transfer], as things are now; nil = control passes to
	// nobody.
	Resolve func(to string) (name string, err error)
	NewRun  func() string // the id of a successor
	// Quote returns a conversation as a successor is told it.
	Quote func(to string, messages []model.Message) string
}

// passing is a handoff that was accepted.
type passing struct {
	to      string
	whole   bool // the successor is told the conversation so far
	message handoff.Message
}

// Successor returns the handoff with which the run ended; false for a run that ended
// otherwise. It is valid once Do has returned.
func (run *Run) Successor() (activity.HandoffStarted, bool) {
	if run.r.successor == nil {
		return activity.HandoffStarted{}, false
	}
	return *run.r.successor, true
}

// withTransfers is an agent's tools with those that hand over.
//
// It lies inside of withCompletion, so that the last turn of a task run offers no
// transfer.
type withTransfers struct {
	Tools
	r *runner
}

// List implements Tools. A transfer is offered while its condition holds; one
// that is then called may have become false.
func (t *withTransfers) List() []tool.Tool {
	offered := t.Tools.List()
	var values map[string]any
	for i, e := range t.r.Handoffs.List {
		if i < len(t.r.Handoffs.Unknown) && t.r.Handoffs.Unknown[i] {
			continue
		}
		if values == nil {
			values = t.r.values(nil)
		}
		if holds, err := e.Holds(values); err == nil && holds {
			offered = append(offered, &transfer{t.r, e, e.To})
		}
	}
	return offered
}

// Find implements Tools. A transfer to an agent that is not in the list is found as
// well: it says why it is refused.
func (t *withTransfers) Find(name string) (tool.Tool, error) {
	if found, err := t.Tools.Find(name); err == nil {
		return found, nil
	}
	if to, ok := handoff.TargetOf(name); ok {
		return &transfer{t.r, t.r.Handoffs.List.Find(to), to}, nil
	}
	return t.Tools.Find(name)
}

// transfer is transfer_to_<agent> of one run.
type transfer struct {
	r     *runner
	entry *handoff.Entry // nil = the agent's file has none for it
	to    string         // as the model wrote it
}

// Spec implements tool.Tool.
func (t *transfer) Spec() tool.Spec {
	if t.entry == nil {
		return tool.Spec{Name: handoff.ToolName(t.to), Risk: tool.Safe}
	}
	return t.entry.Spec()
}

// Plan implements tool.Tool. Nothing is checked before the other calls of the batch
// have finished: conditions are about what they come to.
func (t *transfer) Plan(_ context.Context, _ *tool.Env, args json.RawMessage) (*tool.Plan, error) {
	canonical, err := anyArgs.Check(args)
	if err != nil {
		return nil, err
	}
	to := t.to
	if t.entry != nil {
		to = t.entry.To
	}
	name := handoff.FullName(to) // which rules match
	return &tool.Plan{
		Tool: name, Args: canonical, Risk: tool.Safe, Why: "it passes control to " + t.to, Title: name,
		Do: func(context.Context, *tool.Env) (*tool.Result, error) { return t.pass(canonical) },
	}, nil
}

// anyArgs takes each object; the entry's own schema is checked when its turn comes.
var anyArgs = tool.NewSchema(json.RawMessage(`{"type":"object"}`), nil)

// pass accepts the first transfer of a batch that passes all checks.
// It only notes where control goes (r.done): the run ends with its turn, and the
// handoff is told then. Words of the person that came meanwhile have to be read first.
func (t *transfer) pass(args json.RawMessage) (*tool.Result, error) {
	r := t.r
	r.mu.Lock()
	done, steered := r.done, r.steered > 0
	r.mu.Unlock()
	switch {
	case done != nil && done.passes != nil:
		return nil, r.reject(&handoff.Refusal{Code: handoff.PermissionDenied, To: t.to, Message: fmt.Sprintf(
			"Control passes to %s already; the first transfer counts.", done.passes.to)})
	case done != nil:
		return nil, r.reject(&handoff.Refusal{Code: handoff.PermissionDenied, To: t.to,
			Message: "The task is completed already, so nothing is left to hand over."})
	case steered:
		return nil, tool.Errorf(tool.CodeFailed,
			"The person has said something meanwhile. Read it, then hand over once more.")
	}
	// The lock is let go for the checks, which ask the daemon. Nobody sets done meanwhile:
	// what completes a batch runs one after the other ([batch.precede]).
	passes, refused := r.check(t.entry, t.to, args, nil)
	if refused != nil {
		return nil, r.reject(refused)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = &outcome{text: passes.message.Summary, passes: passes}
	return &tool.Result{Content: "Control passes to " + passes.to + "."}, nil
}

// check runs the checks of a transfer. end is of a run whose work is done; nil while
// it goes on.
func (r *runner) check(entry *handoff.Entry, to string, args json.RawMessage,
	end *ending) (*passing, *handoff.Refusal) {
	t := handoff.Transfer{Entry: entry, To: to, Args: args, Values: r.values(end), Chain: r.Chain, Max: r.Handoffs.Max,
		Resolve: r.Handoffs.Resolve}
	name, message, refused := t.Check()
	if refused != nil {
		return nil, refused
	}
	return &passing{name, entry.IncludeContext && name != handoff.User, message}, nil
}

// reject tells that a transfer does not happen, and returns what the model is told.
// The error is a *tool.Error with the refusal's code.
func (r *runner) reject(refused *handoff.Refusal) error {
	r.say(activity.HandoffRejected{From: r.Definition.Name, To: refused.To, Code: string(refused.Code),
		Message: refused.Message})
	return &tool.Error{Code: string(refused.Code), Message: fmt.Sprintf("%s: %s", refused.Code, refused.Message)}
}

// passOn turns the end of a run whose work is done into a handoff, where the agent's
// file says so (when: auto). One that is refused leaves the end as it was.
func (r *runner) passOn(end ending) ending {
	if r.Handoffs.Resolve == nil {
		return end
	}
	entry := r.Handoffs.List.Automatic(r.values(&end), func(e *handoff.Entry, why error) {
		r.say(activity.Note{Level: "warning",
			Message: fmt.Sprintf("The condition of the handoff to %s (%s) cannot be judged, so it does not hold: %v.",
				e.To, e.Condition, why)})
	})
	if entry == nil {
		return end
	}
	passes, refused := r.check(entry, entry.To, nil, &end)
	if refused != nil {
		_ = r.reject(refused) // the work is done, so nobody is told but the person
		return end
	}
	if passes.message.Summary = strings.TrimSpace(end.text); end.output != nil {
		passes.message.Summary = string(end.output)
	}
	return ending{reason: activity.HandedOff, recovered: end.recovered, text: end.text,
		output: end.output, passes: passes}
}

// tellHandoff says that control passes on.
// The run that goes on is made from this event. A conversation that cannot be kept is
// told, and the handoff goes on without it.
func (r *runner) tellHandoff(p *passing) {
	b := activity.HandoffStarted{
		From: r.Definition.Name, To: p.to, Reason: p.message.Reason, Summary: p.message.Summary,
		Context: p.message.Context, Payload: p.message.Payload,
		Chain: slices.Clone(r.Chain), Depth: len(r.Chain), Project: r.project(),
	}
	if p.to != handoff.User {
		b.Chain, b.Run = append(b.Chain, p.to), r.Handoffs.NewRun()
	}
	if taint := r.Gate.TaintOf(r.ID); taint > tool.Clean {
		b.Taint = taint.String()
	}
	if p.whole {
		if text := r.Handoffs.Quote(p.to, r.Session.Context(r.context())); text != "" {
			var err error
			if b.History, err = r.Session.PutBlob([]byte(text)); err != nil {
				r.say(activity.Note{Level: "warning", Message: fmt.Sprintf("%s is not told the conversation so far: %v",
					p.to, err)})
			}
		}
	}
	r.say(b)
	r.successor = &b
}

// maxText bounds the texts that conditions see, in bytes: what they do with them is
// not interrupted.
const maxText = 32 << 10

// ConditionValue returns a JSON value as conditions see it: longer texts in it are cut.
func ConditionValue(data json.RawMessage) any {
	var value any
	if json.Unmarshal(data, &value) != nil {
		return nil
	}
	return cutTexts(value)
}

// cutTexts cuts the texts in a value, which it changes.
func cutTexts(value any) any {
	switch v := value.(type) {
	case string:
		if len(v) > maxText {
			return strings.ToValidUTF8(v[:maxText], "")
		}
	case []any:
		for i := range v {
			v[i] = cutTexts(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = cutTexts(v[key])
		}
	}
	return value
}

// values are what conditions know (spec 5.2). end is of a run whose work is done; nil
// while it goes on.
//
// The map is new for each call and the caller's; texts in it are cut to maxText.
// Conditions are expressions of the agent's file and see nothing else.
func (r *runner) values(end *ending) map[string]any {
	r.mu.Lock()
	last := r.last
	r.mu.Unlock()
	status := "in_progress"
	var result, output any = "", nil
	if end != nil {
		status, result = "completed", cutTexts(end.text)
		output = ConditionValue(end.output) // nil without a structured result
	}
	state := map[string]any{}
	if r.State != nil {
		state = r.State()
	}
	state["current_agent"], state["task_status"] = r.Definition.Name, status
	return map[string]any{
		"task": map[string]any{"status": status, "result": result}, "output": output,
		"input": cutTexts(r.asked), "last_tool": last,
		"state": state,
	}
}

// recallTransfer passes control on where the end of a conversation says that a
// transfer was accepted.
func (r *runner) recallTransfer(messages []model.Message) {
	n := len(messages)
	if r.Handoffs.Resolve == nil || n < 2 || messages[n-2].Role != model.Reply {
		return
	}
	accepted := make(map[string]bool)
	for _, p := range messages[n-1].Parts {
		if p.Result != nil && !p.Result.Error {
			accepted[p.Result.ID] = true
		}
	}
	for _, p := range messages[n-2].Parts {
		if p.Call == nil || !accepted[p.Call.ID] {
			continue
		}
		if to, ok := handoff.TargetOf(p.Call.Name); ok {
			// What is not permitted any more is refused, and the model goes on.
			_, _ = (&transfer{r, r.Handoffs.List.Find(to), to}).pass(p.Call.Args)
			return
		}
	}
}

// lastTool returns the tool that has the last result of a conversation, "" for none.
// Transfers and failed calls do not count.
func lastTool(messages []model.Message) string {
	for _, m := range slices.Backward(messages) {
		for _, p := range slices.Backward(m.Parts) {
			if p.Result == nil || p.Result.Error {
				continue
			}
			if _, transfers := handoff.TargetOf(p.Result.Name); !transfers {
				return p.Result.Name
			}
		}
	}
	return ""
}
